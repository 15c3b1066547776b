"""`leaselog`: one command, a sub-command for each of Apache's scripts. Only what is asked for is imported."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from leaselog import __version__
from leaselog.cli.arguments import CommandFailed, Parser, UsageError

__all__ = ["COMMANDS", "command_parser", "main"]

#: each command's module, with ``add_arguments(parser)`` and ``run(args) -> exit code``, and what it is for
COMMANDS = {
    "serve": ("serve", "run a broker"),
    "secure": (
        "secure",
        "make keys, certificates, passwords and properties of a secured broker and its clients",
    ),
    "worker": ("worker", "call a function for each record of a queue, with retries and dead letters"),
    "pipeline": ("pipeline", "orders through a share group and Spark into Parquet, each exactly once"),
    "audit": ("audit", "prove what became of every record of a topic, on Spark"),
    "demo": ("demo", "start a broker, produce, kill it, consume, and show that nothing is missing"),
    "topics": ("topics", "create, list, describe, alter and delete topics"),
    "configs": ("configs", "describe and alter configs of topics, brokers and groups, and quotas of clients"),
    "acls": ("acls", "add, remove and list rules of who may do what"),
    "consumer-groups": ("consumer_groups", "list, describe, reset and delete consumer groups"),
    "share-groups": ("share_groups", "list, describe, reset and delete share groups"),
    "groups": ("groups", "list the groups of all types"),
    "top": ("top", "watch share groups: lag, rates, what is in flight"),
    "console-producer": ("console_producer", "send lines from standard input to a topic"),
    "console-consumer": ("console_consumer", "print the records of topics"),
    "console-share-consumer": ("console_share_consumer", "print records as a member of a share group"),
    "get-offsets": ("get_offsets", "show where partitions begin and end, or are at a time"),
    "delete-records": ("delete_records", "delete records from the beginning of partitions"),
    "log-dirs": ("log_dirs", "show which room each partition takes on disk"),
    "leader-election": ("leader_election", "elect leaders of partitions anew"),
    "features": ("features", "describe, raise and lower levels of features"),
    "broker-api-versions": ("broker_api_versions", "show which APIs each broker serves"),
    "cluster": ("cluster", "show the cluster's id"),
    "producer-perf-test": ("producer_perf_test", "measure producing"),
    "share-consumer-perf-test": ("share_consumer_perf_test", "measure consuming as members of a share group"),
    "dump-log": ("dump_log", "print what is in log segments, indexes and snapshots"),
    "config-docs": ("docs", "print the reference page of every config key"),
}
#: what a shell reports for a program that SIGINT or SIGPIPE ended
_INTERRUPTED = 130
_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 failed, 2 not understood."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = arguments[0] if arguments else ""
    try:
        code = _run(name, arguments[1:]) if name in COMMANDS else _without_command(arguments)
        sys.stdout.flush()
    except UsageError as wrong:
        return _complain(name, str(wrong), 2)
    except CommandFailed as failed:
        return _complain(name, str(failed), 1)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Nobody reads any more. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return code


def command_parser(name: str) -> Parser:
    """The parser of one command, whose module is imported for it."""
    summary = COMMANDS[name][1]
    parser = Parser(prog=f"leaselog {name}", description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument("--version", action="version", version=__version__, help="print the version and exit")
    _module(name).add_arguments(parser)
    return parser


def _module(name: str) -> Any:
    return import_module(f"leaselog.cli.{COMMANDS[name][0]}")


def _run(name: str, arguments: Sequence[str]) -> int:
    parsed = command_parser(name).parse_args(arguments)
    code: int = _module(name).run(parsed)
    return code


def _without_command(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="leaselog",
        description="Queues for Kafka, in Python.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n" + "\n".join(f"  {name:26}{text}" for name, (_, text) in COMMANDS.items()),
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below")
    known = parser.parse_args(arguments)
    if known.version:
        print(__version__)
        return 0
    if known.command:
        raise UsageError(f"unknown command '{known.command}' (see leaselog --help)")
    parser.print_help()
    return 0


def _complain(name: str, text: str, code: int) -> int:
    prog = f"leaselog {name}" if name in COMMANDS else "leaselog"
    print(f"{prog}: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
