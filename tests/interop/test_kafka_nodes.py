"""Our clients on a cluster of three nodes of Apache Kafka, of which one after the other is gone.

The producer and the share consumers go on through all of it: nobody's call ends with an error, every record that was
told as delivered is accepted, and what comes to a standstill is measured and told.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator

import pytest

from interop.confluent_io import wait_until
from interop.kafka_nodes import KafkaNodes
from leaselog.admin import Admin, NewTopic, Resource, ResourceType, ShareOffset
from leaselog.client import Producer, Receipt, ShareConsumer

pytestmark = [pytest.mark.only_kafka, pytest.mark.all_on_kafka, pytest.mark.timeout(900)]

PARTITIONS = 6
PAUSE_S = 0.004
BETWEEN_S = 6.0
CATCH_UP_S = 120.0


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNodes]:
    with KafkaNodes(tmp_path_factory.mktemp("nodes")) as started:
        yield started


class Work:
    """A producer and share consumers in threads of their own, and what became of each record."""

    def __init__(self, nodes: KafkaNodes, topic: str, group: str, consumers: int) -> None:
        self._servers = {"bootstrap.servers": nodes.addresses}
        self._topic, self._group = topic, group
        self._is_over = threading.Event()
        self._is_drained = threading.Event()
        self._lock = threading.Lock()
        self.delivered = set[bytes]()
        self.processed = Counter[bytes]()
        self.failures = list[BaseException]()
        self._last_at = dict[str, float]()
        self._longest_ms = Counter[str]()
        work: list[Callable[[], None]] = [self._produce, *[self._consume] * consumers]
        self._threads = [threading.Thread(target=self._guarded, args=(what,)) for what in work]
        for thread in self._threads:
            thread.start()

    def _guarded(self, what: Callable[[], None]) -> None:
        try:
            what()
        except BaseException as failed:  # noqa: BLE001 - told by the test
            self.failures.append(failed)

    def _produce(self) -> None:
        waiting = deque[tuple[bytes, Receipt]]()
        with Producer(self._servers) as producer:
            number = 0
            while not self._is_over.is_set():
                value = b"%d" % number
                waiting.append((value, producer.send(self._topic, value)))
                number += 1
                time.sleep(PAUSE_S)
                while waiting and waiting[0][1].is_done:
                    self._delivered(*waiting.popleft())
            while waiting:
                self._delivered(*waiting.popleft())

    def _delivered(self, value: bytes, receipt: Receipt) -> None:
        receipt.result(CATCH_UP_S)
        with self._lock:
            self.delivered.add(value)
            self._count_standstill("producer")

    def _consume(self) -> None:
        """Implicitly: what a poll brought is accepted with the next one."""
        with ShareConsumer(self._servers, group_id=self._group) as consumer:
            consumer.subscribe([self._topic])
            while not self._is_drained.is_set():
                records = consumer.poll(0.5)
                with self._lock:
                    for record in records:
                        self.processed[record.value or b""] += 1
                        self._count_standstill("consumers")

    def _count_standstill(self, who: str) -> None:
        now = time.monotonic()
        gap_ms = round(1000 * (now - self._last_at.get(who, now)))
        self._longest_ms[who] = max(self._longest_ms[who], gap_ms)
        self._last_at[who] = now

    def standstill_ms(self) -> dict[str, int]:
        """The longest since this was last asked."""
        with self._lock:
            longest, self._longest_ms = dict(self._longest_ms), Counter[str]()
        return longest

    def goes_on(self) -> None:
        """Waits until both sides have had something to do since now, and everything so far is through."""
        with self._lock:
            delivered = len(self.delivered)
        wait_until(lambda: self.failures or len(self.delivered) > delivered, "the producer", CATCH_UP_S)
        with self._lock:
            so_far = set(self.delivered)
        wait_until(lambda: self.failures or so_far <= set(self.processed), "the consumers", CATCH_UP_S)
        assert not self.failures

    def finish(self) -> None:
        self._is_over.set()
        self._threads[0].join(CATCH_UP_S)
        wait_until(lambda: self.failures or self.delivered <= set(self.processed), "all records", CATCH_UP_S)
        self._is_drained.set()
        for thread in self._threads:
            thread.join(CATCH_UP_S)
        assert not any(thread.is_alive() for thread in self._threads), "somebody hangs"
        assert not self.failures


def leader_of(admin: Admin, topic: str, partition: int) -> int:
    leader = admin.describe_topics([topic])[topic].partitions[partition].leader
    assert leader is not None
    return leader


def test_one_node_after_the_other_is_killed_paused_and_stopped_and_nobody_loses_a_record_or_ends(
    nodes: KafkaNodes, fresh: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    told = dict[str, dict[str, int]]()
    with Admin(nodes.addresses) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 3)])
        admin.alter_configs(Resource(ResourceType.GROUP, group), put={"share.auto.offset.reset": "earliest"})
        work = Work(nodes, topic, group, consumers=3)
        try:
            work.goes_on()
            work.standstill_ms()
            time.sleep(BETWEEN_S)
            told["nothing"] = work.standstill_ms()

            killed = leader_of(admin, topic, 0)
            nodes.kill(killed)
            work.goes_on()
            told["a leader is killed"] = work.standstill_ms()
            nodes.start(killed)
            time.sleep(BETWEEN_S)
            work.goes_on()
            told["it comes back"] = work.standstill_ms()

            with nodes.paused(leader_of(admin, topic, 1)):
                work.goes_on()
                time.sleep(BETWEEN_S)
                told["a leader stands still"] = work.standstill_ms()
            work.goes_on()
            told["it goes on"] = work.standstill_ms()

            for node in range(3):
                nodes.stop(node)
                work.goes_on()
                nodes.start(node)
                time.sleep(BETWEEN_S)
                work.goes_on()
                told[f"node {node} is restarted in good order"] = work.standstill_ms()
        finally:
            work.finish()
        wait_until(lambda: backlog(admin, group) == 0, "the last records to be accepted", CATCH_UP_S)
    with capsys.disabled():
        print(
            f"\n{len(work.delivered)} records, {sum(work.processed.values())} deliveries; standstills in ms:"
        )
        for what, longest in told.items():
            print(f"  {what}: {longest}")


def backlog(admin: Admin, group: str) -> int | None:
    """None while nobody can tell of all partitions."""
    left = 0
    for offset in admin.list_share_group_offsets({group: None})[group].values():
        if not isinstance(offset, ShareOffset) or offset.lag is None:
            return None
        left += offset.lag
    return left
