"""A driver that may be killed: one streaming query over a share group, into a sink that takes each batch id once.

    python -m spark.driver PLAN.json

It runs until all is drained, or until somebody ends it. See `DriverProcess` for who writes the plan.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: as the guide tells those whose driver may be killed: half a file of the first batch is no reason to refuse
MAY_BE_KILLED = {"spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false"}


@dataclass(frozen=True, slots=True)
class Plan:
    #: of the source
    options: dict[str, str]
    #: of this driver and of those that come after it: the checkpoint and the sink are in it
    home: str
    master: str
    settings: dict[str, str] = field(default_factory=dict)
    #: how long a task works on a row
    row_s: float = 0.0
    #: the first task to find it gone kills the Python workers around it, itself included
    bomb: str = ""
    #: The last of the tasks of a batch takes so long for a row, when it is tried for the first time. One of them and no
    #: more: where each core has a straggler there is none left to run a copy beside it.
    straggler_row_s: float = 0.0
    #: a folder in which each attempt of a task leaves its name
    traces: str = ""
    #: with acknowledge=explicit: numbers that are rejected, by their remainder of ten; of the others, those that are
    #: released the first time
    rejects: int | None = None
    releases: int | None = None

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: str) -> Plan:
        return cls(**json.loads(Path(path).read_text()))


def work(plan: Plan) -> Any:
    """What tasks do with each value: nothing but take their time, or die. Each attempt leaves a file with its name."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    last_task = int(plan.options.get("parallelism", 1)) - 1 if plan.straggler_row_s else None

    def run(value: bytearray) -> bytes:
        from spark.faults import explode

        is_late = leave_trace(plan.traces) == (last_task, 0) if plan.traces else False
        time.sleep(plan.straggler_row_s if is_late else plan.row_s)
        if plan.bomb:
            explode(plan.bomb)
        return bytes(value)

    return F.udf(run, "binary", useArrow=False)  # that would take pandas


def leave_trace(folder: str) -> tuple[int, int]:
    """Which task of its stage this is, and which attempt at it."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    (Path(folder) / f"{task.stageId()} {task.partitionId()} {task.attemptNumber()}").touch()
    return task.partitionId(), task.attemptNumber()


class Sink:
    """A folder with a file for each batch: the first whole attempt stays. Beside it a line for each attempt."""

    def __init__(self, home: Path) -> None:
        self._home = home
        (home / "sink").mkdir(parents=True, exist_ok=True)

    def __call__(self, batch: Any, batch_id: int) -> None:
        rows = sorted(
            [row.partition, row.offset, int(row.value), row.delivery_count] for row in batch.collect()
        )
        with (self._home / "attempts").open("a") as attempts:
            attempts.write(json.dumps([batch_id, rows]) + "\n")
        part = self._home / f"part-{os.getpid()}"
        part.write_text(json.dumps(rows))
        try:
            os.link(part, self._home / "sink" / str(batch_id))
        except FileExistsError:
            pass  # an attempt of before
        finally:
            part.unlink()


def telling(sink: Sink, plan: Plan) -> Any:
    """The same sink, and what becomes of each record. A record that is released is in the sink once more."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    from leaselog.spark import foreach_batch

    number = F.col("value").cast("string").cast("int") % 10

    def process(batch: Any, batch_id: int) -> Any:
        batch.persist()  # else it is read and worked on once more for the outcomes
        sink(batch, batch_id)
        first = F.col("delivery_count") == 1
        ack = (
            F.when(number == plan.rejects, "reject")
            .when((number == plan.releases) & first, "release")
            .otherwise("accept")
        )
        return batch.select("topic", "partition", "offset", ack.alias("ack"))

    return foreach_batch(process, location=plan.options["outcomesLocation"])


def main(path: str) -> None:
    from spark.begun import Query
    from spark.sessions import start_session

    plan = Plan.read(path)
    home = Path(plan.home)
    spark = start_session(plan.master, {**MAY_BE_KILLED, **plan.settings})
    sink = Sink(home)
    records = spark.readStream.format("kafka-share").options(**plan.options).load()
    writer = (
        records.withColumn("value", work(plan)("value"))
        .writeStream.foreachBatch(telling(sink, plan) if plan.rejects is not None else sink)
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
    )
    query = Query(writer.start)
    (home / f"began-{os.getpid()}").touch()
    query.wait(within_s=None)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
