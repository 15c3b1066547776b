"""`leaselog audit`: what became of every record, proven on Spark from the topic, the state topic and Parquet."""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from leaselog.cli.arguments import CommandFailed, UsageError, add_spark_arguments, key_values
from leaselog.cli.output import print_json, print_table
from leaselog.cli.pipeline_report import audit_json, audit_rows, broken_promises
from leaselog.cli.spark_failures import spoken
from leaselog.spark.session import spark_session

__all__ = ["add_arguments", "run"]

_ORDERS = "leaselog.spark.orders_job:expected"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", required=True, help="the broker, or several with commas"
    )
    parser.add_argument("--topic", default="orders", help="whose records are audited (orders)")
    parser.add_argument("--group", default="packing", help="the share group that processed them (packing)")
    parser.add_argument(
        "--output", metavar="PATH", required=True, help="the Parquet that holds what was accepted"
    )
    parser.add_argument(
        "--job", metavar="MODULE:FUNCTION", default=_ORDERS,
        help=f"says which row each record has to have ({_ORDERS})",
    )  # fmt: skip
    add_spark_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    conf = key_values("--conf", args.conf)
    with tempfile.TemporaryDirectory(prefix="leaselog-audit-", ignore_cleanup_errors=True) as home:
        log = Path(home, "spark.log")
        with spoken(log), spark_session("leaselog audit", args.master, log, conf) as spark:
            from leaselog.spark.audit import audit

            job = _function(args.job)
            verdict = audit(spark, args.bootstrap_server, args.topic, args.group, args.output, job)
    if args.json:
        print_json(audit_json(verdict))
    else:
        rows = [("in the topic or in the output", f"{verdict.total():,}"), *audit_rows(verdict)]
        print_table((f"Records of {args.topic}", "Number"), rows, right=("Number",))
    if verdict.wrong:
        raise CommandFailed("; ".join(broken_promises(verdict)))
    return 0


def _function(name: str) -> Any:
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(f"--job {name}: expected MODULE:FUNCTION")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module beside the user, as with python -m
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError) as missing:
        raise UsageError(f"--job {name}: {missing}") from missing
