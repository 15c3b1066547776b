"""The offsets that groups have committed: a table, what may be added to it, and what has been in it too long.

The table changes by replay alone (``put``, ``drop``); everything else here reads it and says what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from leaselog.coordination.classic_group import ClassicGroup, GroupState
from leaselog.coordination.group_commands import CommitOffsets, OffsetToCommit
from leaselog.coordination.group_facts import (
    CommittedOffset,
    OffsetCommitted,
    OffsetDropped,
    TransactionalOffset,
)
from leaselog.coordination.pending_offsets import PendingOffsets
from leaselog.model import ZERO_UUID, ErrorCode, GroupId, ProducerId, Refused, TopicId, TopicPartition

__all__ = ["GroupOffsets", "commit_facts", "expired_offsets", "refusal_of_commit"]

FOREVER_MS = 2**63 - 1


class GroupOffsets:
    def __init__(self) -> None:
        #: no group without an offset
        self._of_group: dict[GroupId, dict[TopicPartition, CommittedOffset]] = {}
        #: how many offsets each group has of a topic; no zeros
        self._of_topic: dict[str, dict[GroupId, int]] = {}
        self.pending = PendingOffsets()

    def put(self, group_id: GroupId, partition: TopicPartition, committed: CommittedOffset) -> None:
        offsets = self._of_group.setdefault(group_id, {})
        if partition not in offsets:
            groups = self._of_topic.setdefault(partition.topic, {})
            groups[group_id] = groups.get(group_id, 0) + 1
        offsets[partition] = committed

    def commit(self, group_id: GroupId, partition: TopicPartition, committed: CommittedOffset) -> None:
        """Outside of transactions: it also counts for more than what open ones have said before."""
        self.pending.overtake(group_id, partition)
        self.put(group_id, partition, committed)

    def end_transaction(self, producer_id: ProducerId, *, is_commit: bool) -> None:
        for group_id, partition, committed in self.pending.end(producer_id, is_commit=is_commit):
            self.put(group_id, partition, committed)

    def drop(self, group_id: GroupId, partition: TopicPartition) -> None:
        """The open transactions' offsets go, too."""
        self.pending.drop(group_id, partition)
        self._drop_committed(group_id, partition)

    def _drop_committed(self, group_id: GroupId, partition: TopicPartition) -> None:
        offsets = self._of_group.get(group_id)
        if offsets is None or offsets.pop(partition, None) is None:
            return
        if not offsets:
            del self._of_group[group_id]
        groups = self._of_topic[partition.topic]
        groups[group_id] -= 1
        if not groups[group_id]:
            del groups[group_id]
            if not groups:
                del self._of_topic[partition.topic]

    def of(self, group_id: GroupId) -> dict[TopicPartition, CommittedOffset]:
        """For reading."""
        return self._of_group.get(group_id, {})

    def find(self, group_id: GroupId, partition: TopicPartition, topic_id: TopicId) -> CommittedOffset | None:
        """What is committed, unless it was for an earlier topic of the same name."""
        committed = self.of(group_id).get(partition)
        if committed is None or _is_other_topic(committed.topic_id, topic_id):
            return None
        return committed

    def groups(self) -> Iterable[GroupId]:
        return self._of_group.keys()

    def drops(self, group_id: GroupId) -> Iterator[OffsetDropped]:
        partitions = {**dict.fromkeys(self.of(group_id)), **dict.fromkeys(self.pending.of(group_id))}
        return (OffsetDropped(group_id, partition) for partition in partitions)

    def drops_of_topics(self, topics: frozenset[str]) -> Iterator[OffsetDropped]:
        for group_id in {
            group_id: None for topic in sorted(topics) for group_id in self._of_topic.get(topic, ())
        }:
            for partition in self._of_group[group_id]:
                if partition.topic in topics:
                    yield OffsetDropped(group_id, partition)
        for group_id in self.pending.groups():
            for partition in self.pending.of(group_id):
                if partition.topic in topics and partition not in self.of(group_id):
                    yield OffsetDropped(group_id, partition)


def _is_other_topic(one: TopicId, other: TopicId) -> bool:
    return ZERO_UUID not in (one, other) and one != other


def refusal_of_commit(group: ClassicGroup, ask: CommitOffsets) -> Refused | None:
    """Why the group takes no offsets from whoever asks; None if it does."""
    if ask.generation < 0 and group.state is GroupState.EMPTY:
        # An administrator, or a consumer that only keeps its offsets here.
        return None
    if ask.generation >= 0 or ask.member_id or ask.instance_id is not None:
        refused = group.refusal_of_generation(ask.member_id, ask.instance_id, ask.generation)
        if refused is not None:
            return refused
    elif ask.producer is None and group.state is not GroupState.EMPTY:
        return Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    if ask.producer is None and group.state is GroupState.COMPLETING_REBALANCE:
        # It has seen the new generation but not its assignment: not the time to commit for either.
        return Refused(ErrorCode.REBALANCE_IN_PROGRESS)
    return None


def commit_facts(
    ask: CommitOffsets, now_ms: int, metadata_bytes_max: int
) -> tuple[list[OffsetCommitted | TransactionalOffset], tuple[ErrorCode, ...]]:
    """What to write, and the answer for each offset in order."""
    # What is stored is an int64, and a retention of for ever comes from a client as the largest one.
    expire_ms = -1 if ask.retention_ms < 0 else min(now_ms + ask.retention_ms, FOREVER_MS)
    facts: list[OffsetCommitted | TransactionalOffset] = []
    codes: list[ErrorCode] = []
    for offset in ask.offsets:
        if _java_length(offset.metadata) > metadata_bytes_max:
            codes.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
            continue
        codes.append(ErrorCode.NONE)
        committed = _committed(offset, now_ms, expire_ms)
        if ask.producer is None:
            facts.append(OffsetCommitted(ask.group_id, offset.partition, committed))
        else:
            facts.append(TransactionalOffset(ask.group_id, offset.partition, committed, *ask.producer))
    return facts, tuple(codes)


def _java_length(text: str) -> int:
    """What Kafka's setting counts, whatever its name: units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _committed(offset: OffsetToCommit, now_ms: int, expire_ms: int) -> CommittedOffset:
    return CommittedOffset(
        offset.offset, offset.leader_epoch, offset.metadata, now_ms, expire_ms, offset.topic_id
    )


def expired_offsets(
    group: ClassicGroup, offsets: dict[TopicPartition, CommittedOffset], now_ms: int, retention_ms: int
) -> list[TopicPartition]:
    """Which offsets the group has not used for too long (KIP-211). None of a topic it is subscribed to."""
    kept_since = _retention_start(group)
    if kept_since is None:
        return []

    def is_expired(committed: CommittedOffset) -> bool:
        if committed.expire_ms >= 0:
            return now_ms >= committed.expire_ms
        return now_ms - kept_since(committed) >= retention_ms

    return [
        partition
        for partition, committed in offsets.items()
        if not group.is_subscribed_to(partition.topic) and is_expired(committed)
    ]


def _retention_start(group: ClassicGroup) -> Callable[[CommittedOffset], int] | None:
    """From when an offset of the group counts as unused; None while the group may still want all of them."""
    if group.protocol_type is None:
        return lambda committed: committed.commit_ms
    if group.state is GroupState.EMPTY:
        since_ms = group.since_ms
        return lambda committed: committed.commit_ms if since_ms < 0 else since_ms
    if group.state is GroupState.STABLE and group.uses_consumer_protocol and group.subscribed is not None:
        return lambda committed: committed.commit_ms
    return None
