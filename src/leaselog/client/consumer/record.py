"""A record as a consumer hands it out: what it says, and where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from leaselog.client.deserialized import Deserialized
from leaselog.client.share.errors import RecordDeserializationError
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import TimestampType
from leaselog.wire.records import RecordHeader

__all__ = ["ConsumerRecord"]

K = TypeVar("K", covariant=True)
V = TypeVar("V", covariant=True)


class ConsumerRecord(Deserialized[K, V]):
    """Of the same shape as a share record, without what has to do with its lease.

    A record that could not be deserialised has an ``error``; its ``key`` or ``value`` then raises that, while
    ``raw_key`` and ``raw_value`` are there always.
    """

    __slots__ = ("topic_partition",)

    def __init__(
        self,
        topic_partition: TopicPartition,
        offset: int,
        key: object = None,
        value: object = None,
        raw_key: bytes | None = None,
        raw_value: bytes | None = None,
        headers: Sequence[RecordHeader] = (),
        timestamp_ms: int = -1,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        leader_epoch: int = -1,
        error: RecordDeserializationError | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.offset = offset
        self._key = key
        self._value = value
        self.raw_key = raw_key
        self.raw_value = raw_value
        self.headers = headers
        self.timestamp_ms = timestamp_ms
        self.timestamp_type = timestamp_type
        self.leader_epoch = leader_epoch
        self.error = error

    @property
    def topic(self) -> str:
        return self.topic_partition.topic

    @property
    def partition(self) -> int:
        return self.topic_partition.partition

    def __repr__(self) -> str:
        error = f" error={self.error}" if self.error else ""
        return f"ConsumerRecord({self.topic_partition} offset={self.offset}{error})"
