"""What the pipeline shows while it runs: bars at a terminal, a line now and then everywhere else. On stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from leaselog.cli.extras import can_draw
from leaselog.cli.output import progress_line

__all__ = ["Display"]

_LIVE_INTERVAL_S = 0.1
_PLAIN_INTERVAL_S = 5.0


class Display:
    """Use as ``with``."""

    def __init__(self, orders: int) -> None:
        self._orders = orders
        self._bars = _Bars(orders) if sys.stderr.isatty() and can_draw() else _Lines(orders)

    def __enter__(self) -> Display:
        self._bars.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.close()

    def stage(self, what: str) -> None:
        self._bars.stage(what)

    def produced(self, count: int) -> None:
        self._bars.produced(count)

    def at(self, done: int, batches: int, deliveries: int) -> None:
        self._bars.done(done, batches, deliveries)

    @contextmanager
    def following(self, sent: Callable[[], int]) -> Iterator[None]:
        """Shows how many orders have come in, while the caller does something else."""
        over = threading.Event()

        def follow() -> None:
            while not over.wait(_LIVE_INTERVAL_S):
                self._bars.produced(sent())

        thread = threading.Thread(target=follow, name="display", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class _Bars:
    def __init__(self, orders: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description:9}"), BarColumn(40), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}"),
        )  # fmt: skip
        self._progress: Any = Progress(*columns, console=Console(stderr=True), transient=True)
        self._produced = self._progress.add_task("produced", total=orders, note="")
        self._done = self._progress.add_task("done", total=orders, note="")

    def open(self) -> None:
        self._progress.start()

    def close(self) -> None:
        self._progress.stop()

    def stage(self, what: str) -> None:
        self._progress.update(self._done, note=what)

    def produced(self, count: int) -> None:
        self._progress.update(self._produced, completed=count)

    def done(self, count: int, batches: int, deliveries: int) -> None:
        note = _note(batches, deliveries, count) if batches else None
        more = {} if note is None else {"note": note}
        self._progress.update(self._done, completed=count, **more)


class _Lines:
    def __init__(self, orders: int) -> None:
        self._orders = orders
        self._shown = self._began = time.monotonic()
        self._count = 0

    def open(self) -> None:
        """Nothing to see yet."""

    def close(self) -> None:
        """A line stays where it is."""

    def stage(self, what: str) -> None:
        self._say(what)

    def produced(self, count: int) -> None:
        if self._is_news(count):
            self._say(progress_line("produced", count, self._orders, time.monotonic() - self._began))

    def done(self, count: int, batches: int, deliveries: int) -> None:
        if self._is_news(count):
            self._say(f"done: {count:,} of {self._orders:,}, {_note(batches, deliveries, count)}")

    def _is_news(self, count: int) -> bool:
        if count == self._count or time.monotonic() - self._shown < _PLAIN_INTERVAL_S:
            return False
        self._count = count
        return True

    def _say(self, text: str) -> None:
        self._shown = time.monotonic()
        print(text, file=sys.stderr, flush=True)


def _note(batches: int, deliveries: int, done: int) -> str:
    return f"{batches} batches, {max(0, deliveries - done):,} deliveries were not the last"
