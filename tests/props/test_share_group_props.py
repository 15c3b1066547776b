"""Any sequence of heartbeats, topic changes, administration, ticks and restarts leaves a share group sound.

Checked after every step: the books agree; epochs never go back while the group lives; what replaying the facts gives
is what the shard holds; members hold only what was initialized; and once everybody has come by twice, everything
that has begun and is wanted is somebody's, and nobody goes without while there is work.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from share_group_bench import G, ShareBench, World, code_of

from leaselog.coordination.cluster_view import ShareSettings
from leaselog.coordination.group_commands import DeleteGroup
from leaselog.coordination.share_group import ShareGroup
from leaselog.coordination.share_group_commands import (
    AdoptShareStates,
    AlterShareOffsets,
    DeleteShareOffsets,
    ForgetShareStates,
    Places,
    ShareBeat,
    ShareStatesToDelete,
)
from leaselog.coordination.share_group_facts import TopicPartitions
from leaselog.model import ErrorCode, Refused, TopicId, TopicPartition

MEMBERS = st.sampled_from(["a", "b", "c", "d"])
TOPICS = st.sampled_from(["t", "u"])
SUBSCRIPTIONS = st.lists(TOPICS, min_size=1, max_size=2).map(tuple)
SETTINGS = ShareSettings(max_size=3, session_timeout_ms=9_000, initialize_retry_interval_ms=3_000)


class ShareGroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.bench = ShareBench(World(SETTINGS))
        #: what members believe their epochs to be
        self.epochs: dict[str, int] = {}
        #: state that the persister is at
        self.beginning: list[Places] = []
        self.going: list[frozenset[TopicId]] = []
        self.highest = 0
        #: how many partitions the topics had when the group came to know of them
        self.first_counts: dict[TopicId, int] = {}

    def group(self) -> ShareGroup | None:
        group = self.bench.shard._groups.get(G)
        assert group is None or isinstance(group, ShareGroup)
        return group

    def take(self, member: str, answer: ShareBeat | Refused) -> None:
        if isinstance(answer, Refused):
            if answer.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                self.epochs.pop(member, None)
            return
        self.epochs[member] = answer.epoch
        if answer.to_initialize:
            self.note_beginning(answer.to_initialize)
            for topic, partitions in answer.to_initialize.items():
                added = {i for i in partitions if i >= self.first_counts[topic]}
                assert answer.added.get(topic, frozenset()) == added, (
                    "what is added begins at 0, all else not"
                )

    def note_beginning(self, places: Places) -> None:
        self.beginning.append(places)
        for shape in self.bench.world.topics.values():
            if shape.topic_id in places:
                self.first_counts.setdefault(shape.topic_id, shape.partition_count)

    # -- members

    @rule(member=MEMBERS, topics=SUBSCRIPTIONS)
    def join(self, member: str, topics: tuple[str, ...]) -> None:
        self.take(member, self.bench.try_beat(member, 0, *topics))

    @precondition(lambda self: self.epochs)
    @rule(data=st.data(), topics=st.none() | SUBSCRIPTIONS)
    def beat(self, data: st.DataObject, topics: tuple[str, ...] | None) -> None:
        member = data.draw(st.sampled_from(sorted(self.epochs)))
        self.take(member, self.bench.try_beat(member, self.epochs[member], *(topics or ())))

    @rule(member=MEMBERS)
    def leave(self, member: str) -> None:
        self.bench.try_beat(member, -1)
        self.epochs.pop(member, None)

    @rule(ms=st.sampled_from([1, 500, 1_000, 4_000, 9_000]))
    def tick(self, ms: int) -> None:
        self.bench.wait(ms)

    @rule()
    def restart(self) -> None:
        self.bench = self.bench.restarted()
        self.beginning.clear()
        self.going.clear()

    # -- the persister

    @precondition(lambda self: self.beginning)
    @rule(data=st.data(), is_good=st.booleans())
    def settle(self, data: st.DataObject, is_good: bool) -> None:
        places = self.beginning.pop(data.draw(st.integers(0, len(self.beginning) - 1)))
        self.bench.settle(*((places, {}) if is_good else ({}, places)))

    @precondition(lambda self: self.going)
    @rule()
    def forget(self) -> None:
        topics = self.going.pop()
        self.bench.ask(lambda token: ForgetShareStates(token, G, topics))

    @rule(topic=TOPICS, partitions=st.frozensets(st.integers(0, 3), min_size=1), epoch=st.integers(1, 9))
    def adopt(self, topic: str, partitions: frozenset[int], epoch: int) -> None:
        """State was found of which the group may know nothing."""
        shape = self.bench.world.topic(topic)
        here = partitions & frozenset(range(shape.partition_count)) if shape else frozenset()
        if shape is None or not here:
            return
        places = {shape.topic_id: TopicPartitions(topic, here)}
        self.bench.ask(lambda token: AdoptShareStates(token, G, places, epoch))
        group = self.group()
        assert group is not None
        assert group.epoch.epoch >= epoch
        if shape.topic_id in group.states.initialized:
            self.first_counts.setdefault(shape.topic_id, shape.partition_count)

    # -- administrators

    @rule(topic=TOPICS, count=st.integers(1, 4))
    def make(self, topic: str, count: int) -> None:
        known = self.bench.world.topic(topic)
        self.bench.world.make(topic, max(count, known.partition_count if known else 0))

    @rule(topic=TOPICS)
    def delete_topic(self, topic: str) -> None:
        if self.bench.world.topic(topic):
            self.bench.delete_topic(topic)

    @rule(topic=TOPICS, partition=st.integers(0, 4))
    def alter(self, topic: str, partition: int) -> None:
        place = TopicPartition(topic, partition)
        answer = self.bench.ask(lambda token: AlterShareOffsets(token, G, {place: 5}))
        shape = self.bench.world.topic(topic)
        if not isinstance(answer, Refused) and shape and partition < shape.partition_count:
            self.note_beginning({shape.topic_id: frozenset({partition})})

    @rule(topic=TOPICS)
    def delete_offsets(self, topic: str) -> None:
        self.note_deletion(self.bench.ask(lambda token: DeleteShareOffsets(token, G, (topic,))))

    @rule()
    def delete_group(self) -> None:
        answer = self.bench.ask(lambda token: DeleteGroup(token, G))
        self.note_deletion(answer)
        if self.group() is None:
            assert code_of(answer) in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
            self.highest = 0

    def note_deletion(self, answer: object) -> None:
        if isinstance(answer, ShareStatesToDelete) and answer.topics:
            self.going.append(frozenset(topic.topic_id for topic in answer.topics))

    # -- what holds

    @invariant()
    def epochs_never_go_back(self) -> None:
        group = self.group()
        if group is not None:
            assert group.epoch.epoch >= self.highest
            self.highest = group.epoch.epoch

    @invariant()
    def what_the_group_does_not_know_is_new_to_it(self) -> None:
        group = self.group()
        known = {*group.states.initialized, *group.states.initializing} if group else set()
        self.first_counts = {topic: count for topic, count in self.first_counts.items() if topic in known}

    @invariant()
    def replaying_gives_the_same_group(self) -> None:
        group, again = self.group(), self.bench.restarted().shard._groups.get(G)
        if group is None:
            assert again is None
            return
        assert isinstance(again, ShareGroup)
        for durable in ("members", "currents", "targets", "epoch", "assignment", "states"):
            assert getattr(again, durable) == getattr(group, durable), durable

    @invariant()
    def nobody_holds_what_never_began(self) -> None:
        group = self.group()
        for target in group.targets.values() if group else ():
            for topic, partitions in target.items():
                if topic in group.states.initialized:  # type: ignore[union-attr]
                    assert partitions <= group.states.initialized[topic].partitions  # type: ignore[union-attr]

    def teardown(self) -> None:
        """Everybody comes by until nothing changes: then all work is done by somebody."""
        self.bench.wait(3_000)
        group = self.group()
        for _ in range(4):
            self.bench.wait(1_000)
            for member, current in sorted(group.currents.items()) if group else ():
                self.bench.beat(member, current.epoch)
        if group is None or not group.members:
            return
        wanted = {name: shape for name in group.subscribed if (shape := self.bench.world.topic(name))}
        held = {(topic, i) for c in group.currents.values() for topic, ps in c.assigned.items() for i in ps}
        for shape in wanted.values():
            assert {i for topic, i in held if topic == shape.topic_id} == set(range(shape.partition_count))
        for member_id, asked in group.members.items():
            assert bool(group.currents[member_id].assigned) == any(name in wanted for name in asked.topics)


ShareGroupMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestShareGroup = ShareGroupMachine.TestCase
