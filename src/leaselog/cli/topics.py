"""`leaselog topics`: what kafka-topics.sh does, with its options and its lines.

One thing differs on purpose: a name is a name, and what a pattern changes is shown before it is done (ADR 0031).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from leaselog.admin import (
    ConfigEntry,
    ConfigSource,
    NewPartitions,
    NewTopic,
    PartitionDescription,
    Resource,
    ResourceType,
    TopicDescription,
    create_partitions,
    create_topics,
    delete_topics,
    describe_configs,
    describe_topics,
    settle,
    topic_id_text,
)
from leaselog.cli.arguments import CommandFailed, UsageError, add_connection, key_values, positive
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import is_terminal, print_json, print_table
from leaselog.cli.topic_choice import TopicChoice
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.topology import TopicInfo
from leaselog.model import ErrorCode

__all__ = ["add_arguments", "run"]

_ACTIONS = ("create", "alter", "delete", "list", "describe")
_FILTERS = (
    "under_replicated_partitions",
    "unavailable_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
)
#: of the topics that a pattern would change, those that a complaint names
_SHOWN_TOPICS = 5
_COLLIDE = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide."
    " To avoid issues it is best to use either, but not both."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--create", action="store_true", help="create a topic")
    action.add_argument("--alter", action="store_true", help="give topics more partitions")
    action.add_argument("--delete", action="store_true", help="delete topics")
    action.add_argument("--list", action="store_true", help="list topics")
    action.add_argument("--describe", action="store_true", help="describe topics and their partitions")
    parser.add_argument(
        "--topic", help="a topic, or several with commas; or a regular expression, except with --create"
    )
    parser.add_argument("--topic-id", metavar="ID", help="the topic to describe, by id")
    parser.add_argument("--partitions", type=positive, metavar="N", help="number of partitions")
    parser.add_argument("--replication-factor", type=positive, metavar="N", help="replicas of each partition")
    parser.add_argument(
        "--replica-assignment", metavar="ID:ID,ID:ID", help="brokers of each partition, by hand"
    )
    parser.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="with --create: a config"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --delete or --alter: only list the topics that it would touch"
    )  # fmt: skip
    parser.add_argument(
        "--execute", action="store_true", help="with --delete or --alter: also if a pattern matches several topics"
    )  # fmt: skip
    parser.add_argument("--if-exists", action="store_true", help="a missing topic is no error")
    parser.add_argument("--if-not-exists", action="store_true", help="an existing topic is no error")
    parser.add_argument("--exclude-internal", action="store_true", help="leave internal topics out")
    parser.add_argument(
        "--topics-with-overrides", action="store_true", help="only topics with configs of their own"
    )
    parser.add_argument("--under-replicated-partitions", action="store_true", help="only those partitions")
    parser.add_argument("--unavailable-partitions", action="store_true", help="only those without a leader")
    parser.add_argument("--under-min-isr-partitions", action="store_true", help="only those partitions")
    parser.add_argument("--at-min-isr-partitions", action="store_true", help="only those partitions")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    return run_with_cluster(args, ClientProperties.from_arguments(args), _checked(args))


def _checked(args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    """What the options ask for. Raises ``UsageError``."""
    _check(args)
    work = {"create": _create, "alter": _alter, "delete": _delete, "list": _list, "describe": _describe}
    action = next(name for name in _ACTIONS if getattr(args, name))

    async def body(cluster: Cluster) -> int:
        await work[action](cluster, args)
        return 0

    return body


def _check(args: argparse.Namespace) -> None:
    if (args.create or args.alter or args.delete) and not args.topic:
        raise UsageError("--topic NAME is missing")
    if args.config and not args.create:
        raise UsageError(
            "--config goes with --create only; use `leaselog configs --alter` for a topic that exists"
        )
    key_values("--config", args.config)
    _assignments(args.replica_assignment)
    if args.topic:
        TopicChoice.of("--topic", args.topic)
    if (args.dry_run or args.execute) and not (args.delete or args.alter):
        raise UsageError("--dry-run and --execute go with --delete and --alter only")
    if args.dry_run and args.execute:
        raise UsageError("--dry-run and --execute exclude each other")
    if args.replica_assignment and (args.partitions or args.replication_factor) and args.create:
        raise UsageError("--replica-assignment already says how many partitions and replicas there are")
    if args.alter and not args.partitions:
        raise UsageError("--alter needs --partitions N")
    if args.topic_id and not args.describe:
        raise UsageError("--topic-id goes with --describe only")
    if args.topic_id and args.topic:
        raise UsageError("--topic and --topic-id exclude each other")
    filters = [name for name in (*_FILTERS, "topics_with_overrides") if getattr(args, name)]
    if filters and not args.describe:
        raise UsageError(f"--{filters[0].replace('_', '-')} goes with --describe only")
    if len(filters) > 1:
        raise UsageError(" and ".join(f"--{n.replace('_', '-')}" for n in filters) + " exclude each other")


async def _create(cluster: Cluster, args: argparse.Namespace) -> None:
    if not args.json and ("." in args.topic or "_" in args.topic):
        print(_COLLIDE)
    topic = NewTopic(
        args.topic,
        args.partitions or -1,
        args.replication_factor or -1,
        key_values("--config", args.config),
        _assignments(args.replica_assignment),
    )
    try:
        settle(await create_topics(cluster, [topic]))
    except BrokerError as failed:
        if failed.code != ErrorCode.TOPIC_ALREADY_EXISTS or not args.if_not_exists:
            raise
        return
    if args.json:
        print_json({"created": args.topic})
    else:
        print(f"Created topic {args.topic}.")


def _assignments(text: str | None) -> list[list[int]]:
    """``0:1,1:0`` as the replicas of each partition."""
    if not text:
        return []
    try:
        placed = [[int(broker) for broker in part.split(":")] for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--replica-assignment {text}: expected broker ids like 0:1,1:0") from None
    for partition, replicas in enumerate(placed):
        if len(set(replicas)) != len(replicas):
            raise UsageError(f"--replica-assignment {text}: partition {partition} names a broker twice")
        if len(replicas) != len(placed[0]):
            raise UsageError(
                f"--replica-assignment {text}: partition {partition} has another number of replicas"
            )
    return placed


async def _alter(cluster: Cluster, args: argparse.Namespace) -> None:
    placed = _assignments(args.replica_assignment)
    for topic in await _to_change(cluster, args):
        existing = len(topic.partitions)
        new = NewPartitions(args.partitions, placed[existing:] if placed else None)
        settle(await create_partitions(cluster, {topic.name: new}))


async def _delete(cluster: Cluster, args: argparse.Namespace) -> None:
    for topic in await _to_change(cluster, args):
        settle(await delete_topics(cluster, [topic.name]))


async def _to_change(cluster: Cluster, args: argparse.Namespace) -> list[TopicInfo]:
    """The topics to alter or delete; none in a dry run, which lists them.

    Internal topics have to be named, no pattern means them. Several topics that nobody named need --execute.
    """
    choice = TopicChoice.of("--topic", args.topic)
    chosen = [t for t in await _matching(cluster, args) if not t.is_internal or choice.is_named(t.name)]
    _check_exists(f"Topic '{args.topic}'", chosen, args)
    names = [topic.name for topic in chosen]
    matched = [name for name in names if not choice.is_named(name)]
    if len(matched) > 1 and not (args.execute or args.dry_run):
        more = ", …" if len(matched) > _SHOWN_TOPICS else ""
        raise CommandFailed(
            f"--topic {args.topic} is a pattern, and {len(matched)} topics match it:"
            f" {', '.join(matched[:_SHOWN_TOPICS])}{more}. Nothing was done: --dry-run lists them, --execute does it"
        )
    if args.json:
        print_json({"topics": names, "executed": not args.dry_run})
    elif args.dry_run:
        print("\n".join(names))
        print(f"Nothing was done: these {len(names)} are what --execute would touch.", file=sys.stderr)
    return [] if args.dry_run else chosen


async def _list(cluster: Cluster, args: argparse.Namespace) -> None:
    names = [topic.name for topic in await _matching(cluster, args, must_exist=False)]
    if args.json:
        print_json(names)
    elif names:
        print("\n".join(names))


async def _matching(
    cluster: Cluster, args: argparse.Namespace, *, must_exist: bool = True
) -> list[TopicInfo]:
    """The topics that the options choose, by name. None although one was named is an error unless --if-exists."""
    everything = (await cluster.fetch_topology()).topics
    chosen = [everything[name] for name in sorted(everything)]
    if args.exclude_internal:
        chosen = [topic for topic in chosen if not topic.is_internal]
    if args.topic_id:
        chosen = [topic for topic in chosen if topic_id_text(topic.topic_id) == args.topic_id]
    elif args.topic:
        choice = TopicChoice.of("--topic", args.topic)
        chosen = [topic for topic in chosen if choice.has(topic.name)]
    named = f"TopicId '{args.topic_id}'" if args.topic_id else f"Topic '{args.topic}'" if args.topic else ""
    if named and must_exist:
        _check_exists(named, chosen, args)
    return chosen


def _check_exists(named: str, chosen: Sequence[TopicInfo], args: argparse.Namespace) -> None:
    if not chosen and not args.if_exists:
        raise CommandFailed(f"{named} does not exist as expected")


async def _describe(cluster: Cluster, args: argparse.Namespace) -> None:
    chosen = [topic.name for topic in await _matching(cluster, args)]
    topics = await describe_topics(cluster, chosen)
    configs = await describe_configs(cluster, [Resource(ResourceType.TOPIC, t.name) for t in topics])
    live = set((await cluster.fetch_topology(())).nodes)
    reports = []
    for topic in topics:
        entries = configs[Resource(ResourceType.TOPIC, topic.name)]
        if args.topics_with_overrides and not any(
            e.source is ConfigSource.DYNAMIC_TOPIC_CONFIG for e in entries
        ):
            continue
        reports.append((topic, entries, _filtered(topic, entries, live, args)))
    if args.json:
        print_json([_as_json(topic, entries, parts) for topic, entries, parts in reports])
    elif is_terminal():
        _print_tables(reports)
    else:
        _print_lines(reports, args)


Report = tuple[TopicDescription, list[ConfigEntry], list[PartitionDescription]]


def _filtered(
    topic: TopicDescription, entries: Iterable[ConfigEntry], live: set[int], args: argparse.Namespace
) -> list[PartitionDescription]:
    values = {e.name: e.value for e in entries}
    min_isr = int(values.get("min.insync.replicas") or 1)
    keep: Mapping[str, Callable[[PartitionDescription], bool]] = {
        "under_replicated_partitions": lambda p: len(p.isr) < len(p.replicas),
        "unavailable_partitions": lambda p: p.leader is None or p.leader not in live,
        "under_min_isr_partitions": lambda p: len(p.isr) < min_isr,
        "at_min_isr_partitions": lambda p: len(p.isr) == min_isr,
    }
    wanted = [keep[name] for name in _FILTERS if getattr(args, name)]
    return [p for p in topic.partitions if all(is_wanted(p) for is_wanted in wanted)]


def _overrides(entries: Iterable[ConfigEntry]) -> dict[str, str | None]:
    return {e.name: e.value for e in entries if e.source is not ConfigSource.DEFAULT_CONFIG}


def _ids(ids: Sequence[int] | None) -> str:
    return "N/A" if ids is None else ",".join(map(str, ids))


def _print_lines(reports: Iterable[Report], args: argparse.Namespace) -> None:
    """Apache's lines, tab for tab."""
    filtered = any(getattr(args, name) for name in _FILTERS)
    for topic, entries, partitions in reports:
        if not filtered:
            configs = ",".join(f"{name}={value}" for name, value in _overrides(entries).items())
            print(
                f"Topic: {topic.name}\tTopicId: {topic_id_text(topic.topic_id)}\tPartitionCount:"
                f" {len(topic.partitions)}\tReplicationFactor: {topic.replication_factor}\tConfigs: {configs}"
            )
        if args.topics_with_overrides:
            continue
        for p in partitions:
            leader = "none" if p.leader is None else p.leader
            print(
                f"\tTopic: {topic.name}\tPartition: {p.partition}\tLeader: {leader}\tReplicas: {_ids(p.replicas)}"
                f"\tIsr: {_ids(p.isr)}\tElr: {_ids(p.elr)}\tLastKnownElr: {_ids(p.last_known_elr)}"
            )


