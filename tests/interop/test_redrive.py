"""Dead letters put back by real processes: on leaselog, and on Apache Kafka, whose own letters they are from 4.4 on.

Where letters are made by hand they are as both brokers write them (`test_dead_letters`), so that any Kafka will do.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import Headers, Sent, as_sent, create_topic, produce, read, wait_until
from interop.test_cli import Cli
from interop.test_dead_letters import ALLOWED, REJECTED, all_of, end_of, group_of, until_archived, why
from interop.test_share_librdkafka import set_group
from leaselog.admin import Admin, RedriveStopped, redrive
from leaselog.client import AcknowledgeType, ShareConsumer
from leaselog.client.cluster import Cluster
from leaselog.wire.dead_letter_headers import REDRIVE_LETTER

pytestmark = pytest.mark.on_kafka_4_4

WORKER = Path(__file__).with_name("redrive_worker.py")
SEED = 7


@pytest.fixture
def ours(broker: BrokerProcess, tmp_path: Path) -> Iterator[Callable[..., str]]:
    with closing(Cli(broker, tmp_path)) as cli:
        yield lambda *args, code=0: cli("share-groups", *args, code=code)


def letters(topic: str, group: str, sent: list[Sent], *, count: int = 1) -> list[Sent]:
    """About these records, which lie at the beginning of their partitions."""
    ends = Counter[int]()
    made = []
    for one in sent:
        headers = why(topic, group, one.partition, ends[one.partition], count, REJECTED)
        ends[one.partition] += 1
        made.append(Sent(one.key, one.value, headers))
    return made


def backs(name: str, group: str, hops: int = 1) -> Headers:
    """The headers that tell of a redrive."""
    told = {"letter": name, "group": group, "hops": str(hops)}
    return tuple((f"__dlq.redrive.{key}", value.encode()) for key, value in told.items())


@pytest.mark.on_kafka
def test_letters_are_looked_at_and_put_back_by_the_command(
    broker: BrokerProcess, ours: Callable[..., str], fresh: Callable[[str], str]
) -> None:
    topic, dead, group = create_topic(broker, fresh("topic"), partitions=2), fresh("dead"), fresh("group")
    create_topic(broker, dead)
    sent = [Sent(b"k%d" % n, b"v%d" % n, (("n", b"%d" % n),), n % 2) for n in range(6)]
    produce(broker, topic, sent)
    produce(broker, dead, [*letters(topic, group, sent), Sent(b"no", b"letter")])
    on = ("--group", group, "--dead-letter-topic", dead)
    report = json.loads(ours("--inspect", *on, "--json"))
    assert (report["letters"], report["settled"]) == (6, 0)
    (cause,) = report["causes"]
    assert (cause["cause"], cause["sources"]) == (REJECTED.decode(), {topic: 6})
    (sample,) = cause["samples"]
    assert (sample["key"], sample["value"], sample["offset"]) == ("k0", "v0", 0)
    assert sample["headers"] == [{"key": "n", "value": "0"}]
    some = ("--redrive", *on, "--where", "partition=1", "--json")
    planned, done = json.loads(ours(*some, "--dry-run")), json.loads(ours(*some, "--execute"))
    numbers = {"letters": 6, "redriven": 3, "before": 0, "skipped": 3, "remaining": 0, "byTarget": {topic: 3}}
    assert planned == {**planned, **numbers, "executed": False}
    assert done == {**done, **numbers, "executed": True}
    rest = json.loads(ours("--redrive", *on, "--json", "--execute"))
    assert (rest["redriven"], rest["before"]) == (3, 3)
    found = [as_sent(message) for message in read(broker, topic, 12, [0, 1])]
    assert sorted(found, key=str) == sorted(
        [
            *sent,
            *(
                Sent(s.key, s.value, (*s.headers, *backs(f"{dead}-0@{n}", group)), s.partition)
                for n, s in enumerate(sent)
            ),
        ],
        key=str,
    )
    assert json.loads(ours("--inspect", *on, "--json"))["settled"] == 6
    text = ours("--inspect", *on)
    assert f"Share group '{group}' has 6 letters in topic {dead}, 6 of them settled." in text
    assert f"  {topic}-0@0, delivered 1 time, " in text


@pytest.mark.on_kafka
def test_one_redrive_of_a_group_is_at_work_at_a_time(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, dead, group = (
        create_topic(broker, fresh("topic")),
        create_topic(broker, fresh("dead")),
        fresh("group"),
    )
    sent = [Sent(b"k%d" % n, b"v") for n in range(60)]
    produce(broker, topic, sent)
    produce(broker, dead, letters(topic, group, sent))
    first = worker(broker, group, dead, rate=10)
    try:
        wait_until(lambda: end_of(broker, topic) > 60, "the first one to be at work")
        with pytest.raises(RedriveStopped, match="another redrive is at work"):
            asyncio.run(a_second_one(broker, group, dead))
    finally:
        first.kill()
        first.wait()
    assert finished(broker, group, dead) == 0
    assert put_back(broker, topic) == Counter(f"{dead}-0@{n}" for n in range(60))


async def a_second_one(broker: BrokerProcess, group: str, dead: str) -> None:
    async with Cluster(broker.address) as cluster:
        await redrive(cluster, group, topic=dead, session_timeout_ms=1_000)


def worker(broker: BrokerProcess, group: str, dead: str, rate: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(WORKER), broker.address, group, dead, str(rate)])


def finished(broker: BrokerProcess, group: str, dead: str) -> int:
    """The exit code of a redrive that nobody disturbs; a machine that stood still may have stopped one."""
    for _ in range(5):
        code = worker(broker, group, dead, rate=1_000_000).wait(120)
        if code != 3:
            break
    return code


def put_back(broker: BrokerProcess, topic: str) -> Counter[str]:
    """How often each letter is in the topic, by name."""
    return Counter(
        value.decode()
        for record in all_of(broker, topic)
        for name, value in record.headers
        if name == REDRIVE_LETTER
    )


def kill_again_and_again(broker: BrokerProcess, fresh: Callable[[str], str], kills: int) -> None:
    chance, count = Random(SEED), 150 * kills
    topic, dead, group = (
        create_topic(broker, fresh("topic")),
        create_topic(broker, fresh("dead")),
        fresh("group"),
    )
    sent = [Sent(b"k%d" % n, b"v%d" % n) for n in range(count)]
    produce(broker, topic, sent)
    produce(broker, dead, letters(topic, group, sent))
    for _ in range(kills):
        before = end_of(broker, topic)
        process = worker(broker, group, dead, rate=400)
        deadline = time.monotonic() + 60
        while end_of(broker, topic) == before and process.poll() is None:
            assert time.monotonic() < deadline, "nothing is put back"
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.wait()
    assert finished(broker, group, dead) == 0
    assert put_back(broker, topic) == Counter(f"{dead}-0@{n}" for n in range(count))


@pytest.mark.on_kafka
def test_a_redrive_that_is_killed_again_and_again_puts_every_letter_back_once(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    kill_again_and_again(broker, fresh, 3)


@pytest.mark.deep
def test_a_redrive_that_is_killed_ten_times_puts_every_letter_back_once(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    kill_again_and_again(broker, fresh, 10)


def work_through(
    broker: BrokerProcess, group: str, topic: str, outcomes: dict[bytes, AcknowledgeType]
) -> None:
    """Takes a record of each of these keys, and says what is to become of it."""
    with ShareConsumer(
        bootstrap_servers=broker.address, group_id=group, share_acknowledgement_mode="explicit"
    ) as consumer:
        consumer.subscribe([topic])
        left, deadline = set(outcomes), time.monotonic() + 60
        while left:
            assert time.monotonic() < deadline, f"no record of {left}"
            for record in consumer.poll(0.5):
                consumer.acknowledge(record, outcomes[record.key or b""])
                left.discard(record.key or b"")
        assert not any(consumer.commit_sync().values())


@pytest.mark.parametrize("copies", ["true", "false"])
def test_what_a_broker_wrote_goes_back_to_the_group_until_it_has_come_too_often(
    dead_broker: BrokerProcess, fresh: Callable[[str], str], copies: str
) -> None:
    """Rejected, put back, rejected again, put back, accepted; with copies of the records and without."""
    src, dead = fresh("src"), "dlq." + fresh("dead")
    create_topic(dead_broker, src)
    create_topic(dead_broker, dead, config=ALLOWED)
    group = group_of(dead_broker, fresh("group"), dead)
    set_group(dead_broker, group, errors_deadletterqueue_copy_record_enable=copies)
    own = (("trace", b"1"),)
    produce(dead_broker, src, [Sent(b"bad", b"order", own), Sent(b"good", b"order", own)])
    accept, reject = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT
    work_through(dead_broker, group, src, {b"bad": reject, b"good": accept})
    with Admin(dead_broker.address) as admin:
        for hops in (1, 2):
            until_archived(dead_broker, group, {(src, 0): 0})
            result = admin.redrive(group, max_hops=2)
            assert (result.letters, result.redriven, result.remaining) == (hops, 1, 0)
            last = all_of(dead_broker, src)[-1]
            assert last == Sent(b"bad", b"order", (*own, *backs(f"{dead}-0@{hops - 1}", group, hops)))
            work_through(dead_broker, group, src, {b"bad": reject})
        until_archived(dead_broker, group, {(src, 0): 0})
        assert admin.redrive(group, max_hops=2).too_often == 1
        assert admin.redrive(group).redriven == 1
        work_through(dead_broker, group, src, {b"bad": accept})
        until_archived(dead_broker, group, {(src, 0): 0})
        report = admin.inspect_dead_letters(group)
    assert (report.letters, report.settled) == (3, 3)
    letter = all_of(dead_broker, dead)[-1]
    hops_told = () if is_kafka() or copies == "false" else (("__dlq.redrive.hops", b"2"),)
    assert letter.headers == (*why(src, group, 0, 3, 1, REJECTED), *hops_told)
