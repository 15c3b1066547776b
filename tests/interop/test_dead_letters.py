"""Dead letters, said byte for byte: the same expectations hold on leaselog and on Apache Kafka 4.4.0 (`on-kafka-4.4`).

Where the two differ on purpose the test says so. Judged are keys, values and headers, and where the letters lie.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import AcknowledgeType as Theirs
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import (
    WAIT_S,
    Headers,
    Sent,
    admin_of,
    as_sent,
    create_topic,
    produce,
    read,
    wait_until,
)
from interop.raw_requests import connected
from interop.share_member import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    Acks,
    RawShareMember,
    begin,
    codes,
    topic_id_of,
)
from interop.share_state import offsets_of
from interop.test_share_librdkafka import explicit, set_group
from interop.test_share_librdkafka import take as take_shared
from leaselog.client import AcknowledgeType, ShareConsumer, ShareRecord

pytestmark = pytest.mark.on_kafka_4_4

ALLOWED = {"errors.deadletterqueue.group.enable": "true"}
REJECTED = b"Offset rejected by client."
EXHAUSTED = b"Offset delivery count exceeded the threshold."


def why(topic: str, group: str, partition: int, offset: int, count: int, message: bytes) -> Headers:
    """The headers of a dead letter, all of them, in their order."""
    return (
        ("__dlq.errors.topic", topic.encode()),
        ("__dlq.errors.partition", b"%d" % partition),
        ("__dlq.errors.offset", b"%d" % offset),
        ("__dlq.errors.group", group.encode()),
        ("__dlq.errors.delivery.count", b"%d" % count),
        ("__dlq.errors.message", message),
    )


def group_of(broker: BrokerProcess, name: str, topic: str, **values: str) -> str:
    return set_group(
        broker,
        name,
        errors_deadletterqueue_topic_name=topic,
        errors_deadletterqueue_copy_record_enable="true",
        **values,
    )


def end_of(broker: BrokerProcess, topic: str, partition: int = 0) -> int:
    place = TopicPartition(topic, partition)
    return int(admin_of(broker).list_offsets({place: OffsetSpec.latest()})[place].result(WAIT_S).offset)


def all_of(broker: BrokerProcess, topic: str, partition: int = 0) -> list[Sent]:
    """Every record of the topic, when what leads to dead letters is over."""
    count = end_of(broker, topic, partition)
    return [as_sent(message) for message in read(broker, topic, count, [partition])] if count else []


def until_archived(broker: BrokerProcess, group: str, lags: dict[tuple[str, int], int]) -> None:
    """So many records are left, and the dead letters of the others written, or never to be."""

    def are_told() -> bool:
        told = offsets_of(broker, group)
        return all(place in told and told[place].lag == lag for place, lag in lags.items())

    wait_until(are_told, f"{group} to lag by {lags}")


def acknowledged(member: RawShareMember, acks: Acks) -> None:
    assert set(codes(member.acknowledge(acks)).values()) == {0}


def test_what_is_rejected_arrives_with_its_key_its_value_and_the_reason(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    src, zipped, dead = fresh("src"), fresh("zipped"), "dlq." + fresh("dead")
    create_topic(dead_broker, src, partitions=3)
    create_topic(dead_broker, zipped)
    create_topic(dead_broker, dead, partitions=2, config=ALLOWED)
    group = group_of(dead_broker, fresh("group"), dead)
    own = (("mine", b"1"), ("none", None))
    sent = [
        Sent(None, b"no key"),
        Sent(b"tombstone", None, own),
        Sent(b"accepted", b"x"),
        Sent(b"", b""),
        Sent(b"released", b"x"),
        Sent(b"gone", b"x"),
    ]
    produce(dead_broker, src, sent)
    for partition in (1, 2):
        produce(dead_broker, src, [Sent(b"p%d" % partition, bytes(range(256)), own, partition)])
    many = [Sent(b"z%d" % n, b"value " * n) for n in range(20)]
    produce(dead_broker, zipped, many, compression_type="zstd", linger_ms=200)
    begin(dead_broker, group, [src, zipped], 4)
    with connected(dead_broker) as connection:
        member = RawShareMember(connection, group, topic_id_of(dead_broker, src))
        member.acquire(partitions=range(3), until=8)
        acknowledged(member, {0: [(0, 5, [REJECT, REJECT, ACCEPT, REJECT, RELEASE, GAP])]})
        for partition in (1, 2):
            acknowledged(member, {partition: [(0, 0, [REJECT])]})
        other = RawShareMember(connection, group, topic_id_of(dead_broker, zipped))
        other.acquire(until=20)
        acknowledged(other, {0: [(0, 2, [ACCEPT]), (3, 4, [REJECT]), (5, 9, [ACCEPT])]})
        acknowledged(other, {0: [(10, 10, [REJECT]), (11, 19, [ACCEPT])]})
        until_archived(dead_broker, group, {(src, 0): 1, (src, 1): 0, (src, 2): 0, (zipped, 0): 0})
    even, odd = all_of(dead_broker, dead, 0), all_of(dead_broker, dead, 1)
    assert sorted(even, key=str) == sorted(
        [
            *(Sent(sent[n].key, sent[n].value, why(src, group, 0, n, 1, REJECTED)) for n in (0, 1, 3)),
            Sent(b"p2", bytes(range(256)), why(src, group, 2, 0, 1, REJECTED)),
            *(Sent(many[n].key, many[n].value, why(zipped, group, 0, n, 1, REJECTED)) for n in (3, 4, 10)),
        ],
        key=str,
    )
    assert odd == [Sent(b"p1", bytes(range(256)), why(src, group, 1, 0, 1, REJECTED), partition=1)]


def test_a_reason_of_the_consumers_own_is_the_letters_message(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    """Apache Kafka, which knows no such reason, writes the letter all the same."""
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, dead, config=ALLOWED)
    group = group_of(dead_broker, fresh("group"), dead)
    produce(dead_broker, src, [Sent(b"k%d" % n, b"v") for n in range(3)])
    config = {"bootstrap.servers": dead_broker.address, "group.id": group}
    with ShareConsumer(config, share_acknowledgement_mode="explicit") as consumer:
        consumer.subscribe([src])
        seen = 0
        for _ in range(int(WAIT_S)):
            for record in consumer.poll(1):
                seen += 1
                if record.offset == 0:
                    consumer.reject(record, reason="žádné zboží")
                elif record.offset == 1:
                    consumer.reject(record)
                else:
                    with consumer.processing(record, reject=[ValueError], suppress=True):
                        raise ValueError("no such item")
            if seen == 3:
                break
    until_archived(dead_broker, group, {(src, 0): 0})
    reasons = ["žádné zboží".encode(), REJECTED, b"ValueError: no such item"]
    messages = [REJECTED] * 3 if is_kafka() else reasons
    assert all_of(dead_broker, dead) == [
        Sent(b"k%d" % n, b"v", why(src, group, 0, n, 1, message)) for n, message in enumerate(messages)
    ]


@pytest.mark.only_leaselog("Apache Kafka keeps no reasons")
def test_the_letter_of_what_a_worker_could_not_do_names_its_last_failure(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, dead, config=ALLOWED)
    group = group_of(dead_broker, fresh("group"), dead, share_delivery_count_limit="2")
    produce(dead_broker, src, [Sent(b"k", b"v")])

    def work(record: ShareRecord[bytes, bytes]) -> None:
        if record.is_last_attempt:
            consumer.wakeup()
        raise OSError(f"no answer at delivery {record.delivery_count}")

    with ShareConsumer(dead_broker.address, group_id=group) as consumer:
        consumer.subscribe([src])
        consumer.run(work, retry_delays=(0.1,))
    until_archived(dead_broker, group, {(src, 0): 0})
    reason = b"OSError: no answer at delivery 2"
    assert all_of(dead_broker, dead) == [Sent(b"k", b"v", why(src, group, 0, 0, 2, reason))]


def test_what_is_out_of_deliveries_arrives_with_the_reason(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    """Given back, kept too long, and left behind by a session that ends."""
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src, partitions=3)
    create_topic(dead_broker, dead, config=ALLOWED)
    settings = {"share_delivery_count_limit": "2", "share_record_lock_duration_ms": "1000"}
    group = group_of(dead_broker, fresh("group"), dead, **settings)
    for partition in range(3):
        produce(dead_broker, src, [Sent(b"k%d" % partition, b"v", partition=partition)])
    begin(dead_broker, group, [src], 3)
    topic_id = topic_id_of(dead_broker, src)
    with connected(dead_broker) as connection:
        member = RawShareMember(connection, group, topic_id)
        leaver = RawShareMember(connection, group, topic_id)
        for _ in range(2):
            member.acquire(partitions=[0], until=1)
            acknowledged(member, {0: [(0, 0, [RELEASE])]})
            leaver.acquire(partitions=[1], until=1)
            assert leaver.acknowledge({}, epoch=-1).error_code == 0
            leaver.epoch = 0
        keeper = RawShareMember(connection, group, topic_id)
        keeper.acquire(partitions=[2], until=2)  # the second time when the lease has run out
        until_archived(dead_broker, group, {(src, partition): 0 for partition in range(3)})
    found = all_of(dead_broker, dead)
    assert sorted(found, key=str) == [
        Sent(b"k%d" % partition, b"v", why(src, group, partition, 0, 2, EXHAUSTED)) for partition in range(3)
    ]


def test_what_is_not_copied_or_too_large_says_where_it_lies(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, dead, config={**ALLOWED, "max.message.bytes": "1000"})
    group = group_of(dead_broker, fresh("group"), dead)
    values = [b"small", b"w" * 2_000, b"fits" * 100, b"not copied"]
    produce(dead_broker, src, [Sent(b"k%d" % n, value) for n, value in enumerate(values)])
    begin(dead_broker, group, [src], 1)
    with connected(dead_broker) as connection:
        member = RawShareMember(connection, group, topic_id_of(dead_broker, src))
        member.acquire(until=4)
        acknowledged(member, {0: [(0, 2, [REJECT])]})
        until_archived(dead_broker, group, {(src, 0): 1})
        set_group(dead_broker, group, errors_deadletterqueue_copy_record_enable="false")
        acknowledged(member, {0: [(3, 3, [REJECT])]})
        until_archived(dead_broker, group, {(src, 0): 0})
    headers = [why(src, group, 0, n, 1, REJECTED) for n in range(4)]
    assert all_of(dead_broker, dead) == [
        Sent(b"k0", values[0], headers[0]),
        Sent(None, None, headers[1]),
        Sent(b"k2", values[2], headers[2]),
        Sent(None, None, headers[3]),
    ]


def test_without_a_topic_that_takes_them_records_are_archived_all_the_same(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    src, closed, other, dead = fresh("src"), "dlq." + fresh("closed"), fresh("other"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, closed)
    create_topic(dead_broker, other, config=ALLOWED)
    create_topic(dead_broker, dead, config=ALLOWED)
    group = group_of(dead_broker, fresh("group"), "dlq." + fresh("missing"))
    produce(dead_broker, src, [Sent(b"k%d" % n, b"v") for n in range(4)])
    begin(dead_broker, group, [src], 1)
    with connected(dead_broker) as connection:
        member = RawShareMember(connection, group, topic_id_of(dead_broker, src))
        member.acquire(until=4)
        for n, topic in enumerate([None, closed, other, dead]):
            if topic is not None:
                set_group(dead_broker, group, errors_deadletterqueue_topic_name=topic)
            acknowledged(member, {0: [(n, n, [REJECT])]})
            until_archived(dead_broker, group, {(src, 0): 3 - n})
    assert (end_of(dead_broker, closed), end_of(dead_broker, other)) == (0, 0)
    assert all_of(dead_broker, dead) == [Sent(b"k3", b"v", why(src, group, 0, 3, 1, REJECTED))]


def test_one_record_that_the_topic_refuses_keeps_no_other_out(
    dead_broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    """Apache Kafka 4.4.0 loses all that were rejected together."""
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, dead, config={**ALLOWED, "cleanup.policy": "compact"})
    group = group_of(dead_broker, fresh("group"), dead)
    produce(dead_broker, src, [Sent(None, b"v"), Sent(b"k", b"v")])
    begin(dead_broker, group, [src], 1)
    with connected(dead_broker) as connection:
        member = RawShareMember(connection, group, topic_id_of(dead_broker, src))
        member.acquire(until=2)
        acknowledged(member, {0: [(0, 1, [REJECT])]})
        until_archived(dead_broker, group, {(src, 0): 0})
    letters = [] if is_kafka() else [Sent(b"k", b"v", why(src, group, 0, 1, 1, REJECTED))]
    assert all_of(dead_broker, dead) == letters


@pytest.mark.parametrize("client", ["librdkafka", "ours"])
def test_a_consumer_that_rejects_and_closes_leaves_its_letters(
    dead_broker: BrokerProcess, fresh: Callable[[str], str], client: str
) -> None:
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, dead, config=ALLOWED)
    group = group_of(dead_broker, fresh("group"), dead)
    produce(dead_broker, src, [Sent(b"k%d" % n, b"v") for n in range(10)])
    if client == "librdkafka":
        with closing(explicit(dead_broker, group, src)) as consumer:
            for message in take_shared(consumer, 10):
                fails = message.offset() % 3 == 0
                consumer.acknowledge(message, Theirs.REJECT if fails else Theirs.ACCEPT)
            consumer.commit_sync()
    else:
        with ShareConsumer(
            bootstrap_servers=dead_broker.address, group_id=group, share_acknowledgement_mode="explicit"
        ) as ours:
            ours.subscribe([src])
            seen = 0
            while seen < 10:
                for record in ours.poll(1):
                    fails = record.offset % 3 == 0
                    ours.acknowledge(record, AcknowledgeType.REJECT if fails else AcknowledgeType.ACCEPT)
                    seen += 1
            ours.commit_sync()
    until_archived(dead_broker, group, {(src, 0): 0})
    assert all_of(dead_broker, dead) == [
        Sent(b"k%d" % n, b"v", why(src, group, 0, n, 1, REJECTED)) for n in (0, 3, 6, 9)
    ]
