"""The driver's side of the Spark source against a real broker, without Spark: restarts in mid-batch, and company."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from interop.broker_process import BrokerProcess
from interop.confluent_io import producer_of, wait_until
from interop.conftest import BrokerFactory
from leaselog.admin import Admin, NewTopic, ShareOffset
from leaselog.model import TopicPartition
from leaselog.spark.batch import BEGINNING, Batch
from leaselog.spark.group_member import GroupMember
from leaselog.spark.options import SourceOptions
from leaselog.spark.queue_reader import QueueReader
from leaselog.spark.range_reader import RangeReader, read_ranges
from leaselog.spark.room import Room

DEADLINE_S = 60.0


class Query:
    """What Spark does with a source, one batch at a time. Its ``checkpoint`` may go to another one."""

    def __init__(
        self, broker: BrokerProcess, topic: str, group: str, checkpoint: dict[str, Any] | None = None
    ) -> None:
        given = {
            "kafka.bootstrap.servers": broker.address,
            "kafka.share.group.id": group,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxRecordsPerBatch": "20",
            "parallelism": "3",
        }
        self.options = SourceOptions.of(given)
        self.queue = QueueReader(self.options, GroupMember(self.options), None, time.monotonic)
        self.checkpoint = checkpoint or BEGINNING.to_offset()
        self.rows: list[tuple[int, int]] = []

    def look(self) -> dict[str, Any] | None:
        """The next batch, as it stands in the offset log."""
        end = self.queue.latest(self.checkpoint, Room.of(self.options, max_rows=20))
        return None if end == self.checkpoint else json.loads(json.dumps(end))

    def next_batch(self) -> dict[str, Any]:
        deadline = time.monotonic() + DEADLINE_S
        while (end := self.look()) is None:
            assert time.monotonic() < deadline, "no batch"
        return end

    def carry_out(self, end: dict[str, Any]) -> None:
        for share in self.queue.plan(self.checkpoint, end):
            for batch in read_ranges(RangeReader(self.options.box.bootstrap_servers), share):
                self.rows += zip(
                    batch.column("partition").to_pylist(), batch.column("offset").to_pylist(), strict=True
                )
        self.checkpoint = end

    def step(self) -> None:
        if (end := self.look()) is not None:
            self.carry_out(end)


@contextmanager
def query(*args: Any) -> Iterator[Query]:
    made = Query(*args)
    try:
        yield made
    finally:
        made.queue.stop()


def make_topic(broker: BrokerProcess, topic: str, records: int) -> None:
    with Admin(broker.address) as admin:
        admin.create_topics([NewTopic(topic, partitions=2)])
    producer = producer_of(broker)
    for number in range(records):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    assert producer.flush(DEADLINE_S) == 0


def is_done(broker: BrokerProcess, topic: str, group: str) -> bool:
    places = [TopicPartition(topic, number) for number in range(2)]
    with Admin(broker.address) as admin:
        found = admin.list_share_group_offsets({group: places})[group].values()
    return all(isinstance(offset, ShareOffset) and offset.lag == 0 for offset in found)


def work_until(condition: Callable[[], bool], *queries: Query) -> None:
    def work() -> bool:
        for each in queries:
            each.step()
        return condition()

    wait_until(work, "the queries to be done", DEADLINE_S)


def everything(records: int) -> list[tuple[int, int]]:
    return sorted((number % 2, number // 2) for number in range(records))


def test_a_broker_that_restarts_in_mid_batch_costs_no_record_and_doubles_none(
    broker_factory: BrokerFactory, fresh: Callable[[str], str]
) -> None:
    broker, topic, group = broker_factory(), fresh("topic"), fresh("group")
    make_topic(broker, topic, 100)
    with query(broker, topic, group) as reading:
        reading.carry_out(reading.next_batch())
        end = reading.next_batch()
        broker.kill()
        broker.start()
        reading.carry_out(end)
        work_until(lambda: is_done(broker, topic, group), reading)
    assert sorted(reading.rows) == everything(100)


def test_a_query_that_comes_back_replays_its_batch_and_does_not_repeat_the_one_before(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    make_topic(broker, topic, 100)
    with query(broker, topic, group) as before:
        before.carry_out(before.next_batch())
        # Spark has committed it, and nobody told the source so before the driver went down: it all goes back.
    with query(broker, topic, group, before.checkpoint) as after:
        end = after.next_batch()
        # The driver went down again, in the middle of this one.
    with query(broker, topic, group, before.checkpoint) as last:
        last.carry_out(end)
        work_until(lambda: is_done(broker, topic, group), last)
    assert Batch.from_offset(end).number == 2
    assert sorted(before.rows + last.rows) == everything(100)


def test_two_queries_of_one_group_share_its_records(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    make_topic(broker, topic, 200)
    with query(broker, topic, group) as one, query(broker, topic, group) as other:
        work_until(lambda: is_done(broker, topic, group), one, other)
    assert sorted(one.rows + other.rows) == everything(200)
