"""`leaselog leader-election`: what kafka-leader-election.sh does, with its options and its lines."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from leaselog.admin import ElectionType, Outcomes, elect_leaders
from leaselog.cli.arguments import UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode, TopicPartition

__all__ = ["add_arguments", "parse_places", "run"]

_TYPES = {kind.name.lower(): kind for kind in ElectionType}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser, old_file="--admin.config")
    parser.add_argument(
        "--election-type", required=True, type=str.lower, choices=_TYPES,
        help="preferred: the first replica shall lead; unclean: somebody shall, even if records are lost",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--topic", help="the topic of one partition")
    which.add_argument("--all-topic-partitions", action="store_true", help="every partition that needs it")
    which.add_argument(
        "--path-to-json-file", metavar="FILE", help='{"partitions": [{"topic": "t", "partition": 0}]}'
    )
    parser.add_argument("--partition", type=int, metavar="N", help="with --topic: which one")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if bool(args.topic) != (args.partition is not None):
        raise UsageError("--topic TOPIC and --partition N go together")
    kind, places = _TYPES[args.election_type], _places(args)

    async def body(cluster: Cluster) -> int:
        outcomes = await elect_leaders(cluster, kind, places)
        failed = {where: error for where, error in outcomes.items() if error and not _is_unneeded(error)}
        if args.json:
            print_json([_as_json(where, outcomes[where]) for where in sorted(outcomes)])
        else:
            _print(kind, outcomes, failed)
        return 1 if failed else 0

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)


def _places(args: argparse.Namespace) -> list[TopicPartition] | None:
    if args.topic:
        return [TopicPartition(args.topic, args.partition)]
    if args.all_topic_partitions:
        return None
    path = args.path_to_json_file
    try:
        return parse_places(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as wrong:
        raise UsageError(f"--path-to-json-file {path}: {wrong}") from None


def parse_places(text: str) -> list[TopicPartition]:
    """Raises ``ValueError``."""
    try:
        places = [
            TopicPartition(str(p["topic"]), int(p["partition"])) for p in json.loads(text)["partitions"]
        ]
    except (KeyError, TypeError):
        raise ValueError("expected partitions, each with topic and partition") from None
    if twice := {where for where in places if places.count(where) > 1}:
        raise ValueError(f"{_names(twice)} in it twice")
    return places


def _is_unneeded(error: BrokerError | None) -> bool:
    return error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED


def _names(places: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(places)))


def _print(
    kind: ElectionType,
    outcomes: Outcomes[TopicPartition, None],
    failed: dict[TopicPartition, BrokerError],
) -> None:
    if elected := [where for where, error in outcomes.items() if error is None]:
        print(f"Successfully completed leader election ({kind.name}) for partitions {_names(elected)}")
    if unneeded := [where for where, error in outcomes.items() if _is_unneeded(error)]:
        print(f"Valid replica already elected for partitions {_names(unneeded)}")
    for where, error in sorted(failed.items()):
        print(f"Error completing leader election ({kind.name}) for partition: {where}: {error}")


def _as_json(where: TopicPartition, error: BrokerError | None) -> dict[str, object]:
    told = None if error is None or _is_unneeded(error) else str(error)
    return {"topic": where.topic, "partition": where.partition, "elected": error is None, "error": told}
