"""What was fetched and not handed out yet, turned into records when the application asks for them. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from leaselog.client.compiled_records import RecordReader
from leaselog.client.consumer.record import ConsumerRecord
from leaselog.client.errors import BrokerError
from leaselog.client.fetcher import Fetched
from leaselog.client.share.deserializers import Deserializer, as_bytes, deserialized
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import BatchHeader, check_crc
from leaselog.wire.records import Record

__all__ = ["Decoding", "WaitingRecords"]


@dataclass(frozen=True, slots=True)
class Decoding:
    key: Deserializer[Any]
    value: Deserializer[Any]
    check_crcs: bool
    read: RecordReader


class WaitingRecords:
    """Of each partition what one fetch brought: `add` when `take` has come to the end of it, or it was dropped."""

    def __init__(self, decoding: Decoding) -> None:
        self._decoding = decoding
        self._parts = dict[TopicPartition, _Part]()

    def __contains__(self, where: object) -> bool:
        return where in self._parts

    def add(self, fetched: Fetched) -> None:
        assert fetched.where not in self._parts, f"{fetched.where} was fetched twice"
        self._parts[fetched.where] = _Part(fetched)

    def drop(self, where: TopicPartition) -> None:
        self._parts.pop(where, None)

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset to be handed out of each."""
        return {where: part.next for where, part in self._parts.items()}

    def take(
        self, limit: int, paused: Container[TopicPartition]
    ) -> tuple[list[ConsumerRecord[Any, Any]], dict[TopicPartition, int]]:
        """Records, ``limit`` at most, and of each partition where what was taken ends.

        Raises ``BrokerError`` for a batch that cannot be read, when it is the next thing there is.
        """
        records = list[ConsumerRecord[Any, Any]]()
        ends = dict[TopicPartition, int]()
        for where in [where for where in self._parts if where not in paused]:
            part = self._parts[where]
            try:
                part.take(limit, self._decoding, records)
            except DecodeError as bad:
                if not records:
                    self._parts[where] = self._parts.pop(where)  # the others have their turn before it
                    raise _unreadable(where, part.next, bad) from bad
            ends[where] = part.next
            if part.is_empty:
                del self._parts[where]
            if len(records) >= limit:
                break
        return records, ends


class _Part:
    def __init__(self, fetched: Fetched) -> None:
        self._fetched = fetched
        self._at = 0
        #: of the batch that is being handed out, and how many of them were
        self._records: list[Record] = []
        self._given = 0
        #: everything before this offset was handed out, or is not for applications
        self.next = fetched.start

    @property
    def is_empty(self) -> bool:
        return self._at == len(self._fetched.batches) and self._given == len(self._records)

    def take(self, limit: int, decoding: Decoding, into: list[ConsumerRecord[Any, Any]]) -> None:
        batches = self._fetched.batches
        while len(into) < limit:
            if self._given == len(self._records):
                if self._at == len(batches):
                    break
                position, header = batches[self._at]
                if decoding.check_crcs:
                    check_crc(self._fetched.data, header, position)
                read = decoding.read(self._fetched.data, header, position)
                self._records = [record for record in read if record.offset >= self.next]
                self._given = 0
                self._at += 1
            header = batches[self._at - 1][1]
            chosen = self._records[self._given : self._given + limit - len(into)]
            into += _made(self._fetched.where, header, chosen, decoding)
            self._given += len(chosen)
            is_through = self._given == len(self._records)
            self.next = header.end_offset if is_through else chosen[-1].offset + 1
        if self.is_empty:
            self.next = self._fetched.end


def _made(
    where: TopicPartition, header: BatchHeader, records: list[Record], decoding: Decoding
) -> list[ConsumerRecord[Any, Any]]:
    timestamp_type, epoch = header.timestamp_type, header.leader_epoch
    if decoding.key is as_bytes and decoding.value is as_bytes:
        return [
            ConsumerRecord(
                where, offset, key, value, key, value, headers, timestamp_ms, timestamp_type, epoch
            )
            for key, value, headers, timestamp_ms, offset in records
        ]
    made = list[ConsumerRecord[Any, Any]]()
    for key, value, headers, timestamp_ms, offset in records:
        new_key, new_value, error = deserialized(decoding.key, decoding.value, key, value, where, offset)
        made.append(
            ConsumerRecord(
                where,
                offset,
                new_key,
                new_value,
                key,
                value,
                headers,
                timestamp_ms,
                timestamp_type,
                epoch,
                error,
            )
        )
    return made


def _unreadable(where: TopicPartition, offset: int, bad: DecodeError) -> BrokerError:
    words = f"{where} cannot be read at offset {offset}: {bad}. To go on without it, seek beyond it"
    return BrokerError(ErrorCode.CORRUPT_MESSAGE, words)
