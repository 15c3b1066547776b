"""`leaselog share-groups`: what kafka-share-groups.sh does, with its options and its tables.

`--describe --verbose` shows what is in flight besides, from a leaselog broker: who holds what and until when; and from
any broker where the group's dead letters lie, and how many there are. `--inspect` and `--redrive` are in `redrive.py`,
`--pause` and `--resume` in `share_pauses.py`.
Two things differ on purpose: wrong usage is one line and exit 2 without the whole help behind it, and what fails ends
with exit 1, where Apache's tool prints the error among its results and says 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from leaselog.admin import (
    GroupDescription,
    GroupState,
    GroupType,
    alter_share_group_offsets,
    delete_groups,
    delete_share_group_offsets,
    describe_groups,
    describe_share_partitions,
    list_groups,
    list_share_group_offsets,
    settle,
)
from leaselog.cli import share_group_tables as tables
from leaselog.cli.arguments import (
    CommandFailed,
    UsageError,
    add_connection,
    given_properties,
    positive,
)
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.dead_letter_topics import dead_letter_topics
from leaselog.cli.group_options import (
    add_group_options,
    as_option,
    check_goes_with,
    check_scope,
    states_of,
    view_of,
)
from leaselog.cli.output import print_json
from leaselog.cli.redrive import GOES_WITH as REDRIVE_GOES_WITH
from leaselog.cli.redrive import add_redrive_arguments, inspection, redriving
from leaselog.cli.reset_offsets import Reset, new_offsets, parse_datetime, parse_topics
from leaselog.cli.share_pauses import Pauses, change_pauses, pause_line, pauses_where_told, with_pause
from leaselog.client import EARLIEST, LATEST, BrokerError, UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode, TopicPartition

__all__ = ["add_arguments", "run"]

_ACTIONS = (
    "list",
    "describe",
    "delete",
    "reset_offsets",
    "delete_offsets",
    "pause",
    "resume",
    "inspect",
    "redrive",
)
_RESETS = ("to_earliest", "to_latest", "to_datetime")
#: the states a share group can be in
_STATES = (GroupState.STABLE, GroupState.EMPTY, GroupState.DEAD)
#: which options go with which actions
_GOES_WITH = {
    "group": (
        "describe",
        "delete",
        "reset_offsets",
        "delete_offsets",
        "pause",
        "resume",
        "inspect",
        "redrive",
    ),
    "all_groups": ("describe", "delete", "pause", "resume"),
    "topic": ("reset_offsets", "delete_offsets"),
    "all_topics": ("reset_offsets",),
    "members": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "verbose": ("describe",),
    "reason": ("pause",),
    "dry_run": ("reset_offsets", "redrive"),
    "execute": ("reset_offsets", "redrive"),
    **dict.fromkeys(_RESETS, ("reset_offsets",)),
    **REDRIVE_GOES_WITH,
}
DEFAULT_TIMEOUT_MS = 30_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="list the share groups")
    action.add_argument("--describe", action="store_true", help="show offsets, members or state of groups")
    action.add_argument("--delete", action="store_true", help="delete groups that have no members")
    action.add_argument("--reset-offsets", action="store_true", help="set where a group goes on")
    action.add_argument("--delete-offsets", action="store_true", help="forget how far a group has come")
    action.add_argument("--pause", action="store_true", help="pause groups: they get no records (leaselog)")
    action.add_argument("--resume", action="store_true", help="resume groups (leaselog)")
    action.add_argument("--inspect", action="store_true", help="show a group's dead letters by cause")
    action.add_argument("--redrive", action="store_true", help="put a group's dead letters back")
    add_group_options(parser, "share", "a topic; with --reset-offsets also partitions of it")
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="with --describe: more columns, and what is in flight (leaselog), and dead letters",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --reset-offsets or --redrive: only show the result"
    )
    parser.add_argument("--execute", action="store_true", help="with --reset-offsets or --redrive: do it")
    add_redrive_arguments(parser)
    parser.add_argument("--reason", metavar="TEXT", help="with --pause: why; shown by --describe and top")
    parser.add_argument("--to-earliest", action="store_true", help="begin at the earliest record")
    parser.add_argument("--to-latest", action="store_true", help="begin after the latest record")
    parser.add_argument(
        "--to-datetime", metavar="YYYY-MM-DDTHH:mm:SS.sss", help="begin with the first record from this time on; UTC"
    )  # fmt: skip
    parser.add_argument(
        "--timeout",
        type=positive,
        default=DEFAULT_TIMEOUT_MS,
        metavar="MS",
        help="how long to wait for answers (30000)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    action = next(name for name in _ACTIONS if getattr(args, name))
    work = _checked(action, args)
    values = given_properties(args, {"default.api.timeout.ms": str(args.timeout)})
    values.setdefault("request.timeout.ms", str(min(args.timeout, DEFAULT_TIMEOUT_MS)))
    return run_with_cluster(args, ClientProperties(values), work)


def _checked(action: str, args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    """What the options ask for. Raises ``UsageError``."""
    check_goes_with(args, action, _GOES_WITH)
    match action:
        case "list":
            states = None if args.state is None else states_of(args.state, _STATES)
            return lambda cluster: _list(cluster, args, states)
        case "describe":
            view = view_of(args)
            check_scope(args)
            return lambda cluster: _describe(cluster, args, view)
        case "delete":
            check_scope(args)
            return lambda cluster: _delete(cluster, args)
        case "pause" | "resume":
            check_scope(args)
            return lambda cluster: change_pauses(cluster, args)
        case "delete_offsets":
            group = _one_group(action, args)
            if not args.topic:
                raise UsageError("--delete-offsets needs --topic TOPIC")
            return lambda cluster: _delete_offsets(cluster, group, args)
        case "inspect":
            return inspection(_one_group(action, args), args)
        case "redrive":
            return redriving(_one_group(action, args), args)
        case _:
            reset = _reset(args)
            return lambda cluster: _reset_offsets(cluster, reset, args)


def _one_group(action: str, args: argparse.Namespace) -> str:
    if not args.group or len(args.group) != 1:
        raise UsageError(f"{as_option(action)} needs one --group ID")
    group: str = args.group[0]
    return group


def _reset(args: argparse.Namespace) -> Reset:
    group = _one_group("reset_offsets", args)
    if args.dry_run == args.execute:
        raise UsageError("--reset-offsets needs --dry-run to see the result, or --execute to have it done")
    if bool(args.topic) == args.all_topics:
        raise UsageError("--reset-offsets needs either --topic TOPIC or --all-topics")
    chosen = [name for name in _RESETS if getattr(args, name) not in (None, False)]
    if len(chosen) != 1:
        raise UsageError("--reset-offsets needs one of " + ", ".join(map(as_option, _RESETS)))
    to = EARLIEST if args.to_earliest else LATEST if args.to_latest else parse_datetime(args.to_datetime)
    return Reset(group, parse_topics(args.topic) if args.topic else None, to)


async def _list(cluster: Cluster, args: argparse.Namespace, states: Sequence[GroupState] | None) -> int:
    groups = await list_groups(cluster, states=states or (), types=[GroupType.SHARE])
    if args.json:
        print_json(
            [g.group_id for g in groups]
            if states is None
            else [{"group": g.group_id, "state": g.state.value} for g in groups]
        )
    elif states is not None:
        print(tables.listing_table(groups))
    else:
        for group in groups:
            print(group.group_id)
    return 0


async def _describe(cluster: Cluster, args: argparse.Namespace, view: str) -> int:
    ids = args.group or [g.group_id for g in await list_groups(cluster, types=[GroupType.SHARE])]
    groups = await _found(cluster, sorted(set(ids)))
    shows_pauses = view == "state" or args.verbose
    pauses = await pauses_where_told(cluster, groups) if shows_pauses else {}
    match view:
        case "offsets":
            await _describe_offsets(cluster, list(groups.values()), args, pauses)
        case "members":
            _describe_members(groups.values(), args, pauses)
        case _:
            _describe_states(groups.values(), args, pauses)
    if not args.json:
        for group_id, pause in pauses.items():
            if pause is not None:
                print(pause_line(group_id, pause))
    return 0


async def _found(cluster: Cluster, ids: Sequence[str]) -> dict[str, GroupDescription]:
    outcomes = await describe_groups(cluster, ids, type=GroupType.SHARE)
    groups = {i: found for i, found in outcomes.items() if not isinstance(found, BrokerError)}
    if failed := [str(error) for error in outcomes.values() if isinstance(error, BrokerError)]:
        raise CommandFailed("; ".join(failed))
    return groups


async def _describe_offsets(
    cluster: Cluster, groups: Sequence[GroupDescription], args: argparse.Namespace, pauses: Pauses
) -> None:
    found = settle(await list_share_group_offsets(cluster, {g.group_id: None for g in groups}))
    in_flight = await _in_flight(cluster, found) if args.verbose else None
    letters = await dead_letter_topics(cluster, [g.group_id for g in groups]) if args.verbose else {}
    if args.json:
        seen = in_flight or {}
        shown = [tables.group_json(g, found[g.group_id], seen.get(g.group_id)) for g in groups]
        for row in shown:
            topic = letters.get(row["group"])
            if topic is not None:
                row["deadLetters"] = tables.dead_letters_json(topic)
        print_json([with_pause(row, pauses) for row in shown])
        return
    for group in groups:
        group_id = group.group_id
        if not found[group_id]:
            print(f"\nShare group '{group_id}' has no offset information.")
            continue
        print(tables.offsets_table(group_id, found[group_id], verbose=args.verbose))
        if in_flight is not None:
            print(tables.in_flight_tables(group_id, in_flight[group_id]))
        topic = letters.get(group_id)
        if topic is not None:
            print(tables.dead_letters_table(group_id, topic))
    if args.verbose and in_flight is None:
        print("\nWhat is in flight: not available, this is not a leaselog broker.", file=sys.stderr)


async def _in_flight(
    cluster: Cluster, offsets: Mapping[str, Iterable[TopicPartition]]
) -> dict[str, tables.InFlight] | None:
    """What each group has in flight; None from a broker that does not tell."""
    try:
        return {
            group_id: await describe_share_partitions(cluster, group_id, places) if places else {}
            for group_id, places in offsets.items()
        }
    except UnsupportedVersion:
        return None


def _describe_members(groups: Iterable[GroupDescription], args: argparse.Namespace, pauses: Pauses) -> None:
    if args.json:
        print_json([with_pause(tables.members_json(group), pauses) for group in groups])
        return
    for group in groups:
        if group.members:
            print(tables.members_table(group, verbose=args.verbose))
        else:
            _say_nobody_is_there(group)


def _describe_states(groups: Iterable[GroupDescription], args: argparse.Namespace, pauses: Pauses) -> None:
    if args.json:
        print_json([with_pause(tables.state_json(group), pauses) for group in groups])
        return
    for group in groups:
        if not group.members:
            _say_nobody_is_there(group)
        print(tables.state_table(group, verbose=args.verbose))


def _say_nobody_is_there(group: GroupDescription) -> None:
    print(f"\nShare group '{group.group_id}' has no active members.", file=sys.stderr)


async def _delete(cluster: Cluster, args: argparse.Namespace) -> int:
    states = {g.group_id: g.state for g in await list_groups(cluster, types=[GroupType.SHARE])}
    wanted = list(states) if args.all_groups else list(dict.fromkeys(args.group))
    refused = dict[str, str]()
    for group_id in wanted:
        if group_id not in states:
            refused[group_id] = f"Group '{group_id}' is not a share group."
        elif states[group_id] is not GroupState.EMPTY:
            refused[group_id] = f"Share group '{group_id}' is not EMPTY."
    outcomes = await delete_groups(cluster, [i for i in wanted if i not in refused])
    refused |= {i: str(error) for i, error in outcomes.items() if error is not None}
    deleted = [i for i in outcomes if i not in refused]
    if args.json:
        print_json({"deleted": deleted, "failed": refused})
    else:
        _print_deleted(deleted, refused)
    return 1 if refused else 0


def _print_deleted(deleted: Sequence[str], refused: dict[str, str]) -> None:
    names = ", ".join(f"'{group_id}'" for group_id in deleted)
    if not refused:
        print(f"Deletion of requested share groups ({names}) was successful.")
        return
    print("\nError: Deletion of some share groups failed:")
    for group_id, reason in refused.items():
        print(f"* Group '{group_id}' could not be deleted due to: {reason}")
    if deleted:
        print(f"\nThese share groups were deleted successfully: {names}")


async def _delete_offsets(cluster: Cluster, group_id: str, args: argparse.Namespace) -> int:
    outcomes = await delete_share_group_offsets(cluster, group_id, args.topic)
    failed = {topic: error for topic, error in outcomes.items() if error is not None}
    if args.json:
        deleted = [topic for topic in outcomes if topic not in failed]
        print_json({"deleted": deleted, "failed": {topic: str(error) for topic, error in failed.items()}})
    else:
        print(tables.deleted_offsets_table(outcomes))
    return 1 if failed else 0


async def _reset_offsets(cluster: Cluster, reset: Reset, args: argparse.Namespace) -> int:
    group_id = reset.group_id
    found = (await describe_groups(cluster, [group_id], type=GroupType.SHARE))[group_id]
    if isinstance(found, BrokerError):
        if found.code is not ErrorCode.GROUP_ID_NOT_FOUND:  # it will be made
            raise found
    elif found.state not in (GroupState.EMPTY, GroupState.DEAD):
        raise CommandFailed(f"Share group '{group_id}' is not empty.")
    offsets, warnings = await new_offsets(cluster, reset)
    for warning in warnings:
        print(f"\nWarn: {warning}", file=sys.stderr if args.json else sys.stdout)
    if args.execute and offsets:
        outcomes = await alter_share_group_offsets(cluster, group_id, offsets)
        if failed := [f"{where}: {error}" for where, error in outcomes.items() if error is not None]:
            raise CommandFailed("; ".join(failed))
    if args.json:
        rows = [
            {"topic": w.topic, "partition": w.partition, "newOffset": offsets[w]} for w in sorted(offsets)
        ]
        print_json({"group": group_id, "executed": args.execute, "offsets": rows})
    else:
        print(tables.new_offsets_table(group_id, offsets))
    return 0
