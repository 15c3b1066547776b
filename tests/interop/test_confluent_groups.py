"""Consumer groups with librdkafka members: who reads what, before and after somebody comes, goes or dies."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaError, TopicPartition

from interop.confluent_io import (
    WAIT_S,
    admin_of,
    consumer_of,
    create_topic,
    numbered,
    produce,
    wait_until,
)

STRATEGIES = ["range", "roundrobin", "cooperative-sticky"]


class Member:
    """A consumer with a record of what it was given and what was taken from it."""

    def __init__(self, broker, group: str, topics: list[str], **config) -> None:
        self.consumer: Consumer = consumer_of(broker, group, **config)
        self.history: list[tuple[str, frozenset[int]]] = []
        self.read: list[tuple[int, int]] = []
        self.errors: list[KafkaError] = []
        self.consumer.subscribe(
            topics,
            on_assign=lambda _, parts: self._note("assigned", parts),
            on_revoke=lambda _, parts: self._note("revoked", parts),
            on_lost=lambda _, parts: self._note("lost", parts),
        )

    def _note(self, what: str, parts: list[TopicPartition]) -> None:
        self.history.append((what, frozenset(part.partition for part in parts)))

    def turn(self) -> None:
        for message in self.consumer.consume(100, 0.05):
            if message.error():
                self.errors.append(message.error())
            else:
                self.read.append((message.partition(), message.offset()))

    @property
    def holds(self) -> frozenset[int]:
        return frozenset(part.partition for part in self.consumer.assignment())

    def close(self) -> None:
        self.consumer.close()


def share(members: list[Member], partitions: int) -> bool:
    """Everybody polls once; true when they hold every partition once, in fair parts."""
    for member in members:
        member.turn()
    held = [partition for member in members for partition in member.holds]
    counts = [len(member.holds) for member in members]
    return sorted(held) == list(range(partitions)) and max(counts) - min(counts) <= 1


def settle(members: list[Member], partitions: int, wait_s: float = WAIT_S) -> None:
    wait_until(lambda: share(members, partitions), f"{len(members)} members to share {partitions}", wait_s)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_that_come_and_go_share_every_partition(broker, fresh, strategy) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=6), fresh("group")
    config = {"partition_assignment_strategy": strategy}
    with ExitStack() as stack:
        members = []
        for _ in range(3):
            members.append(stack.enter_context(closing(Member(broker, group, [topic], **config))))
            settle(members, 6)
        members.pop(0).close()
        settle(members, 6)
        members.pop().close()
        settle(members, 6)


def test_every_record_is_read_once_while_members_come_and_commit(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=4), fresh("group")
    produce(broker, topic, [record for p in range(4) for record in numbered(200, p)])
    with closing(Member(broker, group, [topic], enable_auto_commit=True)) as one:
        settle([one], 4)
        with closing(Member(broker, group, [topic], enable_auto_commit=True)) as two:
            settle([one, two], 4)
            produce(broker, topic, [record for p in range(4) for record in numbered(200, p)])
            everything = {(p, offset) for p in range(4) for offset in range(400)}

            def all_read() -> bool:
                one.turn()
                two.turn()
                return {*one.read, *two.read} == everything

            wait_until(all_read, "all records")
            assert sorted(one.read + two.read) == sorted(everything)


def test_a_cooperative_member_keeps_what_it_does_not_give_away(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=4), fresh("group")
    config = {"partition_assignment_strategy": "cooperative-sticky"}
    with closing(Member(broker, group, [topic], **config)) as one:
        settle([one], 4)
        with closing(Member(broker, group, [topic], **config)) as two:
            settle([one, two], 4)
            taken = frozenset().union(*(parts for what, parts in one.history if what == "revoked"))
            assert taken == two.holds
            assert len(taken) == 2


def test_a_member_that_dies_is_replaced_when_its_session_ends(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    config = {"session_timeout_ms": 1_500, "max_poll_interval_ms": 1_500}
    with ExitStack() as stack:
        one = stack.enter_context(closing(Member(broker, group, [topic], **config)))
        two = stack.enter_context(closing(Member(broker, group, [topic], **config)))
        settle([one, two], 2)
        # one stops polling: librdkafka leaves the group for it after max.poll.interval.ms
        wait_until(lambda: (two.turn(), two.holds == frozenset({0, 1}))[1], "two to hold everything")


def test_a_static_member_returns_to_its_partitions_without_a_rebalance(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=4), fresh("group")
    with ExitStack() as stack:
        two = stack.enter_context(closing(Member(broker, group, [topic], group_instance_id="two")))
        one = Member(broker, group, [topic], group_instance_id="one")
        settle([one, two], 4)
        before, events = one.holds, len(two.history)
        one.close()  # a static member does not leave
        again = stack.enter_context(closing(Member(broker, group, [topic], group_instance_id="one")))
        wait_until(lambda: (again.turn(), two.turn(), again.holds == before)[2], "the return")
        assert len(two.history) == events


def test_the_newer_of_two_members_with_one_static_name_fences_the_older(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    with ExitStack() as stack:
        old = stack.enter_context(closing(Member(broker, group, [topic], group_instance_id="same")))
        settle([old], 2)
        new = stack.enter_context(closing(Member(broker, group, [topic], group_instance_id="same")))
        wait_until(lambda: (old.turn(), new.turn(), old.errors and new.holds)[2], "the fence")
        assert old.errors[0].code() == KafkaError._FATAL
        assert "fenced" in old.errors[0].str()
        assert new.holds == frozenset({0, 1})


def test_a_pattern_subscribes_to_topics_that_come_later(broker, fresh) -> None:
    stem = fresh("pattern")
    create_topic(broker, f"{stem}-a", partitions=2)
    config = {"topic_metadata_refresh_interval_ms": 300}
    with closing(Member(broker, fresh("group"), [f"^{stem}-.*"], **config)) as member:
        settle([member], 2)
        create_topic(broker, f"{stem}-b", partitions=1)

        def topics() -> set[tuple[str, int]]:
            member.turn()
            return {(part.topic, part.partition) for part in member.consumer.assignment()}

        wanted = {(f"{stem}-a", 0), (f"{stem}-a", 1), (f"{stem}-b", 0)}
        wait_until(lambda: topics() == wanted, "the later topic")


def test_a_member_without_a_common_strategy_is_refused(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    with ExitStack() as stack:
        config = {"partition_assignment_strategy": "range"}
        one = stack.enter_context(closing(Member(broker, group, [topic], **config)))
        settle([one], 2)
        config = {"partition_assignment_strategy": "roundrobin"}
        two = stack.enter_context(closing(Member(broker, group, [topic], **config)))
        wait_until(lambda: (one.turn(), two.turn(), two.errors)[2], "the refusal")
        assert two.errors[0].code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL
        assert one.holds == frozenset({0, 1})


def test_a_session_timeout_out_of_bounds_is_refused(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    with closing(Member(broker, fresh("group"), [topic], session_timeout_ms=100)) as member:
        wait_until(lambda: (member.turn(), member.errors)[1], "the refusal")
        assert member.errors[0].code() == KafkaError.INVALID_SESSION_TIMEOUT


def test_a_group_is_described_with_its_members_while_it_lives(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=3), fresh("group")
    config = {"client_id": "reader", "partition_assignment_strategy": "range"}
    with closing(Member(broker, group, [topic], **config)) as member:
        settle([member], 3)
        described = admin_of(broker).describe_consumer_groups([group])[group].result(WAIT_S)
        assert described.state == ConsumerGroupState.STABLE
        assert described.partition_assignor == "range"
        (only,) = described.members
        assert only.client_id == "reader"
        assert only.host.strip("/") == "127.0.0.1"
        assert {(p.topic, p.partition) for p in only.assignment.topic_partitions} == {
            (topic, p) for p in range(3)
        }
    emptied = admin_of(broker).describe_consumer_groups([group])[group].result(WAIT_S)
    assert (emptied.state, emptied.members) == (ConsumerGroupState.EMPTY, [])


def test_a_group_forgets_nothing_while_nobody_is_there(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    produce(broker, topic, numbered(10, 0) + numbered(10, 1))
    with closing(Member(broker, group, [topic])) as member:
        wait_until(lambda: (member.turn(), len(member.read) == 20)[1], "the records")
        member.consumer.commit(asynchronous=False)
    with closing(Member(broker, group, [topic])) as member:
        settle([member], 2)
        produce(broker, topic, numbered(1, 1))
        wait_until(lambda: (member.turn(), member.read)[1], "the new record")
        started = time.monotonic()
        while time.monotonic() - started < 0.5:
            member.turn()
        assert member.read == [(1, 10)]
