"""What may be asked of a share-state shard, and what it answers. Tuples, as in ``group_commands``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch
from leaselog.coordination.share_state_facts import NO_COUNT, ShareFact, SharePartitionKey
from leaselog.model import Refused, TopicId, TopicIdPartition

__all__ = [
    "NO_EPOCH",
    "CutStates",
    "DeleteState",
    "DropTopicState",
    "InitializeState",
    "KeyedCommand",
    "ReadState",
    "ShareStateAnswer",
    "ShareStateCommand",
    "ShareStateOutcome",
    "ShareSummary",
    "StateCut",
    "StateRead",
    "StatesCut",
    "SummarizeState",
    "WriteState",
    "Written",
]

#: an epoch that the asker does not know, or does not want looked at
NO_EPOCH = -1


class InitializeState(NamedTuple):
    """The group begins, or begins anew, at ``start_offset`` (NO_OFFSET: where its reset policy says)."""

    key: SharePartitionKey
    state_epoch: int
    start_offset: int = NO_OFFSET


class ReadState(NamedTuple):
    """Leaders do, before anything else; older leaders are fenced from then on."""

    key: SharePartitionKey
    leader_epoch: int = NO_EPOCH


class WriteState(NamedTuple):
    """What a leader says became of records."""

    key: SharePartitionKey
    state_epoch: int = NO_EPOCH
    leader_epoch: int = NO_EPOCH
    #: NO_OFFSET leaves it as it is
    start_offset: int = NO_OFFSET
    delivery_complete_count: int = NO_COUNT
    batches: tuple[StateBatch, ...] = ()


class DeleteState(NamedTuple):
    key: SharePartitionKey


class SummarizeState(NamedTuple):
    """Asks without becoming the leader."""

    key: SharePartitionKey
    leader_epoch: int = NO_EPOCH


class DropTopicState(NamedTuple):
    """The topic is gone, and with it whatever groups had to say about it."""

    topic_id: TopicId


class CutStates(NamedTuple):
    """Logs have lost records that state tells of: it is to tell of nothing beyond these ends."""

    ends: Mapping[TopicIdPartition, int]


#: a command about one key
KeyedCommand = InitializeState | ReadState | WriteState | DeleteState | SummarizeState
ShareStateCommand = KeyedCommand | DropTopicState | CutStates


@dataclass(frozen=True, slots=True)
class Written:
    """It is as asked. Also the answer to a deletion of what was not there."""


class StateRead(NamedTuple):
    state_epoch: int
    #: NO_OFFSET while nobody has decided where the group begins
    start_offset: int
    batches: tuple[StateBatch, ...] = ()


class ShareSummary(NamedTuple):
    """Of a key nobody initialized: the defaults."""

    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = NO_OFFSET
    delivery_complete_count: int = NO_COUNT


class StateCut(NamedTuple):
    """State that told of offsets up to ``reached``, and now of none from ``end`` on."""

    key: SharePartitionKey
    reached: int
    end: int


class StatesCut(NamedTuple):
    cuts: tuple[StateCut, ...]


ShareStateAnswer = Refused | Written | StateRead | ShareSummary | StatesCut


class ShareStateOutcome(NamedTuple):
    """``facts`` to write and replay, in order; ``answer`` to give once they are safely written."""

    answer: ShareStateAnswer
    facts: tuple[ShareFact, ...] = ()
