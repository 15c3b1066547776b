"""The pipeline's query, to be copied: orders from a share group, checked and enriched, into Parquet.

What becomes of each record is a column of its own. A malformed one is rejected: it will never be right. One whose
payment service is away is released: it comes again, until the service answers. The rest is accepted, once Spark has
committed the batch that holds it.

Parquet holds each order exactly once. A batch goes to a folder that is named for its number and takes the place of
whatever an earlier attempt left there, so a task that is retried, or a batch that is replayed after a crash, changes
nothing. And what a batch wrote no later batch gets: its records are accepted after they were written, and those that
the broker hands out again all the same (because the driver died in between) are accepted without being emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from leaselog.spark.foreach import foreach_batch
from leaselog.spark.orders import VAT_PERCENT, catalogue

__all__ = ["PLACE", "enriched", "expected", "judged", "start"]

#: what a record's value has to be
ORDER = "order bigint, customer string, item string, quantity int, country string"
#: what Parquet gets of each order
ROW = (
    *("order", "customer", "country", "item", "category", "quantity"),
    *("net_cents", "vat_cents", "total_cents", "ordered_at"),
)
#: which record it was
PLACE = ("topic", "partition", "offset")


def start(spark: Any, options: Mapping[str, str], output: str, checkpoint: str) -> Any:
    """The running query. It ends when everything that was in the topic at its start is done."""

    def process(batch: Any, batch_id: int) -> Any:
        judgement = judged(batch)
        good = judgement.where("ack = 'accept'").select(*ROW, *PLACE, "delivery_count")
        good.write.mode("overwrite").parquet(f"{output}/batch={batch_id}")
        return judgement.where("ack <> 'accept'")

    report = foreach_batch(process, location=options.get("outcomesLocation"))

    def run(batch: Any, batch_id: int) -> None:
        batch.persist()  # looked at twice, for Parquet and for the outcomes, and fetched once
        try:
            report(batch, batch_id)
        finally:
            batch.unpersist()

    records = spark.readStream.format("kafka-share").options(**options, acknowledge="explicit").load()
    return (
        records.writeStream.foreachBatch(run)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def judged(records: Any) -> Any:
    """What `enriched` says, and ``ack``: what becomes of the record."""
    ack = F.when(F.col("fault").isNotNull(), "reject").when(is_payment_away(), "release").otherwise("accept")
    return enriched(records).withColumn("ack", ack)


def is_payment_away() -> Any:
    """Stands for a service that is away at times, for some of the customers.

    Mostly the first delivery alone finds it so; in a long outage the second and the third do, too.
    """
    is_hit = F.pmod(F.xxhash64("key"), F.lit(12)) == 0
    is_outage = F.pmod("order", F.lit(100_000)) >= 90_000
    return is_hit & (F.col("delivery_count") <= F.when(is_outage, 3).otherwise(1))


def enriched(records: Any) -> Any:
    """Each record as an order, with its item's category and price, and ``fault``: why it is none, or null."""
    items = pa.Table.from_pylist([item._asdict() for item in catalogue()])
    vat = F.create_map(*(F.lit(part) for pair in VAT_PERCENT.items() for part in pair))
    net = F.col("quantity") * F.col("unit_cents")
    return (
        records.withColumn("parsed", F.from_json(F.col("value").cast("string"), ORDER))
        .select("*", "parsed.*")
        .join(F.broadcast(records.sparkSession.createDataFrame(items)), "item", "left")
        .withColumn("net_cents", net)
        .withColumn("vat_cents", F.round(net * vat[F.col("country")] / 100).cast("bigint"))
        .withColumn("total_cents", F.col("net_cents") + F.col("vat_cents"))
        .withColumnRenamed("timestamp", "ordered_at")
        .withColumn(
            "fault",
            F.when(F.col("order").isNull(), "not an order")
            .when(F.col("quantity") < 1, "nothing ordered")
            .when(F.col("unit_cents").isNull(), "no such item")
            .when(F.col("total_cents").isNull(), "incomplete"),
        )
    )


def expected(records: Any) -> Any:
    """For whoever audits the output: each record's row in it but for how often it came, or why it has none."""
    return enriched(records).select(*ROW, *PLACE, "fault")