def _print_tables(reports: Iterable[Report]) -> None:
    for topic, entries, partitions in reports:
        configs = ", ".join(f"{name}={value}" for name, value in _overrides(entries).items())
        title = f"{topic.name}  {topic_id_text(topic.topic_id)}" + (f"\n{configs}" if configs else "")
        rows = [
            (p.partition, "none" if p.leader is None else p.leader, _ids(p.replicas), _ids(p.isr))
            for p in partitions
        ]
        print_table(
            ("Partition", "Leader", "Replicas", "Isr"), rows, title=title, right=("Partition", "Leader")
        )


def _as_json(
    topic: TopicDescription, entries: Iterable[ConfigEntry], partitions: Iterable[PartitionDescription]
) -> Mapping[str, Any]:
    return {
        "topic": topic.name,
        "topicId": topic_id_text(topic.topic_id),
        "internal": topic.is_internal,
        "partitionCount": len(topic.partitions),
        "replicationFactor": topic.replication_factor,
        "configs": _overrides(entries),
        "partitions": [
            {
                "partition": p.partition,
                "leader": p.leader,
                "replicas": p.replicas,
                "isr": p.isr,
                "elr": p.elr,
                "lastKnownElr": p.last_known_elr,
            }
            for p in partitions
        ],
    }
