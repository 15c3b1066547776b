"""What goes wrong around one query on a local Spark, and what its sink and the group have in the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from spark.begun import Query
from spark.driver import Plan, Sink, work
from spark.driver_process import Place, attempts, in_sink
from spark.queries import Queue


def everything(records: int, partitions: int) -> list[Place]:
    return sorted((number % partitions, number // partitions) for number in range(records))


def test_a_task_whose_python_workers_are_killed_runs_again_and_reads_the_same(
    spark: Any, queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made, bomb = queue(200, partitions=2), tmp_path / "bomb"
    bomb.touch()
    plan = Plan({}, str(tmp_path), "", bomb=str(bomb))
    records = made.read(spark, maxRecordsPerBatch=100, parallelism=4)
    made.drain(records.withColumn("value", work(plan)("value")).writeStream.foreachBatch(Sink(tmp_path)))
    assert not bomb.exists()
    assert sorted(in_sink(tmp_path)) == everything(200, 2)
    assert made.accepted() == set(everything(200, 2))


def test_a_broker_that_restarts_in_mid_batch_costs_no_record_and_doubles_none(
    spark: Any, new_broker: Callable[[], BrokerProcess], tmp_path: Path
) -> None:
    made, sink = Queue(new_broker(), "restarted", "restarted", tmp_path, 2), Sink(tmp_path)
    made.begin({})
    made.produce(range(200))

    def restart(batch: Any, batch_id: int) -> None:
        if batch_id == 1:
            made.broker.kill()
            made.broker.start()
        sink(batch, batch_id)

    made.drain(made.read(spark, maxRecordsPerBatch=50).writeStream.foreachBatch(restart))
    assert sorted(in_sink(tmp_path)) == everything(200, 2)
    assert made.accepted() == set(everything(200, 2))


def test_two_queries_of_one_group_lose_and_double_nothing(
    spark: Any, queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made = queue(400, partitions=2)
    plan = Plan({}, str(tmp_path), "", row_s=0.005)

    def start(home: Path) -> Any:
        records = made.read(spark, maxRecordsPerBatch=40).withColumn("value", work(plan)("value"))
        writer = records.writeStream.foreachBatch(Sink(home)).trigger(availableNow=True)
        return writer.option("checkpointLocation", str(home / "checkpoint")).start()

    homes = [tmp_path / "one", tmp_path / "other"]
    queries = [Query(partial(start, home)) for home in homes]
    try:
        for query in queries:
            query.wait()
    finally:
        for query in queries:
            query.stop()
    found = [in_sink(home) for home in homes]
    assert sorted(place for places in found for place in places) == everything(400, 2)
    assert made.accepted() == set(everything(400, 2))


def test_a_group_without_renewal_fails_a_batch_that_outlives_its_leases_and_names_the_config(
    spark: Any, queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made = queue(40, share_renew_acknowledge_enable="false", share_record_lock_duration_ms="2000")
    slow = made.read(spark, maxRecordsPerBatch=20, parallelism=1).withColumn(
        "value", work(Plan({}, "", "", row_s=0.2))("value")
    )
    with pytest.raises(Exception, match=r"share\.renew\.acknowledge\.enable"):
        made.drain(slow.writeStream.foreachBatch(Sink(tmp_path)))
    assert len(in_sink(tmp_path)) == 20, "it fails with the first batch that takes too long"
    assert made.accepted() == set()
    # A batch that fits its leases is nothing to complain about, and what the sink has already is not brought again.
    made.drain(made.read(spark, maxRecordsPerBatch=20).writeStream.foreachBatch(Sink(tmp_path)))
    assert sorted(in_sink(tmp_path)) == everything(40, 1)
    assert made.accepted() == set(everything(40, 1))


def test_a_batch_that_is_evaluated_twice_has_the_same_rows_and_is_accepted_once(
    spark: Any, queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made, sink = queue(90, partitions=3), Sink(tmp_path)

    def twice(batch: Any, batch_id: int) -> None:
        sink(batch, batch_id)
        sink(batch.union(batch).distinct(), batch_id)

    made.drain(made.read(spark, maxRecordsPerBatch=30).writeStream.foreachBatch(twice))
    tried = attempts(tmp_path)
    assert tried[::2] == tried[1::2]
    assert sorted(in_sink(tmp_path)) == everything(90, 3)
    assert made.accepted() == set(everything(90, 3))
