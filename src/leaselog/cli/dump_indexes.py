"""Indexes in the lines of Apache's DumpLogSegments, and whether they fit the log they belong to."""

from __future__ import annotations

import argparse
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from leaselog.cli.arguments import CommandFailed
from leaselog.cli.dump_files import Findings, batches, mapped
from leaselog.wire.primitives import Buffer
from leaselog.wire.records import scan_records

__all__ = ["dump_index", "dump_time_index"]

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


def dump_index(file: Path, args: argparse.Namespace, findings: Findings) -> None:
    base = _base_offset(file)
    data = _index_bytes(file)
    entries = [(base + offset, position) for offset, position in _whole(_OFFSET_ENTRY, data)]
    if not entries:
        print(f"{file} is empty.")
        return
    if args.index_sanity_check:
        is_sane = len(data) % _OFFSET_ENTRY.size == 0 and entries[-1][0] >= base
        _report_sanity(file, is_sane)
        return
    with mapped(file.with_suffix(".log")) as log:
        for i, (offset, position) in enumerate(entries):
            if i > 0 and offset == base:
                break  # the rest was allocated ahead
            found = next((h for _, h in batches(log, len(log), position)), None)
            if found is not None and found.end_offset - 1 != offset:
                line = f"  Index offset: {offset}, log offset: {found.end_offset - 1}"
                findings.index(f"Mismatches in :{file.absolute()}", line)
            if not args.verify_index_only:
                print(f"offset: {offset} position: {position}")


def dump_time_index(file: Path, args: argparse.Namespace, findings: Findings) -> None:
    base = _base_offset(file)
    data = _index_bytes(file)
    entries = [(timestamp, base + offset) for timestamp, offset in _whole(_TIME_ENTRY, data)]
    if not entries:
        print(f"{file} is empty.")
        return
    if args.index_sanity_check:
        first, last = entries[0], entries[-1]
        is_whole = len(data) % _TIME_ENTRY.size == 0
        _report_sanity(file, is_whole and last[0] >= first[0] and last[1] >= base)
        return
    positions = _Positions(file.with_suffix(".index"), base)
    with mapped(file.with_suffix(".log")) as log:
        previous = -1
        for i, (timestamp, offset) in enumerate(entries):
            if i > 0 and (timestamp, offset) == (0, base):
                break
            _check_time(log, positions.before(offset), (timestamp, offset), previous, file, findings)
            if not args.verify_index_only:
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp


class _Positions:
    """Where to begin looking for an offset: the offset index, as far as it can be trusted."""

    def __init__(self, file: Path, base: int) -> None:
        entries = list(_whole(_OFFSET_ENTRY, file.read_bytes())) if file.exists() else []
        self._entries = [(base + offset, position) for offset, position in entries if offset > 0]

    def before(self, offset: int) -> int:
        at = bisect_right(self._entries, (offset, 2**31)) - 1
        return self._entries[at][1] if at >= 0 else 0


def _check_time(
    log: Buffer, position: int, entry: tuple[int, int], previous: int, file: Path, findings: Findings
) -> None:
    """Whether the batch that ends with the entry's offset has the entry's timestamp, and a later one than before."""
    timestamp, offset = entry
    batch = next(((p, h) for p, h in batches(log, len(log), position) if h.end_offset > offset), None)
    found = -1 if batch is None else batch[1].end_offset - 1
    if batch is None or found != offset:
        title = f"The following indexed offsets are not found in :{file.absolute()}"
        findings.time_index(title, f"Indexed offset: {offset}, found log offset: {found}")
        return
    latest = max((r.timestamp_ms for r in scan_records(log, batch[1], batch[0])), default=-1)
    if latest != timestamp:
        title = f"Found timestamp mismatch in :{file.absolute()}"
        findings.time_index(title, f"  Index timestamp: {timestamp}, log timestamp: {latest}")
    if previous >= timestamp:
        title = f"Found out of order timestamp in :{file.absolute()}"
        line = f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}"
        findings.time_index(title, line)


def _index_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        if not file.with_suffix(".log").exists():
            raise
        raise CommandFailed(
            f"{file}: not there yet; the index of an active segment is in memory until it is rolled or the broker stops"
        ) from None


def _report_sanity(file: Path, is_sane: bool) -> None:
    if not is_sane:
        raise CommandFailed(f"{file}: the index is corrupt")
    print(f"{file} passed sanity check.")


def _whole(entry: Struct, data: bytes) -> Iterator[tuple[int, int]]:
    return entry.iter_unpack(data[: len(data) - len(data) % entry.size])


def _base_offset(file: Path) -> int:
    if not file.stem.isdecimal():
        raise CommandFailed(f"{file}: the name does not begin with an offset")
    return int(file.stem)
