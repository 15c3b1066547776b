"""`leaselog consumer-groups`: what kafka-consumer-groups.sh does, with its options and its tables.

Three things differ on purpose, as in `share-groups`: wrong usage is one line and exit 2; what fails ends with exit 1,
where Apache's tool prints the error among its results and says 0; a reset says --dry-run or --execute.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from leaselog.admin import (
    GroupDescription,
    GroupListing,
    GroupState,
    GroupType,
    alter_consumer_group_offsets,
    delete_consumer_group_offsets,
    delete_groups,
    describe_groups,
    list_consumer_group_offsets,
    list_groups,
    settle,
)
from leaselog.cli import consumer_group_tables as tables
from leaselog.cli.arguments import (
    CommandFailed,
    UsageError,
    add_connection,
    given_properties,
    positive,
)
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.consumer_group_resets import WAYS, Reset, add_reset_arguments, planned_offsets, reset_of
from leaselog.cli.group_options import add_group_options, check_goes_with, check_scope, states_of, view_of
from leaselog.cli.output import print_json
from leaselog.cli.reset_offsets import parse_topics
from leaselog.client import LATEST, BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import ErrorCode, TopicPartition

__all__ = ["add_arguments", "run"]

_ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets")
_TYPES = (GroupType.CLASSIC, GroupType.CONSUMER)
#: of a group that only has offsets, and of one whose members are consumers
_PROTOCOLS = ("", "consumer")
_STATES = (
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.STABLE,
    GroupState.DEAD,
    GroupState.EMPTY,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
)
_REBALANCING = (
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
)
#: which options go with which actions
_GOES_WITH = {
    "group": ("describe", "delete", "reset_offsets", "delete_offsets"),
    "all_groups": ("describe", "delete", "reset_offsets"),
    "topic": ("reset_offsets", "delete_offsets"),
    "all_topics": ("reset_offsets",),
    "members": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
    "verbose": ("describe",),
    "dry_run": ("reset_offsets",),
    "execute": ("reset_offsets",),
    "export": ("reset_offsets",),
    **dict.fromkeys(WAYS, ("reset_offsets",)),
}
_TIMEOUT_MS = 30_000
#: in place of a partition of a topic that does not exist
_NO_PARTITION = -1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="list the consumer groups")
    action.add_argument("--describe", action="store_true", help="show offsets, members or state of groups")
    action.add_argument("--delete", action="store_true", help="delete groups that have no members")
    action.add_argument("--reset-offsets", action="store_true", help="let groups go on elsewhere")
    action.add_argument("--delete-offsets", action="store_true", help="forget how far a group has come")
    add_group_options(parser, "consumer", "a topic, or some partitions of it")
    parser.add_argument(
        "--type", nargs="?", const="", metavar="TYPES",
        help="with --list: types too, or only groups of these types: classic, consumer",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="with --describe: more columns")
    parser.add_argument("--dry-run", action="store_true", help="with --reset-offsets: only show the result")
    parser.add_argument("--execute", action="store_true", help="with --reset-offsets: do it")
    parser.add_argument(
        "--export", action="store_true", help="with --reset-offsets: print lines that --from-file reads"
    )
    add_reset_arguments(parser)
    parser.add_argument(
        "--timeout", type=positive, default=_TIMEOUT_MS, metavar="MS", help="wait no longer (30000)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    work = _checked(args)
    values = given_properties(args, {"default.api.timeout.ms": str(args.timeout)})
    values.setdefault("request.timeout.ms", str(min(args.timeout, _TIMEOUT_MS)))
    return run_with_cluster(args, ClientProperties(values), work)


def _checked(args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    """What the options ask for. Raises ``UsageError``."""
    action = next(name for name in _ACTIONS if getattr(args, name))
    check_goes_with(args, action, _GOES_WITH)
    if action not in ("list", "delete_offsets"):
        check_scope(args)
    match action:
        case "list":
            states, types = states_of(args.state, _STATES), _types(args.type)
            return lambda cluster: _list(cluster, args, states, types)
        case "describe":
            view = view_of(args)
            return lambda cluster: _describe(cluster, args, view)
        case "delete":
            return lambda cluster: _delete(cluster, args)
        case "delete_offsets":
            if not args.group or len(args.group) != 1 or not args.topic:
                raise UsageError("--delete-offsets needs one --group ID, and --topic TOPIC")
            topics = parse_topics(args.topic)
            return lambda cluster: _delete_offsets(cluster, args.group[0], topics, args)
        case _:
            reset = _reset(args)
            return lambda cluster: _reset_offsets(cluster, reset, args)


def _types(text: str | None) -> list[GroupType]:
    types = [GroupType(name.strip()) for name in (text or "").split(",") if name.strip()]
    if any(kind not in _TYPES for kind in types):
        raise UsageError(f"--type {text}: expected some of {', '.join(t.value for t in _TYPES)}")
    return types


def _reset(args: argparse.Namespace) -> Reset:
    if args.dry_run == args.execute:
        raise UsageError("--reset-offsets needs --dry-run to see the result, or --execute to have it done")
    if args.export and args.json:
        raise UsageError("--export and --json exclude each other")
    return reset_of(args)


async def _listed(
    cluster: Cluster, states: Iterable[GroupState] = (), types: Iterable[GroupType] = ()
) -> list[GroupListing]:
    found = await list_groups(cluster, states=states, types=list(types) or _TYPES)
    return [group for group in found if group.protocol in _PROTOCOLS]


async def _list(
    cluster: Cluster, args: argparse.Namespace, states: Sequence[GroupState], types: Sequence[GroupType]
) -> int:
    groups = await _listed(cluster, states, types)
    with_states, with_types = args.state is not None, args.type is not None
    if args.json and (with_states or with_types):
        print_json([{"group": g.group_id, "type": g.type.value, "state": g.state.value} for g in groups])
    elif args.json:
        print_json([g.group_id for g in groups])
    elif with_states or with_types:
        print(tables.listing_table(groups, types=with_types, states=with_states))
    else:
        for group in groups:
            print(group.group_id)
    return 0


async def _wanted(cluster: Cluster, args: argparse.Namespace) -> list[str]:
    return [g.group_id for g in await _listed(cluster)] if args.all_groups else sorted(set(args.group))


async def _found(cluster: Cluster, ids: Sequence[str]) -> dict[str, GroupDescription | BrokerError]:
    found = await describe_groups(cluster, ids)
    for group in found.values():
        if isinstance(group, GroupDescription) and not (
            group.type in _TYPES and group.protocol in _PROTOCOLS
        ):
            raise CommandFailed(f"Group '{group.group_id}' is not a consumer group.")
    return dict(found)


async def _describe(cluster: Cluster, args: argparse.Namespace, view: str) -> int:
    outcomes = await _found(cluster, await _wanted(cluster, args))
    if failed := [str(error) for error in outcomes.values() if isinstance(error, BrokerError)]:
        raise CommandFailed("; ".join(failed))
    groups = [group for group in outcomes.values() if isinstance(group, GroupDescription)]
    if view == "offsets":
        await _describe_offsets(cluster, groups, args)
        return 0
    if args.json:
        print_json([(tables.members_json if view == "members" else tables.state_json)(g) for g in groups])
        return 0
    table = tables.members_table if view == "members" else tables.state_table
    for group in groups:
        _say_what_is_unusual(group)
        print(table(group, verbose=args.verbose))
    return 0


async def _describe_offsets(
    cluster: Cluster, groups: Sequence[GroupDescription], args: argparse.Namespace
) -> None:
    committed = settle(await list_consumer_group_offsets(cluster, {g.group_id: None for g in groups}))
    places = {where for offsets in committed.values() for where in offsets}
    places |= {where for group in groups for member in group.members for where in member.assignment}
    ends = await _end_offsets(cluster, places)
    rows = {g.group_id: tables.partition_rows(g, committed[g.group_id], ends) for g in groups}
    if args.json:
        print_json([tables.offsets_json(group, rows[group.group_id]) for group in groups])
        return
    for group in groups:
        _say_what_is_unusual(group)
        if rows[group.group_id]:
            print(tables.offsets_table(group.group_id, rows[group.group_id], verbose=args.verbose))


async def _end_offsets(cluster: Cluster, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Without the partitions that are gone, or that nobody leads just now."""
    wanted = set(places)
    topology = await cluster.retrying(lambda: cluster.fetch_topology(sorted({w.topic for w in wanted})))
    led = {
        TopicPartition(topic.name, part.partition)
        for topic in topology.topics.values()
        for part in topic.partitions
        if part.leader in topology.nodes
    }
    return await list_offsets(cluster, dict.fromkeys(wanted & led, LATEST)) if wanted & led else {}


