"""The site has every page, and its links lead to what the site has; `make site` fails on any that does not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "codegen"))

from site_pages import MOVED, decisions, with_links  # noqa: E402


@pytest.mark.parametrize(
    ("page", "link", "leads"),
    [
        ("index.md", "[a](docs/guides/worker.md#x)", "[a](guides/worker.md#x)"),
        ("index.md", "![a](docs/pipeline.png)", "![a](pipeline.png)"),
        ("index.md", "[how](ARCHITECTURE.md)", "[how](architecture.md)"),
        ("index.md", "[all](docs/adr)", "[all](adr/index.md)"),
        ("coming-from/celery.md", "[a](../../README.md#b)", "[a](../index.md#b)"),
        ("guides/worker.md", "[a](../adr/0028-x.md)", "[a](../adr/0028-x.md)"),
        ("guides/worker.md", "[here](#there)", "[here](#there)"),
        ("guides/worker.md", "[a](https://kafka.apache.org/a.md)", "[a](https://kafka.apache.org/a.md)"),
        ("index.md", "[The query](src/leaselog/spark/orders_job.py)", "The query (`orders_job.py`)"),
        ("reliability.md", "[`x.py`](../tests/x.py)", "`x.py`"),
        ("index.md", "```\n[a](src/b.py)\n```", "```\n[a](src/b.py)\n```"),
    ],
)
def test_links_are_those_of_the_site(page: str, link: str, leads: str) -> None:
    assert with_links(link, page) == leads


def test_every_page_can_be_found_by_its_task() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    shown = set(re.findall(r": ([\w/-]+\.md)$", text, re.MULTILINE))
    below = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    listed = {page for page in below if not page.startswith(("adr/", "guides/spark/"))}
    assert shown == {*listed, *MOVED.values(), "adr/index.md"}


def test_every_decision_is_in_the_list() -> None:
    assert decisions().count("\n- [") == len(list((ROOT / "docs" / "adr").glob("*.md")))
