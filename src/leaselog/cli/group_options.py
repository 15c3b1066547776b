"""Options that the commands about consumer groups and about share groups have in common, and what they refuse."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from leaselog.admin import GroupState
from leaselog.cli.arguments import UsageError

__all__ = ["add_group_options", "as_option", "check_goes_with", "check_scope", "states_of", "view_of"]

VIEWS = ("members", "offsets", "state")


def add_group_options(parser: argparse.ArgumentParser, kind: str, topic_help: str) -> None:
    """Which groups and topics it is about, and what of a group is described."""
    parser.add_argument("--group", action="append", metavar="ID", help="a group; more than once for several")
    parser.add_argument("--all-groups", action="store_true", help=f"every {kind} group")
    parser.add_argument("--topic", action="append", metavar="TOPIC[:0,1]", help=topic_help)
    parser.add_argument("--all-topics", action="store_true", help="every topic the group has offsets for")
    parser.add_argument("--members", action="store_true", help="with --describe: the members")
    parser.add_argument("--offsets", action="store_true", help="with --describe: the offsets, as without it")
    parser.add_argument(
        "--state", nargs="?", const="", metavar="STATES",
        help="with --describe: the group's state; with --list: states too, or only groups in these states",
    )  # fmt: skip


def as_option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def check_goes_with(args: argparse.Namespace, action: str, goes_with: Mapping[str, Sequence[str]]) -> None:
    """Raises ``UsageError`` for an option that does not go with the action."""
    for option, actions in goes_with.items():
        if getattr(args, option) not in (None, False) and action not in actions:
            raise UsageError(f"{as_option(option)} goes with {' or '.join(map(as_option, actions))} only")


def check_scope(args: argparse.Namespace) -> None:
    """Raises ``UsageError`` unless some groups are named, or all of them are meant."""
    if bool(args.group) == args.all_groups:
        raise UsageError(f"{'either' if args.group else 'missing:'} --group ID or --all-groups")


def states_of(text: str | None, among: Sequence[GroupState]) -> list[GroupState]:
    """Those that are named, separated by commas. Raises ``UsageError``."""
    states = [GroupState(name.strip()) for name in (text or "").split(",") if name.strip()]
    if any(state not in among for state in states):
        raise UsageError(f"--state {text}: expected some of {', '.join(s.value for s in among)}")
    return states


def view_of(args: argparse.Namespace) -> str:
    """What ``--describe`` is to show. Raises ``UsageError``."""
    chosen = [name for name in VIEWS if getattr(args, name) not in (None, False)]
    if len(chosen) > 1:
        raise UsageError(" and ".join(map(as_option, chosen)) + " exclude each other")
    if args.state:
        raise UsageError(f"--describe --state takes no value, not {args.state}")
    return chosen[0] if chosen else "offsets"
