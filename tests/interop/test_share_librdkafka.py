"""Share groups with librdkafka's consumer (confluent-kafka's ShareConsumer): every way to acknowledge, and every end.

What is said to be accepted stays accepted, whatever happens to the consumer or the broker; what is not comes again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Message, ShareConsumer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, Sent, admin_of, create_topic, numbered, produce, wait_until

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
#: leases short enough to wait for
SHORT_LOCKS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "1000",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture
def quick(broker_factory) -> BrokerProcess:
    return broker_factory(SHORT_LOCKS)


def set_group(broker: BrokerProcess, group: str, **values: str) -> str:
    """Underscores stand for dots. A group begins with the first record unless said otherwise."""
    wishes = {"share.auto.offset.reset": "earliest", **{k.replace("_", "."): v for k, v in values.items()}}
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in wishes.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    for done in admin_of(broker).incremental_alter_configs([resource]).values():
        done.result(WAIT_S)
    return group


def share_consumer(broker: BrokerProcess, group: str, topic: str, **config: Any) -> ShareConsumer:
    named = {key.replace("_", "."): value for key, value in config.items()}
    consumer = ShareConsumer(
        {"bootstrap.servers": broker.address, "group.id": group, "log_level": 2, **named}
    )
    consumer.subscribe([topic])
    return consumer


def explicit(broker: BrokerProcess, group: str, topic: str, **config: Any) -> ShareConsumer:
    return share_consumer(broker, group, topic, share_acknowledgement_mode="explicit", **config)


def polls(consumer: ShareConsumer, wait_s: float = WAIT_S) -> Iterator[Message]:
    """Every message until the time is up; what is done with one is done before the next comes."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        for message in consumer.poll(timeout=0.2):
            assert message.error() is None, message.error()
            yield message


def take(
    consumer: ShareConsumer, count: int, acknowledge: Callable[[Message], None] | None = None
) -> list[Message]:
    """At least so many messages, and all that came with them."""
    messages: list[Message] = []
    deadline = time.monotonic() + WAIT_S
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} messages"
        for message in consumer.poll(timeout=0.2):
            assert message.error() is None, message.error()
            messages.append(message)
            if acknowledge is not None:
                acknowledge(message)
    return messages


def commit(consumer: ShareConsumer) -> None:
    outcome = consumer.commit_sync(timeout=WAIT_S)
    assert all(error is None for error in outcome.values()), outcome


def places(messages: list[Message]) -> list[tuple[int, int]]:
    return sorted((message.partition(), message.offset()) for message in messages)


def nothing_comes(consumer: ShareConsumer, wait_s: float = 1.0) -> bool:
    return not [message.offset() for message in polls(consumer, wait_s)]


def test_implicit_consumers_read_everything_once(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=3)
    group = set_group(broker, fresh("group"))
    for partition in range(3):
        produce(broker, topic, numbered(200, partition))
    with closing(share_consumer(broker, group, topic)) as consumer:
        messages = take(consumer, 600)
        assert len(set(places(messages))) == len(messages) == 600
        assert {message.delivery_count() for message in messages} == {1}
        assert {message.value() for message in messages} == {sent.value for sent in numbered(200)}
        commit(consumer)
    with closing(share_consumer(broker, group, topic)) as another:
        assert nothing_comes(another)


def test_polling_again_accepts_what_came_before(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(5))
    with closing(share_consumer(broker, group, topic)) as consumer:
        take(consumer, 5)
        consumer.poll(timeout=0.2)
        produce(broker, topic, numbered(1))
        take(consumer, 1)
        consumer.poll(timeout=0.2)
    with closing(share_consumer(broker, group, topic)) as another:
        assert nothing_comes(another)


def test_accept_release_and_reject(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(9))
    with closing(explicit(broker, group, topic)) as consumer:
        kinds = [ACCEPT, RELEASE, REJECT]
        take(consumer, 9, lambda message: consumer.acknowledge(message, kinds[message.offset() % 3]))
        commit(consumer)
        again = take(consumer, 3, consumer.acknowledge)
        assert [(m.offset(), m.delivery_count()) for m in again] == [(1, 2), (4, 2), (7, 2)]
        commit(consumer)
        assert nothing_comes(consumer)


