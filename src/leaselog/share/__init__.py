"""The share machine: who holds which record, until when, how often delivered. Pure; knows neither bytes nor clocks."""

from leaselog.share.acknowledging import find_malformed
from leaselog.share.commands import (
    Acknowledge,
    AcknowledgementBatch,
    AcknowledgeType,
    Acquire,
    AcquireMode,
    ChangeLimits,
    Command,
    Expire,
    Limits,
    MoveLogStart,
    Persisted,
    ReleaseMember,
    WriteToken,
)
from leaselog.share.counters import Counters
from leaselog.share.effects import (
    Acknowledged,
    Acquired,
    AcquiredRange,
    Answer,
    Done,
    Effect,
    Outcome,
    Persist,
    WakeFetchers,
)
from leaselog.share.inspection import Holding, Inspection, inspect
from leaselog.share.persisted_state import NO_START_OFFSET, ReadState, StateBatch
from leaselog.share.record_state import RecordState
from leaselog.share.share_partition import SharePartition
from leaselog.share.share_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    ClosedConnection,
    ConnectionId,
    SessionKey,
    ShareSession,
    ShareSessions,
    TopicIdPartition,
)

__all__ = [
    "FINAL_EPOCH",
    "INITIAL_EPOCH",
    "ClosedConnection",
    "ConnectionId",
    "SessionKey",
    "ShareSession",
    "ShareSessions",
    "TopicIdPartition",
    "NO_START_OFFSET",
    "Acknowledge",
    "AcknowledgeType",
    "Acknowledged",
    "AcknowledgementBatch",
    "Acquire",
    "AcquireMode",
    "Acquired",
    "AcquiredRange",
    "Answer",
    "ChangeLimits",
    "Command",
    "Counters",
    "Done",
    "Effect",
    "Expire",
    "Limits",
    "MoveLogStart",
    "Outcome",
    "Persist",
    "Persisted",
    "ReadState",
    "RecordState",
    "ReleaseMember",
    "SharePartition",
    "StateBatch",
    "WakeFetchers",
    "WriteToken",
    "find_malformed",
    "Holding",
    "Inspection",
    "inspect",
]
