"""Reads stretches of a log, without a group: dead letters, the records they are about, what is in a target."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass

from leaselog.client import EARLIEST
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.client.fetcher import list_offsets
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader, check_crc, whole_batches
from leaselog.wire.records import Record, read_records

__all__ = ["LogBatch", "read_batches", "read_offsets"]

FETCH_BYTES = 4 * 1024 * 1024
MAX_WAIT_MS = 500
#: answers in a row without a batch, each after `MAX_WAIT_MS`, until the end of a log is believed to have none
MAX_EMPTY_ANSWERS = 3
#: wanted offsets that lie further apart than this are asked for one by one
NEAR = 1_000


@dataclass(frozen=True, slots=True)
class LogBatch:
    header: BatchHeader
    data: Buffer
    position: int

    def records(self) -> Iterable[Record]:
        """Raises ``DecodeError`` for a batch that is corrupt."""
        check_crc(self.data, self.header, self.position)
        return read_records(self.data, self.header, self.position)


async def read_batches(
    cluster: Cluster, where: TopicPartition, start: int, end: int, *, max_bytes: int = FETCH_BYTES
) -> AsyncIterator[LogBatch]:
    """The batches that have something in ``[start, end)``, as far as the log still has them; no control batches."""
    reader, empty = _Reader(cluster, where, start, max_bytes), 0
    while reader.position < end and empty < MAX_EMPTY_ANSWERS:
        before = reader.position
        for batch in await reader.fetch():
            if batch.header.base_offset >= end:
                return
            reader.position = max(reader.position, batch.header.end_offset)
            if not batch.header.is_control:
                yield batch
        empty = empty + 1 if reader.position == before else 0


async def read_offsets(
    cluster: Cluster, where: TopicPartition, wanted: Collection[int], *, max_bytes: int = FETCH_BYTES
) -> dict[int, Record]:
    """The records at these offsets, those that are still there."""
    found = dict[int, Record]()
    for start, end in _stretches(wanted):
        async for batch in read_batches(cluster, where, start, end, max_bytes=max_bytes):
            found.update((r.offset, r) for r in batch.records() if r.offset in wanted)
    return found


def _stretches(wanted: Iterable[int]) -> list[tuple[int, int]]:
    stretches: list[tuple[int, int]] = []
    for offset in sorted(wanted):
        if stretches and offset - stretches[-1][1] < NEAR:
            stretches[-1] = (stretches[-1][0], offset + 1)
        else:
            stretches.append((offset, offset + 1))
    return stretches


class _Reader:
    def __init__(self, cluster: Cluster, where: TopicPartition, position: int, max_bytes: int) -> None:
        self._cluster = cluster
        self._where = where
        self._max_bytes = max_bytes
        self._topology: Topology | None = None
        self.position = position

    async def fetch(self) -> list[LogBatch]:
        """Nothing if the log has nothing there; behind what it has forgotten if it begins later by now."""
        data = await self._cluster.retrying(self._ask)
        if data is None:
            earliest = (await list_offsets(self._cluster, {self._where: EARLIEST}))[self._where]
            self.position = max(self.position, earliest)
            return []
        found = [LogBatch(header, data, at) for at, header in whole_batches(data)]
        return [batch for batch in found if batch.header.end_offset > self.position]

    async def _ask(self) -> Buffer | None:
        """None if the offset is out of range."""
        topology, self._topology = self._topology, None  # unless all goes well it is looked up again
        if topology is None:
            topology = await self._cluster.topology([self._where.topic])
        topic = topology.topic(self._where.topic)
        part = FetchPartition(
            partition=self._where.partition, fetch_offset=self.position, partition_max_bytes=self._max_bytes
        )
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self._max_bytes,
            topics=[FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=[part])],
        )
        answer = await self._cluster.request(request, FetchResponse, node=topology.leader(self._where))
        raise_for(answer.error_code)
        (data,) = (data for topic in answer.responses for data in topic.partitions)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        raise_for(data.error_code, str(self._where))
        self._topology = topology
        return data.records or b""
