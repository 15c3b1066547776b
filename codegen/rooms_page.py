"""The pages on rooms and files: what each is for, in its own words, and which rooms a room leans on."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["files_page", "rooms_page"]

SOURCE = Path(__file__).parents[1] / "src" / "leaselog"
#: it puts the others together: an arrow to each of them would say nothing
TOP = "broker"


def rooms_page() -> str:
    lines = [
        "# Rooms",
        "",
        'Generated from the source; do not edit. An arrow says "imports from"; what another arrow implies is',
        "left out. The import contracts in `pyproject.toml` hold the order, and",
        "[ARCHITECTURE.md](../../ARCHITECTURE.md) says what follows from it.",
        "",
        "## The house",
        "",
        *_section(SOURCE, "leaselog", frozenset()),
        "",
        "## The broker",
        "",
        "`broker/broker.py` puts the rooms together and is left out of the picture.",
        "",
        *_section(SOURCE / "broker", "leaselog.broker", frozenset({TOP})),
    ]
    return "\n".join(lines) + "\n"


def files_page() -> str:
    lines = [
        "# Files",
        "",
        "Generated from the source; do not edit. Every file in its own words; [rooms](rooms.md) says how they stand to",
        "each other. Left out is `wire/messages`, which has a file for each of Kafka's APIs.",
    ]
    folders = sorted({path.parent for path in SOURCE.rglob("*.py")}, key=lambda folder: folder.parts)
    for folder in folders:
        files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        if not files or folder.name == "messages":
            continue
        where = folder.relative_to(SOURCE).as_posix()
        lines += [
            "",
            f"## {where if where != '.' else 'leaselog'}",
            "",
            "| file | what it is for |",
            "| --- | --- |",
        ]
        lines += [f"| `{path.name}` | {_first_line(path)} |" for path in files]
    return "\n".join(lines) + "\n"


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.partition("\n")[0].rstrip(".").replace("``", "`").replace("|", "\\|")


def _section(place: Path, package: str, left_out: frozenset[str]) -> list[str]:
    rooms = sorted(
        p.name for p in place.iterdir() if (p / "__init__.py").is_file() and p.name not in left_out
    )
    arrows = {room: _imported(place / room, package) & set(rooms) - {room} for room in rooms}
    reduced = _without_implied(arrows)
    picture = [f"    {room} --> {other}" for room in rooms for other in sorted(reduced[room])]
    table = [f"| `{room}` | {_says(place / room)} | {_listed(arrows[room])} |" for room in rooms]
    return [
        "```mermaid",
        "graph TD",
        *picture,
        "```",
        "",
        "| room | owns | leans on |",
        "| --- | --- | --- |",
        *table,
    ]


def _imported(room: Path, package: str) -> set[str]:
    """The neighbours that any file of the room imports from, also for types alone."""
    found = set()
    for path in room.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            found |= {
                name[len(package) + 1 :].split(".")[0] for name in names if name.startswith(package + ".")
            }
    return found


def _without_implied(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no way over another room replaces."""

    def reach(start: str) -> set[str]:
        return arrows[start].union(*map(reach, arrows[start])) if arrows[start] else set()

    return {
        room: {other for other in there if not any(other in reach(third) for third in there - {other})}
        for room, there in arrows.items()
    }


def _says(room: Path) -> str:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".").replace("``", "`")


def _listed(rooms: set[str]) -> str:
    return ", ".join(f"`{room}`" for room in sorted(rooms)) or "nothing"
