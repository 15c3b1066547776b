"""The driver's side of the Spark source against a real broker, without Spark: restarts in mid-batch, and company."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from interop.broker_process import CHECKOUT, BrokerProcess
from interop.confluent_io import producer_of, wait_until
from interop.conftest import BrokerFactory
from interop.spark_query import DEADLINE_S, Query
from leaselog.admin import Admin, NewTopic, ShareOffset
from leaselog.model import TopicPartition
from leaselog.spark.batch import Batch
from leaselog.spark.range_reader import DataLoss

pytestmark = pytest.mark.all_on_kafka


@contextmanager
def query(broker: BrokerProcess, *args: Any) -> Iterator[Query]:
    made = Query(broker.address, *args)
    try:
        yield made
    finally:
        made.queue.stop()


def make_topic(broker: BrokerProcess, topic: str, records: int, partitions: int = 2) -> None:
    with Admin(broker.address) as admin:
        admin.create_topics([NewTopic(topic, partitions=partitions)])
    producer = producer_of(broker)
    for number in range(records):
        producer.produce(topic, b"%d" % number, partition=number % partitions)
    assert producer.flush(DEADLINE_S) == 0


def is_done(broker: BrokerProcess, topic: str, group: str) -> bool:
    with Admin(broker.address) as admin:
        (described,) = admin.describe_topics([topic]).values()
        places = [TopicPartition(topic, info.partition) for info in described.partitions]
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


@pytest.mark.on_kafka
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


def test_a_driver_killed_together_with_the_broker_does_not_repeat_its_last_batch(
    broker_factory: BrokerFactory, fresh: Callable[[str], str]
) -> None:
    """Nobody writes a delivery down: by its count a record that comes again comes for the first time."""
    broker, topic, group = broker_factory(), fresh("topic"), fresh("group")
    make_topic(broker, topic, 60, partitions=1)
    command = [sys.executable, "-m", "interop.spark_query", broker.address, topic, group]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "tests")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as killed:
        try:
            assert killed.stdout is not None
            left = json.loads(killed.stdout.readline())
        finally:
            killed.kill()
            broker.kill()
    broker.start()
    before = [tuple(row) for row in left["rows"]]
    assert len(before) == 20
    with query(broker, topic, group, left["checkpoint"]) as after:
        work_until(lambda: is_done(broker, topic, group), after)
    assert sorted(before + after.rows) == [(0, number) for number in range(60)]


@pytest.mark.on_kafka
def test_a_group_that_was_set_back_while_its_driver_was_down_is_processed_again(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    make_topic(broker, topic, 20, partitions=1)
    with query(broker, topic, group) as before:
        before.carry_out(before.next_batch())
        work_until(lambda: is_done(broker, topic, group), before)
    with Admin(broker.address) as admin:
        admin.alter_share_group_offsets(group, {TopicPartition(topic, 0): 0})
    with query(broker, topic, group, before.checkpoint) as after:
        work_until(lambda: is_done(broker, topic, group), after)
    assert after.rows == [(0, number) for number in range(20)]


@pytest.mark.on_kafka
def test_a_topic_that_is_made_again_while_its_query_runs_is_read_from_its_first_record_on(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    make_topic(broker, topic, 20, partitions=1)
    with query(broker, topic, group) as reading:
        reading.carry_out(reading.next_batch())
        with Admin(broker.address) as admin:
            admin.delete_topics([topic])
            wait_until(
                lambda: topic not in [told.name for told in admin.list_topics()],
                "the topic to be gone",
                DEADLINE_S,
            )
        make_topic(broker, topic, 10, partitions=1)
        # Nobody could be told of the outcomes of those of before.
        work_until(lambda: is_done(broker, topic, group), reading)
    assert reading.rows == [(0, number) for number in (*range(20), *range(10))]


@pytest.mark.on_kafka
def test_a_batch_of_a_topic_that_was_made_again_fails_instead_of_reading_other_records(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    make_topic(broker, topic, 20, partitions=1)
    with query(broker, topic, group) as reading:
        end = reading.next_batch()
        with Admin(broker.address) as admin:
            admin.delete_topics([topic])
            wait_until(
                lambda: topic not in [told.name for told in admin.list_topics()],
                "the topic to be gone",
                DEADLINE_S,
            )
        make_topic(broker, topic, 20, partitions=1)
        with pytest.raises(DataLoss, match="the topic was deleted and made again"):
            reading.carry_out(end)


@pytest.mark.on_kafka
def test_another_group_over_the_checkpoint_of_a_query_gets_every_record(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group, other = fresh("topic"), fresh("group"), fresh("other")
    make_topic(broker, topic, 20, partitions=1)
    with query(broker, topic, group) as before:
        before.carry_out(before.next_batch())
        work_until(lambda: is_done(broker, topic, group), before)
    with query(broker, topic, other, before.checkpoint) as after:
        work_until(lambda: is_done(broker, topic, other), after)
    assert after.rows == [(0, number) for number in range(20)]


@pytest.mark.on_kafka
def test_two_queries_of_one_group_share_its_records(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("topic"), fresh("group")
    make_topic(broker, topic, 200)
    with query(broker, topic, group) as one, query(broker, topic, group) as other:
        work_until(lambda: is_done(broker, topic, group), one, other)
    assert sorted(one.rows + other.rows) == everything(200)
