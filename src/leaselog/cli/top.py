"""`leaselog top`: share groups as they move. A live table at a terminal, a table a refresh everywhere else.

What is in flight is shown where the broker tells it (a leaselog broker does); lag and rates everywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from leaselog.admin import (
    GroupType,
    SharePartitionDescription,
    describe_groups,
    describe_share_partitions,
    list_groups,
    list_share_group_offsets,
)
from leaselog.cli.arguments import UsageError, add_connection, given_properties, positive
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.extras import can_draw
from leaselog.cli.group_rates import (
    COLUMNS,
    RIGHT,
    GroupSample,
    Movement,
    cells,
    movement,
    movement_json,
    sample,
)
from leaselog.cli.output import check_reader, is_terminal, print_table
from leaselog.cli.share_pauses import pauses_where_told
from leaselog.client import LATEST, BrokerError, ClientError, UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import TopicPartition

__all__ = ["Sampler", "add_arguments", "run"]

#: a broker that does not answer for so long is said to be away, and asked again
_API_TIMEOUT_MS = 5_000
#: how long nothing may happen before a reader that left is looked for
_NAP_S = 0.5

#: shows the groups, or why they cannot be seen
Show = Callable[[Sequence[Movement], str | None], None]
Windows = Mapping[TopicPartition, SharePartitionDescription | BrokerError]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument(
        "--group", action="append", metavar="ID", help="only this group; more than once for several"
    )
    parser.add_argument(
        "--interval-ms", type=positive, default=2_000, metavar="MS", help="between refreshes (2000)"
    )
    parser.add_argument("--iterations", type=positive, metavar="N", help="end after so many refreshes")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each refresh")


def run(args: argparse.Namespace) -> int:
    values = given_properties(args)
    values.setdefault("default.api.timeout.ms", str(_API_TIMEOUT_MS))
    values.setdefault("request.timeout.ms", str(_API_TIMEOUT_MS))
    if args.json and args.iterations is None and is_terminal():
        raise UsageError("--json goes to a pipe or a file, or with --iterations N")

    async def body(cluster: Cluster) -> int:
        with _display(args) as show:
            await _refresh(Sampler(cluster, args.group), args, show)
        return 0

    return run_with_cluster(args, ClientProperties(values), body)


async def _refresh(sampler: Sampler, args: argparse.Namespace, show: Show) -> None:
    before, before_at = list[GroupSample](), 0.0
    shown = 0
    while True:
        began = time.monotonic()
        try:
            now = await sampler.sample()
            at = time.monotonic()
            show(movement(before, now, at - before_at if shown else 0.0), None)
            before, before_at = now, at
        except ClientError as failed:
            if not shown:
                raise
            show((), str(failed))
        shown += 1
        if shown == args.iterations:
            return
        await _nap(began + args.interval_ms / 1000)


async def _nap(until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(left, _NAP_S))
        check_reader()


class Sampler:
    """Asks the cluster where its share groups stand."""

    def __init__(self, cluster: Cluster, group_ids: Sequence[str] | None) -> None:
        self._cluster = cluster
        self._group_ids = group_ids
        #: until the broker says that it cannot tell
        self._tells_windows = True

    async def sample(self) -> list[GroupSample]:
        """Every share group, or those named that exist. What goes while it is asked for is left out."""
        listed = [g.group_id for g in await list_groups(self._cluster, types=[GroupType.SHARE])]
        ids = [i for i in listed if self._group_ids is None or i in self._group_ids]
        groups = [
            found
            for found in (await describe_groups(self._cluster, ids, type=GroupType.SHARE)).values()
            if not isinstance(found, BrokerError)
        ]
        answers = await list_share_group_offsets(self._cluster, {g.group_id: None for g in groups})
        offsets = {i: found for i, found in answers.items() if not isinstance(found, BrokerError)}
        places = {where for found in offsets.values() for where in found}
        ends = await self._ends(places)
        pauses = await pauses_where_told(self._cluster, offsets)
        return [
            sample(
                group,
                offsets[group.group_id],
                ends,
                await self._windows(group.group_id, offsets[group.group_id]),
                pauses.get(group.group_id),
            )
            for group in groups
            if group.group_id in offsets
        ]

    async def _ends(self, places: set[TopicPartition]) -> dict[TopicPartition, int]:
        topology = await self._cluster.fetch_topology({where.topic for where in places})
        there = [where for where in places if where.topic in topology.topics]
        return await list_offsets(self._cluster, dict.fromkeys(there, LATEST)) if there else {}

    async def _windows(self, group_id: str, places: Iterable[TopicPartition]) -> Windows | None:
        if not self._tells_windows:
            return None
        try:
            return await describe_share_partitions(self._cluster, group_id, places)
        except UnsupportedVersion:
            self._tells_windows = False
            return None


@contextmanager
def _display(args: argparse.Namespace) -> Iterator[Show]:
    if args.json:
        yield _show_json
    elif is_terminal() and can_draw():
        with _live(args) as show:
            yield show
    else:
        yield _show_plain


def _show_json(moved: Sequence[Movement], trouble: str | None) -> None:
    groups = [movement_json(one) for one in moved]
    line = {"time": _clock(), **({"error": trouble} if trouble else {"groups": groups})}
    print(json.dumps(line, ensure_ascii=False), flush=True)


def _show_plain(moved: Sequence[Movement], trouble: str | None) -> None:
    print(_clock() + (f"  {trouble}" if trouble else ""))
    if not trouble:
        print_table(COLUMNS, map(cells, moved), right=RIGHT)
    print(flush=True)


@contextmanager
def _live(args: argparse.Namespace) -> Iterator[Show]:
    """The whole screen, until it is interrupted; what was last seen stays when the broker is away."""
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    table = Table()

    def draw(moved: Sequence[Movement], trouble: str | None) -> None:
        nonlocal table
        if not trouble:
            table = Table(box=None, pad_edge=False)
            for name in COLUMNS:
                table.add_column(name, justify="right" if name in RIGHT else "left")
            for one in moved:
                table.add_row(*(Text(cell) for cell in cells(one)))
        head = Text(f"leaselog top  {args.bootstrap_server}  {_clock()}", style="bold")
        if trouble:
            head.append(f"  {trouble}", style="red")
        live.update(Group(head, Text(), table), refresh=True)

    with Live(screen=True, auto_refresh=False) as live:
        yield draw


def _clock() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