def test_acknowledging_by_offset(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(3))
    with closing(explicit(broker, group, topic)) as consumer:
        for message in take(consumer, 3):
            consumer.acknowledge_offset(topic, message.partition(), message.offset(), REJECT)
        commit(consumer)
        assert nothing_comes(consumer)


def test_committing_without_waiting_tells_a_callback(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(10))
    told: list[tuple[set[int], Exception | None]] = []
    with closing(explicit(broker, group, topic)) as consumer:
        consumer.set_acknowledgement_commit_callback(
            lambda offsets, error: told.extend((found, error) for found in offsets.values())
        )
        take(consumer, 10, consumer.acknowledge)
        consumer.commit_async()
        wait_until(lambda: [*consumer.poll(timeout=0.1)] or told, "the callback")
    assert {offset for offsets, _ in told for offset in offsets} == set(range(10))
    assert [error for _, error in told if error is not None] == []


def test_many_consumers_share_one_partition(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(400), batch_num_messages=1)
    seen: Counter[int] = Counter()
    busy: Counter[int] = Counter()
    lock = threading.Lock()

    def work(number: int) -> None:
        with closing(explicit(broker, group, topic, max_poll_records=5)) as consumer:
            deadline = time.monotonic() + WAIT_S
            while sum(seen.values()) < 400 and time.monotonic() < deadline:
                messages = [*consumer.poll(timeout=0.2)]
                for message in messages:
                    consumer.acknowledge(message)
                if messages:
                    time.sleep(
                        0.01
                    )  # the work, without which one consumer may be done before the others begin
                    commit(consumer)
                with lock:
                    seen.update(message.offset() for message in messages)
                    busy[number] += len(messages)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * WAIT_S)
    assert seen == Counter(range(400))
    assert len([count for count in busy.values() if count]) >= 6


def test_a_lease_that_runs_out_is_delivered_again_five_times_in_all(quick, fresh) -> None:
    topic, group = create_topic(quick, fresh("topic")), set_group(quick, fresh("group"))
    produce(quick, topic, numbered(1))
    counts = []
    for _ in range(5):
        # consumers that neither acknowledge nor poll again, until their time is up
        consumer = explicit(quick, group, topic)
        (message,) = take(consumer, 1)
        counts.append(message.delivery_count())
        time.sleep(1.2)  # the broker's clock is what ends a lease
        consumer.close()
    assert counts == [1, 2, 3, 4, 5]
    produce(quick, topic, numbered(1))
    with closing(explicit(quick, group, topic)) as consumer:
        assert [m.offset() for m in take(consumer, 1, consumer.acknowledge)] == [1]
        commit(consumer)
        assert nothing_comes(consumer)


def test_acknowledging_too_late_is_told(quick, fresh) -> None:
    topic, group = create_topic(quick, fresh("topic")), set_group(quick, fresh("group"))
    produce(quick, topic, numbered(1))
    with closing(explicit(quick, group, topic)) as consumer:
        take(consumer, 1, consumer.acknowledge)
        time.sleep(1.2)  # the broker's clock is what ends a lease
        (error,) = consumer.commit_sync(timeout=WAIT_S).values()
        assert "INVALID_RECORD_STATE" in str(error)


def test_a_group_may_have_longer_leases_and_fewer_deliveries(quick, fresh) -> None:
    topic, group = create_topic(quick, fresh("topic")), fresh("group")
    set_group(quick, group, share_record_lock_duration_ms="30000", share_delivery_count_limit="2")
    produce(quick, topic, numbered(1))
    with closing(explicit(quick, group, topic)) as consumer:
        (message,) = take(consumer, 1)
        time.sleep(1.2)  # longer than the broker's own leases
        consumer.acknowledge(message, RELEASE)
        commit(consumer)
        (message,) = take(consumer, 1)
        assert message.delivery_count() == 2
        consumer.acknowledge(message, RELEASE)
        commit(consumer)
        assert nothing_comes(consumer)


