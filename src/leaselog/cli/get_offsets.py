"""`leaselog get-offsets`: what kafka-get-offsets.sh does, with its options and its lines.

A topic's name is a name here too, not a pattern (ADR 0031).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass

from leaselog.cli.arguments import CommandFailed, UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.cli.topic_choice import TopicChoice
from leaselog.client import EARLIEST, LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.client.topology import Topology
from leaselog.model import TopicPartition

__all__ = ["PartitionRule", "add_arguments", "chosen_by", "parse_time", "run"]

#: ListOffsets' times that are none
_TIMES = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_EVERY_TOPIC = ".*"
_RULE = re.compile(r"(?P<topic>[^:,]*)(?::(?:(?P<only>\d+)|(?P<lower>\d*)-(?P<upper>\d*))?)?")
_NO_SUCH_RECORD = -1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument(
        "--topic", help="a topic, or several with commas; or a regular expression (all topics)"
    )
    parser.add_argument("--partitions", metavar="N,N", help="only these partitions of the topics")
    parser.add_argument(
        "--topic-partitions", metavar="TOPIC:N,TOPIC:N-N",
        help="topics or regular expressions with partitions: 3, 1-3 (without the 3), 5- or -3; without a topic: of all",
    )  # fmt: skip
    parser.add_argument(
        "--time", default="latest", metavar="TIME",
        help=f"a time in ms, or {', '.join(f'{time} or {name}' for name, time in _TIMES.items())} (latest)",
    )  # fmt: skip
    parser.add_argument("--exclude-internal-topics", action="store_true", help="leave internal topics out")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    timestamp_ms, is_chosen = parse_time(args.time), chosen_by(args)

    async def body(cluster: Cluster) -> int:
        topology = await cluster.retrying(cluster.fetch_topology)
        places = [
            where
            for where in _places(topology, without_internal=args.exclude_internal_topics)
            if is_chosen(where)
        ]
        if not places:
            raise CommandFailed("Could not match any topic-partitions with the specified filters")
        led = [
            where for where in places if topology.topics[where.topic].partitions and _is_led(topology, where)
        ]
        for where in sorted(set(places) - set(led)):
            print(f"Skip getting offsets for topic-partition {where}: nobody leads it now", file=sys.stderr)
        found = await list_offsets(cluster, dict.fromkeys(led, timestamp_ms))
        _print({where: offset for where, offset in found.items() if offset != _NO_SUCH_RECORD}, args)
        return 0

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)


def parse_time(text: str) -> int:
    """Raises ``UsageError``."""
    if text in _TIMES:
        return _TIMES[text]
    try:
        return int(text)
    except ValueError:
        names = ", ".join(f"{time} or {name}" for name, time in _TIMES.items())
        raise UsageError(f"--time {text}: expected a time in ms, or {names}") from None


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """Topics, and which partitions of them: a half-open range."""

    topics: TopicChoice
    start: int
    end: float

    def has(self, where: TopicPartition) -> bool:
        return self.start <= where.partition < self.end and self.topics.has(where.topic)

    @classmethod
    def of(cls, text: str) -> PartitionRule:
        """``topic:3``, ``topic:1-3``, ``topic:5-``, ``:-3``. Raises ``UsageError``."""
        found = _RULE.fullmatch(text)
        if found is None:
            raise UsageError(
                f"--topic-partitions {text}: expected TOPIC, TOPIC:N, TOPIC:N-N, TOPIC:N- or TOPIC:-N"
            )
        topics = TopicChoice.of("--topic-partitions", found["topic"] or _EVERY_TOPIC)
        if found["only"]:
            return cls(topics, int(found["only"]), int(found["only"]) + 1)
        return cls(topics, int(found["lower"] or 0), int(found["upper"]) if found["upper"] else float("inf"))


def chosen_by(args: argparse.Namespace) -> Callable[[TopicPartition], bool]:
    """Whether the options mean a partition. Raises ``UsageError``."""
    if args.topic_partitions:
        if args.topic or args.partitions:
            raise UsageError("--topic-partitions cannot be used with --topic or --partitions")
        rules = [PartitionRule.of(part) for part in args.topic_partitions.split(",")]
        return lambda where: any(rule.has(where) for rule in rules)
    topics = TopicChoice.of("--topic", args.topic or _EVERY_TOPIC)
    numbers = _numbers(args.partitions)
    return lambda where: topics.has(where.topic) and (not numbers or where.partition in numbers)


def _numbers(text: str | None) -> Collection[int]:
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"--partitions {text}: expected numbers with commas")
    return frozenset(map(int, parts))


def _places(topology: Topology, *, without_internal: bool) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, part.partition)
        for topic in topology.topics.values()
        for part in topic.partitions
        if not (without_internal and topic.is_internal)
    ]


def _is_led(topology: Topology, where: TopicPartition) -> bool:
    return any(
        part.partition == where.partition and part.leader in topology.nodes
        for part in topology.topics[where.topic].partitions
    )


def _print(found: dict[TopicPartition, int], args: argparse.Namespace) -> None:
    if args.json:
        rows = [{"topic": w.topic, "partition": w.partition, "offset": found[w]} for w in sorted(found)]
        print_json(rows)
        return
    for where in sorted(found):
        print(f"{where.topic}:{where.partition}:{found[where]}")
