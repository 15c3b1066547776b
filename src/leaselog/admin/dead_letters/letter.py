"""A dead letter as a client sees it, and the record that is put back for it. Pure.

Whoever wrote the letter: leaselog and Apache Kafka 4.4 write the same headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaselog.model import TopicPartition
from leaselog.wire.dead_letter_headers import (
    DELIVERY_COUNT,
    ERRORS,
    GROUP,
    MESSAGE,
    OFFSET,
    PARTITION,
    REDRIVE,
    REDRIVE_GROUP,
    REDRIVE_HOPS,
    REDRIVE_LETTER,
    TOPIC,
)
from leaselog.wire.records import Record, RecordHeader

__all__ = ["Letter", "hops_of", "is_same", "own_headers", "put_back", "read_letter", "redrive_hops"]


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter, and what its headers say of the record that failed."""

    #: where the letter itself lies
    place: TopicPartition
    offset: int
    group_id: str
    #: where the record that failed lay
    source: TopicPartition
    source_offset: int
    delivery_count: int
    cause: str
    time_ms: int
    key: bytes | None
    value: bytes | None
    #: all of them, its own among them
    headers: Sequence[RecordHeader]

    @property
    def name(self) -> str:
        return f"{self.place}@{self.offset}"

    @property
    def has_content(self) -> bool:
        """Whether key or value are in it. A record without both is not told from one that was not copied."""
        return self.key is not None or self.value is not None


def read_letter(record: Record, place: TopicPartition) -> Letter | None:
    """None for a record that is no dead letter, or one whose headers nobody could have written.

    Nor is one that was put back: a letter that another group has failed with, and that is there for it once more.
    """
    told = {name: value.decode(errors="replace") for name, value in record.headers if value is not None}
    if REDRIVE_LETTER in told:
        return None
    try:
        return Letter(
            place,
            record.offset,
            told[GROUP],
            TopicPartition(told[TOPIC], int(told[PARTITION])),
            int(told[OFFSET]),
            int(told[DELIVERY_COUNT]),
            told.get(MESSAGE, ""),
            record.timestamp_ms,
            record.key,
            record.value,
            record.headers,
        )
    except (KeyError, ValueError):
        return None


def redrive_hops(headers: Sequence[RecordHeader]) -> int:
    """How often the record has been put back, as far as it says."""
    told = next((value for name, value in headers if name == REDRIVE_HOPS), None)
    return int(told) if told is not None and told.isdigit() else 0


def hops_of(letter: Letter, original: Record | None) -> int:
    """A leaselog broker copies the number into the letter; after others only the record itself knows."""
    return max(redrive_hops(letter.headers), redrive_hops(original.headers) if original else 0)


def is_same(letter: Letter, original: Record) -> bool:
    """Is this the record that failed? A topic that was made anew may have another one at its offset."""
    return not letter.has_content or (letter.key, letter.value) == (original.key, original.value)


def own_headers(headers: Sequence[RecordHeader]) -> list[RecordHeader]:
    """Those that the letter's writer added are left out."""
    return [header for header in headers if not header[0].startswith((ERRORS, REDRIVE))]


def put_back(letter: Letter, original: Record | None, hops: int, now_ms: int) -> Record:
    """The record as it failed, with its own headers if these can still be read; three more say where it comes from."""
    kept = [h for h in original.headers if not h[0].startswith(REDRIVE)] if original is not None else []
    content = (letter.key, letter.value)
    if original is not None and not letter.has_content:
        content = (original.key, original.value)
    headers = [
        *kept,
        (REDRIVE_LETTER, letter.name.encode()),
        (REDRIVE_GROUP, letter.group_id.encode()),
        (REDRIVE_HOPS, b"%d" % hops),
    ]
    return Record(*content, headers, now_ms)
