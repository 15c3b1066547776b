"""What one thing costs does not depend on how many others there are: work is counted, not timed."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from leaselog.broker.dead_letters.office import _Delivery
from leaselog.broker.lending.delivery import LOOKED_AT, ShareDelivery
from leaselog.broker.records.partition import Partition
from leaselog.coordination import share_group_states
from leaselog.coordination.cluster_view import EmptyCluster, ShareSettings, TopicShape
from leaselog.coordination.group_commands import DropTopics, Token
from leaselog.coordination.group_facts import CommittedOffset, OffsetDropped
from leaselog.coordination.group_offsets import GroupOffsets
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits
from leaselog.coordination.share_group_commands import SettleShareStates, ShareHeartbeat
from leaselog.coordination.share_group_facts import (
    ShareEpoch,
    ShareEpochStored,
    ShareStates,
    ShareStateStored,
    TopicPartitions,
)
from leaselog.coordination.share_state_commands import DropTopicState
from leaselog.coordination.share_state_facts import ShareDropped, SharePartitionKey, ShareSnapshot
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.model import ZERO_UUID, GroupId, MemberId, TopicId, TopicPartition
from leaselog.share import Breaker, DeadLetters

GROUPS = 1_000
TOPIC, OTHER = TopicId(UUID(int=1)), TopicId(UUID(int=2))
WINDOW_MS = 60_000


def a_delivery(clock: list[int]) -> ShareDelivery:
    """Of groups that have a breaker each, by a clock that is put forward by hand."""
    config = SimpleNamespace(
        share_delivery_paused=False,
        errors_deadletterqueue_breaker_ratio=0.5,
        errors_deadletterqueue_breaker_window_ms=WINDOW_MS,
        errors_deadletterqueue_breaker_min_records=100,
    )
    cluster: Any = SimpleNamespace(configuration=SimpleNamespace(group=lambda _: config))
    runtime: Any = SimpleNamespace(monotonic_ms=lambda: clock[0])
    return ShareDelivery(runtime, cluster, wake=lambda _: None)


def test_a_new_groups_breaker_looks_at_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    is_idle = Breaker.is_idle

    def counted(breaker: Breaker, now_ms: int) -> bool:
        nonlocal looked
        looked += 1
        return is_idle(breaker, now_ms)

    monkeypatch.setattr(Breaker, "is_idle", counted)
    delivery = a_delivery([0])
    for number in range(GROUPS):
        delivery.finished(GroupId(f"g{number}"), 1, 0)
    assert looked <= LOOKED_AT * GROUPS
    assert len(delivery._breakers) == GROUPS


def test_breakers_of_groups_that_finish_nothing_any_more_go() -> None:
    clock = [0]
    delivery = a_delivery(clock)
    for number in range(GROUPS):
        delivery.finished(GroupId(f"g{number}"), 1, 0)
    clock[0] += 2 * WINDOW_MS
    for number in range(GROUPS):
        delivery.finished(GroupId(f"h{number}"), 1, 0)
    assert {group_id[0] for group_id in delivery._breakers} == {"h"}


class CountedLetters(tuple[DeadLetters, ...]):
    looked = 0

    def __getitem__(self, at: Any) -> Any:
        type(self).looked += 1
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[DeadLetters]:
        type(self).looked += len(self)
        return super().__iter__()


def test_finding_the_letters_of_one_batch_does_not_look_at_all_of_them() -> None:
    letters = CountedLetters(DeadLetters(2 * n, 2 * n + 1, 1, "") for n in range(GROUPS))
    delivery = _Delivery(GroupId("g"), cast(Partition, None), letters)
    CountedLetters.looked = 0
    for n in range(GROUPS):
        assert delivery.next_at(2 * n + 1) == min(2 * n + 2, delivery.end)
        assert [offset for offset, _ in delivery.between(2 * n, 2 * n + 2)] == [2 * n]
    assert CountedLetters.looked < 50 * GROUPS


def test_so_many_letters_from_somewhere_end_there() -> None:
    letters = (DeadLetters(0, 5, 1, ""), DeadLetters(10, 12, 1, ""), DeadLetters(20, 30, 1, ""))
    delivery = _Delivery(GroupId("g"), cast(Partition, None), letters)
    found = [delivery.behind(at, 4) for at in (0, 3, 4, 5, 11, 21, 28)]
    assert found == [4, 12, 21, 22, 23, 25, 30]


class NotWalked(dict[Any, Any]):
    """A table that nobody is to look at as a whole."""

    def __iter__(self) -> Any:
        raise AssertionError("walked")

    keys = values = items = __iter__


def test_deleting_a_topic_looks_at_the_groups_that_have_offsets_of_it() -> None:
    offsets, committed = GroupOffsets(), CommittedOffset(1, 0, "", 0, -1, ZERO_UUID)
    for number in range(GROUPS):
        offsets.put(GroupId(f"g{number}"), TopicPartition("t", 0), committed)
    for index in range(3):
        offsets.put(GroupId("g7"), TopicPartition("u", index), committed)
        offsets.put(GroupId("g7"), TopicPartition("u", index), committed)
    offsets._of_group = NotWalked(offsets._of_group)
    expected = [OffsetDropped(GroupId("g7"), TopicPartition("u", index)) for index in range(3)]
    assert list(offsets.drops_of_topics(frozenset({"u", "nobody's"}))) == expected
    for fact in expected:
        offsets.drop(fact.group_id, fact.partition)
        offsets.drop(fact.group_id, fact.partition)
    assert list(offsets.drops_of_topics(frozenset({"u"}))) == []
    assert len(list(offsets.drops_of_topics(frozenset({"t"})))) == GROUPS


class Topics(EmptyCluster):
    """What there is around the groups."""

    def __init__(self, partitions: int = 1) -> None:
        self.there = {"t": TOPIC, "u": OTHER}
        self.partitions = partitions

    def topics_version(self) -> int:
        return len(self.there)

    def topic(self, name: str) -> TopicShape | None:
        return TopicShape(self.there[name], self.partitions) if name in self.there else None

    def share_settings(self, group_id: GroupId) -> ShareSettings:
        return ShareSettings(max_size=GROUPS)


def test_deleting_a_topic_looks_at_the_share_groups_that_have_state_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    around = Topics()
    shard = GroupShard(GroupLimits(), around)

    def states(*topics: tuple[str, TopicId]) -> ShareStates:
        return ShareStates({}, {topic: TopicPartitions(name, frozenset({0})) for name, topic in topics})

    for number in range(GROUPS):
        group = GroupId(f"g{number}")
        shard.replay(ShareEpochStored(group, ShareEpoch(2, 0)), 0)
        shard.replay(ShareStateStored(group, states(("t", TOPIC))), 0)
    shard.replay(ShareStateStored(GroupId("g7"), states(("t", TOPIC), ("u", OTHER))), 0)
    shard.start(0)
    looked: list[GroupId] = []
    drop_lost = share_group_states.drop_lost

    def counted(group: Any, *more: Any) -> None:
        looked.append(group.group_id)
        drop_lost(group, *more)

    monkeypatch.setattr(share_group_states, "drop_lost", counted)
    del around.there["u"]
    outcome = shard.handle(DropTopics(Token(1), frozenset({"u"})), 1)
    assert looked == ["g7"]
    assert [fact for fact in outcome.facts if isinstance(fact, ShareStateStored)] == [
        ShareStateStored(GroupId("g7"), states(("t", TOPIC)))
    ]
    shard.apply(outcome, 1)
    assert shard.handle(DropTopics(Token(1), frozenset({"u"})), 1).facts == ()
    assert looked == ["g7"]


def test_a_thousand_members_that_join_write_few_facts() -> None:
    group, shard = GroupId("g"), GroupShard(GroupLimits(), Topics(partitions=GROUPS))
    shard.start(0)
    written = 0

    def ask(command: Any) -> Any:
        nonlocal written
        outcome = shard.handle(command, 1)
        shard.apply(outcome, 1)
        written += len(outcome.facts)
        return outcome.replies[0].answer

    def beat(member: MemberId, **more: Any) -> Any:
        return ask(ShareHeartbeat(Token(1), group, member, 0, "c", "/h", None, ("t",), **more))

    first = beat(MemberId("m"))
    ask(SettleShareStates(Token(1), group, first.to_initialize, {}))
    for number in range(GROUPS - 1):
        beat(MemberId(f"m{number}"))
    assert written < 12 * GROUPS


def test_deleting_a_topic_looks_at_its_own_share_state() -> None:
    def snapshot(number: int, topic: TopicId) -> ShareSnapshot:
        return ShareSnapshot(SharePartitionKey(GroupId(f"g{number}"), topic, 0), 0, 0, 0, 0, 0, 0, 0)

    shard = ShareStateShard(ShareStateLimits())
    for number in range(GROUPS):
        shard.replay(snapshot(number, TOPIC), number)
        shard.replay(snapshot(number, TOPIC), number)
    mine = snapshot(3, OTHER)
    shard.replay(mine, GROUPS)
    shard._states = NotWalked(shard._states)
    assert shard.topic_ids() == {TOPIC, OTHER}
    assert shard.handle(DropTopicState(OTHER), 0).facts == (ShareDropped(mine.key),)
    for _ in range(2):
        shard.replay(ShareDropped(mine.key), GROUPS + 1)
    assert shard.topic_ids() == {TOPIC}
    assert shard.handle(DropTopicState(OTHER), 0).facts == ()
    assert len(shard.handle(DropTopicState(TOPIC), 0).facts) == GROUPS
