"""A partition's directory as the log finds it when it opens."""

from __future__ import annotations

from contextlib import suppress

from fuzz.targets.target import NOW_MS, TOPIC_ID, Unwanted
from leaselog.log import (
    LogConfig,
    MemoryFiles,
    PartitionLog,
    UnusableLog,
    finish,
)
from leaselog.log.files import Files
from leaselog.log.layout import EPOCHS, INDEX, LOG, METADATA, SNAPSHOT, SWAP, TIME_INDEX, segment_path
from leaselog.model import Refused
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import (
    iterate_headers,
    rewrite_header,
)
from leaselog.wire.records import Record, build_batch

__all__ = ["DIRECTORY", "opened", "seal", "segments"]

DIRECTORY = "data/t-0"
_FILES = (
    *(segment_path(DIRECTORY, base, suffix) for base in (0, 3) for suffix in (LOG, INDEX, TIME_INDEX, SNAPSHOT)),
    segment_path(DIRECTORY, 3, LOG + SWAP),
    f"{DIRECTORY}/{EPOCHS}",
    f"{DIRECTORY}/{METADATA}",
)  # fmt: skip
_CLEAN, _SEALED = 0x01, 0x02


def segments(data: bytes) -> None:
    """A partition's directory: a byte of flags, then number, size and content of one file after the other.

    Whatever is in the files, the log opens or says that it is unusable; it then takes records and gives them back; and
    opening it once more, as after a crash, finds what was there.
    """
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    flags = _put_files(files, data)
    try:
        log = opened(files, is_clean=bool(flags & _CLEAN))
        found = _everything(log)
        log.append(_batch(b"new"), leader_epoch=9, now_ms=NOW_MS)
        log.flush()
        end, found = log.end_offset, _everything(log)
        log.abandon()
        # After a clean stop that was none the files were taken at their word: now they are looked at.
        again = opened(files, is_clean=False)
    except UnusableLog:
        return
    if not flags & _CLEAN:
        assert (again.end_offset, _everything(again)) == (end, found), "recovering again changes nothing"
    again.close()
    once_more = opened(files, is_clean=True)
    assert _everything(once_more) == _everything(again)


def _put_files(files: Files, data: bytes) -> int:
    if len(data) < 4:
        raise Unwanted
    flags, position = data[0], 1
    while position + 3 <= len(data):
        number, size = data[position], int.from_bytes(data[position + 1 : position + 3], "big")
        content = bytearray(data[position + 3 : position + 3 + size])
        position += 3 + size
        if flags & _SEALED and number < len(_FILES) and LOG in _FILES[number]:
            seal(content)
        if number < len(_FILES):
            file = files.open(_FILES[number], writable=True, create=True)
            file.truncate(0)
            file.write_at(0, content)
    return flags


def seal(content: bytearray) -> None:
    """Make the checksums right, so that what is wrong is found by somebody else."""
    with suppress(DecodeError):
        for position, header in [*iterate_headers(content)]:
            rewrite_header(content, position, header)


def opened(files: Files, *, is_clean: bool) -> PartitionLog:
    return PartitionLog.open(
        files, DIRECTORY, TOPIC_ID, LogConfig(), now_ms=NOW_MS, clean=is_clean, recovery_point=0
    )


def _batch(value: bytes) -> bytearray:
    return build_batch([Record(b"k", value, timestamp_ms=NOW_MS)])


def _everything(log: PartitionLog) -> bytes:
    """What a reader gets, from the log's start on; a corrupt batch is where it ends."""
    position, found = log.start_offset, b""
    with suppress(DecodeError):
        finish(log.max_timestamp())
    with suppress(DecodeError):
        finish(log.offset_for_timestamp(NOW_MS))
    while position < log.end_offset:
        data = log.read(position, 4096, log.end_offset)
        if isinstance(data, Refused) or not data:
            return found
        try:
            for _, header in iterate_headers(data):
                assert header.end_offset > position, "a reader gets on"
                position = header.end_offset
        except DecodeError:
            return found
        found += data
    return found