def _say_what_is_unusual(group: GroupDescription) -> None:
    if group.state is GroupState.EMPTY:
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)


async def _delete(cluster: Cluster, args: argparse.Namespace) -> int:
    wanted = await _wanted(cluster, args)
    others = {g.group_id for g in await list_groups(cluster) if g.type not in (*_TYPES, GroupType.UNKNOWN)}
    refused = {i: f"Group '{i}' is not a consumer group." for i in wanted if i in others}
    outcomes = await delete_groups(cluster, [i for i in wanted if i not in refused])
    refused |= {i: str(error) for i, error in outcomes.items() if error is not None}
    deleted = [i for i in outcomes if i not in refused]
    if args.json:
        print_json({"deleted": deleted, "failed": refused})
    else:
        _print_deleted(deleted, refused)
    return 1 if refused else 0


def _print_deleted(deleted: Sequence[str], refused: Mapping[str, str]) -> None:
    names = ", ".join(f"'{group_id}'" for group_id in deleted)
    if not refused:
        print(f"Deletion of requested consumer groups ({names}) was successful.")
        return
    print("\nError: Deletion of some consumer groups failed:")
    for group_id, reason in refused.items():
        print(f"* Group '{group_id}' could not be deleted due to: {reason}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {names}")


async def _delete_offsets(
    cluster: Cluster, group_id: str, topics: Mapping[str, Sequence[int]], args: argparse.Namespace
) -> int:
    places, missing = await _places_to_forget(cluster, topics)
    outcomes = dict[TopicPartition, BrokerError | None](missing)
    if places:
        outcomes |= await delete_consumer_group_offsets(cluster, group_id, places)
    failed = {where: error for where, error in outcomes.items() if error is not None}
    if args.json:
        rows = [
            {
                "topic": w.topic,
                "partition": w.partition,
                "error": None if outcomes[w] is None else str(outcomes[w]),
            }
            for w in sorted(outcomes)
        ]
        print_json({"group": group_id, "offsets": rows})
        return 1 if failed else 0
    if failed:
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    print(tables.deleted_offsets_table(outcomes))
    return 1 if failed else 0


