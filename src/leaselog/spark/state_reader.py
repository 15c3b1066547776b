"""Reads the state topic: what the driver asks to plan, and what a task does. No pyspark in here.

A share partition's records are all in one partition of the state topic, so a task reads whole ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa

from leaselog.client import EARLIEST, LATEST
from leaselog.client.fetcher import list_offsets
from leaselog.client.topology import Topology
from leaselog.model import TopicPartition
from leaselog.spark.range_reader import RangeReader
from leaselog.spark.runs import Run, Runs
from leaselog.spark.share_history import ShareHistory
from leaselog.spark.state_options import StateOptions, View
from leaselog.spark.state_records import TOMBSTONE, SharePlace, StateEntry, read_entry
from leaselog.spark.state_rows import Row, log_rows, record_rows, row_batches
from leaselog.spark.topic_range import whole_partitions
from leaselog.wire.records import Record

__all__ = ["STATE_TOPIC", "StateReader", "StateTask", "look_up_state_tasks"]

STATE_TOPIC = "__share_group_state"


@dataclass(frozen=True, slots=True)
class StateTask:
    ranges: Runs
    #: names of topics, as the cluster has them now
    topics: Mapping[UUID, str]


def look_up_state_tasks(options: StateOptions) -> list[StateTask]:
    """What each task is to read; none while the cluster never had a share group. Raises what the client raises."""
    return asyncio.run(_look_up(options))


async def _look_up(options: StateOptions) -> list[StateTask]:
    async with _range_reader(options).cluster() as cluster:

        async def everything() -> Topology:
            return await cluster.fetch_topology()

        topology = await cluster.retrying(everything)
        if STATE_TOPIC not in topology.topics:
            return []
        count = len(topology.topic(STATE_TOPIC).partitions)
        places = [TopicPartition(STATE_TOPIC, number) for number in range(count)]
        earliest = await list_offsets(cluster, dict.fromkeys(places, EARLIEST))
        latest = await list_offsets(cluster, dict.fromkeys(places, LATEST))
    ranges = [Run(STATE_TOPIC, where.partition, earliest[where], latest[where], 0) for where in places]
    names = {info.topic_id: name for name, info in topology.topics.items()}
    return [StateTask(some, names) for some in whole_partitions(ranges, options.parallelism)]


def _range_reader(options: StateOptions) -> RangeReader:
    return RangeReader(
        options.bootstrap_servers,
        client_id=options.client_id,
        # The coordinator deletes what a later snapshot tells again: what is gone by the time it is read is no loss.
        fail_on_data_loss=False,
        request_timeout_ms=options.request_timeout_ms,
        api_timeout_ms=options.api_timeout_ms,
        security=options.security,
    )


@dataclass(frozen=True, slots=True)
class StateReader:
    """What reading takes, so that it can be sent to a task."""

    options: StateOptions

    def batches(self, task: StateTask) -> Iterator[pa.RecordBatch]:
        """Raises ``DecodeError`` for a record that is malformed or too new, and what the client raises."""
        rows = self._log(task) if self.options.view is View.LOG else self._records(task)
        return row_batches(rows, self.options.view)

    def _log(self, task: StateTask) -> Iterator[Row]:
        for where, record, entry in self._entries(task):
            yield from log_rows(entry, task.topics, record.timestamp_ms, where, record.offset)

    def _records(self, task: StateTask) -> Iterator[Row]:
        histories = dict[SharePlace, ShareHistory]()
        for _, _, entry in self._entries(task):
            if entry.kind == TOMBSTONE:
                histories.pop(entry.place, None)
            else:
                histories.setdefault(entry.place, ShareHistory()).add(entry)
        return record_rows(histories, task.topics)

    def _entries(self, task: StateTask) -> Iterator[tuple[int, Record, StateEntry]]:
        with asyncio.Runner() as runner:
            found = self._read(task)
            try:
                while (some := runner.run(_next(found))) is not None:
                    yield from some
            finally:
                runner.run(found.aclose())  # type: ignore[attr-defined]

    async def _read(self, task: StateTask) -> AsyncIterator[list[tuple[int, Record, StateEntry]]]:
        async for run, _, records in _range_reader(self.options).records(task.ranges):
            yield [
                (run.partition, record, entry)
                for record in records
                if (entry := read_entry(record)) is not None and self._is_wanted(entry)
            ]

    def _is_wanted(self, entry: StateEntry) -> bool:
        return self.options.group_id in (None, entry.place.group)


async def _next(
    found: AsyncIterator[list[tuple[int, Record, StateEntry]]],
) -> list[tuple[int, Record, StateEntry]] | None:
    return await anext(found, None)
