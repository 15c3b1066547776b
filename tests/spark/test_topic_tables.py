"""Topics and the state of share groups as tables, on a real local Spark. Streams are in the guides."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from leaselog.spark.state_options import View
from leaselog.spark.state_rows import state_arrow_schema, state_spark_schema
from spark.queries import Queue

#: as Spark prints the schema of its own source
KAFKA_COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}
HEADERS = {"headers": "array<struct<key:string,value:binary>>"}


def table_options(made: Queue, **more: object) -> dict[str, str]:
    given = {"kafka.bootstrap.servers": made.broker.address, "subscribe": made.topic, **more}
    return {name: str(value) for name, value in given.items()}


def read(spark: Any, made: Queue, **more: object) -> Any:
    return spark.read.format("kafka-topic").options(**table_options(made, **more)).load()


def write(writer: Any, made: Queue, **more: object) -> Any:
    servers = {"kafka.bootstrap.servers": made.broker.address, "topic": made.topic}
    return writer.format("kafka-topic").options(**servers, **{name: str(v) for name, v in more.items()})


def test_the_declared_schemas_of_the_state_are_the_ones_that_tasks_send(spark: Any) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    for view in View:
        declared = StructType.fromDDL(state_spark_schema(view))
        assert to_arrow_schema(declared, timezone="UTC").equals(state_arrow_schema(view))


def test_a_topic_is_a_table_of_sparks_kafka_columns_read_by_as_many_tasks_as_asked_for(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    made, before = queue(60, partitions=2), datetime.now(UTC).replace(tzinfo=None)
    table = read(spark, made, parallelism=5)
    assert dict(table.dtypes) == KAFKA_COLUMNS
    rows = table.withColumn("task", F.spark_partition_id()).collect()
    assert sorted(int(row.value) for row in rows) == list(range(60))
    assert all(row.key == b"k" + row.value and row.topic == made.topic for row in rows)
    assert all((row.partition, row.offset) == (int(row.value) % 2, int(row.value) // 2) for row in rows)
    assert {row.task for row in rows} == set(range(5))
    assert all(abs((row.timestamp - before).total_seconds()) < 600 for row in rows)
    assert {row.timestampType for row in rows} == {0}


def test_a_range_is_read_by_the_offsets_of_its_partitions(spark: Any, queue: Callable[..., Queue]) -> None:
    made = queue(40, partitions=2)
    offsets = {
        "startingOffsets": json.dumps({made.topic: {"0": 3, "1": -2}}),
        "endingOffsets": json.dumps({made.topic: {"0": -1, "1": 4}}),
    }
    rows = read(spark, made, **offsets).select("partition", "offset").collect()
    assert sorted(map(tuple, rows)) == [*((0, n) for n in range(3, 20)), *((1, n) for n in range(4))]
    beyond = {**offsets, "endingOffsets": json.dumps({made.topic: {"0": 25, "1": 4}})}
    with pytest.raises(Exception, match="ends at 20, asked for up to 25"):
        read(spark, made, **beyond).count()
    assert read(spark, made, **beyond, failOnDataLoss=False).count() == 21
    assert read(spark, made, startingTimestamp=2**60).count() == 0, "no record is so young"


def test_rows_of_a_batch_query_become_records_and_come_back_the_same(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    made = queue(0, partitions=3)
    rows = spark.range(30).selectExpr(
        "cast(id as string) key",
        "if(id = 7, null, cast(cast(id as string) as binary)) value",
        "cast(id % 3 as int) partition",
        "if(id = 8, array(named_struct('key', 'h', 'value', cast('x' as binary))), null) headers",
    )
    write(rows.write, made).mode("append").save()
    table = read(spark, made, includeHeaders=True)
    assert dict(table.dtypes) == KAFKA_COLUMNS | HEADERS
    found = {int(row.key): row for row in table.collect()}
    assert sorted(found) == list(range(30))
    assert all(found[n].value == (None if n == 7 else b"%d" % n) for n in range(30))
    assert all(found[n].partition == n % 3 for n in range(30))
    assert {n: found[n].headers for n in (7, 8)} == {7: None, 8: [("h", b"x")]}


def test_a_record_that_is_not_written_fails_the_query_and_so_does_what_cannot_be_meant(
    spark: Any, queue: Callable[..., Queue]
) -> None:
    made = queue(0)
    rows = spark.range(3).selectExpr("cast(id as string) value", "cast(id as int) partition")
    with pytest.raises(Exception, match=rf"{made.topic}-1"):
        write(rows.write, made).mode("append").save()
    with pytest.raises(Exception, match='use mode\\("append"\\)'):
        write(rows.write, made).mode("overwrite").save()
    with pytest.raises(Exception, match="every in-sync replica"):
        write(rows.write, made, **{"kafka.acks": 1}).mode("append").save()
    stream = spark.readStream.format("kafka-topic").options(**table_options(made)).load()
    with pytest.raises(Exception, match='use format\\("kafka-share"\\)'):
        made.drain(stream.writeStream.format("noop"))
