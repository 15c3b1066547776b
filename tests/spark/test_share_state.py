"""The state topic as a table on a real local Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leaselog.spark.state_options import View
from leaselog.spark.state_rows import state_arrow_schema, state_spark_schema
from spark.queries import Queue


def test_the_declared_schemas_are_the_ones_that_tasks_send(spark: Any) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    for view in View:
        declared = StructType.fromDDL(state_spark_schema(view))
        assert to_arrow_schema(declared, timezone="UTC").equals(state_arrow_schema(view))


def test_which_records_were_retried_most_is_one_query(spark: Any, queue: Callable[..., Queue]) -> None:
    made = queue(20)
    records = made.read(spark, acknowledge="explicit").selectExpr(
        "topic", "partition", "offset", "if(offset = 7 and delivery_count < 3, 'release', 'accept') ack"
    )
    made.drain(records.writeStream.format("kafka-share").options(**made.box_options()))
    for view in View:
        state = (
            spark.read.format("kafka-share-state")
            .option("kafka.bootstrap.servers", made.broker.address)
            .option("kafka.share.group.id", made.group)
            .option("view", view.value)
            .load()
        )
        state.createOrReplaceTempView(f"share_{view.value}")
    most = spark.sql(
        "select topic, first_offset, last_offset, state, delivery_count from share_records"
        " order by delivery_count desc limit 1"
    ).collect()
    assert list(map(tuple, most)) == [(made.topic, 7, 7, "acknowledged", 3)]
    accepted = spark.sql(
        "select sum(last_offset - first_offset + 1) from share_records where state = 'acknowledged'"
    ).collect()
    assert accepted[0][0] == 20
    tries = spark.sql(
        "select distinct delivery_count from share_log where 7 between first_offset and last_offset order by 1"
    ).collect()
    assert [row[0] for row in tries] == [1, 2, 3]
