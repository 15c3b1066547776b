"""Whatever members of a consumer group do, and whichever answers are lost: no partition is in two hands, and when
everybody has had the time, each partition has one."""

from __future__ import annotations

from typing import Any

from consumer_group_bench import ConsumerBench, Member
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from test_consumer_group import Topics

from leaselog.coordination.cluster_view import ConsumerSettings

SUBSCRIPTIONS = st.sampled_from([("t",), ("u",), ("t", "u"), ("t", "gone")])
ASSIGNORS = st.sampled_from([None, None, "uniform", "range"])
CHANCE = st.randoms(use_true_random=False)


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        world = Topics(t=3, u=2)
        world.consumers = ConsumerSettings(assignment_interval_ms=1_000, session_timeout_ms=45_000)
        self.bench = ConsumerBench(world)
        self.members: list[Member] = []
        self.instances = 0

    @precondition(lambda self: len(self.members) < 5)
    @rule(topics=SUBSCRIPTIONS, assignor=ASSIGNORS, is_static=st.booleans())
    def join(self, topics: tuple[str, ...], assignor: str | None, is_static: bool) -> None:
        self.instances += is_static
        instance = f"i{self.instances}" if is_static else None
        member = Member(self.bench, topics, instance_id=instance, assignor=assignor)
        self.members.append(member)
        member.beat()

    @precondition(lambda self: self.members)
    @rule(chance=CHANCE, is_answered=st.booleans(), lets_go=st.booleans(), says_all=st.booleans())
    def beat(self, chance: Any, is_answered: bool, lets_go: bool, says_all: bool) -> None:
        chance.choice(self.members).beat(
            is_answered=is_answered, lets_go=lets_go, says_all=says_all or not is_answered
        )

    @precondition(lambda self: self.members)
    @rule(chance=CHANCE, topics=SUBSCRIPTIONS)
    def want_others(self, chance: Any, topics: tuple[str, ...]) -> None:
        member = chance.choice(self.members)
        member.topics = topics
        member.beat(says_all=True)

    @precondition(lambda self: self.members)
    @rule(chance=CHANCE)
    def leave(self, chance: Any) -> None:
        member = chance.choice(self.members)
        self.members.remove(member)
        member.leave()

    @precondition(lambda self: any(m.instance_id and m.epoch > 0 for m in self.members))
    @rule(chance=CHANCE)
    def be_replaced(self, chance: Any) -> None:
        member = chance.choice([m for m in self.members if m.instance_id and m.epoch > 0])
        member.leave(for_a_while=True)
        self.members.remove(member)
        again = Member(self.bench, member.topics, instance_id=member.instance_id)
        self.members.append(again)
        again.beat()

    @precondition(lambda self: self.members)
    @rule(chance=CHANCE)
    def vanish(self, chance: Any) -> None:
        self.members.remove(chance.choice(self.members))

    @rule(partitions=st.integers(3, 6))
    def grow(self, partitions: int) -> None:
        self.bench.world.make("t", max(partitions, self.bench.world.topics["t"].partition_count))

    @rule(ms=st.sampled_from([10, 1_000, 20_000]))
    def wait(self, ms: int) -> None:
        """Those who are there beat in time, or what they have would be somebody else's before they hear of it."""
        for _ in range(max(ms // 5_000, 1)):
            self.bench.wait(min(ms, 5_000))
            for member in self.members:
                member.beat()

    @rule()
    def restart(self) -> None:
        self.bench = self.bench.restarted()
        for member in self.members:
            member.bench = self.bench

    @rule()
    def settle(self) -> None:
        for _ in range(14):
            self.bench.wait(5_000)
            for member in self.members:
                member.beat(says_all=True)
        for name, shape in self.bench.world.topics.items():
            wanting = [member for member in self.members if name in (member.topics or ())]
            holders = [
                sum((shape.topic_id, i) in member.owned for member in self.members)
                for i in range(shape.partition_count)
            ]
            assert holders == [bool(wanting)] * shape.partition_count, (name, holders)
        if self.members:
            assert self.bench.describe().state == "Stable"

    @invariant()
    def no_partition_is_in_two_hands(self) -> None:
        held = [place for member in self.members for place in member.owned]
        assert len(held) == len(set(held)), "a partition has two members"


Groups.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestConsumerGroups = Groups.TestCase
