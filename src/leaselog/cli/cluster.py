"""`leaselog cluster`: what kafka-cluster.sh does of what a cluster without unregistered brokers needs: its id."""

from __future__ import annotations

import argparse

from leaselog.admin import describe_cluster
from leaselog.cli.arguments import CommandFailed, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.client.cluster import Cluster

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["cluster-id"], help="print the cluster's id")
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, with the brokers")


def run(args: argparse.Namespace) -> int:
    async def body(cluster: Cluster) -> int:
        found = await describe_cluster(cluster)
        if args.json:
            nodes = [{"id": n.node_id, "host": n.host, "port": n.port, "rack": n.rack} for n in found.nodes]
            print_json({"clusterId": found.cluster_id, "brokers": nodes})
        elif found.cluster_id is None:
            raise CommandFailed("No cluster ID found. The Kafka version is probably too old.")
        else:
            print(f"Cluster ID: {found.cluster_id}")
        return 0

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)
