"""Any sequence of commands, clock ticks and restarts leaves a group shard sound.

Checked after every step: the books of each group agree; a generation never goes back while its group lives; members
of an active group have all been told of it; every parked request is answered at most once and only by its shard;
what replaying the facts gives is what the shard holds as durable; no offset is lost that was not asked to go.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from shard_watch import unchanged

from leaselog.coordination.classic_group import ClassicGroup, GroupState
from leaselog.coordination.group_commands import (
    Answer,
    CommitOffsets,
    DeleteGroup,
    DeleteOffsets,
    GroupCommand,
    Heartbeat,
    JoinAnswer,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetToCommit,
    PartitionCodes,
    SyncGroup,
    Token,
)
from leaselog.coordination.group_facts import (
    NO_TOPIC_ID,
    GroupDropped,
    GroupFact,
    OffsetDropped,
    Protocol,
)
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits, GroupOutcome
from leaselog.model import ErrorCode, GroupId, MemberId, TopicPartition

GROUPS = st.sampled_from([GroupId("g"), GroupId("h")])
INSTANCES = st.sampled_from([None, None, "i", "j"])
PARTITIONS = st.sampled_from([TopicPartition("t", 0), TopicPartition("u", 0)])
PROTOCOLS = st.sampled_from(
    [
        (Protocol("x", b"1", frozenset({"t"})),),
        (Protocol("x", b"2", frozenset({"u"})), Protocol("y", b"2", frozenset({"u"}))),
        (Protocol("y", b"3"),),
    ]
)
LIMITS = GroupLimits(
    initial_rebalance_delay_ms=500,
    min_session_timeout_ms=1_000,
    max_size=4,
    pending_joins_max=3,
    offsets_retention_ms=60_000,
    retention_check_interval_ms=20_000,
    expired_per_turn=2,
)
Known = tuple[GroupId, MemberId, str | None, int]


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000_000
        self.facts: list[GroupFact] = []
        self.tokens = 0
        self.parked: set[Token] = set()
        self.asked: dict[Token, GroupCommand] = {}
        self.answers: dict[Token, Answer] = {}
        #: ids that were given out, with the generation last heard of
        self.known: list[Known] = []
        self.generations: dict[GroupId, int] = {}
        self.offsets: dict[tuple[GroupId, TopicPartition], int] = {}
        self.shard = GroupShard(LIMITS)
        self.take(self.shard.start(self.now_ms))

    def send(self, command: GroupCommand) -> None:
        self.parked.add(command.token)
        self.asked[command.token] = command
        with unchanged(self.shard):
            outcome = self.shard.handle(command, self.now_ms)
        self.take(outcome)
        if not isinstance(command, (JoinGroup, SyncGroup)):
            assert command.token not in self.parked, f"{command} was not answered"

    def take(self, outcome: GroupOutcome) -> None:
        self.shard.apply(outcome, self.now_ms)
        for fact in outcome.facts:
            if isinstance(fact, OffsetDropped):
                self.offsets.pop((fact.group_id, fact.partition), None)
            if isinstance(fact, GroupDropped):
                self.generations.pop(fact.group_id, None)
        self.facts += outcome.facts
        for reply in outcome.replies:
            assert reply.token in self.parked, "answered twice, or never asked"
            self.parked.remove(reply.token)
            self.learn(self.asked.pop(reply.token), reply.answer)

    def learn(self, command: GroupCommand, answer: Answer) -> None:
        if isinstance(command, JoinGroup) and isinstance(answer, JoinAnswer) and answer.member_id:
            self.known.append((command.group_id, answer.member_id, command.instance_id, answer.generation))
        if isinstance(command, CommitOffsets) and isinstance(answer, PartitionCodes):
            for offset, code in zip(command.offsets, answer.codes, strict=True):
                if code is ErrorCode.NONE:
                    self.offsets[command.group_id, offset.partition] = offset.offset

    def token(self) -> Token:
        self.tokens += 1
        return Token(self.tokens)

    def join(
        self,
        group: GroupId,
        member: MemberId,
        instance: str | None,
        protocols: tuple[Protocol, ...],
        old: bool,
    ) -> None:
        token = self.token()
        self.send(
            JoinGroup(
                token=token,
                group_id=group,
                member_id=member,
                fresh_member_id=MemberId(f"m{token}"),
                instance_id=instance,
                client_id="c",
                client_host="/h",
                session_timeout_ms=3_000,
                rebalance_timeout_ms=5_000,
                protocol_type="consumer",
                protocols=protocols,
                member_id_required=not old,
                may_skip_assignment=not old,
            )
        )

    @rule(group=GROUPS, instance=INSTANCES, protocols=PROTOCOLS, old=st.booleans())
    def join_as_stranger(
        self, group: GroupId, instance: str | None, protocols: tuple[Protocol, ...], old: bool
    ) -> None:
        self.join(group, MemberId(""), instance, protocols, old)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), protocols=PROTOCOLS)
    def join_again(self, data: st.DataObject, protocols: tuple[Protocol, ...]) -> None:
        group, member, instance, _ = self.pick(data)
        self.join(group, member, instance, protocols, False)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def sync(self, data: st.DataObject) -> None:
        group, member, instance, generation = self.pick(data)
        everybody = {m: m.encode() for g, m, _, _ in self.known if g == group}
        self.send(SyncGroup(self.token(), group, member, instance, generation, None, None, everybody))

    @rule(group=GROUPS, everybody=st.booleans())
    def members_do_what_they_should(self, group: GroupId, everybody: bool) -> None:
        """Without this the group would hardly ever get stable by chance."""
        live = self.shard._groups.get(group)
        for member in list(live.members.values()) if live is not None else ():
            if live is None or member.member_id not in live.members:
                continue
            if live.state is GroupState.PREPARING_REBALANCE and member.joining is None:
                self.join(group, member.member_id, member.instance_id, member.protocols, old=False)
            if live.state is GroupState.COMPLETING_REBALANCE and member.syncing is None:
                given = {m: m.encode() for m in live.members}
                ids = (group, member.member_id, member.instance_id, live.generation)
                self.send(SyncGroup(self.token(), *ids, None, None, given))
            if not everybody:
                return

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def heartbeat(self, data: st.DataObject) -> None:
        group, member, instance, generation = self.pick(data)
        self.send(Heartbeat(self.token(), group, member, instance, generation))

    @precondition(lambda self: self.known)
    @rule(data=st.data(), by_instance=st.booleans())
    def leave(self, data: st.DataObject, by_instance: bool) -> None:
        group, member, instance, _ = self.pick(data)
        leaver = Leaver(MemberId(""), instance) if by_instance and instance else Leaver(member, instance)
        self.send(LeaveGroup(self.token(), group, (leaver,)))

    @precondition(lambda self: self.known)
    @rule(data=st.data(), partition=PARTITIONS, offset=st.integers(0, 100))
    def commit_as_member(self, data: st.DataObject, partition: TopicPartition, offset: int) -> None:
        group, member, instance, generation = self.pick(data)
        offsets = (OffsetToCommit(partition, offset, -1, "", NO_TOPIC_ID),)
        self.send(CommitOffsets(self.token(), group, member, instance, generation, offsets))

    @rule(group=GROUPS, partition=PARTITIONS, offset=st.integers(0, 100))
    def commit_alone(self, group: GroupId, partition: TopicPartition, offset: int) -> None:
        offsets = (OffsetToCommit(partition, offset, -1, "", NO_TOPIC_ID),)
        self.send(CommitOffsets(self.token(), group, MemberId(""), None, -1, offsets))

    @rule(group=GROUPS, partition=PARTITIONS)
    def delete_offsets(self, group: GroupId, partition: TopicPartition) -> None:
        self.send(DeleteOffsets(self.token(), group, (partition,)))

    @rule(group=GROUPS, really=st.sampled_from([False, False, True]))
    def delete_group(self, group: GroupId, really: bool) -> None:
        if really:
            self.send(DeleteGroup(self.token(), group))

    @rule(ms=st.sampled_from([0, 100, 600, 2_900, 3_000, 5_000, 61_000]))
    def tick(self, ms: int) -> None:
        self.now_ms += ms
        for _ in range(1_000):
            with unchanged(self.shard):
                outcome = self.shard.expire(self.now_ms)
            if outcome is None:
                return
            self.take(outcome)
        raise AssertionError("deadlines do not come to an end")

    @rule()
    def restart(self) -> None:
        self.parked.clear()
        self.asked.clear()
        before, self.shard = self.shard, self.replayed()
        assert self.shard.stored_groups() == before.stored_groups()
        self.generations = {g: stored.generation for g, stored in self.shard.stored_groups().items()}
        self.take(self.shard.start(self.now_ms))

    def pick(self, data: st.DataObject) -> Known:
        return data.draw(st.sampled_from(self.known[-12:]))

    def replayed(self) -> GroupShard:
        shard = GroupShard(LIMITS)
        for fact in self.facts:
            shard.replay(fact, self.now_ms)
        return shard

    def groups(self) -> list[ClassicGroup]:
        return list(self.shard._groups.values())

    @invariant()
    def books_agree(self) -> None:
        self.shard.check()

    @invariant()
    def generations_never_go_back(self) -> None:
        for group in self.groups():
            assert group.generation >= self.generations.get(group.group_id, 0)
            self.generations[group.group_id] = group.generation

    @invariant()
    def a_stable_group_is_written_down_as_it_is(self) -> None:
        stored = self.shard.stored_groups()
        for group in self.groups():
            if group.state is GroupState.STABLE:
                assert stored[group.group_id].generation == group.generation
                assert {
                    m.member_id: m.assignment for m in stored[group.group_id].members
                } == group.assignments()

    @invariant()
    def replay_gives_what_is_durable(self) -> None:
        replayed = self.replayed()
        assert replayed.stored_groups() == self.shard.stored_groups()
        assert replayed.stored_offsets() == self.shard.stored_offsets()
        replayed.check()

    @invariant()
    def no_offset_is_lost(self) -> None:
        held = {key: committed.offset for key, committed in self.shard.stored_offsets().items()}
        assert held == self.offsets

    @invariant()
    def whoever_waits_waits_in_a_member(self) -> None:
        tokens = {
            t
            for g in self.groups()
            for m in g.members.values()
            for t in (m.joining, m.syncing)
            if t is not None
        }
        assert tokens == self.parked

    @invariant()
    def whoever_waits_has_a_deadline(self) -> None:
        if self.parked:
            due_ms = self.shard.next_deadline()
            assert due_ms is not None
            assert due_ms <= self.now_ms + LIMITS.new_member_join_timeout_ms


TestGroups = GroupMachine.TestCase
TestGroups.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
