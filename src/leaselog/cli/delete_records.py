"""`leaselog delete-records`: what kafka-delete-records.sh does with a file of offsets, and the same without a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaselog.admin import HIGH_WATERMARK, Outcomes, delete_records
from leaselog.cli.arguments import UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.cli.reset_offsets import existing_places, parse_topics
from leaselog.client import EARLIEST, LATEST, BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import ErrorCode, TopicPartition

__all__ = ["add_arguments", "parse_offset_file", "run"]

_FILE_VERSION = 1
_EVERYTHING = "latest"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument(
        "--offset-json-file", metavar="FILE",
        help='{"version": 1, "partitions": [{"topic": "t", "partition": 0, "offset": 5}]}; offset -1 is everything',
    )  # fmt: skip
    parser.add_argument(
        "--topic", action="append", metavar="TOPIC[:0,1]", help="in place of a file: a topic, or some partitions of it"
    )  # fmt: skip
    parser.add_argument(
        "--before-offset", metavar="N", help="with --topic: delete what lies before this offset, or latest: everything"
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only show how many records would go")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if bool(args.offset_json_file) == bool(args.topic):
        raise UsageError("needs either --offset-json-file FILE or --topic TOPIC")
    if bool(args.topic) != (args.before_offset is not None):
        raise UsageError("--topic TOPIC and --before-offset N go together")
    offset = _offset(args.before_offset)
    topics = parse_topics(args.topic or ())
    given = {} if args.topic else _read(args.offset_json_file)

    async def body(cluster: Cluster) -> int:
        before = dict.fromkeys(await existing_places(cluster, topics), offset) if topics else given
        return await (_show if args.dry_run else _delete)(cluster, before, args)

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)


def _offset(text: str | None) -> int:
    if text is None or text == _EVERYTHING:
        return HIGH_WATERMARK
    if not text.isdecimal():
        raise UsageError(f"--before-offset {text}: expected an offset, or {_EVERYTHING}")
    return int(text)


def _read(path: str) -> dict[TopicPartition, int]:
    try:
        return parse_offset_file(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as wrong:
        raise UsageError(f"--offset-json-file {path}: {wrong}") from None


def parse_offset_file(text: str) -> dict[TopicPartition, int]:
    """Raises ``ValueError``."""
    said: Any = json.loads(text)
    if not isinstance(said, dict) or not isinstance(said.get("partitions"), list):
        raise ValueError("expected an object with partitions")
    if said.get("version", _FILE_VERSION) != _FILE_VERSION:
        raise ValueError(f"version {said['version']} is not known, only {_FILE_VERSION}")
    found = dict[TopicPartition, int]()
    for entry in said["partitions"]:
        try:
            where, offset = TopicPartition(str(entry["topic"]), int(entry["partition"])), int(entry["offset"])
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"expected topic, partition and offset, not {json.dumps(entry)}") from None
        if where in found:
            raise ValueError(f"{where} is in it twice")
        found[where] = offset
    return found


async def _delete(cluster: Cluster, before: Mapping[TopicPartition, int], args: argparse.Namespace) -> int:
    if not args.json:
        print("Executing records delete operation")
    outcomes = await delete_records(cluster, before)
    if args.json:
        print_json([_as_json(where, outcomes[where]) for where in sorted(outcomes)])
    else:
        print("Records delete operation completed:")
        _print(outcomes, "low_watermark")
    return 1 if any(isinstance(found, BrokerError) for found in outcomes.values()) else 0


def _print(outcomes: Outcomes[TopicPartition, int], what: str) -> None:
    for where, found in sorted(outcomes.items()):
        is_error = isinstance(found, BrokerError)
        print(f"partition: {where}\t{'error' if is_error else what}: {found}")


def _as_json(where: TopicPartition, found: int | BrokerError) -> dict[str, Any]:
    shown: dict[str, Any] = {"topic": where.topic, "partition": where.partition}
    if isinstance(found, BrokerError):
        return {**shown, "error": str(found)}
    return {**shown, "lowWatermark": found}


async def _show(cluster: Cluster, before: Mapping[TopicPartition, int], args: argparse.Namespace) -> int:
    by_topic = dict[str, list[int]]()
    for where in before:
        by_topic.setdefault(where.topic, []).append(where.partition)
    places = await existing_places(cluster, by_topic)
    starts = await list_offsets(cluster, dict.fromkeys(places, EARLIEST))
    ends = await list_offsets(cluster, dict.fromkeys(places, LATEST))
    counts = Outcomes[TopicPartition, int]()
    for where in places:
        until = ends[where] if before[where] == HIGH_WATERMARK else before[where]
        beyond = BrokerError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"the last offset of {where} is {ends[where] - 1}"
        )
        counts[where] = beyond if until > ends[where] else max(0, until - starts[where])
    if args.json:
        rows = [_as_json(where, found) for where, found in sorted(counts.items())]
        print_json([{("records" if k == "lowWatermark" else k): v for k, v in row.items()} for row in rows])
    else:
        _print(counts, "records_to_delete")
    return 1 if any(isinstance(found, BrokerError) for found in counts.values()) else 0
