"""Share groups at work while their topics change: retention, compaction, records and topics deleted, partitions added.

What is gone is not waited for, what is there is delivered, and the group's lag comes to nothing (KIP-932). The same
tests run on Apache Kafka.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from confluent_kafka import Message, ShareConsumer, TopicPartition
from confluent_kafka.admin import NewPartitions

from interop.broker_process import BrokerProcess
from interop.confluent_io import (
    WAIT_S,
    Sent,
    admin_of,
    consumer_of,
    create_topic,
    numbered,
    produce,
    wait_until,
)
from interop.raw_requests import connect
from interop.share_member import ACCEPT, RELEASE, RawShareMember, begin, codes, ranges, topic_id_of
from interop.share_state import Offsets, offsets_of, stored_states
from interop.test_share_librdkafka import commit, explicit, set_group
from interop.test_upkeep import QUICK
from leaselog.admin import Admin, Resource, ResourceType

SETTINGS = {
    **QUICK,
    "group.share.heartbeat.interval.ms": "300",
    "group.share.min.heartbeat.interval.ms": "300",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory, pytestconfig) -> Iterator[BrokerProcess]:
    """One that looks after its logs all the time."""
    process = BrokerProcess(tmp_path_factory.mktemp("keeper"), SETTINGS)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def member(broker) -> Iterator[Callable[[str, str], RawShareMember]]:
    """A member on a connection of its own, of a group that has begun with this topic."""
    made: list[RawShareMember] = []

    def make(group: str, topic: str) -> RawShareMember:
        made.append(RawShareMember(connect(broker), group, topic_id_of(broker, topic)))
        return made[-1]

    yield make
    for one in made:
        one.connection.close()


def log_range(broker: BrokerProcess, topic: str, partition: int = 0) -> tuple[int, int]:
    consumer = consumer_of(broker, "asks-for-offsets")
    try:
        consumer.list_topics(topic, timeout=WAIT_S)
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=WAIT_S)
    finally:
        consumer.close()


def delete_records(broker: BrokerProcess, topic: str, before: int) -> None:
    for done in admin_of(broker).delete_records([TopicPartition(topic, 0, before)]).values():
        done.result(WAIT_S)


def lags(broker: BrokerProcess, group: str) -> dict[tuple[str, int], int]:
    return {at: offsets.lag for at, offsets in offsets_of(broker, group).items()}


def accept(consumer: ShareConsumer, until: Callable[[Counter[tuple[str, int, int]]], bool]) -> list[Message]:
    """Takes and accepts whatever comes until it is what was waited for, which is looked at after every poll."""
    messages: list[Message] = []
    seen: Counter[tuple[str, int, int]] = Counter()
    deadline = time.monotonic() + PATIENCE_S
    while not until(seen):
        assert time.monotonic() < deadline, f"waited {PATIENCE_S} s, came {sorted(seen)[-20:]}"
        # a topic that was deleted is told of as an error, by those who had subscribed
        good = [message for message in consumer.poll(timeout=0.2) if message.error() is None]
        for message in good:
            consumer.acknowledge(message)
            seen[message.topic(), message.partition(), message.offset()] += 1
        if good:
            commit(consumer)
        messages += good
    return messages


def accept_until_no_lag(broker: BrokerProcess, consumer: ShareConsumer, group: str, end: int) -> list[int]:
    """The offsets of partition 0 that came until the group had nothing left before this end."""

    def is_through(_: object) -> bool:
        told = [offsets for (_, p), offsets in offsets_of(broker, group).items() if p == 0]
        return told[0].lag == 0 and told[0].start <= end

    return [message.offset() for message in accept(consumer, is_through)]


def test_what_went_by_size_is_not_waited_for(broker, fresh, member) -> None:
    config = {"retention.bytes": "200000", "segment.bytes": "1048576", "segment.ms": "100"}
    topic, group = create_topic(broker, fresh("topic"), config=config), set_group(broker, fresh("group"))
    big = numbered(100, size=1000)
    produce(broker, topic, big)
    begin(broker, group, [topic], 1)
    early = member(group, topic)
    assert early.acquire(until=50, max_records=50, share_acquire_mode=1) == {0: [(0, 49, 1)]}
    assert codes(early.acknowledge({0: [(0, 9, [ACCEPT])]})) == {0: 0}
    for _ in range(9):
        time.sleep(0.15)  # segments grow old by the broker's clock
        produce(broker, topic, big)
    wait_until(lambda: log_range(broker, topic)[0] >= 600, "the oldest segments to go", PATIENCE_S)
    assert codes(early.acknowledge({0: [(10, 49, [ACCEPT])]})) == {0: 0}, "too late to matter, and no error"
    start = log_range(broker, topic)[0]
    with closing(explicit(broker, group, topic)) as consumer:
        offsets = accept_until_no_lag(broker, consumer, group, 1000)
        assert set(offsets) >= set(range(max(start, log_range(broker, topic)[0]), 1000))
        assert len(offsets) == len(set(offsets))
        assert min(offsets) >= 50
        produce(broker, topic, numbered(1))
        assert [m.offset() for m in accept(consumer, bool)] == [1000]
    assert lags(broker, group) == {(topic, 0): 0}


def test_what_went_by_age_is_not_waited_for(broker, fresh, member) -> None:
    config = {"retention.ms": "500", "segment.ms": "100"}
    topic, group = create_topic(broker, fresh("topic"), config=config), set_group(broker, fresh("group"))
    begin(broker, group, [topic], 1)
    early = member(group, topic)
    produce(broker, topic, numbered(100))
    held = early.acquire(until=20, max_records=20, share_acquire_mode=1)
    assert held == {0: [(0, 19, 1)]}
    assert codes(early.acknowledge({0: [(0, 9, [ACCEPT]), (10, 14, [RELEASE])]})) == {0: 0}
    wait_until(lambda: log_range(broker, topic) == (100, 100), "all records to go", PATIENCE_S)
    with closing(explicit(broker, group, topic)) as consumer:
        # the next record may be young for a moment only, so there is always one more
        def came(seen: Counter[tuple[str, int, int]]) -> bool:
            if not seen:
                produce(broker, topic, numbered(1))
            return bool(seen)

        assert min(message.offset() for message in accept(consumer, came)) >= 100
        assert codes(early.acknowledge({0: [(15, 19, [ACCEPT])]})) == {0: 0}
    start = offsets_of(broker, group)[topic, 0].start
    assert start >= 100, "the start has moved along"


def test_deleted_records_are_through(broker, fresh, member) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(30), batch_num_messages=10)
    begin(broker, group, [topic], 1)
    early = member(group, topic)
    early.acquire(until=20, max_records=20, share_acquire_mode=1)
    assert codes(early.acknowledge({0: [(0, 2, [ACCEPT]), (3, 4, [RELEASE]), (8, 9, [RELEASE])]})) == {0: 0}
    delete_records(broker, topic, 7)
    with closing(explicit(broker, group, topic)) as consumer:
        # 7 and what follows is still leased, but for what was given back; the last ten nobody has had yet
        came = accept(consumer, lambda seen: len(seen) >= 12)
        assert sorted((m.offset(), m.delivery_count()) for m in came) == [
            (8, 2), (9, 2), *((offset, 1) for offset in range(20, 30))
        ]  # fmt: skip
        assert codes(early.acknowledge({0: [(5, 7, [ACCEPT]), (10, 19, [ACCEPT])]})) == {0: 0}
    assert lags(broker, group) == {(topic, 0): 0}
    ((_, state),) = stored_states(broker, group).items()
    assert min([state.start, *state.records]) >= 7, "below the log's start there is nothing to remember"


def test_deleting_all_records_leaves_nothing_to_wait_for(broker, fresh, member) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(10))
    begin(broker, group, [topic], 1)
    early = member(group, topic)
    early.acquire(until=10)
    assert codes(early.acknowledge({0: [(0, 0, [RELEASE])]})) == {0: 0}
    delete_records(broker, topic, -1)
    assert ranges(early.fetch(wait_ms=100)) == {}
    produce(broker, topic, numbered(1))
    assert early.acquire() == {0: [(10, 10, 1)]}
    assert codes(early.acknowledge({0: [(10, 10, [ACCEPT])]})) == {0: 0}
    assert lags(broker, group) == {(topic, 0): 0}


def test_compaction_takes_waiting_records_along(broker, fresh, member) -> None:
    config = {
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"
    }  # fmt: skip
    topic, group = create_topic(broker, fresh("topic"), config=config), set_group(broker, fresh("group"))
    for turn in range(10):
        pairs = [Sent(b"k%d" % n, b"%d-%d" % (turn, n)) for n in range(20)]
        produce(broker, topic, pairs)
    begin(broker, group, [topic], 1)
    early = member(group, topic)
    early.acquire(until=200)
    # some of each kind, and holes in between: through, waiting again, still held
    assert codes(early.acknowledge({0: [(0, 9, [ACCEPT]), (10, 149, [RELEASE])]})) == {0: 0}
    # now the cleaner may come: the segment is old enough to be closed by the next record
    with Admin(bootstrap_servers=broker.address) as admin:
        admin.alter_configs(Resource(ResourceType.TOPIC, topic), put={"segment.ms": "200"})
    time.sleep(0.3)
    produce(broker, topic, [Sent(b"end", b"end")])

    def surviving() -> list[int]:
        consumer = consumer_of(broker, "counts", enable_partition_eof=True)
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[int] = []
        while (message := consumer.poll(WAIT_S)) is not None and message.error() is None:
            found.append(message.offset())
        consumer.close()
        return found

    wait_until(lambda: len(surviving()) <= 21, "compaction", PATIENCE_S)
    assert surviving() == [*range(180, 201)]
    with closing(explicit(broker, group, topic)) as consumer:
        assert [m.offset() for m in accept(consumer, bool)] == [200], "180 to 199 are still held"
        assert codes(early.acknowledge({0: [(150, 199, [RELEASE])]})) == {0: 0}
        came = accept(consumer, lambda seen: len(seen) >= 20)
        assert sorted((m.offset(), m.delivery_count()) for m in came) == [(o, 2) for o in range(180, 200)]
        wait_until(lambda: lags(broker, group) == {(topic, 0): 0}, "nothing to be left")
        produce(broker, topic, [Sent(b"more", b"more")])
        assert [m.offset() for m in accept(consumer, bool)] == [201]
    assert lags(broker, group) == {(topic, 0): 0}


def test_partitions_that_are_added_are_consumed_too(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(5))
    with closing(explicit(broker, group, topic)) as consumer:
        accept(consumer, lambda seen: len(seen) >= 5)
        admin_of(broker).create_partitions([NewPartitions(topic, 3)])[topic].result(WAIT_S)
        for partition in range(3):
            wait_until(lambda p=partition: log_range(broker, topic, p)[1] >= 0, "the partition")
            produce(broker, topic, numbered(7, partition))
        came = accept(consumer, lambda seen: len(seen) >= 21)
        assert sorted((m.partition(), m.offset()) for m in came) == sorted(
            [(0, offset) for offset in range(5, 12)] + [(p, o) for p in (1, 2) for o in range(7)]
        )
    assert lags(broker, group) == {(topic, partition): 0 for partition in range(3)}


@pytest.mark.only_leaselog("Apache Kafka 4.3 passes over what was produced before the first fetch")
def test_a_group_of_the_latest_begins_an_added_partition_with_its_first_record(broker, fresh) -> None:
    """What was there when the group came is not for it; what is produced to a partition added since is."""
    topic = create_topic(broker, fresh("topic"))
    group = set_group(broker, fresh("group"), share_auto_offset_reset="latest")
    produce(broker, topic, numbered(3))
    begin(broker, group, [topic], 1)
    admin_of(broker).create_partitions([NewPartitions(topic, 2)])[topic].result(WAIT_S)
    wait_until(lambda: log_range(broker, topic, 1)[1] >= 0, "the partition")
    produce(broker, topic, numbered(7, 1))
    begin(broker, group, [topic], 2)
    assert offsets_of(broker, group)[topic, 1] == Offsets(0, 7)
    with closing(explicit(broker, group, topic)) as consumer:
        came = accept(consumer, lambda seen: len(seen) >= 7)
        assert sorted((m.partition(), m.offset()) for m in came) == [(1, offset) for offset in range(7)]


def test_a_deleted_topic_takes_its_state_along_and_begins_anew_under_its_name(broker, fresh) -> None:
    stays, goes = create_topic(broker, fresh("stays")), create_topic(broker, fresh("goes"))
    group = set_group(broker, fresh("group"))
    produce(broker, stays, numbered(5))
    produce(broker, goes, numbered(5))
    old_id = topic_id_of(broker, goes)
    with closing(explicit(broker, group, stays)) as consumer:
        consumer.subscribe([stays, goes])
        accept(consumer, lambda seen: len(seen) >= 10)
        admin_of(broker).delete_topics([goes])[goes].result(WAIT_S)
        produce(broker, stays, numbered(5))
        came = accept(consumer, lambda seen: len(seen) >= 5)
        assert sorted((m.topic(), m.offset()) for m in came) == [(stays, o) for o in range(5, 10)]
        wait_until(lambda: set(lags(broker, group)) == {(stays, 0)}, "the group to forget the topic")
        wait_until(lambda: (old_id, 0) not in stored_states(broker, group), "the topic's state to go")
        create_topic(broker, goes)
        assert topic_id_of(broker, goes) != old_id
        produce(broker, goes, numbered(3))
        came = accept(consumer, lambda seen: len(seen) >= 3)
        assert sorted((m.topic(), m.offset(), m.delivery_count()) for m in came) == [
            (goes, offset, 1) for offset in range(3)
        ]
    assert lags(broker, group) == {(stays, 0): 0, (goes, 0): 0}
    assert len(stored_states(broker, group)) == 2


@pytest.mark.only_leaselog("it leaves the session to fetch in vain")
def test_a_fetch_that_waits_is_told_that_its_topic_is_gone(broker, fresh, member) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(1))
    begin(broker, group, [topic], 1)
    one = member(group, topic)
    one.acquire()
    admin_of(broker).delete_topics([topic])[topic].result(WAIT_S)
    found: set[int] = set()

    def is_told() -> bool:
        answer = one.fetch(wait_ms=100)
        found.update(p.error_code for t in answer.responses for p in t.partitions if p.error_code)
        return bool(found)

    wait_until(is_told, "an error of the partition")
    assert found <= {3, 100}, "UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID"
    answer = one.acknowledge({0: [(0, 0, [ACCEPT])]})
    assert set(codes(answer).values()) <= {3, 100}
