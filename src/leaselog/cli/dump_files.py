"""Files as `leaselog dump-log` reads them: mapped, a batch at a time; and what it finds that does not fit together."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaselog.wire.errors import DecodeError
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    read_header,
)

__all__ = ["Findings", "batches", "mapped"]


class Findings:
    """What does not fit together, told on stderr after everything else: a title for each file, and lines."""

    def __init__(self) -> None:
        self._indexes = dict[str, list[str]]()
        self._time_indexes = dict[str, list[str]]()
        self._logs = dict[str, list[str]]()

    def index(self, title: str, line: str) -> None:
        self._indexes.setdefault(title, []).append(line)

    def time_index(self, title: str, line: str) -> None:
        self._time_indexes.setdefault(title, []).append(line)

    def log(self, title: str, line: str) -> None:
        self._logs.setdefault(title, []).append(line)

    def print(self) -> None:
        for title, lines in (*self._indexes.items(), *self._time_indexes.items(), *self._logs.items()):
            print("\n".join((title, *lines)), file=sys.stderr)


@contextmanager
def mapped(file: Path) -> Iterator[Buffer]:
    with file.open("rb") as opened:
        if file.stat().st_size == 0:  # which cannot be mapped
            yield b""
            return
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            yield view


def batches(data: Buffer, limit: int, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Batches that are wholly there, up to the first thing that is none."""
    while limit - position >= HEADER_BYTES:
        try:
            header = read_header(data, position)
        except DecodeError:
            return
        if position + header.size_bytes > len(data):
            return
        yield position, header
        position += header.size_bytes
