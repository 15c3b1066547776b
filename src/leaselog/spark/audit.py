"""Proves what became of every record of a topic, from the topic, the state topic and the Parquet output, on Spark.

The three are laid on top of each other by partition and offset in one shuffle, whatever their size; the driver gets the
counts, and a few of the records that something is wrong with. What the output has to hold is made again from the topic
by the job itself, so that a changed row shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from leaselog.spark.verdicts import ACCEPTED, ARCHIVED, Audit, Seen, Suspect

__all__ = ["Expected", "audit", "overlaid", "records_seen", "summary"]

#: Records in; for each of them topic, partition, offset and ``fault`` out, and the columns that its row in the output
#: has to have. With a ``fault`` it is to have no row.
Expected = Callable[[Any], Any]

PLACE = ("topic", "partition", "offset")
SAMPLE = 10
#: Offsets that one row of a stretch stands for at first: no single array gets longer, however long the stretch.
_PIECE = 10_000


def audit(
    spark: Any, bootstrap_servers: str, topic: str, group: str, output: str, expected: Expected
) -> Audit:
    """Looks at every record of ``topic``, as ``group`` came through it, and at every row below ``output``.

    Nothing may be at work meanwhile: what is not done yet is not accounted for.
    """
    return summary(overlaid(spark, bootstrap_servers, topic, group, output, expected))


def overlaid(
    spark: Any, bootstrap_servers: str, topic: str, group: str, output: str, expected: Expected
) -> Any:
    """A row for each offset with what the three say of it and a verdict: for `summary` and `records_seen`."""
    address = {"kafka.bootstrap.servers": bootstrap_servers}
    records = spark.read.format("kafka-topic").options(**address, subscribe=topic).load()
    wanted = expected(records)
    columns = [name for name in wanted.columns if name not in (*PLACE, "fault")]
    rows = spark.read.parquet(output).where(F.col("topic") == topic)
    state = {**address, "kafka.share.group.id": group}
    said = spark.read.format("kafka-share-state").options(**state, view="records").load()
    log = spark.read.format("kafka-share-state").options(**state, view="log").load()
    known = _side(
        wanted, is_record=F.lit(1), fault="fault", wanted=F.when(F.col("fault").isNull(), _digest(columns))
    )
    found = _side(rows, rows=F.lit(1), found=_digest(columns), written_at="delivery_count")
    told = _side(_offsets(said.where(F.col("topic") == topic)), state="state", deliveries="delivery_count")
    started = _overlaid((known, found, told)).join(
        F.broadcast(_starts(log.where(F.col("topic") == topic))), "partition", "left"
    )
    is_behind = F.col("offset") < F.col("start")
    with_state = started.withColumn(
        "state", F.coalesce(F.col("state"), F.when(is_behind, "passed").otherwise("open"))
    )
    return with_state.withColumn("verdict", _verdict()).where("verdict is not null")


def records_seen(overlaid: Any) -> Iterator[Seen]:
    """One by one, in order: for whoever judges by other rules than these."""
    columns = (*Seen._fields[:2], F.col("is_record").isNotNull().alias("is_record"), *Seen._fields[3:])
    return (Seen(*row) for row in overlaid.select(*columns).orderBy("partition", "offset").toLocalIterator())


def _side(frame: Any, **columns: Any) -> Any:
    """One of the three, by partition and offset."""
    chosen = [
        (F.col(value) if isinstance(value, str) else value).alias(name) for name, value in columns.items()
    ]
    return frame.select("partition", "offset", *chosen)


def _digest(columns: Sequence[str]) -> Any:
    """Of a row's content. By way of JSON, since a hash of columns passes over those that are null."""
    return F.xxhash64(F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}))


def _offsets(stretches: Any) -> Any:
    """A row for each offset."""
    pieces = F.explode(F.sequence("first_offset", "last_offset", F.lit(_PIECE)))
    ends = F.least(F.col("piece") + F.lit(_PIECE - 1), F.col("last_offset"))
    return (
        stretches.where("first_offset is not null")
        .withColumn("piece", pieces)
        .repartition("partition", "piece")
        .withColumn("offset", F.explode(F.sequence("piece", ends)))
    )


def _starts(log: Any) -> Any:
    """Where the group begins in each partition: it is done with everything before."""
    told = log.where("start_offset is not null and kind <> 'tombstone'")
    return told.groupBy("partition").agg(F.max_by("start_offset", "state_offset").alias("start"))


def _overlaid(sides: Iterable[Any]) -> Any:
    first, *others = sides
    union = first
    for side in others:
        union = union.unionByName(side, allowMissingColumns=True)
    return union.groupBy("partition", "offset").agg(
        F.sum("is_record").alias("is_record"),
        F.max("fault").alias("fault"),
        F.max("wanted").alias("wanted"),
        F.coalesce(F.sum("rows"), F.lit(0)).alias("rows"),
        F.max("found").alias("found"),
        F.max("state").alias("state"),
        F.coalesce(F.max("written_at"), F.max("deliveries")).alias("deliveries"),
    )


def _verdict() -> Any:
    """What is to be said of a record; null for an offset without one, as a compacted topic has them."""
    state = F.col("state")
    has_row, is_wanted = F.col("rows") > 0, F.col("wanted").isNotNull()
    in_output = (
        F.when(F.col("is_record").isNull(), "in the output, not in the topic")
        .when(F.col("rows") > 1, "in the output more than once")
        .when(~is_wanted, "in the output, though malformed")
        .when(F.col("wanted") != F.col("found"), "in the output, but changed")
        .when(state == "archived", "in the output, though archived")
        .when(state.isin("acknowledged", "passed"), ACCEPTED)
        .otherwise("in the output, not accepted yet")
    )
    not_in_output = (
        F.when(state == "archived", ARCHIVED)
        .when((state == "passed") & ~is_wanted, ARCHIVED)
        .when(state.isin("acknowledged", "passed"), "accepted, not in the output")
        .otherwise("not done yet")
    )
    return F.when(has_row, in_output).when(F.col("is_record").isNotNull(), not_in_output)


def summary(judged: Any) -> Audit:
    """The counts, and some of those that something is wrong with."""
    counts = dict[tuple[str, int | None], int]()
    faults = dict[str, int]()
    for row in judged.groupBy("verdict", "deliveries", "fault").count().collect():
        key = (row.verdict, row.deliveries)
        counts[key] = counts.get(key, 0) + row["count"]
        if row.verdict == ARCHIVED:
            why = row.fault or "delivered too often"
            faults[why] = faults.get(why, 0) + row["count"]
    made = Audit(counts, faults)
    if not made.wrong:
        return made
    wrong = judged.where(~F.col("verdict").isin(ACCEPTED, ARCHIVED)).select("verdict", "partition", "offset")
    rows = wrong.orderBy("partition", "offset").limit(SAMPLE).collect()
    return Audit(counts, faults, [Suspect(row.verdict, row.partition, row.offset) for row in rows])
