"""The docs lead somewhere: every relative link is to a file that is there, and every anchor to a heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "changelog.d", "tests", "bench", "compat", "codegen", "src")
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
#: a path of the package as the docs write it, below src/leaselog
MODULE = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]+\.py)`")
#: what a number in the text means by "ADR 0004"
RECORD = re.compile(r"\bADR (\d{4})\b")


def pages() -> list[Path]:
    below = (page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))
    return sorted([*ROOT.glob("*.md"), *below])


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    titles = HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_relative_link_leads_to_what_is_there(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_and_decision_that_is_named_is_there(page: Path) -> None:
    text = page.read_text()
    for module in MODULE.findall(text):
        below = (ROOT / "src" / "leaselog" / module, ROOT / module)
        assert any(path.exists() for path in below), f"{module} is not there"
    for number in RECORD.findall(text):
        assert list((ROOT / "docs" / "adr").glob(f"{number}-*.md")), f"there is no ADR {number}"


def test_decisions_are_numbered_once_and_say_so_in_their_titles() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    numbers = [record.name[:4] for record in records]
    assert len(set(numbers)) == len(numbers)
    for record in records:
        assert record.read_text().startswith(f"# {record.name[:4]}: ")
