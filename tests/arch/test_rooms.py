"""Agreements about the house that no linter here knows: private modules, public names, no sleeping tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
#: tests that live in real time on purpose
#: "sim" sleeps too, but only in virtual time
REAL_TIME = {"interop", "crash", "spark", "sim"}


def sources() -> list[Path]:
    return [p for p in sorted(SOURCE.rglob("*.py")) if "messages" not in p.parts]


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE / "leaselog").parts
    return parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_room_imports_another_rooms_private_module(path: Path) -> None:
    for module, _ in imports(path):
        parts = module.split(".")
        if parts[0] == "leaselog" and len(parts) > 2 and any(p.startswith("_") for p in parts[2:]):
            assert parts[1] == room_of(path), f"{path} imports {module}"


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_module_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    assert not text or ast.get_docstring(ast.parse(text)), f"{path} has no header"


@pytest.mark.parametrize(
    "path",
    [
        p
        for p in sorted((ROOT / "tests").rglob("test_*.py"))
        if not REAL_TIME & set(p.relative_to(ROOT).parts)
    ],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_no_test_sleeps_outside_the_tiers_that_live_in_real_time(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep":
            argument = node.args[0] if node.args else None
            assert isinstance(argument, ast.Constant), f"{path}:{node.lineno} sleeps"
            assert argument.value == 0, f"{path}:{node.lineno} sleeps"


def test_every_public_name_of_the_client_is_explained_in_a_guide_or_on_a_reference_page() -> None:
    import leaselog.client

    pages = [*(ROOT / "docs" / "guides").rglob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")]
    explained = "\n".join(page.read_text() for page in pages)
    unexplained = [
        name for name in leaselog.client.__all__ if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", explained)
    ]
    assert not unexplained
    assert len(leaselog.client.__all__) <= 40, "what is public can be read in one sitting"


def test_no_files_import_each_other_in_a_circle() -> None:
    """Also not for their types alone: a circle of files is one file that nobody can read in order."""
    known = {module_of(path): path for path in sources()}
    arrows = {
        module: {
            full for name, names in imports(path) for full in imported(name, names, known) if full != module
        }
        for module, path in known.items()
    }
    assert circles(arrows) == []


def imported(name: str, names: list[str], known: Container[str]) -> set[str]:
    """The modules that such an import runs for their content; not the face of a room that is asked for a module."""
    modules = {full for part in names if (full := f"{name}.{part}") in known}
    return modules | ({name} if name in known and (not names or len(modules) < len(names)) else set())


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Those who reach each other, in groups."""
    reach = {start: reachable(arrows, start) for start in arrows}
    groups = {
        tuple(sorted(other for other in reach[start] if start in reach[other]))
        for start in arrows
        if start in reach[start]
    }
    return [list(group) for group in sorted(groups)]


def reachable(arrows: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    left = list(arrows[start])
    while left:
        here = left.pop()
        if here not in found:
            found.add(here)
            left += arrows.get(here, ())
    return found
