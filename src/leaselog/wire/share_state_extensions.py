"""Share state that says until when records wait: Kafka's messages and records, with a tag that others skip.

``due_ms`` is a time of day, in ms since 1970: the leader that reads it is another process than the one that wrote it,
and has another clock. Without it a stretch has the bytes that Kafka knows, and Kafka's tools read either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaselog.wire.messages import (
    read_share_group_state as read,
)
from leaselog.wire.messages import (
    share_records as records,
)
from leaselog.wire.messages import (
    write_share_group_state as write,
)
from leaselog.wire.schema import ALWAYS, Field, Message
from leaselog.wire.share_extensions import FIRST_EXTENSION_TAG

__all__ = [
    "AT_ONCE",
    "ReadWaitingStateBatch",
    "RecordedWaitingStateBatch",
    "WaitingPartitionData",
    "WaitingPartitionResult",
    "WaitingReadResponse",
    "WaitingReadResult",
    "WaitingSnapshotValue",
    "WaitingUpdateValue",
    "WaitingWriteData",
    "WaitingWriteRequest",
    "WriteWaitingStateBatch",
]

#: no wait, or one that nobody wrote down
AT_ONCE = 0

_DUE = Field("due_ms", "int64", tag=FIRST_EXTENSION_TAG, tagged=ALWAYS, default=AT_ONCE)


def _with(fields: tuple[Field, ...], name: str, kind: type[Message]) -> tuple[Field, ...]:
    """The same fields, with structs of another class in this one."""
    return tuple(field._replace(kind=kind) if field.name == name else field for field in fields)


# in the records of __share_group_state


class RecordedWaitingStateBatch(records.StateBatch):
    __slots__ = ("due_ms",)
    FIELDS = (*records.StateBatch.FIELDS, _DUE)  # type: ignore[assignment] # one more than the base has

    def __init__(self, *, due_ms: int = AT_ONCE, **others: Any) -> None:
        super().__init__(**others)
        self.due_ms = due_ms


class WaitingSnapshotValue(records.ShareSnapshotValue):
    __slots__ = ()
    state_batches: Sequence[RecordedWaitingStateBatch]
    FIELDS = _with(records.ShareSnapshotValue.FIELDS, "state_batches", RecordedWaitingStateBatch)  # type: ignore[assignment]


class WaitingUpdateValue(records.ShareUpdateValue):
    __slots__ = ()
    state_batches: Sequence[RecordedWaitingStateBatch]
    FIELDS = _with(records.ShareUpdateValue.FIELDS, "state_batches", RecordedWaitingStateBatch)  # type: ignore[assignment]


# in answers to ReadShareGroupState


class ReadWaitingStateBatch(read.StateBatch):
    __slots__ = ("due_ms",)
    FIELDS = (*read.StateBatch.FIELDS, _DUE)  # type: ignore[assignment] # one more than the base has

    def __init__(self, *, due_ms: int = AT_ONCE, **others: Any) -> None:
        super().__init__(**others)
        self.due_ms = due_ms


class WaitingPartitionResult(read.PartitionResult):
    __slots__ = ()
    state_batches: Sequence[ReadWaitingStateBatch]
    FIELDS = _with(read.PartitionResult.FIELDS, "state_batches", ReadWaitingStateBatch)  # type: ignore[assignment]


class WaitingReadResult(read.ReadStateResult):
    __slots__ = ()
    partitions: Sequence[WaitingPartitionResult]
    FIELDS = _with(read.ReadStateResult.FIELDS, "partitions", WaitingPartitionResult)  # type: ignore[assignment]


class WaitingReadResponse(read.ReadShareGroupStateResponse):
    __slots__ = ()
    results: Sequence[WaitingReadResult]
    FIELDS = _with(read.ReadShareGroupStateResponse.FIELDS, "results", WaitingReadResult)  # type: ignore[assignment]


# in WriteShareGroupState


class WriteWaitingStateBatch(write.StateBatch):
    __slots__ = ("due_ms",)
    FIELDS = (*write.StateBatch.FIELDS, _DUE)  # type: ignore[assignment] # one more than the base has

    def __init__(self, *, due_ms: int = AT_ONCE, **others: Any) -> None:
        super().__init__(**others)
        self.due_ms = due_ms


class WaitingPartitionData(write.PartitionData):
    __slots__ = ()
    state_batches: Sequence[WriteWaitingStateBatch]
    FIELDS = _with(write.PartitionData.FIELDS, "state_batches", WriteWaitingStateBatch)  # type: ignore[assignment]


class WaitingWriteData(write.WriteStateData):
    __slots__ = ()
    partitions: Sequence[WaitingPartitionData]
    FIELDS = _with(write.WriteStateData.FIELDS, "partitions", WaitingPartitionData)  # type: ignore[assignment]


class WaitingWriteRequest(write.WriteShareGroupStateRequest):
    __slots__ = ()
    topics: Sequence[WaitingWriteData]
    FIELDS = _with(write.WriteShareGroupStateRequest.FIELDS, "topics", WaitingWriteData)  # type: ignore[assignment]
