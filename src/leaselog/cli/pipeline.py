"""`leaselog pipeline`: orders through a share group and Spark into Parquet, and the proof that each came through once.

The query itself is `leaselog.spark.orders_job`; this file is what stands around it: a broker, somebody who orders, a
picture of it all, and an audit.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaselog.admin import Admin, NewTopic, Resource, ResourceType, ShareOffset
from leaselog.cli.arguments import CommandFailed, UsageError, add_spark_arguments, key_values, positive
from leaselog.cli.demo_broker import DemoBroker
from leaselog.cli.order_producer import OrderProducer
from leaselog.cli.output import print_json
from leaselog.cli.pipeline_display import Display
from leaselog.cli.pipeline_picture import Figures, draw
from leaselog.cli.pipeline_report import PipelineOutcome, outcome_json, print_outcome
from leaselog.cli.spark_failures import spoken
from leaselog.client import BrokerError
from leaselog.spark.order_figures import figures_of
from leaselog.spark.session import spark_session

__all__ = ["add_arguments", "run"]

DEFAULT_ORDERS = 200_000
PARTITIONS = 2
TASKS = 8
#: What a share partition may have in flight is what a batch gets of it. Kafka's default of 2,000 is for consumers that
#: take a few; a batch should be worth the second that Spark takes to plan it.
_BROKER_CONFIGS = {
    "group.share.max.partition.max.record.locks": "10000",
    "group.share.partition.max.record.locks": "10000",
}
_LOOK_S = 0.4
_STALL_TIMEOUT_S = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--orders", type=positive, default=DEFAULT_ORDERS, metavar="N", help=f"how many ({DEFAULT_ORDERS:,})"
    )
    parser.add_argument("--tasks", type=positive, default=TASKS, metavar="N", help=f"of a batch ({TASKS})")
    parser.add_argument(
        "--partitions", type=positive, default=PARTITIONS, metavar="N", help=f"of the topic ({PARTITIONS})"
    )
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT",
        help="a cluster that is there already, leaselog's or Apache Kafka's; without it a broker is started",
    )  # fmt: skip
    parser.add_argument(
        "--topic", default="orders", help="the topic to create; there must be none of that name yet (orders)"
    )
    parser.add_argument("--group", default="packing", help="the share group (packing)")
    add_spark_arguments(parser)
    parser.add_argument(
        "--directory",
        metavar="DIR",
        help="keep everything here: the broker's data, Parquet, the checkpoint, Spark's output",
    )
    parser.add_argument(
        "--picture", metavar="FILE", default="pipeline.png", help="where the picture goes (pipeline.png)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    conf = key_values("--conf", args.conf)
    with _home(args.directory) as home:
        spark_log = home / "spark.log"
        with spoken(spark_log):
            outcome = _pipeline(args, home, spark_log, conf)
    if args.json:
        print_json(outcome_json(outcome))
    else:
        print_outcome(outcome)
    if outcome.broken:
        raise CommandFailed("; ".join(outcome.broken))
    return 0


@contextmanager
def _home(directory: str | None) -> Iterator[Path]:
    if directory is None:
        with tempfile.TemporaryDirectory(prefix="leaselog-pipeline-", ignore_cleanup_errors=True) as made:
            yield Path(made)
        return
    home = Path(directory).resolve()
    home.mkdir(parents=True, exist_ok=True)
    if any(home.iterdir()):
        raise UsageError(f"--directory {directory}: expected a new or an empty one")
    yield home


@dataclass(frozen=True, slots=True)
class _Target:
    """What a run works on: its broker, topic and group, and the directory of its results."""

    address: str
    topic: str
    group: str
    home: Path

    @property
    def output(self) -> str:
        return str(self.home / "orders")


def _pipeline(args: argparse.Namespace, home: Path, spark_log: Path, conf: dict[str, str]) -> PipelineOutcome:
    with ExitStack() as open_things:
        display = open_things.enter_context(Display(args.orders))
        address = args.bootstrap_server or open_things.enter_context(_broker(home))
        target = _Target(address, args.topic, args.group, home)
        admin = open_things.enter_context(Admin(address))
        _prepare(admin, target, args.partitions)
        producer = OrderProducer(address, args.topic, args.partitions, args.orders)
        open_things.enter_context(producer)  # orders come in while Spark starts
        display.stage("starting Spark")
        with display.following(lambda: producer.sent):
            spark = open_things.enter_context(
                spark_session("leaselog pipeline", args.master, spark_log, conf)
            )
            producer.wait()
        display.produced(args.orders)
        began = time.monotonic()
        _query(spark, admin, target, args, display)
        seconds = time.monotonic() - began
        display.stage("auditing: the topic, the state topic and Parquet")
        return _proof(spark, target, args, seconds)


@contextmanager
def _broker(home: Path) -> Iterator[str]:
    broker = DemoBroker(home, _BROKER_CONFIGS)
    try:
        broker.start()
        yield broker.address
    finally:
        broker.stop()


def _prepare(admin: Admin, target: _Target, partitions: int) -> None:
    try:
        admin.create_topics([NewTopic(target.topic, partitions)])
    except BrokerError as refused:
        raise CommandFailed(f"topic {target.topic}: {refused}. Name another with --topic") from refused
    # Apache Kafka has it off; a batch that takes longer than a lease needs it.
    wish = {"share.renew.acknowledge.enable": "true"}
    admin.alter_configs(Resource(ResourceType.GROUP, target.group), put=wish)


def _query(spark: Any, admin: Admin, target: _Target, args: argparse.Namespace, display: Display) -> None:
    """Runs the job until nothing is left, and shows how far it is."""
    from leaselog.spark import orders_job

    options = {
        "kafka.bootstrap.servers": target.address,
        "kafka.share.group.id": target.group,
        "subscribe": target.topic,
        "startingOffsets": "earliest",
        "parallelism": str(args.tasks),
        "outcomesLocation": str(target.home / "outcomes"),
    }
    display.stage("the first batch, which compiles the query")
    query = orders_job.start(spark, options, target.output, str(target.home / "checkpoint"))
    try:
        done, moved = 0, time.monotonic()
        rows = dict[int, int]()  # by batch
        while query.isActive:
            time.sleep(_LOOK_S)
            if (last := query.lastProgress) is not None:
                rows[last["batchId"]] = last["numInputRows"]
            now_done = _done(admin, target, args.orders)
            if now_done > done:
                done, moved = now_done, time.monotonic()
            elif time.monotonic() - moved > _STALL_TIMEOUT_S:
                raise CommandFailed(f"{done:,} of {args.orders:,} orders are done, and nothing moves")
            display.at(done, max(rows, default=-1) + 1, sum(rows.values()))
        query.awaitTermination()  # raises what ended it
    finally:
        query.stop()


def _done(admin: Admin, target: _Target, orders: int) -> int:
    """As the group itself sees it."""
    found = admin.list_share_group_offsets({target.group: None})[target.group].values()
    lags = [offset.lag for offset in found if isinstance(offset, ShareOffset)]
    known = [lag for lag in lags if lag is not None]
    return max(0, orders - sum(known)) if lags and len(known) == len(lags) else 0


def _proof(spark: Any, target: _Target, args: argparse.Namespace, seconds: float) -> PipelineOutcome:
    from leaselog.spark import orders_job
    from leaselog.spark.audit import audit

    verdict = audit(spark, target.address, target.topic, target.group, target.output, orders_job.expected)
    figures = figures_of(spark.read.parquet(target.output))
    picture = draw(Figures(args.orders, verdict, figures, seconds), Path(args.picture))
    return PipelineOutcome(
        args.orders, verdict, figures.rows, seconds, None if picture is None else str(picture)
    )
