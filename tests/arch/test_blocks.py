"""No block of a page is forgotten: each is tried by a test, or stands in one list with the reason why not."""

from __future__ import annotations

import ast

import pytest

from interop.broker_process import CHECKOUT
from interop.page_blocks import blocks_of, check_config
from interop.pages import ELSEWHERE, NOT_RUN, PAGES, pages, why_not_run

#: of all pages: whoever adds one has to want it
MOST_NOT_RUN = 6
LANGUAGES = {"python", "sh", "java", "properties", "ini", "toml", "text"}


def test_every_page_is_followed_by_a_test() -> None:
    assert sorted(pages()) == sorted([*PAGES, *ELSEWHERE])
    for test in ELSEWHERE.values():
        assert (CHECKOUT / test.partition(":")[0]).exists()


@pytest.mark.parametrize("page", pages())
def test_every_block_says_what_it_is(page: str) -> None:
    for block in blocks_of(page):
        assert block.language in LANGUAGES, block
        if block.title and block.language == "python":
            ast.parse(block.text)  # of another product, which is not here: it is Python at least
        elif block.language in ("properties", "ini", "toml"):
            check_config(block)


def test_a_page_with_blocks_shows_something_that_can_be_missing() -> None:
    """Or its blocks might do nothing and nobody would see."""
    for name, page in PAGES.items():
        has_output = any(block.language == "text" for block in blocks_of(name))
        assert page.shows or has_output, name


def test_what_is_not_run_is_little_and_has_a_reason_each() -> None:
    assert len(NOT_RUN) <= MOST_NOT_RUN
    for (page, begins), why in NOT_RUN.items():
        left_out = [block for block in blocks_of(page) if block.text.startswith(begins)]
        assert len(left_out) == 1, f"{page}: {begins!r} begins {len(left_out)} blocks"
        assert why_not_run(page, left_out[0].text) == why
        assert len(why.split()) > 3
