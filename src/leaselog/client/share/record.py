"""A record as a share consumer hands it out: what it says, where it lies, and how often it has been delivered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from leaselog.client.deserialized import Deserialized
from leaselog.client.share.acknowledgements import Lease, TopicIdPartition
from leaselog.client.share.errors import RecordDeserializationError
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import TimestampType
from leaselog.wire.records import RecordHeader

__all__ = ["ShareRecord"]

K = TypeVar("K", covariant=True)
V = TypeVar("V", covariant=True)


class ShareRecord(Deserialized[K, V]):
    """Two records are the same if they are the same delivery: a redelivered record is another object.

    A record that could not be deserialised has an ``error``; its ``key`` or ``value`` then raises that, while
    ``raw_key`` and ``raw_value`` are there always. Such a record is never accepted unless somebody insists.
    """

    __slots__ = ("delivery_count", "lease")

    def __init__(
        self,
        lease: Lease,
        offset: int,
        delivery_count: int,
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
        #: under which it was delivered, or renewed; nobody but the consumer has a reason to set it
        self.lease = lease
        self._key = key
        self._value = value
        self.offset = offset
        #: 1 for the first delivery
        self.delivery_count = delivery_count
        self.raw_key = raw_key
        self.raw_value = raw_value
        self.headers = headers
        self.timestamp_ms = timestamp_ms
        self.timestamp_type = timestamp_type
        self.leader_epoch = leader_epoch
        self.error = error

    @property
    def where(self) -> TopicIdPartition:
        return self.lease.where

    @property
    def topic(self) -> str:
        return self.lease.where.topic

    @property
    def partition(self) -> int:
        return self.lease.where.partition

    @property
    def topic_partition(self) -> TopicPartition:
        return self.lease.where.topic_partition

    @property
    def deliveries_left(self) -> int | None:
        """How many more deliveries the record can have; None if the group's limit is not known.

        `run` asks the cluster for the limit, if the cluster allows that.
        """
        limit = self.lease.delivery_limit
        return None if limit is None else max(0, limit - self.delivery_count)

    @property
    def is_last_attempt(self) -> bool:
        """Whether this is known to be the record's last delivery."""
        return self.deliveries_left == 0

    def __repr__(self) -> str:
        return (
            f"ShareRecord({self.topic}-{self.partition} offset={self.offset}"
            f" delivery_count={self.delivery_count}{f' error={self.error}' if self.error else ''})"
        )
