"""The groups of one partition of ``__consumer_offsets``, and the offsets they committed.

One owner calls ``handle`` with each command, ``expire`` when ``next_deadline`` has come, writes the facts of the
outcome, has it carried out here at once by ``apply``, and gives the replies when the write is safe. If it is not, the
owner throws the shard away and builds a new one from what was written before: members are then refused and join again.

``handle`` and ``expire`` change nothing, so an outcome that cannot be written down is dropped, and the shard is what it
was. Durable are the groups' last records and the offsets: only ``replay`` changes them, when facts are applied and when
they are read back. Who waits in a rebalance, and until when, is of the moment: ``apply`` takes it over from the
outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import assert_never

from leaselog.coordination import classic_rebalance as rebalance
from leaselog.coordination import consumer_group_heartbeat as consumer_heartbeat
from leaselog.coordination import share_group_heartbeat as share_heartbeat
from leaselog.coordination import share_group_states as share_states
from leaselog.coordination.classic_group import ClassicGroup, GroupState
from leaselog.coordination.cluster_view import EMPTY_CLUSTER, ClusterView
from leaselog.coordination.consumer_group import ConsumerGroup
from leaselog.coordination.consumer_group_commands import ConsumerHeartbeat, DescribeConsumerGroup
from leaselog.coordination.consumer_group_facts import (
    ConsumerEpochStored,
    ConsumerGroupFact,
    is_tombstone,
)
from leaselog.coordination.consumer_group_requests import answer_consumer
from leaselog.coordination.group_commands import (
    NO_MEMBER,
    CommitOffsets,
    DeleteGroup,
    DeleteOffsets,
    DescribedGroup,
    DescribeGroup,
    Done,
    DropTopics,
    FetchedOffsets,
    FetchOffsets,
    GroupCommand,
    GroupListing,
    Heartbeat,
    JoinAnswer,
    JoinGroup,
    LeaveAnswer,
    LeaveGroup,
    ListedGroup,
    ListGroups,
    PartitionCodes,
    SyncGroup,
)
from leaselog.coordination.group_deadlines import Deadlines
from leaselog.coordination.group_facts import (
    CommittedOffset,
    GroupDropped,
    GroupFact,
    GroupMetadata,
    GroupStored,
    OffsetCommitted,
    OffsetDropped,
    TransactionalOffset,
    TransactionalOffsetsEnded,
)
from leaselog.coordination.group_offsets import (
    GroupOffsets,
    commit_facts,
    expired_offsets,
    refusal_of_commit,
)
from leaselog.coordination.group_turn import DeadlineKey, DeadlineKind, GroupLimits, GroupOutcome, Turn
from leaselog.coordination.share_group import ShareGroup
from leaselog.coordination.share_group_commands import ShareGroupCommand
from leaselog.coordination.share_group_facts import (
    Assignment,
    ShareEpochStored,
    ShareGroupFact,
    ShareStateStored,
)
from leaselog.coordination.share_group_requests import answer_share, may_found, no_group
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, ProducerId, Refused, TopicPartition

__all__ = ["Group", "GroupShard"]

#: A name is one group of one type.
Group = ClassicGroup | ConsumerGroup | ShareGroup

_RETENTION: DeadlineKey = (DeadlineKind.RETENTION, GroupId(""), NO_MEMBER)


class GroupShard:
    """Build it, ``replay`` what was written, ``start`` it; then it takes commands."""

    def __init__(self, limits: GroupLimits, cluster: ClusterView = EMPTY_CLUSTER) -> None:
        self.limits = limits
        self._cluster = cluster
        self._groups: dict[GroupId, Group] = {}
        self._stored: dict[GroupId, GroupMetadata] = {}
        self._offsets = GroupOffsets()
        #: the share groups that have something to do with a topic's state, by its name
        self._sharing: dict[str, dict[GroupId, None]] = {}
        self._deadlines: Deadlines[DeadlineKey] = Deadlines()
        self._is_started = False
        #: groups that the retention has yet to look at
        self._to_expire: tuple[GroupId, ...] = ()

    def replay(self, fact: GroupFact, now_ms: int) -> None:
        """Make it so. The same whether the fact was written just now or is read back after a restart."""
        match fact:
            case GroupStored(group_id, metadata):
                self._stored[group_id] = metadata
                if not self._is_started:
                    self._groups[group_id] = ClassicGroup.restored(group_id, metadata, now_ms)
            case GroupDropped(group_id):
                self._stored.pop(group_id, None)
                if isinstance(self._groups.get(group_id), ClassicGroup):
                    del self._groups[group_id]
            case OffsetCommitted(group_id, partition, committed):
                self._offsets.commit(group_id, partition, committed)
                if group_id not in self._groups:
                    self._groups[group_id] = ClassicGroup(group_id, now_ms)
            case TransactionalOffset(group_id):
                self._offsets.pending.put(fact)
                if group_id not in self._groups:
                    self._groups[group_id] = ClassicGroup(group_id, now_ms)
            case TransactionalOffsetsEnded(producer_id, is_commit):
                self._offsets.end_transaction(producer_id, is_commit=is_commit)
            case OffsetDropped(group_id, partition):
                self._offsets.drop(group_id, partition)
            case _ if isinstance(fact, ConsumerGroupFact):
                self._replay_consumer(fact, now_ms)
            case _:
                self._replay_share(fact, now_ms)

    def _replay_consumer(self, fact: ConsumerGroupFact, now_ms: int) -> None:
        group = self._groups.get(fact.group_id)
        if not isinstance(group, ConsumerGroup):
            if is_tombstone(fact):
                return  # there is none any more, and another may have the name by now
            group = self._groups[fact.group_id] = ConsumerGroup(fact.group_id)
        group.replay(fact, now_ms)
        if isinstance(fact, ConsumerEpochStored) and fact.epoch is None:
            del self._groups[fact.group_id]
            if self._offsets.of(fact.group_id):
                self._groups[fact.group_id] = ClassicGroup(fact.group_id, now_ms)

    def _replay_share(self, fact: ShareGroupFact, now_ms: int) -> None:
        group = self._share_group(fact.group_id)
        if isinstance(fact, ShareStateStored):
            self._note_topics(fact, group)
        # What was begun before a restart nobody is at any more: it may be begun again at once.
        group.replay(fact, now_ms if self._is_started else 0)
        if isinstance(fact, ShareEpochStored) and fact.epoch is None:
            del self._groups[fact.group_id]

    def _note_topics(self, fact: ShareStateStored, group: ShareGroup) -> None:
        before = group.states.topic_names()
        after = fact.states.topic_names() if fact.states is not None else set()
        for name in before - after:
            groups = self._sharing[name]
            del groups[group.group_id]
            if not groups:
                del self._sharing[name]
        for name in after - before:
            self._sharing.setdefault(name, {})[group.group_id] = None

    def _share_group(self, group_id: GroupId) -> ShareGroup:
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            group = self._groups[group_id] = ShareGroup(group_id)
        return group

    def start(self, now_ms: int) -> GroupOutcome:
        """All that was written is replayed: from here on time passes."""
        self._is_started = True
        turn = self._turn(now_ms)
        for group in list(self._groups.values()):
            if isinstance(group, ClassicGroup):
                rebalance.resume(group, turn)
            elif isinstance(group, ConsumerGroup):
                self._resume_consumer(group, turn)
            elif group.is_written:
                share_heartbeat.resume(group, turn)
                share_states.drop_lost(group, self._cluster, turn)
            else:
                del self._groups[group.group_id]  # only tombstones are left of it
        turn.deadlines.set(_RETENTION, now_ms + self.limits.retention_check_interval_ms)
        return turn.outcome()

    def _resume_consumer(self, group: ConsumerGroup, turn: Turn) -> None:
        if group.is_written:
            consumer_heartbeat.resume(group, turn)
        else:
            del self._groups[group.group_id]

    def apply(self, outcome: GroupOutcome, now_ms: int) -> None:
        """Makes it so, once its facts are on their way to the log. It must be the latest: nothing else was applied
        since it was decided."""
        for draft in outcome.drafts:
            if isinstance(draft, ClassicGroup):
                self._classic_group(draft.group_id, now_ms).adopt(draft)
        for fact in outcome.facts:
            self.replay(fact, now_ms)
        for draft in outcome.drafts:
            # One that is gone, or never came to be, has nothing to keep.
            group = self._groups.get(draft.group_id)
            if isinstance(draft, ShareGroup) and isinstance(group, ShareGroup):  # noqa: SIM114 - each of its own kind
                group.adopt(draft)
            elif isinstance(draft, ConsumerGroup) and isinstance(group, ConsumerGroup):
                group.adopt(draft)
        self._deadlines.move(outcome.deadlines)
        if outcome.to_expire is not None:
            self._to_expire = outcome.to_expire

    def _classic_group(self, group_id: GroupId, now_ms: int) -> ClassicGroup:
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            group = self._groups[group_id] = ClassicGroup(group_id, now_ms)
        return group

    def next_deadline(self) -> int | None:
        return self._deadlines.next()

    def expire(self, now_ms: int) -> GroupOutcome | None:
        """What one deadline that has come sets off; None when none has. Apply it, and call again until then."""
        key = self._deadlines.due(now_ms)
        if key is None:
            return None
        kind, group_id, member_id = key
        turn = self._turn(now_ms)
        turn.deadlines.cancel(key)
        group = self._groups.get(group_id)
        if kind is DeadlineKind.RETENTION:
            self._expire_offsets(turn)
        elif group is None:
            pass  # it went while the deadline ran
        elif isinstance(group, ShareGroup):
            share_heartbeat.session_is_due(turn.draft(group), member_id, turn)
        elif isinstance(group, ConsumerGroup):
            consumer_heartbeat.deadline_is_due(turn.draft(group), member_id, turn)
        elif kind is DeadlineKind.SESSION:
            rebalance.session_is_due(turn.draft(group), member_id, turn)
        elif kind is DeadlineKind.JOIN:
            rebalance.join_is_due(turn.draft(group), turn)
        else:
            rebalance.sync_is_due(turn.draft(group), turn)
        return turn.outcome()

    def handle(self, command: GroupCommand, now_ms: int) -> GroupOutcome:
        """What the command leads to. Apply it before the next command, or drop it."""
        turn = self._turn(now_ms)
        match command:
            case JoinGroup():
                self._join(command, turn)
            case SyncGroup() | Heartbeat() | LeaveGroup():
                self._member_asks(command, turn)
            case CommitOffsets():
                self._commit(command, turn)
            case FetchOffsets():
                turn.reply(command.token, self._fetch(command))
            case ConsumerHeartbeat() | DescribeConsumerGroup():
                turn.reply(command.token, answer_consumer(self._groups.get(command.group_id), command, turn))
            case DeleteOffsets():
                self._delete_offsets(command, turn)
            case DeleteGroup():
                self._delete_group(command, turn)
            case DescribeGroup(token, group_id):
                turn.reply(token, self._describe(group_id))
            case ListGroups():
                turn.reply(command.token, self._list(command))
            case DropTopics():
                self._drop_topics(command, turn)
            case _:
                self._handle_share(command, turn)
        return turn.outcome()

    # Members

    def _join(self, ask: JoinGroup, turn: Turn) -> None:
        bounds = turn.limits.min_session_timeout_ms, turn.limits.max_session_timeout_ms
        if not ask.group_id:
            return turn.reply(ask.token, JoinAnswer(ask.member_id, ErrorCode.INVALID_GROUP_ID))
        if not bounds[0] <= ask.session_timeout_ms <= bounds[1]:
            return turn.reply(ask.token, JoinAnswer(ask.member_id, ErrorCode.INVALID_SESSION_TIMEOUT))
        group = self._groups.get(ask.group_id)
        if isinstance(group, ShareGroup) or (isinstance(group, ConsumerGroup) and group.members):
            return turn.reply(ask.token, JoinAnswer(NO_MEMBER, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        if isinstance(group, ClassicGroup):
            return rebalance.join(turn.draft(group), ask, turn)
        if ask.member_id != NO_MEMBER:
            return turn.reply(ask.token, JoinAnswer(ask.member_id, ErrorCode.UNKNOWN_MEMBER_ID))
        rebalance.join(turn.draft(ClassicGroup(ask.group_id, turn.now_ms)), ask, turn)
        if isinstance(group, ConsumerGroup):
            turn.facts[:0] = group.tombstones()
        if not any(isinstance(fact, GroupStored) for fact in turn.facts):
            # The name is taken from now on, also after a restart.
            turn.facts.append(GroupStored(ask.group_id, GroupMetadata(since_ms=turn.now_ms)))
        return None

    def _member_asks(self, ask: SyncGroup | Heartbeat | LeaveGroup, turn: Turn) -> None:
        group = self._groups.get(ask.group_id)
        if not ask.group_id:
            return turn.reply(ask.token, Refused(ErrorCode.INVALID_GROUP_ID))
        if isinstance(group, ShareGroup) and isinstance(ask, SyncGroup):
            return turn.reply(ask.token, Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        if isinstance(group, ConsumerGroup) and isinstance(ask, LeaveGroup):
            return turn.reply(ask.token, consumer_heartbeat.remove_members(turn.draft(group), ask, turn))
        if not isinstance(group, ClassicGroup):
            return turn.reply(ask.token, _unknown_member(ask))
        match ask:
            case SyncGroup():
                return rebalance.sync(turn.draft(group), ask, turn)
            case Heartbeat():
                return rebalance.heartbeat(group, ask, turn)
            case LeaveGroup():
                return rebalance.leave(turn.draft(group), ask, turn)
            case _:
                assert_never(ask)

    # Offsets

    def _commit(self, ask: CommitOffsets, turn: Turn) -> None:
        group = self._groups.get(ask.group_id)
        if isinstance(group, ShareGroup):
            return turn.reply(ask.token, Refused(ErrorCode.GROUP_ID_NOT_FOUND))
        if group is None:
            refused = self._refusal_of_unknown(ask)
        elif isinstance(group, ConsumerGroup):
            refused = group.refusal_of_commit(ask)
        else:
            refused = refusal_of_commit(group, ask)
        if refused is not None:
            return turn.reply(ask.token, refused)
        if isinstance(group, ClassicGroup):
            rebalance.keep_alive(group, ask.member_id, turn)
        facts, codes = commit_facts(ask, turn.now_ms, turn.limits.offset_metadata_bytes_max)
        turn.facts.extend(facts)
        return turn.reply(ask.token, PartitionCodes(codes))

    @staticmethod
    def _refusal_of_unknown(ask: CommitOffsets) -> Refused | None:
        if ask.generation < 0:
            return None
        if ask.knows_group_id_not_found:
            return no_group(ask.group_id)
        return Refused(ErrorCode.ILLEGAL_GENERATION)

    def _fetch(self, ask: FetchOffsets) -> FetchedOffsets | Refused:
        if ask.member_id is not None and ask.member_epoch >= 0:
            group = self._groups.get(ask.group_id)
            if isinstance(group, ConsumerGroup):
                refused = group.refusal_of_member(ask.member_id, ask.member_epoch)
                if refused is not None:
                    return refused
        unstable = frozenset(self._offsets.pending.of(ask.group_id) if ask.require_stable else ())
        if ask.partitions is None:
            return FetchedOffsets(tuple(self._offsets.of(ask.group_id).items()), unstable)
        found = ((p, self._offsets.find(ask.group_id, p, topic_id)) for p, topic_id in ask.partitions)
        return FetchedOffsets(tuple(found), unstable)

    def _delete_offsets(self, ask: DeleteOffsets, turn: Turn) -> None:
        group = self._groups.get(ask.group_id)
        if not ask.group_id:
            return turn.reply(ask.token, Refused(ErrorCode.INVALID_GROUP_ID))
        if group is None or isinstance(group, ShareGroup):
            return turn.reply(ask.token, no_group(ask.group_id))
        if (
            isinstance(group, ClassicGroup)
            and group.state is not GroupState.EMPTY
            and not group.uses_consumer_protocol
        ):
            # Nobody can tell which topics such members use.
            return turn.reply(ask.token, Refused(ErrorCode.NON_EMPTY_GROUP))
        known = self._offsets.of(ask.group_id)
        codes = []
        for partition in dict.fromkeys(ask.partitions):
            if not group.is_subscribed_to(partition.topic) and partition in known:
                turn.facts.append(OffsetDropped(ask.group_id, partition))
        for partition in ask.partitions:
            used = group.is_subscribed_to(partition.topic)
            codes.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if used else ErrorCode.NONE)
        return turn.reply(ask.token, PartitionCodes(tuple(codes)))

    def _expire_offsets(self, turn: Turn) -> None:
        """One bounded look at the groups: old offsets go, and empty groups that have none left."""
        left = list(self._to_expire or self._groups)
        while left and len(turn.facts) < turn.limits.expired_per_turn:
            group = self._groups.get(left.pop())
            if isinstance(group, ClassicGroup):
                self._expire_group(group, turn)
            elif isinstance(group, ConsumerGroup):  # share groups stay until they are deleted
                self._expire_consumer_group(group, turn)
        turn.to_expire = tuple(left)
        wait_ms = 0 if left else turn.limits.retention_check_interval_ms
        turn.deadlines.set(_RETENTION, turn.now_ms + wait_ms)

    def _expire_group(self, group: ClassicGroup, turn: Turn) -> None:
        offsets, pending = self._offsets.of(group.group_id), self._offsets.pending.of(group.group_id)
        found = expired_offsets(group, offsets, turn.now_ms, turn.limits.offsets_retention_ms)
        expired = [partition for partition in found if partition not in pending]
        turn.facts.extend(OffsetDropped(group.group_id, partition) for partition in expired)
        if len(expired) == len(offsets) and not pending and group.state is GroupState.EMPTY:
            turn.facts.append(GroupDropped(group.group_id))

    def _expire_consumer_group(self, group: ConsumerGroup, turn: Turn) -> None:
        offsets, pending = self._offsets.of(group.group_id), self._offsets.pending.of(group.group_id)
        oldest_ms = turn.now_ms - turn.limits.offsets_retention_ms
        expired = [
            partition
            for partition, committed in offsets.items()
            if max(committed.commit_ms, group.empty_since_ms) <= oldest_ms
            and partition not in pending
            and not group.is_subscribed_to(partition.topic)
        ]
        turn.facts.extend(OffsetDropped(group.group_id, partition) for partition in expired)
        if len(expired) == len(offsets) and not pending and not group.members:
            turn.facts.extend(group.tombstones())

    # Groups

    def _delete_group(self, ask: DeleteGroup, turn: Turn) -> None:
        group = self._groups.get(ask.group_id)
        if group is None:
            return turn.reply(ask.token, no_group(ask.group_id))
        if isinstance(group, ShareGroup):
            return self._delete_share_group(group, ask, turn)
        is_empty = not group.members if isinstance(group, ConsumerGroup) else group.state is GroupState.EMPTY
        if not is_empty:
            return turn.reply(ask.token, share_states.NOT_EMPTY)
        turn.facts.extend(self._offsets.drops(ask.group_id))
        if isinstance(group, ConsumerGroup):
            turn.facts.extend(group.tombstones())
        else:
            turn.facts.append(GroupDropped(ask.group_id))
        return turn.reply(ask.token, Done())

    def _list(self, ask: ListGroups) -> GroupListing:
        return GroupListing(
            tuple(
                g
                for g in self.listed()
                if (not ask.states or g.state.lower() in ask.states)
                and (not ask.types or g.type in ask.types)
            )
        )

    def _describe(self, group_id: GroupId) -> DescribedGroup | Refused:
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup | ShareGroup):
            return Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
        return no_group(group_id) if group is None else group.described()

    def _drop_topics(self, ask: DropTopics, turn: Turn) -> None:
        turn.facts.extend(self._offsets.drops_of_topics(ask.topics))
        for group_id in {
            group_id: None for name in sorted(ask.topics) for group_id in self._sharing.get(name, ())
        }:
            group = self._groups.get(group_id)
            if isinstance(group, ShareGroup):
                share_states.drop_lost(group, self._cluster, turn)
        turn.reply(ask.token, Done())

    # Share groups

    def _handle_share(self, ask: ShareGroupCommand, turn: Turn) -> None:
        """A share group comes to be with its first member, or with the offsets an administrator sets for it: if
        anything of it is written down."""
        group = self._groups.get(ask.group_id)
        if group is None and ask.group_id and may_found(ask):
            group = ShareGroup(ask.group_id)
        turn.reply(ask.token, answer_share(group, ask, turn))

    def _delete_share_group(self, group: ShareGroup, ask: DeleteGroup, turn: Turn) -> None:
        """Once the persister keeps nothing for it any more; until then the answer says what it keeps."""
        if group.members:
            return turn.reply(ask.token, share_states.NOT_EMPTY)
        doomed = share_states.delete_all(turn.draft(group), turn)
        if doomed.topics:
            return turn.reply(ask.token, doomed)
        turn.facts.extend(share_states.tombstones(group))
        return turn.reply(ask.token, Done())

    # What is there, for whoever counts, writes a snapshot or tests

    def listed(self) -> Iterator[ListedGroup]:
        return (group.listed() for group in self._groups.values())

    def share_partition_count(self) -> int:
        """Partitions that there is state for, each as often as a group has it."""
        shared = (group for group in self._groups.values() if isinstance(group, ShareGroup))
        return sum(len(p.partitions) for group in shared for p in group.states.initialized.values())

    def revoked_from(self, group_id: GroupId, member_id: MemberId) -> Assignment:
        """What the member of a share group has lost while it had no session."""
        group = self._groups.get(group_id)
        return group.revoked.get(member_id, {}) if isinstance(group, ShareGroup) else {}

    def stored_groups(self) -> dict[GroupId, GroupMetadata]:
        return dict(self._stored)

    def stored_offsets(self) -> dict[tuple[GroupId, TopicPartition], CommittedOffset]:
        return {
            (g, p): committed for g in self._offsets.groups() for p, committed in self._offsets.of(g).items()
        }

    def pending_offsets(self) -> dict[GroupId, dict[TopicPartition, list[ProducerId]]]:
        """The producers whose open transactions have an offset for a partition of a group."""
        pending = self._offsets.pending
        return {
            group_id: {place: list(producers) for place, producers in pending.of(group_id).items()}
            for group_id in pending.groups()
        }

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless every group is sound and every offset and record has its group."""
        for group in self._groups.values():
            group.check()
        durable = (*self._offsets.groups(), *self._offsets.pending.groups(), *self._stored)
        lost = [g for g in durable if g not in self._groups]
        if lost:
            raise BrokenInvariant(f"durable state without a group: {list(islice(lost, 5))}")

    def _turn(self, now_ms: int) -> Turn:
        return Turn(now_ms, self.limits, self._cluster)


def _unknown_member(ask: SyncGroup | Heartbeat | LeaveGroup) -> Refused | LeaveAnswer:
    """A group that is not there has nobody in it; those who leave are told one by one."""
    if isinstance(ask, LeaveGroup):
        return LeaveAnswer(tuple((leaver, ErrorCode.UNKNOWN_MEMBER_ID) for leaver in ask.members))
    return Refused(ErrorCode.UNKNOWN_MEMBER_ID)
