"""The answer to a ShareFetch of who needs no records: an extension of leaselog's, in tagged fields that others skip.

A planner of work that others carry out wants to know which offsets it holds, not what is in them. It says so in a tag
of the request (`share_extensions`); a broker of ours then answers what was acquired with empty records, and says in a
tag how large the log batches are that it left out. Any other broker sends them along, which is as good, only longer.
"""

from __future__ import annotations

from typing import Any

from leaselog.wire.messages.share_fetch import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from leaselog.wire.schema import ALWAYS, Field
from leaselog.wire.share_extensions import FIRST_EXTENSION_TAG, ExtendedShareFetchRequest

__all__ = [
    "RangesPartitionData",
    "RangesShareFetchResponse",
    "RangesTopicResponse",
    "wants_ranges_only",
    "without_records",
]


class RangesPartitionData(PartitionData):
    __slots__ = ("left_out_bytes",)
    FIELDS = (  # type: ignore[assignment] # one more than the base has
        *PartitionData.FIELDS,
        Field("left_out_bytes", "int64", tag=FIRST_EXTENSION_TAG, tagged=ALWAYS, default=0),
    )

    def __init__(self, *, left_out_bytes: int = 0, **others: Any) -> None:
        super().__init__(**others)
        #: of the log batches that hold what was acquired
        self.left_out_bytes = left_out_bytes


class RangesTopicResponse(ShareFetchableTopicResponse):
    __slots__ = ()
    FIELDS = tuple(  # type: ignore[assignment] # as many as the base has
        field._replace(kind=RangesPartitionData) if field.kind is PartitionData else field
        for field in ShareFetchableTopicResponse.FIELDS
    )


class RangesShareFetchResponse(ShareFetchResponse):
    __slots__ = ()
    FIELDS = tuple(  # type: ignore[assignment] # as many as the base has
        field._replace(kind=RangesTopicResponse) if field.kind is ShareFetchableTopicResponse else field
        for field in ShareFetchResponse.FIELDS
    )


def wants_ranges_only(request: ShareFetchRequest) -> bool:
    return isinstance(request, ExtendedShareFetchRequest) and request.ranges_only


def without_records(answer: ShareFetchResponse) -> RangesShareFetchResponse:
    """The same answer, with the sizes of records in place of the records."""
    topics = [
        RangesTopicResponse(
            topic_id=topic.topic_id, partitions=[_left_out(data) for data in topic.partitions]
        )
        for topic in answer.responses
    ]
    return RangesShareFetchResponse(**{**_fields(answer), "responses": topics})


def _left_out(data: PartitionData) -> RangesPartitionData:
    size_bytes = len(data.records or b"")
    return RangesPartitionData(left_out_bytes=size_bytes, **{**_fields(data), "records": b""})


def _fields(message: ShareFetchResponse | PartitionData) -> dict[str, Any]:
    return {field.name: getattr(message, field.name) for field in message.FIELDS}
