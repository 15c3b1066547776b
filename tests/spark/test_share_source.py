"""Share groups on a real local Spark: what a batch is, when its records are accepted, and what a restart does."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import leaselog.spark
from interop.broker_process import is_kafka
from interop.confluent_io import wait_until
from leaselog.spark.arrow_records import arrow_schema, spark_schema
from spark.begun import QUERY_S
from spark.queries import Queue

Rows = list[Any]


def test_the_declared_schema_is_the_one_that_tasks_send(spark: Any) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    for include_headers in (False, True):
        declared = StructType.fromDDL(spark_schema(include_headers))
        assert to_arrow_schema(declared, timezone="UTC").equals(arrow_schema(include_headers))


def test_an_option_that_would_lie_is_refused_by_name(spark: Any, queue: Callable[..., Queue]) -> None:
    with pytest.raises(Exception, match="use maxRecordsPerBatch"):
        queue(0).read(spark, maxOffsetsPerTrigger=10).schema  # noqa: B018 - Spark looks at it by then


def test_a_topic_of_one_partition_is_drained_by_many_tasks_and_accepted(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    made, seen = queue(600), []

    def collect(batch: Any, batch_id: int) -> None:
        rows = batch.withColumn("task", F.spark_partition_id()).collect()
        assert batch.count() == len(rows), "a batch is the same when it is evaluated again"
        seen.append(rows)

    records = made.read(spark, maxRecordsPerBatch=300, parallelism=3)
    query = made.drain(records.writeStream.foreachBatch(collect))
    assert [len(rows) for rows in seen] == [300, 300]
    assert all({row.task for row in rows} == {0, 1, 2} for rows in seen)
    rows = [row for rows in seen for row in rows]
    assert sorted(row.offset for row in rows) == list(range(600))
    assert {(row.topic, row.partition, row.timestampType, row.delivery_count) for row in rows} == {
        (made.topic, 0, 0, 1)
    }
    assert all(row.value == b"%d" % row.offset and row.key == b"k" + row.value for row in rows)
    assert made.backlog() == 0
    told = [json.loads(progress["sources"][0]["latestOffset"]) for progress in query.recentProgress]
    assert {"backlog": {made.topic: {"0": 300}}, "held": 300} in told


def test_outcomes_of_foreach_batch_are_told_record_by_record_and_a_released_record_comes_when_it_is_due(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    made, seen, begun_s = queue(40, partitions=2), [], {}
    delay_s = 1.5

    def process(batch: Any) -> Any:
        number = F.col("value").cast("string").cast("int")
        batch = batch.withColumn(
            "ack",
            F.when(number % 10 == 3, "reject").when(
                (number % 10 == 5) & (F.col("delivery_count") < 3), "release"
            ),
        )
        rows = batch.collect()
        seen.extend(rows)
        begun_s.update({row.delivery_count: time.monotonic() for row in rows if int(row.value) == 5})
        delay = F.lit(int(1000 * delay_s)).alias("delay_ms")
        return batch.where("ack is not null").select("*", delay, F.lit("no good").alias("reason"))

    run = leaselog.spark.foreach_batch(process, group=made.group, location=str(made.home / "outcomes"))
    made.drain(made.read(spark, acknowledge="explicit").writeStream.foreachBatch(run))
    deliveries = Counter(int(row.value) for row in seen)
    assert deliveries == {number: 3 if number % 10 == 5 else 1 for number in range(40)}
    assert sorted(row.delivery_count for row in seen if int(row.value) == 5) == [1, 2, 3]
    if not is_kafka():
        assert min(begun_s[2] - begun_s[1], begun_s[3] - begun_s[2]) >= delay_s
    assert made.backlog() == 0


def test_the_sink_takes_outcomes_and_what_it_is_not_told_of_is_released_if_so_asked(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    made = queue(30)
    said = made.read(spark, acknowledge="explicit", unmentioned="release").selectExpr(
        "topic",
        "partition",
        "offset",
        "case when offset % 3 = 1 then 'reject' else 'accept' end ack",
        "delivery_count",
    )
    # the third of each three is passed over in silence until it comes for the second time
    said = said.where("offset % 3 <> 2 or delivery_count = 2")
    query = made.drain(said.writeStream.format("kafka-share").options(**made.box_options()))
    assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == [
        30,
        10,
    ]
    assert made.backlog() == 0


def test_a_query_that_failed_replays_its_batch_and_loses_and_doubles_nothing(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    made = queue(60)
    sink: dict[int, list[int]] = {}
    attempts: list[tuple[int, list[int]]] = []

    def write(batch: Any, batch_id: int) -> None:
        offsets = sorted(row.offset for row in batch.select("offset").collect())
        attempts.append((batch_id, offsets))
        if len(attempts) == 2:
            raise RuntimeError("the sink is down")
        sink[batch_id] = offsets

    writer = made.read(spark, maxRecordsPerBatch=20).writeStream.foreachBatch(write)
    with pytest.raises(Exception, match="the sink is down"):
        made.drain(writer)
    made.drain(writer)
    assert attempts[1] == attempts[2], "the batch that failed is read again from the log"
    assert sorted(offset for offsets in sink.values() for offset in offsets) == list(range(60))
    assert made.backlog() == 0


def test_a_batch_that_takes_three_times_its_lease_is_nobody_elses(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    made, seen = queue(10, share_record_lock_duration_ms="2000"), []

    def slow(batch: Any, batch_id: int) -> None:
        seen.extend(batch.collect())
        time.sleep(6.5)

    made.drain(made.read(spark).writeStream.foreachBatch(slow))
    assert sorted((row.offset, row.delivery_count) for row in seen) == [(offset, 1) for offset in range(10)]
    assert made.backlog() == 0


def test_an_idle_queue_runs_no_batches_and_its_last_batch_is_accepted(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    made, batches = queue(10), []
    writer = made.read(spark).writeStream.foreachBatch(lambda batch, number: batches.append(batch.count()))
    query = writer.option("checkpointLocation", str(made.home / "checkpoint")).start()
    try:
        _wait_until(lambda: sum(batches) == 10 and made.backlog() == 0, query)
        made.produce(range(10, 15))
        _wait_until(lambda: sum(batches) == 15 and made.backlog() == 0, query)
    finally:
        query.stop()
    assert 0 not in batches


def _wait_until(condition: Callable[[], bool], query: Any) -> None:
    deadline = time.monotonic() + QUERY_S
    while not condition():
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline, query.lastProgress
        time.sleep(0.1)


def test_a_query_that_was_stopped_leaves_the_group(spark: Any, queue: Callable[..., Queue]) -> None:
    made, begun = queue(10), threading.Event()

    def hang(batch: Any, batch_id: int) -> None:
        batch.count()
        begun.set()
        time.sleep(2)

    checkpoint = str(made.home / "checkpoint")
    writer = made.read(spark).writeStream.foreachBatch(hang)
    query = writer.option("checkpointLocation", checkpoint).start()
    assert begun.wait(QUERY_S)
    query.stop()
    # by itself the coordinator would find out when the member's session times out, 45 seconds later
    wait_until(lambda: made.members() == 0, "the member to leave", 20)
