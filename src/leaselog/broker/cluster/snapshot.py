"""Snapshots of the cluster's log: files of Kafka's format and naming (`<end offset>-<epoch>.checkpoint`).

A control batch opens the file and one closes it; between them are the records that give the state again. A file
gets its name only after all of it is on disk, so one that has the name is whole, or the disk has lied.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from itertools import islice

from leaselog.log import Files, UnusableLog, read_whole
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import check_crc, iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

__all__ = ["find_snapshot", "read_snapshot", "remove_older", "write_snapshot"]

SUFFIX = ".checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_CONTROL_KEY = struct.Struct(">hh")
#: control record types
_HEADER, _FOOTER = 3, 4
RECORDS_PER_BATCH = 1000


def find_snapshot(files: Files, directory: str) -> int | None:
    """The end offset of the newest snapshot, or None."""
    found = [int(match[1]) for name in files.names(directory) if (match := _NAME.fullmatch(name))]
    return max(found, default=None)


def write_snapshot(
    files: Files, directory: str, end_offset: int, epoch: int, values: Iterable[bytes], *, now_ms: int
) -> None:
    """Durable when this returns. ``values`` are the state before ``end_offset``. Raises ``OSError``."""
    path = _path(directory, end_offset, epoch)
    # A name that opening the log sweeps away, should the process die now.
    temporary = path + ".tmp"
    file = files.open(temporary, writable=True, create=True)
    try:
        file.truncate(0)
        size_bytes = 0
        for batch in _batches(values, epoch, now_ms):
            file.write_at(size_bytes, batch)
            size_bytes += len(batch)
        file.sync()
    finally:
        file.close()
    files.rename(temporary, path)
    files.sync_directory(directory)


def remove_older(files: Files, directory: str, end_offset: int) -> None:
    """Removes every snapshot that ends before ``end_offset``."""
    for name in files.names(directory):
        match = _NAME.fullmatch(name)
        if match and int(match[1]) < end_offset:
            files.remove(f"{directory}/{name}")


def read_snapshot(files: Files, directory: str, end_offset: int, epoch: int) -> Iterator[bytes]:
    """The values of the state's records. Raises ``UnusableLog`` for a file that is not whole."""
    path = _path(directory, end_offset, epoch)
    data = read_whole(files, path)
    is_whole = False
    try:
        for position, header in iterate_headers(data):
            check_crc(data, header, position)
            for record in read_records(data, header, position):
                if not header.is_control:
                    yield record.value or b""
                elif record.key is not None:
                    is_whole = _CONTROL_KEY.unpack_from(record.key)[1] == _FOOTER
    except (DecodeError, struct.error) as error:
        raise UnusableLog(f"{path}: {error}") from error
    if not is_whole:
        raise UnusableLog(f"{path} ends without its closing record")


def _path(directory: str, end_offset: int, epoch: int) -> str:
    return f"{directory}/{end_offset:020d}-{epoch:010d}{SUFFIX}"


def _batches(values: Iterable[bytes], epoch: int, now_ms: int) -> Iterator[bytes | bytearray]:
    offset = 0
    # SnapshotHeaderRecord: version, the time of the last record it stands for, no tagged fields.
    yield _control(_HEADER, struct.pack(">hqB", 0, now_ms, 0), offset, epoch, now_ms)
    offset += 1
    rest = iter(values)
    while chunk := list(islice(rest, RECORDS_PER_BATCH)):
        records = [Record(None, value, timestamp_ms=now_ms) for value in chunk]
        yield build_batch(records, base_offset=offset, leader_epoch=epoch)
        offset += len(chunk)
    yield _control(_FOOTER, struct.pack(">hB", 0, 0), offset, epoch, now_ms)


def _control(kind: int, value: bytes, offset: int, epoch: int, now_ms: int) -> bytearray:
    record = Record(_CONTROL_KEY.pack(0, kind), value, timestamp_ms=now_ms)
    return build_batch([record], base_offset=offset, leader_epoch=epoch, is_control=True)
