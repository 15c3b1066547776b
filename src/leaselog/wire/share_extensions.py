"""ShareFetch and ShareAcknowledge as leaselog's clients ask them: Kafka's requests, with tags that others skip.

A request without them has the bytes that Kafka knows: the broker reads every request as one of these, and our clients
send no others. What the tags of a batch of acknowledgements add:

- ``release_delay_ms``: its released records are not handed out again before so much time has passed.
- ``reject_reason``: why its rejected records are; for the header of their dead letters.
- ``given_back``: nobody has begun to work on its released records, so the delivery is not counted.

What a fetch of ranges alone is answered stands in `share_fetch_ranges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaselog.wire.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from leaselog.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from leaselog.wire.schema import ALWAYS, Field, Message

__all__ = [
    "FIRST_EXTENSION_TAG",
    "NO_DELAY",
    "ExtendedAcknowledgePartition",
    "ExtendedAcknowledgeTopic",
    "ExtendedAcknowledgementBatch",
    "ExtendedFetchPartition",
    "ExtendedFetchTopic",
    "ExtendedShareAcknowledgeRequest",
    "ExtendedShareFetchRequest",
]

#: far from where Kafka's tags grow
FIRST_EXTENSION_TAG = 10_000
#: whether there is a pause, and which, is the group's to say
NO_DELAY = -1


class ExtendedAcknowledgementBatch(AcknowledgementBatch):
    """In either request: Kafka defines the same struct twice."""

    __slots__ = ("given_back", "reject_reason", "release_delay_ms")
    FIELDS = (  # type: ignore[assignment] # more than the base has
        *AcknowledgementBatch.FIELDS,
        Field("release_delay_ms", "int64", tag=FIRST_EXTENSION_TAG, tagged=ALWAYS, default=NO_DELAY),
        Field(
            "reject_reason",
            "string",
            tag=FIRST_EXTENSION_TAG + 1,
            tagged=ALWAYS,
            nullable=ALWAYS,
            default=None,
        ),
        Field("given_back", "bool", tag=FIRST_EXTENSION_TAG + 2, tagged=ALWAYS, default=False),
    )

    def __init__(
        self,
        *,
        release_delay_ms: int = NO_DELAY,
        reject_reason: str | None = None,
        given_back: bool = False,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.release_delay_ms = release_delay_ms
        self.reject_reason = reject_reason
        self.given_back = given_back


def _with(fields: tuple[Field, ...], name: str, kind: type[Message]) -> tuple[Field, ...]:
    """The same fields, with structs of another class in this one."""
    return tuple(field._replace(kind=kind) if field.name == name else field for field in fields)


class ExtendedFetchPartition(FetchPartition):
    __slots__ = ()
    acknowledgement_batches: Sequence[ExtendedAcknowledgementBatch]
    FIELDS = _with(FetchPartition.FIELDS, "acknowledgement_batches", ExtendedAcknowledgementBatch)  # type: ignore[assignment]


class ExtendedFetchTopic(FetchTopic):
    __slots__ = ()
    partitions: Sequence[ExtendedFetchPartition]
    FIELDS = _with(FetchTopic.FIELDS, "partitions", ExtendedFetchPartition)  # type: ignore[assignment]


class ExtendedShareFetchRequest(ShareFetchRequest):
    __slots__ = ("ranges_only",)
    topics: Sequence[ExtendedFetchTopic]
    FIELDS = (  # type: ignore[assignment] # one more than the base has
        *_with(ShareFetchRequest.FIELDS, "topics", ExtendedFetchTopic),
        Field("ranges_only", "bool", tag=FIRST_EXTENSION_TAG, tagged=ALWAYS, default=False),
    )

    def __init__(self, *, ranges_only: bool = False, **others: Any) -> None:
        super().__init__(**others)
        self.ranges_only = ranges_only


class ExtendedAcknowledgePartition(AcknowledgePartition):
    __slots__ = ()
    acknowledgement_batches: Sequence[ExtendedAcknowledgementBatch]  # type: ignore[assignment] # see there
    FIELDS = _with(AcknowledgePartition.FIELDS, "acknowledgement_batches", ExtendedAcknowledgementBatch)  # type: ignore[assignment]

    def __init__(
        self,
        *,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[ExtendedAcknowledgementBatch] = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = acknowledgement_batches


class ExtendedAcknowledgeTopic(AcknowledgeTopic):
    __slots__ = ()
    partitions: Sequence[ExtendedAcknowledgePartition]
    FIELDS = _with(AcknowledgeTopic.FIELDS, "partitions", ExtendedAcknowledgePartition)  # type: ignore[assignment]


class ExtendedShareAcknowledgeRequest(ShareAcknowledgeRequest):
    __slots__ = ()
    topics: Sequence[ExtendedAcknowledgeTopic]
    FIELDS = _with(ShareAcknowledgeRequest.FIELDS, "topics", ExtendedAcknowledgeTopic)  # type: ignore[assignment]
