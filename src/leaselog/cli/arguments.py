"""What the commands share of the command line: one-line errors, the options every client command has."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

__all__ = [
    "CommandFailed",
    "Parser",
    "UsageError",
    "add_connection",
    "add_spark_arguments",
    "given_properties",
    "key_values",
    "positive",
]


class UsageError(Exception):
    """The command line makes no sense: one line that says so and how to write it. Exit code 2."""


class CommandFailed(Exception):
    """The command was understood and did not succeed: one line saying why. Exit code 1."""


class Parser(argparse.ArgumentParser):
    """argparse with errors of one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def add_connection(
    parser: argparse.ArgumentParser,
    *,
    old_file: str | None = None,
    old_property: str | None = None,
    is_needed: bool = True,
) -> None:
    """``--bootstrap-server`` and the ways to give client properties, under Apache's old and new names."""
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        required=is_needed,
        help="the broker, or several with commas",
    )
    files = ["--command-config", *([old_file] if old_file else [])]
    parser.add_argument(*files, dest="command_config", metavar="FILE", help="client properties from a file")
    properties = ["--command-property", *([old_property] if old_property else [])]
    parser.add_argument(
        *properties, dest="command_property", action="append", default=[],
        metavar="KEY=VALUE", help="one client property, over the file's",
    )  # fmt: skip


def key_values(option: str, pairs: Iterable[str]) -> dict[str, str]:
    """``key=value`` strings as a dict."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} {pair}: expected KEY=VALUE")
        found[key.strip()] = value
    return found


def properties_file(path: str) -> dict[str, str]:
    # Imported here because it brings the whole configuration room with it.
    from leaselog.broker.config import ConfigError, parse_properties

    try:
        return parse_properties(Path(path).read_text(encoding="utf-8"))
    except OSError as unreadable:
        raise UsageError(f"{path}: {unreadable.strerror}") from None
    except (ConfigError, UnicodeDecodeError) as bad:
        raise UsageError(f"{path}: {bad}") from None


def given_properties(args: argparse.Namespace, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Client properties of a command: those of its file, over them what its options say, over all single ones."""
    values = properties_file(args.command_config) if args.command_config else {}
    return {**values, **(options or {}), **key_values("--command-property", args.command_property)}


def positive(text: str) -> int:
    """An argparse type: a whole number above zero."""
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    """Which Spark a command runs on, and how it is set."""
    parser.add_argument("--master", default="local[*]", help="the Spark to run on (local[*])")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a config of Spark, as often as needed",
    )