async def _places_to_forget(
    cluster: Cluster, topics: Mapping[str, Sequence[int]]
) -> tuple[list[TopicPartition], dict[TopicPartition, BrokerError]]:
    """What the options name, and the topics without partitions that do not exist."""
    topology = await cluster.retrying(lambda: cluster.fetch_topology(topics))
    places, missing = list[TopicPartition](), dict[TopicPartition, BrokerError]()
    for name, numbers in topics.items():
        if not numbers and name not in topology.topics:
            missing[TopicPartition(name, _NO_PARTITION)] = BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            continue
        existing = [] if numbers else [p.partition for p in topology.topics[name].partitions]
        places += [TopicPartition(name, number) for number in numbers or existing]
    return places, missing


async def _reset_offsets(cluster: Cluster, reset: Reset, args: argparse.Namespace) -> int:
    refused, planned = list[str](), dict[str, dict[TopicPartition, int]]()
    for group_id, found in (await _found(cluster, await _wanted(cluster, args))).items():
        if isinstance(found, BrokerError):
            if found.code is not ErrorCode.GROUP_ID_NOT_FOUND:  # it will be made
                raise found
        elif found.state not in (GroupState.EMPTY, GroupState.DEAD):
            refused.append(
                f"Assignments can only be reset if the group '{group_id}' is inactive,"
                f" but the current state is {found.state.value}."
            )
            continue
        planned[group_id], warnings = await planned_offsets(cluster, group_id, reset)
        for warning in warnings:
            print(f"\n{warning}", file=sys.stdout if _is_apaches(warning, args) else sys.stderr)
    if not planned:
        raise CommandFailed(" ".join(refused) or "there is no such group")
    if args.execute:
        await _execute(cluster, planned)
    _print_reset(planned, args)
    for line in refused:
        print(f"leaselog consumer-groups: {line}", file=sys.stderr)
    return 1 if refused else 0


def _is_apaches(warning: str, args: argparse.Namespace) -> bool:
    """Apache's tool has this one among its results, and the others in its log."""
    return warning.startswith("Warn: ") and not args.json and not args.export


async def _execute(cluster: Cluster, planned: Mapping[str, Mapping[TopicPartition, int]]) -> None:
    for group_id, offsets in planned.items():
        outcomes = await alter_consumer_group_offsets(cluster, group_id, offsets) if offsets else {}
        if failed := [str(error) for error in outcomes.values() if error is not None]:
            raise CommandFailed(f"Group {group_id}: {'; '.join(failed)}")


def _print_reset(planned: Mapping[str, Mapping[TopicPartition, int]], args: argparse.Namespace) -> None:
    if args.export:
        print(tables.export_lines(planned))
    elif args.json:
        shown = [
            {
                "group": group,
                "executed": args.execute,
                "offsets": [
                    {"topic": w.topic, "partition": w.partition, "newOffset": offsets[w]}
                    for w in sorted(offsets)
                ],
            }
            for group, offsets in planned.items()
        ]
        print_json(shown)
    else:
        print(tables.new_offsets_table(planned))
