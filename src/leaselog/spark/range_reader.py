"""Reads ranges of offsets from a topic's log with ordinary fetches: what a task does. No pyspark in here.

Whoever reads the same ranges gets the same records, however often: that is what lets Spark retry a task, run it twice
at once, or evaluate a batch again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from leaselog.client import EARLIEST, BrokerError
from leaselog.client.cluster import DEFAULT_API_TIMEOUT_MS, REQUEST_TIMEOUT_MS, Cluster
from leaselog.client.errors import raise_for
from leaselog.client.fetcher import list_offsets
from leaselog.client.security.config import GivenSecurity, security_of
from leaselog.client.share.membership import as_kafka_text
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.spark.arrow_records import ArrowRows
from leaselog.spark.batch import Lives
from leaselog.spark.runs import Run, Runs
from leaselog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader, check_crc, whole_batches
from leaselog.wire.records import Record, read_records

__all__ = ["DataLoss", "RangeReader", "read_ranges"]

#: rows of a record batch, about: a log batch is never torn
BATCH_ROWS = 10_000
PARTITION_MAX_BYTES = 4 * 1024 * 1024
MAX_WAIT_MS = 500
#: answers in a row without a single record, each after `MAX_WAIT_MS`, before a range that should have some is given up
MAX_EMPTY_ANSWERS = 20
#: any topic of the name will do
NO_LIVES: Lives = {}

_log = logging.getLogger("leaselog.spark")


class DataLoss(RuntimeError):
    """Records that were planned to be read are no longer in the log."""


@dataclass(frozen=True, slots=True)
class RangeReader:
    """What reading takes, so that it can be sent to a task."""

    bootstrap_servers: str
    client_id: str = "leaselog-spark"
    include_headers: bool = False
    with_delivery_count: bool = True
    fail_on_data_loss: bool = True
    partition_max_bytes: int = PARTITION_MAX_BYTES
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    security: GivenSecurity = ()

    def cluster(self) -> Cluster:
        return Cluster(
            self.bootstrap_servers,
            client_id=self.client_id,
            request_timeout_ms=self.request_timeout_ms,
            api_timeout_ms=self.api_timeout_ms,
            security=security_of(self.security),
        )

    async def batches(self, ranges: Runs, lives: Lives = NO_LIVES) -> AsyncIterator[pa.RecordBatch]:
        """Rows of exactly these ranges, by partition and offset. Raises ``DataLoss`` and what the client raises.

        ``lives``: of which topics by their ids, where only those will do.
        """
        rows: ArrowRows | None = None
        async for run, header, records in self.records(ranges, lives):
            if rows is None or not rows.is_of(run.topic, run.partition):
                if rows:
                    yield rows.take()
                rows = ArrowRows(run.topic, run.partition, self.include_headers, self.with_delivery_count)
            rows.add(records, header.timestamp_type, run.value)
            if len(rows) >= BATCH_ROWS:
                yield rows.take()
        if rows:
            yield rows.take()

    async def records(
        self, ranges: Runs, lives: Lives = NO_LIVES
    ) -> AsyncIterator[tuple[Run, BatchHeader, list[Record]]]:
        """The same, not made into rows: what is in each batch of the log, and in which of the ranges it is."""
        async with self.cluster() as cluster:
            for (topic, partition), some in groupby(ranges, key=lambda run: (run.topic, run.partition)):
                place = _Place(cluster, TopicPartition(topic, partition), lives.get(topic), self)
                async for found in place.read(list(some)):
                    yield found


def read_ranges(reader: RangeReader, ranges: Runs, lives: Lives = NO_LIVES) -> Iterator[pa.RecordBatch]:
    """`RangeReader.batches` for a caller without an event loop."""
    with asyncio.Runner() as runner:
        batches = reader.batches(ranges, lives)
        try:
            while (batch := runner.run(_next(batches))) is not None:
                yield batch
        finally:
            runner.run(batches.aclose())  # type: ignore[attr-defined]


async def _next(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)


class _Place:
    """One partition, read from the first of some ranges to the end of the last."""

    def __init__(
        self, cluster: Cluster, where: TopicPartition, life: str | None, reader: RangeReader
    ) -> None:
        self._cluster = cluster
        self._where = where
        self._life = life
        self._reader = reader
        self._position = 0
        #: too low for a while if the leader has just taken over: it does not know yet how far its log is safe
        self._visible_end = 0
        self._topology: Topology | None = None

    async def read(self, ranges: list[Run]) -> AsyncIterator[tuple[Run, BatchHeader, list[Record]]]:
        at, empty = 0, 0
        while at < len(ranges):
            self._position = max(self._position, ranges[at].start)
            data = await self._fetch(ranges[at].end)
            if data is None:
                at = _first_after(ranges, at, self._position)
                continue
            before = self._position
            for position, header in whole_batches(data):
                self._position = max(self._position, header.end_offset)
                if not header.is_control:
                    for run, records in _matching(data, position, header, ranges[at:]):
                        yield run, header, records
            empty = empty + 1 if self._position == before else 0
            if empty >= MAX_EMPTY_ANSWERS:  # and then the next range is not waited for again
                self._lost(
                    ranges[at].end, f"the broker has nothing there, its log ends at {self._visible_end}"
                )
            at = _first_after(ranges, at, self._position)

    async def _fetch(self, range_end: int) -> Buffer | None:
        """Whole batches from the position on; None if the log does not go there any more, and that may be."""
        answer = await self._cluster.retrying(self._ask)
        if answer is None:
            self._lost(range_end, "the topic was deleted and made again")
            return None
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            earliest = (await list_offsets(self._cluster, {self._where: EARLIEST}))[self._where]
            gone = earliest > self._position
            self._lost(
                earliest if gone else range_end, f"the log begins at {earliest}" if gone else "behind its end"
            )
            return None
        self._visible_end = answer.high_watermark
        return answer.records or b""

    async def _ask(self) -> PartitionData | None:
        """None if the topic is not the one that is meant."""
        where = self._where
        topology, self._topology = self._topology, None  # unless all goes well it is looked up again
        if topology is None:
            topology = await self._cluster.topology([where.topic])
        topic_id = topology.topic(where.topic).topic_id
        if self._life is not None and self._life != as_kafka_text(topic_id):
            return None
        part = FetchPartition(
            partition=where.partition,
            fetch_offset=self._position,
            partition_max_bytes=self._reader.partition_max_bytes,
        )
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self._reader.partition_max_bytes,
            topics=[FetchTopic(topic=where.topic, topic_id=topic_id, partitions=[part])],
        )
        answer = await self._cluster.request(request, FetchResponse, node=topology.leader(where))
        raise_for(answer.error_code)
        data = next((data for topic in answer.responses for data in topic.partitions), None)
        if data is None:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(where))
        if data.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            raise_for(data.error_code, str(where))
        self._topology = topology
        return data

    def _lost(self, until: int, why: str) -> None:
        text = f"{self._where}: records from offset {self._position} on should be read and are gone: {why}"
        if self._reader.fail_on_data_loss:
            raise DataLoss(f"{text}. failOnDataLoss=false goes on without them")
        _log.warning("%s", text)
        self._position = until


def _first_after(ranges: list[Run], at: int, position: int) -> int:
    while at < len(ranges) and ranges[at].end <= position:
        at += 1
    return at


def _matching(
    data: Buffer, position: int, header: BatchHeader, ranges: Iterable[Run]
) -> Iterator[tuple[Run, list[Record]]]:
    """The records of a batch that are in some range, range by range. A batch that is in none is not unpacked."""
    base, end = header.base_offset, header.end_offset
    wanted = [run for run in _until(ranges, end) if run.end > base]
    if not wanted:
        return
    check_crc(data, header, position)
    records = list(read_records(data, header, position))
    for run in wanted:
        if run.start <= base and end <= run.end:
            yield run, records
        elif some := [record for record in records if run.start <= record.offset < run.end]:
            yield run, some


def _until(ranges: Iterable[Run], end: int) -> Iterator[Run]:
    for run in ranges:
        if run.start >= end:
            return
        yield run
