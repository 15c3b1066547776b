"""How commands print: tables for people at a terminal, Apache's plain lines for everything else, JSON for scripts.

rich is imported only when there is a terminal to be nice to; where it is missing, a terminal gets plain lines.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from leaselog.cli.extras import can_draw

__all__ = ["Progress", "check_reader", "is_terminal", "print_json", "print_table"]

#: seconds between two progress lines where nobody watches
_PLAIN_INTERVAL_S = 5.0
_LIVE_INTERVAL_S = 0.1


def is_terminal() -> bool:
    return sys.stdout.isatty()


def check_reader() -> None:
    """Raises ``BrokenPipeError`` when nobody reads standard output any more, which else only a write would tell."""
    if not hasattr(select, "poll"):
        return  # Windows, where the next write has to tell
    watching = select.poll()
    watching.register(sys.stdout.fileno(), 0)  # what went wrong is reported without being asked for
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in watching.poll(0)):
        raise BrokenPipeError


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    right: Sequence[str] = (),
) -> None:
    """A table, drawn at a terminal that rich is there for, else of columns. Columns in ``right`` are numbers."""
    cells = [[str(cell) for cell in row] for row in rows]
    if is_terminal() and can_draw():
        _print_rich(columns, cells, title, right)
        return
    if title:
        print(title)
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for row in (columns, *cells):
        aligned = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        )
        print("  ".join(aligned).rstrip())


def _print_rich(
    columns: Sequence[str], cells: list[list[str]], title: str | None, right: Sequence[str]
) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    for row in cells:
        table.add_row(*map(escape, row))
    Console().print(table)


class Progress:
    """One line on stderr that follows a count: redrawn at a terminal, else repeated now and then.

    ``total`` None is work without a known end.
    """

    def __init__(self, what: str, total: int | None) -> None:
        self._what, self._total = what, total
        self._began = self._shown = time.monotonic()
        self._live = sys.stderr.isatty()
        self._last = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live and self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def at(self, count: int) -> None:
        """So many are done. Costs next to nothing when it is not time to show it."""
        now = time.monotonic()
        if now - self._shown < (_LIVE_INTERVAL_S if self._live else _PLAIN_INTERVAL_S):
            return
        self._shown = now
        self._last = progress_line(self._what, count, self._total, now - self._began)
        sys.stderr.write(f"\r\x1b[K{self._last}" if self._live else self._last + "\n")
        sys.stderr.flush()


def progress_line(what: str, count: int, total: int | None, seconds: float) -> str:
    rate = f"{count / seconds:,.0f}/s" if seconds > 0 else "-"
    if not total:
        return f"{what}: {count:,}, {rate}"
    return f"{what}: {count:,} of {total:,} ({100 * count // total} %), {rate}"
