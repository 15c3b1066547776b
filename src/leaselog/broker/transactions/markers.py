"""Markers: the control batches that end a transaction, one in each of its partitions.

A partition that cannot take its marker now is tried again until it can: a transaction that is decided is never given
up. One that is no more needs none. A partition that has had its marker in an earlier life of the coordinator refuses a
second as too old, or takes it; a reader sees no difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from leaselog.broker.cluster.cluster import CONSUMER_OFFSETS_TOPIC
from leaselog.broker.cluster.partition_lookup import PartitionSource, find_partition
from leaselog.broker.coordinators.markers import Marker
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.coordination.transaction_facts import Transaction
from leaselog.log import Appended, AppendRefused
from leaselog.model import ErrorCode, TopicPartition

__all__ = ["EndOffsets", "MarkerWriter"]

#: between tries, twice as long each time
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
#: the marker is there already, or nobody needs it any more
OVER = (
    ErrorCode.NONE,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)

log = StructuredLog("transactions")


#: writes the marker into a partition of ``__consumer_offsets`` and carries it out on the offsets that wait for it
EndOffsets = Callable[[int, Marker], "asyncio.Future[Appended | AppendRefused]"]


class MarkerWriter:
    def __init__(self, runtime: Runtime, here: PartitionSource, end_offsets: EndOffsets) -> None:
        self._runtime = runtime
        self._here = here
        self._end_offsets = end_offsets

    async def write_all(self, ending: Transaction) -> None:
        """Returns when every partition of the transaction has its marker, safely, or is no more."""
        marker = Marker(
            ending.producer_id, ending.epoch, ending.state.is_commit, version=ending.client_version
        )
        left, pause_s = sorted(ending.partitions), FIRST_PAUSE_S
        while left := await self._try_all(left, marker):
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _try_all(self, places: list[TopicPartition], marker: Marker) -> list[TopicPartition]:
        """Those that have none yet. All of them share a sync."""
        begun = [(place, self._begin(place, marker)) async for place in self._runtime.turns.each(places)]
        left = []
        for place, write in begun:
            code = write if isinstance(write, ErrorCode) else _code(await write)
            if code not in OVER:
                log.warning("a marker cannot be written, trying again", partition=place, error=code.name)
                left.append(place)
        return left

    async def write(self, place: TopicPartition, marker: Marker) -> ErrorCode:
        """What comes of one try."""
        begun = self._begin(place, marker)
        return begun if isinstance(begun, ErrorCode) else _code(await begun)

    def _begin(
        self, place: TopicPartition, marker: Marker
    ) -> asyncio.Future[Appended | AppendRefused] | ErrorCode:
        partition = find_partition(self._here, place.topic, place.partition)
        if isinstance(partition, ErrorCode):
            return partition
        if place.topic == CONSUMER_OFFSETS_TOPIC:
            return self._end_offsets(place.partition, marker)
        return partition.write_marker(
            marker.producer_id,
            marker.epoch,
            marker.coordinator_epoch,
            marker.is_commit,
            now_ms=self._runtime.now_ms(),
            transaction_version=marker.version,
        )


def _code(outcome: Appended | AppendRefused) -> ErrorCode:
    return ErrorCode.NONE if isinstance(outcome, Appended) else outcome.code
