"""leaselog's Spark sources beside Spark's own Kafka source: the same topic of a leaselog broker, the same run.

    python -m bench.spark --jars JAR,JAR,…

Runs in an environment of its own, since Spark's source is published for fewer versions than PySpark is:

    python -m venv spark-env
    spark-env/bin/pip install pyspark==4.2.0 pyarrow pandas confluent-kafka -e .

with spark-sql-kafka-0-10_2.13:4.2.0, spark-token-provider-kafka-0-10_2.13:4.0.0, kafka-clients:3.9.1 and
commons-pool2:2.12.0 from Maven as `--jars`. Rounds alternate; a figure is the median.

Beside rows by the clock there are rows by the second of processor, which Spark's JVM and all Python workers below it
took: that is the figure to trust on a machine that has other work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.brokers import Broker
from bench.frame import LEASELOG
from bench.setting import configure_group, fill, make_topic
from leaselog.spark.session import spark_session

TOPIC, SLOW_TOPIC = "rows", "slow"
TASKS = 8
WORK_S = 0.02
#: what a group may have in flight in a partition, which bounds its batches; the most that Kafka allows
WINDOW = "10000"
QUERY_S = 600
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    who: str
    run: Callable[[], int]


def count_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = sum(batch.num_rows for batch in batches)
    yield pa.record_batch([pa.array([rows])], names=["rows"])


def work_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        time.sleep(WORK_S * batch.num_rows)
        rows += batch.num_rows
    yield pa.record_batch([pa.array([rows])], names=["rows"])


def total(frame: Any, function: Any) -> int:
    return int(sum(row.rows for row in frame.mapInArrow(function, "rows bigint").collect()))


class Bench:
    def __init__(self, spark: Any, address: str, home: Path) -> None:
        self._spark, self._address, self._home = spark, address, home
        self._runs = 0

    def cases(self) -> list[Case]:
        theirs, ours = "Spark's", "leaselog's"
        one, slice_ = {"parallelism": "1"}, {"maxOffsetsPerTrigger": WINDOW}
        return [
            Case("a table, counted in the JVM", theirs, lambda: self._table("kafka").count()),
            Case("a table, counted in the JVM", ours, lambda: self._table("kafka-topic").count()),
            Case("a table, Arrow batches in Python", theirs, lambda: self._arrow("kafka")),
            Case("a table, Arrow batches in Python", ours, lambda: self._arrow("kafka-topic")),
            Case("a stream, foreachBatch count", theirs, lambda: self._stream("kafka", {})),
            Case("a stream, foreachBatch count", ours, lambda: self._stream("kafka-share", one)),
            Case(f"a stream, {WINDOW} a batch", theirs, lambda: self._stream("kafka", slice_)),
            Case(f"a stream, {WINDOW} a batch", ours, lambda: self._stream("kafka-share", one)),
            Case("20 ms of work a record", theirs, lambda: self._slow("kafka", {})),
            Case("20 ms of work a record", ours, lambda: self._slow("kafka-share", {"parallelism": str(TASKS)})),
        ]  # fmt: skip

    def _table(self, source: str) -> Any:
        options = {
            "kafka.bootstrap.servers": self._address,
            "subscribe": TOPIC,
            "startingOffsets": "earliest",
        }
        if source == "kafka-topic":
            options["parallelism"] = "1"
        # Spark's source reads nothing for a count that needs no column
        return self._spark.read.format(source).options(**options).load().where("length(value) > 0")

    def _arrow(self, source: str) -> int:
        return total(self._table(source).select("value", "offset"), count_batches)

    def _stream(self, source: str, more: dict[str, str]) -> int:
        rows = 0

        def count(batch: Any, batch_id: int) -> None:
            nonlocal rows
            rows += batch.where("length(value) > 0").count()

        self._drain(source, TOPIC, more, count)
        return rows

    def _slow(self, source: str, more: dict[str, str]) -> int:
        rows = 0

        def work(batch: Any, batch_id: int) -> None:
            nonlocal rows
            rows += total(batch.select("value"), work_on)

        self._drain(source, SLOW_TOPIC, more, work)
        return rows

    def _drain(self, source: str, topic: str, more: dict[str, str], each: Any) -> None:
        self._runs += 1
        home = self._home / f"run-{self._runs}"
        options = {"kafka.bootstrap.servers": self._address, "subscribe": topic, **more}
        options["startingOffsets"] = "earliest"
        if source == "kafka-share":
            options["kafka.share.group.id"] = group = f"bench-{self._runs}"
            configure_group(self._address, group, {"share.renew.acknowledge.enable": "true"})
        stream = self._spark.readStream.format(source).options(**options).load()
        writer = stream.writeStream.foreachBatch(each).option("checkpointLocation", str(home))
        query = writer.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(QUERY_S), query.lastProgress
        finally:
            query.stop()
            shutil.rmtree(home, ignore_errors=True)


def processor_seconds(root: int) -> float:
    """Of a process and of all below it, those that have ended included."""
    used, below = dict[int, float](), dict[int, list[int]]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        below.setdefault(int(fields[1]), []).append(int(folder.name))
        used[int(folder.name)] = sum(map(int, fields[11:15])) / _TICKS
    seconds, left = 0.0, [root]
    while left:
        pid = left.pop()
        seconds += used.get(pid, 0.0)
        left += below.get(pid, [])
    return seconds


def measure(case: Case, expected: int, jvm: int) -> tuple[float, float]:
    """Rows by the second, and by the second of processor."""
    before, began = processor_seconds(jvm), time.perf_counter()
    rows = case.run()
    took, used = time.perf_counter() - began, processor_seconds(jvm) - before
    assert rows == expected, f"{case}: {rows} rows of {expected}"
    return rows / took, rows / used


def main(arguments: argparse.Namespace) -> None:
    figures = dict[tuple[str, str], list[tuple[float, float]]]()
    settings = {
        "spark.jars": arguments.jars,
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "",
    }
    settings["spark.sql.streaming.noDataMicroBatches.enabled"] = "false"
    locks = "group.share.partition.max.record.locks"
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        windows = {"group.share.max.partition.max.record.locks": WINDOW, locks: WINDOW}
        broker = Broker(LEASELOG, home / "broker", arguments.durability, windows, None)
        stack.callback(broker.stop)
        broker.start()
        make_topic(broker.address, TOPIC)
        payload = os.urandom(arguments.size)
        fill(
            broker.address,
            TOPIC,
            (payload for _ in range(arguments.records)),
            linger_ms=5,
            batch_size=100_000,
        )
        make_topic(broker.address, SLOW_TOPIC, 2)
        fill(broker.address, SLOW_TOPIC, (b"%d" % number for number in range(arguments.slow_records)))
        master = f"local[{arguments.cores}]"
        spark = stack.enter_context(
            spark_session("bench", master, Path(arguments.log or home / "spark.log"), settings)
        )
        jvm = spark.sparkContext._gateway.proc.pid
        cases = [case for case in Bench(spark, broker.address, home).cases() if arguments.only in case.name]
        for number in range(arguments.rounds + 1):  # the first one warms up
            for case in cases if number % 2 else reversed(cases):
                expected = arguments.slow_records if "work" in case.name else arguments.records
                figure = measure(case, expected, jvm)
                print(
                    f"round {number}: {case.name}, {case.who}: {figure[0]:,.0f} rows/s, {figure[1]:,.0f} by processor",
                    flush=True,
                )
                if number:
                    figures.setdefault((case.name, case.who), []).append(figure)
    print("| | | rows/s | rows/s of processor |\n| --- | --- | ---: | ---: |")
    for (name, who), some in figures.items():
        by_clock, by_processor = (statistics.median(values) for values in zip(*some, strict=True))
        print(f"| {name} | {who} | {by_clock:,.0f} | {by_processor:,.0f} |")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jars", required=True, help="of Spark's Kafka source, with commas")
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument(
        "--slow-records", type=int, default=1_000, help="with 20 ms of work each, on two partitions"
    )
    parser.add_argument("--cores", type=int, default=8, help="tasks at once; sleeping takes no processor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has it")
    parser.add_argument("--durability", default="fsync")
    parser.add_argument("--log", help="where what Spark says is kept")
    return parser.parse_args()


if __name__ == "__main__":
    main(read_arguments())
