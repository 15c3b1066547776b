"""Share-state commands as requests to a share coordinator elsewhere, and its answers as ours.

A request is of one kind and one group and holds any number of keys, each once. Nothing but the names of the messages
differs between the five, so they are five rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import (
    DeleteState,
    InitializeState,
    KeyedCommand,
    ReadState,
    ShareStateAnswer,
    ShareSummary,
    StateRead,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.model import ErrorCode, Refused
from leaselog.wire.messages import delete_share_group_state as delete
from leaselog.wire.messages import initialize_share_group_state as initialize
from leaselog.wire.messages import read_share_group_state as read
from leaselog.wire.messages import read_share_group_state_summary as summary
from leaselog.wire.messages import write_share_group_state as write
from leaselog.wire.schema import Message
from leaselog.wire.share_state_extensions import (
    AT_ONCE,
    ReadWaitingStateBatch,
    WaitingPartitionData,
    WaitingReadResponse,
    WaitingWriteData,
    WaitingWriteRequest,
    WriteWaitingStateBatch,
)

__all__ = ["StateResponse", "answers_of", "known_code", "request_for"]

StateResponse: TypeAlias = (
    initialize.InitializeShareGroupStateResponse
    | read.ReadShareGroupStateResponse
    | write.WriteShareGroupStateResponse
    | delete.DeleteShareGroupStateResponse
    | summary.ReadShareGroupStateSummaryResponse
)


@dataclass(frozen=True, slots=True)
class _Row:
    version: int
    request: Callable[..., Message]
    topic: Callable[..., Message]
    partition: Callable[[Any], Message]
    response: type[StateResponse]


def request_for(commands: Sequence[KeyedCommand]) -> tuple[Message, int, type[StateResponse]]:
    """The request that asks all of them, its version, and what answers it. They are of one kind and one group."""
    row = _ROWS[type(commands[0])]
    topics: dict[UUID, list[Message]] = {}
    for command in commands:
        topics.setdefault(command.key.topic_id, []).append(row.partition(command))
    asked = [row.topic(topic_id=topic, partitions=partitions) for topic, partitions in topics.items()]
    return row.request(group_id=commands[0].key.group_id, topics=asked), row.version, row.response


def answers_of(response: StateResponse) -> dict[tuple[UUID, int], ShareStateAnswer]:
    """By topic and partition."""
    return {
        (topic.topic_id, partition.partition): _answer(partition)
        for topic in response.results
        for partition in topic.partitions
    }


_Result: TypeAlias = (
    initialize.PartitionResult
    | read.PartitionResult
    | write.PartitionResult
    | delete.PartitionResult
    | summary.PartitionResult
)


def _answer(result: _Result) -> ShareStateAnswer:
    if result.error_code:
        return Refused(known_code(result.error_code), result.error_message)
    match result:
        case read.PartitionResult():
            return StateRead(
                result.state_epoch,
                result.start_offset,
                tuple(map(_stored, result.state_batches)),
            )
        case summary.PartitionResult():
            return ShareSummary(
                result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count
            )
        case _:
            return Written()


def _stored(batch: read.StateBatch) -> StateBatch:
    due_ms = batch.due_ms if isinstance(batch, ReadWaitingStateBatch) else AT_ONCE
    return StateBatch(
        batch.first_offset, batch.last_offset + 1, batch.delivery_state, batch.delivery_count, due_ms
    )


def known_code(code: int) -> ErrorCode:
    """A newer coordinator may have errors of its own."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _initialize(ask: InitializeState) -> Message:
    return initialize.PartitionData(
        partition=ask.key.partition, state_epoch=ask.state_epoch, start_offset=ask.start_offset
    )


def _read(ask: ReadState) -> Message:
    return read.PartitionData(partition=ask.key.partition, leader_epoch=ask.leader_epoch)


def _write(ask: WriteState) -> Message:
    return WaitingPartitionData(
        partition=ask.key.partition,
        state_epoch=ask.state_epoch,
        leader_epoch=ask.leader_epoch,
        start_offset=ask.start_offset,
        delivery_complete_count=ask.delivery_complete_count,
        state_batches=_batches(ask.batches),
    )


def _batches(batches: Iterable[StateBatch]) -> list[WriteWaitingStateBatch]:
    return [
        WriteWaitingStateBatch(
            first_offset=start, last_offset=end - 1, delivery_state=state, delivery_count=count, due_ms=due_ms
        )
        for start, end, state, count, due_ms in batches
        if start < end
    ]


def _delete(ask: DeleteState) -> Message:
    return delete.PartitionData(partition=ask.key.partition)


def _summarize(ask: SummarizeState) -> Message:
    return summary.PartitionData(partition=ask.key.partition, leader_epoch=ask.leader_epoch)


_ROWS: dict[type[KeyedCommand], _Row] = {
    InitializeState: _Row(
        0,
        initialize.InitializeShareGroupStateRequest,
        initialize.InitializeStateData,
        _initialize,
        initialize.InitializeShareGroupStateResponse,
    ),
    ReadState: _Row(0, read.ReadShareGroupStateRequest, read.ReadStateData, _read, WaitingReadResponse),
    WriteState: _Row(1, WaitingWriteRequest, WaitingWriteData, _write, write.WriteShareGroupStateResponse),
    DeleteState: _Row(
        0,
        delete.DeleteShareGroupStateRequest,
        delete.DeleteStateData,
        _delete,
        delete.DeleteShareGroupStateResponse,
    ),
    SummarizeState: _Row(
        1,
        summary.ReadShareGroupStateSummaryRequest,
        summary.ReadStateSummaryData,
        _summarize,
        summary.ReadShareGroupStateSummaryResponse,
    ),
}