def test_closing_gives_back_what_was_not_acknowledged(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(10))
    first = explicit(broker, group, topic)
    messages = take(first, 10)
    for message in messages[:4]:
        first.acknowledge(message)
    first.close()
    with closing(explicit(broker, group, topic)) as second:
        again = take(second, 6, second.acknowledge)
        assert [(m.offset(), m.delivery_count()) for m in again] == [(o, 2) for o in range(4, 10)]
        commit(second)


def test_a_record_whose_consumers_go_away_again_and_again_is_archived(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    group = set_group(broker, fresh("group"), share_delivery_count_limit="2")
    produce(broker, topic, numbered(1))
    for delivery in (1, 2):
        with closing(explicit(broker, group, topic)) as consumer:
            assert [m.delivery_count() for m in take(consumer, 1)] == [delivery]
    produce(broker, topic, numbered(1))
    with closing(explicit(broker, group, topic)) as consumer:
        after = take(consumer, 1, consumer.acknowledge)
        assert [(m.offset(), m.delivery_count()) for m in after] == [(1, 1)]
        commit(consumer)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_was_accepted_stays_accepted_when_the_broker_ends(broker_factory, fresh, end: str) -> None:
    broker = broker_factory(SHORT_LOCKS)
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(10))
    with closing(explicit(broker, group, topic)) as consumer:
        kinds = {0: ACCEPT, 1: ACCEPT, 4: ACCEPT, 5: REJECT, 6: RELEASE}
        for message in take(consumer, 10):
            consumer.acknowledge(message, kinds.get(message.offset(), ACCEPT))
            if message.offset() == 6:
                break
        commit(consumer)
        getattr(broker, end)()
    broker.start()
    with closing(explicit(broker, group, topic)) as consumer:
        again = {m.offset(): m.delivery_count() for m in take(consumer, 4, consumer.acknowledge)}
        assert again == {6: 2, 7: 1, 8: 1, 9: 1}
        commit(consumer)
        assert nothing_comes(consumer)


@pytest.mark.alone
def test_new_records_reach_who_waits_at_once(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, [Sent(value=b"first")])
    with closing(explicit(broker, group, topic)) as consumer:
        take(consumer, 1, consumer.acknowledge)
        commit(consumer)
        came: list[float] = []

        def wait() -> None:
            take(consumer, 1, consumer.acknowledge)
            came.append(time.monotonic())
            commit(consumer)

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.3)  # so that it waits
        produce(broker, topic, [Sent(value=b"second")], linger_ms=0)
        produced = time.monotonic()
        waiting.join(WAIT_S)
        assert came
        assert came[0] - produced < 0.3


@pytest.mark.alone
@pytest.mark.only_leaselog("it hands out the first partitions an interval later")
def test_the_first_record_of_a_fresh_group_comes_with_the_first_heartbeat(broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(1))
    with ExitStack() as stack:
        started = time.monotonic()
        consumer = stack.enter_context(closing(explicit(broker, group, topic)))
        take(consumer, 1, consumer.acknowledge)
        # an interval is five seconds; connecting and finding the coordinator take the client some of this
        assert time.monotonic() - started < 2.0


@pytest.mark.only_leaselog("waits between deliveries are leaselog's own")
def test_what_is_released_comes_again_after_the_groups_pause_and_not_before(broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    produce(broker, topic, numbered(2))
    configs = {"share_retry_backoff_ms": "1500", "share_retry_backoff_jitter": "0"}
    group = set_group(broker, fresh("group"), **configs)
    with closing(explicit(broker, group, topic)) as consumer:
        released_s: dict[int, float] = {}
        waited_s: dict[int, float] = {}
        for message in polls(consumer):
            if message.offset() in released_s:
                assert message.delivery_count() == 2
                waited_s[message.offset()] = time.monotonic() - released_s[message.offset()]
                consumer.acknowledge(message, ACCEPT)
            else:
                consumer.acknowledge(message, RELEASE)
                released_s[message.offset()] = time.monotonic()
            commit(consumer)
            if len(waited_s) == 2:
                break
    assert waited_s.keys() == {0, 1}
    assert min(waited_s.values()) >= 1.5
