"""`leaselog demo`: what a log and a queue promise, on a broker of its own that is killed in the middle of both."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from leaselog.cli.arguments import CommandFailed, positive
from leaselog.cli.demo_broker import DemoBroker
from leaselog.cli.demo_log import LogOutcome, exercise_log, log_as_json, print_log
from leaselog.cli.demo_queue import QueueOutcome, exercise_queue, print_queue, queue_as_json
from leaselog.cli.output import print_json
from leaselog.client import ClientError
from leaselog.wire.errors import DecodeError

__all__ = ["add_arguments", "run"]

DEFAULT_RECORDS = 100_000
DEFAULT_JOBS = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--num-records", type=positive, default=DEFAULT_RECORDS, metavar="N", help="records for the log"
    )
    parser.add_argument(
        "--num-jobs", type=positive, default=DEFAULT_JOBS, metavar="N", help="jobs for the queue"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="leaselog-demo-") as home:
        try:
            return asyncio.run(_demo(Path(home), args))
        except (ClientError, DecodeError) as failed:
            raise CommandFailed(str(failed)) from failed


async def _demo(home: Path, args: argparse.Namespace) -> int:
    broker = DemoBroker(home)
    try:
        await asyncio.to_thread(broker.start)
        records = await exercise_log(broker, args.num_records)
        if not args.json:
            print_log(records)
        jobs = await exercise_queue(broker, args.num_jobs)
        if not args.json:
            print_queue(jobs)
    finally:
        broker.stop()
    if args.json:
        print_json(log_as_json(records) | {"queue": queue_as_json(jobs)})
    return _verdict(records, jobs)


def _verdict(records: LogOutcome, jobs: QueueOutcome) -> int:
    if not records.is_intact:
        raise CommandFailed("records are missing or changed")
    if broken := jobs.broken_promises():
        raise CommandFailed("; ".join(broken))
    return 0
