"""`leaselog broker-api-versions`: what kafka-broker-api-versions.sh does, which APIs each broker serves.

"Usable" is the newest version that leaselog's clients and the broker both speak.
"""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Mapping
from importlib import import_module

from leaselog.cli.arguments import add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.client.topology import Node
from leaselog.wire import messages
from leaselog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from leaselog.wire.schema import Message, Versions

__all__ = ["add_arguments", "api_lines", "run"]

#: not the clients' name: leaselog's own APIs are no news for who compares brokers
_SOFTWARE = "leaselog-command-line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    async def body(cluster: Cluster) -> int:
        nodes = (await cluster.retrying(lambda: cluster.fetch_topology(()))).nodes
        known = _known_apis()
        served = {nodes[i]: await _served(cluster, nodes[i]) for i in sorted(nodes)}
        if args.json:
            print_json([_as_json(node, ranges, known) for node, ranges in served.items()])
            return 0
        for node, ranges in served.items():
            rack = "null" if node.rack is None else node.rack
            print(f"{node.host}:{node.port} (id: {node.node_id} rack: {rack} isFenced: false) -> (")
            print(",\n".join(f"\t{line}" for line in api_lines(ranges, known)))
            print(")")
        return 0

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)


async def _served(cluster: Cluster, node: Node) -> dict[int, Versions]:
    request = ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version="1")
    answer = await cluster.request(request, ApiVersionsResponse, node=node)
    raise_for(answer.error_code)
    return {api.api_key: Versions(api.min_version, api.max_version) for api in answer.api_keys}


def _known_apis() -> dict[int, type[Message]]:
    """Every request that we have a message for, by its key."""
    found = dict[int, type[Message]]()
    for module in pkgutil.iter_modules(messages.__path__):
        for name, kind in vars(import_module(f"{messages.__name__}.{module.name}")).items():
            if name.endswith("Request") and isinstance(kind, type) and issubclass(kind, Message):
                found[kind.API_KEY] = kind
    return {key: found[key] for key in sorted(found) if key >= 0}  # a part of a request has no key


def api_lines(served: Mapping[int, Versions], known: Mapping[int, type[Message]]) -> list[str]:
    """A line for each API that either side has."""
    lines = list[str]()
    for key in sorted({*served, *known}):
        kind, ranges = known.get(key), served.get(key)
        name = "UNKNOWN" if kind is None else kind.NAME.removesuffix("Request")
        if ranges is None:
            lines.append(f"{name}({key}): UNSUPPORTED")
            continue
        text = str(ranges.first) if ranges.first == ranges.last else f"{ranges.first} to {ranges.last}"
        usable = _usable(ranges, kind)
        lines.append(f"{name}({key}): {text} [usable: {'none' if usable is None else usable}]")
    return lines


def _usable(served: Versions, kind: type[Message] | None) -> int | None:
    if kind is None:
        return None
    version = min(served.last, kind.VERSIONS.last)
    return version if version >= max(served.first, kind.VERSIONS.first) else None


def _as_json(
    node: Node, served: Mapping[int, Versions], known: Mapping[int, type[Message]]
) -> dict[str, object]:
    apis = [
        {
            "key": key,
            "name": known[key].NAME.removesuffix("Request") if key in known else None,
            "minVersion": ranges.first,
            "maxVersion": ranges.last,
            "usable": _usable(ranges, known.get(key)),
        }
        for key, ranges in sorted(served.items())
    ]
    return {"broker": node.node_id, "host": node.host, "port": node.port, "apis": apis}
