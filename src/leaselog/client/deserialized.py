"""What records of both kinds of consumers have in common: a key and a value that may not have been deserialised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar, cast

from leaselog.client.share.errors import RecordDeserializationError
from leaselog.wire.record_batch import TimestampType
from leaselog.wire.records import RecordHeader

__all__ = ["Deserialized"]

K = TypeVar("K", covariant=True)
V = TypeVar("V", covariant=True)


class Deserialized(Generic[K, V]):
    """What is made for each record sets all of this itself: one call less, very often."""

    __slots__ = (
        "_key",
        "_value",
        "error",
        "headers",
        "leader_epoch",
        "offset",
        "raw_key",
        "raw_value",
        "timestamp_ms",
        "timestamp_type",
    )

    _key: object
    _value: object
    offset: int
    raw_key: bytes | None
    raw_value: bytes | None
    headers: Sequence[RecordHeader]
    timestamp_ms: int
    timestamp_type: TimestampType
    #: -1 if the broker did not say
    leader_epoch: int
    error: RecordDeserializationError | None

    @property
    def key(self) -> K | None:
        """Raises ``RecordDeserializationError`` if it is the key that could not be deserialised."""
        if self.error is not None and self.error.part == "key":
            raise self.error
        return cast("K | None", self._key)

    @property
    def value(self) -> V:
        """The value; None for a null one, whatever ``V`` says. Raises ``RecordDeserializationError``."""
        if self.error is not None and self.error.part == "value":
            raise self.error
        return cast("V", self._value)
