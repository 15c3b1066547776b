"""Tables as the text of Apache's tools: cells padded to widths that grow with what is in them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["MISSING", "Rows", "or_missing", "padded_lines", "padded_table", "widest"]

#: columns grow beyond this for what is longer
_NAME_WIDTH = 15
MISSING = "-"
Rows = Sequence[Sequence[object]]


def padded_lines(widths: Sequence[int], head: Sequence[object], rows: Rows) -> list[str]:
    """Each cell padded to its width; cells beyond the widths, as a rule the last one, are left as they are."""
    return [
        " ".join(
            [*(str(c).ljust(w) for c, w in zip(row, widths, strict=False)), *map(str, row[len(widths) :])]
        )
        for row in (head, *rows)
    ]


def padded_table(widths: Sequence[int], head: Sequence[object], rows: Rows) -> str:
    """The form most of the tools' tables have: an empty line first."""
    return "\n".join(["", *padded_lines(widths, head, rows)])


def widest(texts: Iterable[str], least: int = _NAME_WIDTH) -> int:
    return max([least, *map(len, texts)])


def or_missing(value: object) -> object:
    return MISSING if value is None else value
