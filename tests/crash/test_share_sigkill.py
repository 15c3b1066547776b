"""kill -9 under a share group at work, again and again: whatever was promised to a consumer still holds.

Thirty consumers of two libraries accept, release, reject, come too late, go away and die, while records keep coming;
a tenth of them fails, and with a dead-letter topic each record is accepted in the end, or a dead letter, none neither.
Every call and every answer is written down, and a checker that knows nothing of brokers says whether it could have been
so.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from crash.conftest import TOLD
from crash.share_workers import ShareWorkers
from crash.storm import Storm, parse
from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, consumer_of, create_topic, read
from interop.share_state import ACKNOWLEDGED, ARCHIVED, Offsets, offsets_of, share_facts, stored_states
from interop.test_share_librdkafka import ACCEPT, explicit, set_group
from leaselog.coordination.share_state_facts import ShareDropped
from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    BrokerDied,
    Delivered,
    Event,
    Sent,
    Stored,
)
from leaselog.testing.share_history_check import RecordPosition, Rules, judge

DEATHS = int(os.environ.get("LEASELOG_CRASH_DEATHS", "20"))
PARTITIONS = 3
LIMIT = 5
LOCK_MS = 2_000
DRAIN_S = 120.0
#: short leases, so that those who are late find out; few updates to a snapshot, so that recovery meets many
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "group.share.delivery.count.limit": str(LIMIT),
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "1000",
    # a consumer that closed while the broker was dead is a member until then, and has its share of the partitions
    "group.share.session.timeout.ms": "6000",
    "group.share.min.session.timeout.ms": "6000",
    "group.share.max.size": "1000",
    "share.coordinator.snapshot.update.records.per.snapshot": "30",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}
#: a quarter of what the broker does: it also has to be judged
BURST, PAUSE_S = 4, 0.1


@pytest.mark.timeout(400)
def test_what_a_share_group_was_promised_holds_over_every_death(
    broker_factory, fresh, tmp_path, seed, record_property
) -> None:
    record_property(TOLD, run(broker_factory, fresh, tmp_path, seed, deaths=DEATHS, has_dead_letters=True))


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_what_a_share_group_without_dead_letters_was_promised_holds_over_every_death(
    broker_factory, fresh, tmp_path, seed, record_property
) -> None:
    record_property(TOLD, run(broker_factory, fresh, tmp_path, seed, deaths=DEATHS, has_dead_letters=False))


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_what_a_share_group_was_promised_holds_over_a_hundred_deaths(
    broker_factory, fresh, tmp_path, seed, record_property
) -> None:
    record_property(TOLD, run(broker_factory, fresh, tmp_path, seed, deaths=100, has_dead_letters=True))


def run(broker_factory, fresh, tmp_path: Path, seed: int, *, deaths: int, has_dead_letters: bool) -> str:
    chance = random.Random(seed)
    broker: BrokerProcess = broker_factory(SETTINGS)
    topic = create_topic(broker, fresh("topic"), PARTITIONS)
    group, dead = set_group(broker, fresh("group")), None
    if has_dead_letters:
        dead = create_topic(broker, "dlq." + topic, 2, {"errors.deadletterqueue.group.enable": "true"})
        wish = {"topic_name": dead, "copy_record_enable": "true"}
        set_group(broker, group, **{f"errors_deadletterqueue_{key}": value for key, value in wish.items()})
    workers = ShareWorkers(broker.address, topic, group, tmp_path / "histories", seed)
    storm = Storm(0, broker.address, topic, PARTITIONS, idempotent=True, burst=BURST, pause_s=PAUSE_S)
    history: list[Event] = []
    starts_s: list[float] = []
    try:
        has_java = workers.start_java(10)
        consumers = 4 if has_java else 5
        workers.start_librdkafka(5 if has_java else 6, consumers)
        storm.start()
        workers.wait_until_all_have_records()
        for number in range(deaths):
            time.sleep(chance.uniform(0.5, 2.5))  # the moment of death is the point of the test
            history.append(BrokerDied(time.monotonic_ns()))
            broker.kill()
            if number % 5 == 4:
                workers.replace_one(chance, consumers)  # consumers die, too
            began = time.monotonic()
            broker.start()
            starts_s.append(time.monotonic() - began)
        storm.stop()
        workers.stop()
    finally:
        workers.kill()
    history += [*produced(storm), *workers.histories(), *drain(broker, group, topic)]
    ends = log_ends(broker, topic)
    letters = None if dead is None else dead_letters(broker, dead)
    rules = Rules(LIMIT, LOCK_MS, ends, out_of_deliveries(broker, group), dead_letters=letters)
    verdict = judge(history, rules)
    assert verdict.violations == (), f"{len(verdict.violations)} violations, first {verdict.violations[:3]}"
    compare_with_state(broker, group, topic, ends)
    seen = verdict.seen
    # nobody is to be pleased with a history in which nothing happened
    assert seen["broker deaths"] == deaths
    assert seen["records"] > 40 * deaths
    for what in ("accept answered", "release answered", "reject answered", "redelivered", "closed consumers"):
        assert seen[what] > 0, (what, seen)
    if has_dead_letters:
        assert seen["records with dead letters"] > deaths
    starts = f"{min(starts_s):.2f} to {max(starts_s):.2f} s to start"
    killed = f"{len(workers.killed)} times {consumers} consumers killed"
    hung = f"{workers.stuck_in_close} stuck in close"
    return f"{'with' if has_java else 'without'} Java, {starts}, {killed}, {hung}, {dict(seen)}"


def produced(storm: Storm) -> Iterator[Event]:
    for partition, count in storm.sent.items():
        for sequence in range(count):
            yield Sent(f"{storm.number}/{partition}/{sequence}", partition)
    for (partition, sequence), offset in storm.acknowledged.items():
        yield Stored(f"{storm.number}/{partition}/{sequence}", partition, offset)


def drain(broker: BrokerProcess, group: str, topic: str) -> Iterator[Event]:
    """What is left goes to a consumer that accepts everything, until the broker says that nothing is left."""
    with closing(explicit(broker, group, topic)) as consumer:
        began = time.monotonic()
        since_ns = time.monotonic_ns()
        while time.monotonic() - began < DRAIN_S:
            messages = [message for message in consumer.poll(timeout=0.5) if message.error() is None]
            for message in messages:
                number, partition, sequence = parse(message.value())
                place = ("drain", message.partition(), message.offset())
                record, count = f"{number}/{partition}/{sequence}", message.delivery_count()
                yield Delivered(*place, record, count, since_ns, time.monotonic_ns())
                yield Acknowledging(*place, "accept", time.monotonic_ns())
                consumer.acknowledge(message, ACCEPT)
            if messages:
                outcomes = {where.partition: e for where, e in consumer.commit_sync(20).items()}
                for message in messages:
                    ok = outcomes[message.partition()] is None
                    yield Answered("drain", message.partition(), message.offset(), ok, time.monotonic_ns())
            elif all(offsets.lag == 0 for offsets in offsets_of(broker, group).values()):
                return
    raise AssertionError(f"not drained after {DRAIN_S} s: {offsets_of(broker, group)}")


def dead_letters(broker: BrokerProcess, topic: str) -> dict[RecordPosition, list[str]]:
    """The records that lie on the dead-letter topic, by the place that their headers name."""
    found: dict[RecordPosition, list[str]] = {}
    for partition, end in log_ends(broker, topic, 2).items():
        for message in read(broker, topic, end, [partition]) if end else ():
            told = dict(message.headers())
            place = RecordPosition(*(int(told[f"__dlq.errors.{what}"]) for what in ("partition", "offset")))
            number, of_partition, sequence = parse(message.value())
            found.setdefault(place, []).append(f"{number}/{of_partition}/{sequence}")
    return found


def log_ends(broker: BrokerProcess, topic: str, partitions: int = PARTITIONS) -> dict[int, int]:
    consumer = consumer_of(broker, "asks-for-ends")
    try:
        places = [TopicPartition(topic, partition) for partition in range(partitions)]
        return {p.partition: consumer.get_watermark_offsets(p, timeout=WAIT_S)[1] for p in places}
    finally:
        consumer.close()


def out_of_deliveries(broker: BrokerProcess, group: str) -> set[RecordPosition]:
    """Nothing is pruned in the time that this test takes, so the state topic still tells of all of them."""
    found: set[RecordPosition] = set()
    for fact in share_facts(broker, group):
        for low, high, kind, count, _ in () if isinstance(fact, ShareDropped) else fact.batches:
            assert count <= LIMIT, f"{low} to {high} was delivered {count} times"
            if (kind, count) == (ARCHIVED, LIMIT):
                found.update(RecordPosition(fact.key.partition, offset) for offset in range(low, high))
    return found


def compare_with_state(broker: BrokerProcess, group: str, topic: str, ends: dict[int, int]) -> None:
    """The answers and the state topic agree that everything is through, and no count is above the limit.

    A write tells the start as it was before it, so the last records are told of one by one.
    """
    told = offsets_of(broker, group)
    stored = stored_states(broker, group)
    assert len(stored) == len(told) == PARTITIONS
    for (_, partition), state in stored.items():
        assert told[topic, partition] == Offsets(state.start, 0)
        assert sorted(state.records) == list(range(state.start, ends[partition]))
        assert state.complete_count == len(state.records)
        assert {kind for kind, _ in state.records.values()} <= {ACKNOWLEDGED, ARCHIVED}
        assert all(1 <= count <= LIMIT for _, count in state.records.values())
