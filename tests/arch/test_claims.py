"""What the pages say of the tests and the commands is what there is: names and counts are held against the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fuzz.targets import TARGETS
from sim.play import SCENARIOS

ROOT = Path(__file__).parents[2]
RELIABILITY = (ROOT / "docs" / "reliability.md").read_text()
#: `a`, `b` in the first cell of a row
NAMES = re.compile(r"`([a-z_]+)`")


def table(text: str, head: str) -> list[str]:
    """The names in the first column of the table that begins so."""
    rows = text.partition(head)[2].partition("\n\n")[0].splitlines()[2:]
    assert rows, head
    return [name for row in rows for name in NAMES.findall(row.split("|")[1])]


def test_the_scenarios_of_the_page_are_those_that_are_played() -> None:
    assert sorted(table(RELIABILITY, "| scenario | what goes wrong |")) == sorted(SCENARIOS)


def test_the_targets_of_the_page_are_those_that_are_fuzzed() -> None:
    assert sorted(table(RELIABILITY, "| target | what the bytes are |")) == sorted(TARGETS)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/reliability.md", "docs/benchmarks.md"]
)
def test_every_make_target_that_a_page_names_is_there(page: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9.-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z0-9.-]*)", (ROOT / page).read_text(), re.MULTILINE))
    assert named
    assert named <= targets


def test_the_commands_that_take_json_are_those_of_the_readme() -> None:
    told = re.search(
        r"so fingers need not learn; (.*?) also take `--json`", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert told is not None
    commands = (ROOT / "src" / "leaselog" / "cli").glob("*.py")
    takes = {path.stem.replace("_", "-") for path in commands if '"--json"' in path.read_text()}
    assert set(re.findall(r"`([a-z-]+)`", told[1])) == takes


def test_the_sources_that_a_page_names_are_there() -> None:
    """Of the tests; those of the package are another test's (`test_links`)."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"\btests/[\w./-]*\w", page.read_text())}
    assert {name for name in named if not list(ROOT.glob(f"{name}*"))} == set()
    by_name = set(re.findall(r"`(test_\w+\.py)`", RELIABILITY))
    assert {name for name in by_name if not list((ROOT / "tests").rglob(name))} == set()
