"""`leaselog groups`: what kafka-groups.sh does, a list of the groups of all types."""

from __future__ import annotations

import argparse

from leaselog.admin import GroupListing, GroupType, list_groups
from leaselog.cli.arguments import UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.columns import padded_lines, widest
from leaselog.cli.output import print_json
from leaselog.client.cluster import Cluster

__all__ = ["add_arguments", "run"]

_LEAST_WIDTH = 20
_TYPES = (GroupType.CLASSIC, GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS)
#: the protocols of groups of consumers; the empty one is of a group that only has offsets
_CONSUMERS = ("consumer", "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument("--list", action="store_true", required=True, help="list the groups")
    parser.add_argument(
        "--group-type", metavar="TYPE", help="only groups of this type: classic, consumer, share or streams"
    )
    parser.add_argument("--protocol", help="only groups of this protocol, as consumer or connect")
    only = parser.add_mutually_exclusive_group()
    only.add_argument(
        "--consumer", action="store_true", help="only groups of consumers, whatever their protocol"
    )
    only.add_argument("--share", action="store_true", help="only share groups")
    only.add_argument("--streams", action="store_true", help="only streams groups")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    kind = None if args.group_type is None else GroupType(args.group_type)
    if kind is not None and kind not in _TYPES:
        raise UsageError(f"--group-type {args.group_type}: expected classic, consumer, share or streams")
    if (args.group_type or args.protocol) and (args.consumer or args.share or args.streams):
        raise UsageError("--consumer, --share and --streams go with neither --group-type nor --protocol")

    async def body(cluster: Cluster) -> int:
        groups = [group for group in await list_groups(cluster) if _is_wanted(group, kind, args)]
        if args.json:
            shown = [
                {"group": g.group_id, "type": g.type.value, "protocol": g.protocol, "state": g.state.value}
                for g in groups
            ]
            print_json(shown)
        else:
            print(_table(groups))
        return 0

    return run_with_cluster(args, ClientProperties.from_arguments(args), body)


def _is_wanted(group: GroupListing, kind: GroupType | None, args: argparse.Namespace) -> bool:
    if args.consumer:
        return group.protocol in _CONSUMERS or group.type is GroupType.CONSUMER
    if args.share or args.streams:
        return group.type is (GroupType.SHARE if args.share else GroupType.STREAMS)
    return kind in (None, group.type) and args.protocol in (None, group.protocol)


def _table(groups: list[GroupListing]) -> str:
    rows = [(g.group_id, g.type.value, g.protocol) for g in groups]
    width = widest((cell for row in rows for cell in row), _LEAST_WIDTH)
    head, *lines = padded_lines([width] * 3, ("GROUP", "TYPE", "PROTOCOL"), rows)
    return "\n".join([head, *(f"{line} " for line in lines)])
