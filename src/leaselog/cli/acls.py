"""`leaselog acls`: what kafka-acls.sh does, with its options and its lines.

Rules are added at once, as nothing is lost by that; what is removed is shown first (--dry-run) or said to be meant
(--execute, or Apache's --force): nobody is asked, as a script could not answer. Wrong usage is one line and exit 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from leaselog.admin import create_acls, delete_acls, describe_acls, settle
from leaselog.cli.acl_json import as_json, parse_rules
from leaselog.cli.acl_options import (
    ROLES,
    add_rule_arguments,
    check_options,
    checked_principal,
    resources,
    rules,
    which_rules,
)
from leaselog.cli.arguments import CommandFailed, UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import is_terminal, print_json, print_table
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.model import AclBinding, AclFilter

__all__ = ["add_arguments", "run"]

#: in place of a file
_STANDARD_INPUT = "-"
_SAYING = ("allow_principal", "deny_principal", "allow_host", "deny_host", "operation", *ROLES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="show rules: all, or those of resources")
    action.add_argument("--add", action="store_true", help="add rules")
    action.add_argument(
        "--remove", action="store_true",
        help="remove rules: the very ones that --add would add or, without a principal, all of the resources",
    )  # fmt: skip
    add_rule_arguments(parser)
    parser.add_argument(
        "--principal", action="append", default=[], metavar="User:NAME", help="with --list: whose rules"
    )
    parser.add_argument(
        "--from", dest="from_file", metavar="FILE",
        help="with --add, in place of the options: rules as --list --json prints them; - is standard input",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only show what would be added or removed")
    parser.add_argument("--execute", "--force", action="store_true", help="with --remove: do it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    return run_with_cluster(args, ClientProperties.from_arguments(args), _checked(args))


def _checked(args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    """What the options ask for. Raises ``UsageError``."""
    check_options(args)
    if args.principal and not args.list:
        raise UsageError(
            "--principal goes with --list; --allow-principal and --deny-principal say whose rules"
        )
    if args.execute and not args.remove:
        raise UsageError("--execute goes with --remove")
    if args.from_file and not args.add:
        raise UsageError("--from goes with --add")
    if args.list:
        return _listing(args)
    if args.remove:
        if args.dry_run == args.execute:
            raise UsageError(
                "--remove needs --dry-run to see which rules would go, or --execute to remove them"
            )
        filters = which_rules(args)
        return lambda cluster: _remove(cluster, filters, args)
    wanted = _read(args) if args.from_file else rules(args)
    return lambda cluster: _add(cluster, wanted, args)


def _listing(args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    if args.dry_run or any(getattr(args, name) for name in _SAYING):
        raise UsageError("--list takes resources and --principal alone")
    filters = [AclFilter(type, name, pattern_type=pattern) for type, name, pattern in resources(args)]
    principals = [checked_principal(text) for text in args.principal]
    return lambda cluster: _list(cluster, filters or [AclFilter()], principals, is_json=args.json)


def _read(args: argparse.Namespace) -> list[AclBinding]:
    if resources(args) or any(getattr(args, name) for name in _SAYING):
        raise UsageError(
            "--from FILE says all of the rules: resources, principals and operations do not go with it"
        )
    path: str = args.from_file
    try:
        text = sys.stdin.read() if path == _STANDARD_INPUT else Path(path).read_text(encoding="utf-8")
        return parse_rules(text)
    except OSError as unreadable:
        raise UsageError(f"--from {path}: {unreadable.strerror}") from None
    except ValueError as wrong:
        raise UsageError(f"--from {path}: {wrong}") from None


async def _list(
    cluster: Cluster, filters: Iterable[AclFilter], principals: Sequence[str], *, is_json: bool
) -> int:
    found = {rule for which in filters for rule in await describe_acls(cluster, which)}
    shown = in_order(rule for rule in found if not principals or rule.principal in principals)
    if is_json:
        _print_json(shown)
    elif is_terminal() and shown:
        print_table(
            ("Resource", "Name", "Pattern", "Principal", "Host", "Operation", "Permission"), map(_row, shown)
        )
    elif not principals:
        _print_current(shown)
    else:
        for principal in principals:
            print(f"ACLs for principal `{principal}`")
            _print_current([rule for rule in shown if rule.principal == principal])
    return 0


def _print_current(shown: Iterable[AclBinding]) -> None:
    for resource, of_it in groupby(shown, key=resource_text):
        print("\n".join([f"Current ACLs for resource `{resource}`:", *map(_line, of_it), ""]))


async def _add(cluster: Cluster, wanted: Sequence[AclBinding], args: argparse.Namespace) -> int:
    there = set(await describe_acls(cluster, AclFilter())) if wanted else set()
    new = in_order(rule for rule in wanted if rule not in there)
    if not args.dry_run and new:
        outcomes = await create_acls(cluster, new)
        refused = {rule: error for rule, error in outcomes.items() if isinstance(error, BrokerError)}
        if refused:
            done = len(new) - len(refused)
            raise CommandFailed(f"{_first(refused)} ({len(refused)} refused, {done} added)")
    if args.json:
        _print_json(new)
        return 0
    for rule in wanted:
        if rule in there:
            print(f"Acl (pattern={resource_text(rule)}, entry={_entry(rule)}) already exists.")
    verb = "Would add" if args.dry_run else "Adding"
    for resource, of_it in groupby(new, key=resource_text):
        lines = "\n".join(map(_line, of_it))
        print(f"{verb} ACLs for resource `{resource}`: \n {lines}\n")
    return 0


async def _remove(cluster: Cluster, filters: Sequence[AclFilter], args: argparse.Namespace) -> int:
    if args.dry_run:
        gone = in_order({rule for which in filters for rule in await describe_acls(cluster, which)})
    else:
        outcomes = settle(await delete_acls(cluster, filters))
        refused = {
            rule: error
            for rules_of_it in outcomes.values()
            for rule, error in rules_of_it.items()
            if isinstance(error, BrokerError)
        }
        if refused:
            raise CommandFailed(_first(refused))
        gone = in_order({rule for rules_of_it in outcomes.values() for rule in rules_of_it})
    if args.json:
        _print_json(gone)
        return 0
    verb = "Would remove" if args.dry_run else "Removed"
    for resource, of_it in groupby(gone, key=resource_text):
        print("\n".join([f"{verb} ACLs for resource `{resource}`:", *map(_line, of_it), ""]))
    if not gone:
        print("There are no such rules.")
    return 0


def _first(refused: Mapping[AclBinding, BrokerError]) -> str:
    rule, error = next(iter(refused.items()))
    return f"{resource_text(rule)} {_entry(rule)}: {error}"


def _print_json(shown: Iterable[AclBinding]) -> None:
    print_json([as_json(rule) for rule in shown])


def in_order(found: Iterable[AclBinding]) -> list[AclBinding]:
    """By resource, so that those of one resource are together."""
    return sorted(found, key=lambda rule: (rule.resource_type, rule.resource_name, rule.pattern_type, rule))


def _row(rule: AclBinding) -> tuple[str, ...]:
    return (
        rule.resource_type.name,
        rule.resource_name,
        rule.pattern_type.name,
        rule.principal,
        rule.host,
        rule.operation.name,
        rule.permission.name,
    )


def resource_text(rule: AclBinding) -> str:
    """As Java writes it, and so does Apache's tool."""
    return (
        f"ResourcePattern(resourceType={rule.resource_type.name}, name={rule.resource_name},"
        f" patternType={rule.pattern_type.name})"
    )


def _entry(rule: AclBinding) -> str:
    return (
        f"(principal={rule.principal}, host={rule.host}, operation={rule.operation.name},"
        f" permissionType={rule.permission.name})"
    )


def _line(rule: AclBinding) -> str:
    return f"\t{_entry(rule)}"
