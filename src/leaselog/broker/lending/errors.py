"""What share fetches, members and owners are told of trouble with a share partition."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from leaselog.model import ErrorCode, Refused

__all__ = ["ENDS_OWNER", "as_fetch_error", "as_members_are_told", "outcome_of"]

A = TypeVar("A")

#: the errors of a partition that Java's consumer knows what to do about
EXPECTED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


#: the state on the other side is not ours any more: whoever fetches next begins with what is there now
ENDS_OWNER = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    }
)
#: trouble of the coordinator's, as the group's members are told of it
COORDINATOR_TROUBLE = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
FENCED = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH})
AS_THEY_ARE = frozenset(
    {
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


def as_fetch_error(code: ErrorCode) -> ErrorCode:
    """Java's consumer dies of a fetch whose error it does not expect; of this one it takes note and goes on."""
    return code if code in EXPECTED else ErrorCode.UNKNOWN_SERVER_ERROR


def as_members_are_told(code: ErrorCode) -> ErrorCode:
    """What members are told of the persister's refusal, as Apache Kafka puts it."""
    if code in COORDINATOR_TROUBLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in FENCED:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if code in AS_THEY_ARE:
        return code
    return ErrorCode.UNKNOWN_SERVER_ERROR


def outcome_of(future: asyncio.Future[A | Refused]) -> A | Refused:
    """Of a call that ended, well or not."""
    if future.cancelled():
        return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "cancelled")
    failure = future.exception()
    return future.result() if failure is None else Refused(ErrorCode.UNKNOWN_SERVER_ERROR, repr(failure))
