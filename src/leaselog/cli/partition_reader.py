"""Reads every partition of the topics asked for, without a group: nothing is shared and nothing is committed."""

from __future__ import annotations

import argparse
import re
import time

from leaselog.cli.arguments import CommandFailed
from leaselog.client import EARLIEST, LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import Fetched, Fetcher, FetchLimits, list_offsets
from leaselog.model import TopicPartition

__all__ = ["PartitionReader"]

#: how often partitions and topics that are new are looked for
_REFRESH_S = 5.0


class PartitionReader:
    """What ``--topic``, ``--include``, ``--partition`` and ``--offset`` say; else from ``start`` on."""

    def __init__(self, cluster: Cluster, limits: FetchLimits, args: argparse.Namespace, start: int) -> None:
        self._cluster = cluster
        self._fetcher = Fetcher(cluster, limits, reset=start)
        self._args = args
        self._start = start
        self._refresh_at = 0.0

    async def poll(self, timeout_ms: int) -> list[Fetched]:
        await self._refresh()
        return await self._fetcher.poll(timeout_ms)

    def done(self, where: TopicPartition, end: int) -> None:
        """Nobody keeps the place."""

    async def close(self) -> None:
        await self._fetcher.close()

    async def _refresh(self) -> None:
        """Assign partitions not assigned yet. Those that appear later are read from their beginning."""
        now = time.monotonic()
        if now < self._refresh_at:
            return
        is_first = self._refresh_at == 0.0
        self._refresh_at = now + _REFRESH_S
        new = [where for where in await self._partitions() if where not in self._fetcher.positions]
        if not new:
            return
        offset = self._args.offset
        if offset is not None and offset.isdecimal():
            self._fetcher.assign(new[0], int(offset))
            return
        timestamp = self._start if is_first and offset is None else EARLIEST
        if offset is not None:
            timestamp = EARLIEST if offset == "earliest" else LATEST
        for where, found in (await list_offsets(self._cluster, dict.fromkeys(new, timestamp))).items():
            self._fetcher.assign(where, found)

    async def _partitions(self) -> list[TopicPartition]:
        args = self._args
        if args.topic:
            infos = [(await self._cluster.topology([args.topic], auto_create=True)).topic(args.topic)]
        else:
            pattern = re.compile(args.include)
            found = await self._cluster.fetch_topology()
            infos = [t for name, t in found.topics.items() if pattern.fullmatch(name) and not t.is_internal]
        everything = [TopicPartition(info.name, p.partition) for info in infos for p in info.partitions]
        if args.partition is None:
            return everything
        chosen = TopicPartition(args.topic, args.partition)
        if chosen not in everything:
            raise CommandFailed(f"topic {args.topic} has no partition {args.partition}")
        return [chosen]
