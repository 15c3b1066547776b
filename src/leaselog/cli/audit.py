"""`leaselog audit`: what became of every record, proven on Spark from the topic, the state topic and Parquet."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from leaselog.cli.arguments import CommandFailed, UsageError, add_spark_arguments, key_values
from leaselog.cli.output import print_json, print_table
from leaselog.cli.pipeline_report import audit_json, audit_rows, broken_promises
from leaselog.cli.spark_failures import spoken
from leaselog.spark.session import spark_session
from leaselog.spark.verdicts import Seen

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
    parser.add_argument(
        "--history", metavar="FILE", type=Path,
        help="also write what became of each record as a history, and have the checker of the simulations judge it",
    )  # fmt: skip
    add_spark_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    conf = key_values("--conf", args.conf)
    with tempfile.TemporaryDirectory(prefix="leaselog-audit-", ignore_cleanup_errors=True) as home:
        log = Path(home, "spark.log")
        with spoken(log), spark_session("leaselog audit", args.master, log, conf) as spark:
            from leaselog.spark.audit import overlaid, records_seen, summary

            job = _function(args.job)
            found = overlaid(spark, args.bootstrap_server, args.topic, args.group, args.output, job)
            verdict = summary(found)
            told = None if args.history is None else _judged(records_seen(found), args.history)
    if args.json:
        print_json(audit_json(verdict) | ({} if told is None else {"history": told.as_json()}))
    else:
        rows = [("in the topic or in the output", f"{verdict.total():,}"), *audit_rows(verdict)]
        print_table((f"Records of {args.topic}", "Number"), rows, right=("Number",))
        if told is not None:
            print(told)
    broken = broken_promises(verdict) + ([] if told is None else told.broken)
    if broken:
        raise CommandFailed("; ".join(broken))
    return 0


@dataclass(frozen=True, slots=True)
class _Judged:
    path: Path
    events: int
    #: by rule
    violations: Mapping[str, int]

    def __str__(self) -> str:
        found = ", ".join(f"{count:,} {rule}" for rule, count in self.violations.items()) or "no violation"
        return f"{self.events:,} events in {self.path}: {found}"

    @property
    def broken(self) -> list[str]:
        return [f"the history has {count:,} records {rule}" for rule, count in self.violations.items()]

    def as_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "events": self.events, "violations": dict(self.violations)}


def _judged(records: Iterable[Seen], path: Path) -> _Judged:
    from leaselog.cli.audit_history import judged

    try:
        verdict, events = judged(records, path)
    except OSError as unwritable:
        raise CommandFailed(f"{path}: {unwritable.strerror}") from unwritable
    return _Judged(path, events, Counter(violation.rule for violation in verdict.violations))


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
