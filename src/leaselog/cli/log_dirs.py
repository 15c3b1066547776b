"""`leaselog log-dirs`: what kafka-log-dirs.sh does, which room each partition takes on disk."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from typing import Any

from leaselog.admin import LogDirDescription, describe_log_dirs
from leaselog.cli.arguments import CommandFailed, UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument(
        "--describe", action="store_true", required=True, help="describe the directories of logs"
    )
    parser.add_argument("--topic-list", default="", metavar="TOPIC,TOPIC", help="only these topics")
    parser.add_argument("--broker-list", default="", metavar="ID,ID", help="only these brokers")
    parser.add_argument("--json", action="store_true", help="print JSON and no lines around it")


def run(args: argparse.Namespace) -> int:
    topics = frozenset(filter(None, args.topic_list.split(",")))
    texts = list(filter(None, args.broker_list.split(",")))
    if not all(text.isdecimal() for text in texts):
        raise UsageError(f"--broker-list {args.broker_list}: expected ids with commas")
    asked = sorted(set(map(int, texts)))

    async def body(cluster: Cluster) -> int:
        there = sorted((await cluster.retrying(lambda: cluster.fetch_topology(()))).nodes)
        if missing := [node for node in asked if node not in there]:
            raise CommandFailed(
                f"ERROR: The given brokers do not exist from --broker-list: {_ids(missing)}."
                f" Current existent brokers: {_ids(there)}"
            )
        wanted = asked or there
        found = await describe_log_dirs(cluster, wanted)
        shown = {
            "version": 1,
            "brokers": [
                {"broker": node, "logDirs": [_as_json(directory, topics) for directory in found[node]]}
                for node in wanted
            ],
        }
        if args.json:
            print_json(shown)
        else:
            print("Querying brokers for log directories information")
            print(f"Received log directory information from brokers {_ids(wanted)}")
            print(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))
        return 0

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)


def _ids(nodes: Collection[int]) -> str:
    return ",".join(map(str, nodes))


def _as_json(directory: LogDirDescription, topics: Collection[str]) -> dict[str, Any]:
    partitions = [
        {
            "partition": str(where),
            "size": replica.size_bytes,
            "offsetLag": replica.offset_lag,
            "isFuture": replica.is_future,
        }
        for where, replica in sorted(directory.replicas.items())
        if not topics or where.topic in topics
    ]
    error = None if directory.error is None else ErrorCode(directory.error.code).name
    return {"logDir": directory.path, "error": error, "partitions": partitions}
