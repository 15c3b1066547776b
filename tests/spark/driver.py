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
    #: one row of fifty takes so long instead
    straggler_s: float = 0.0

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: str) -> Plan:
        return cls(**json.loads(Path(path).read_text()))


def work(plan: Plan) -> Any:
    """What tasks do with each value: nothing but take their time, or die."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    def run(value: bytearray) -> bytes:
        from spark.faults import explode

        time.sleep(plan.straggler_s if plan.straggler_s and int(value) % 50 == 0 else plan.row_s)
        if plan.bomb:
            explode(plan.bomb)
        return bytes(value)

    return F.udf(run, "binary", useArrow=False)  # that would take pandas


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


def main(path: str) -> None:
    from spark.sessions import start_session

    plan = Plan.read(path)
    home = Path(plan.home)
    spark = start_session(plan.master, plan.settings)
    records = spark.readStream.format("kafka-share").options(**plan.options).load()
    query = (
        records.withColumn("value", work(plan)("value"))
        .writeStream.foreachBatch(Sink(home))
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    (home / f"began-{os.getpid()}").touch()
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
