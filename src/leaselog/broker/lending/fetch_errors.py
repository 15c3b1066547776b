"""Which errors a share fetch may be answered with."""

from __future__ import annotations

from leaselog.model import ErrorCode

__all__ = ["as_fetch_error"]

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


def as_fetch_error(code: ErrorCode) -> ErrorCode:
    """Java's consumer dies of a fetch whose error it does not expect; of this one it takes note and goes on."""
    return code if code in EXPECTED else ErrorCode.UNKNOWN_SERVER_ERROR
