"""Reads dead letters: what the driver asks to plan, and what a task does. No pyspark in here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from leaselog.admin.dead_letters.letter import Letter
from leaselog.admin.dead_letters.memory import Memory
from leaselog.admin.dead_letters.originals import look_up
from leaselog.admin.dead_letters.redrive import memories_of
from leaselog.admin.dead_letters.topics import name_of_topic, read_letters, spans_of
from leaselog.client import ConfigError
from leaselog.client.cluster import Cluster
from leaselog.client.security.config import security_of
from leaselog.model import TopicPartition
from leaselog.spark.letter_options import LetterOptions
from leaselog.spark.letter_rows import letter_batch, letter_row
from leaselog.spark.runs import Run, Runs
from leaselog.spark.topic_range import tasks_of
from leaselog.wire.records import Record

__all__ = ["LetterReader", "LetterTask", "look_up_letter_tasks"]

BATCH_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class LetterTask:
    ranges: Runs
    #: what was put back, as of when the query was planned; empty where no group was named
    memories: Mapping[TopicPartition, Memory]


def look_up_letter_tasks(options: LetterOptions) -> list[LetterTask]:
    """What each task is to read. Raises ``ConfigError`` for a group without letters, and what the client raises."""
    return asyncio.run(_look_up(options))


async def _look_up(options: LetterOptions) -> list[LetterTask]:
    async with _cluster(options) as cluster:
        topic, group_id = options.topic, options.group_id
        if topic is None:
            assert group_id is not None, "options without a group and a topic are refused"
            try:
                topic = await name_of_topic(cluster, group_id)
            except LookupError as missing:
                raise ConfigError(f"{missing}; the option topic names one") from None
        spans = await spans_of(cluster, topic)
        memories = await memories_of(cluster, group_id, spans) if group_id is not None else {}
    ranges = tuple(
        Run(span.where.topic, span.where.partition, span.start, span.end, 0)
        for span in spans
        if span.start < span.end
    )
    return [LetterTask(some, memories) for some in tasks_of(ranges, options.parallelism, None)]


def _cluster(options: LetterOptions) -> Cluster:
    return Cluster(
        options.bootstrap_servers,
        client_id=options.client_id,
        request_timeout_ms=options.request_timeout_ms,
        api_timeout_ms=options.api_timeout_ms,
        security=security_of(options.security),
    )


@dataclass(frozen=True, slots=True)
class LetterReader:
    """What reading takes, so that it can be sent to a task."""

    options: LetterOptions

    def batches(self, task: LetterTask) -> Iterator[pa.RecordBatch]:
        """Raises ``DecodeError`` for a log batch that is corrupt, and what the client raises."""
        with asyncio.Runner() as runner:
            found = self._read(task)
            try:
                while (batch := runner.run(_next(found))) is not None:
                    yield batch
            finally:
                runner.run(found.aclose())  # type: ignore[attr-defined]

    async def _read(self, task: LetterTask) -> AsyncIterator[pa.RecordBatch]:
        async with _cluster(self.options) as cluster:
            for run in task.ranges:
                where, some = TopicPartition(run.topic, run.partition), list[Letter]()
                memory = task.memories.get(where)
                async for letter in read_letters(cluster, where, run.start, run.end, self.options.group_id):
                    some.append(letter)
                    if len(some) >= BATCH_ROWS:
                        yield await self._batch(cluster, some, memory)
                        some = []
                if some:
                    yield await self._batch(cluster, some, memory)

    async def _batch(self, cluster: Cluster, letters: list[Letter], memory: Memory | None) -> pa.RecordBatch:
        originals: Mapping[int, Record] = {}
        if self.options.read_originals:
            originals = await look_up(cluster, letters)
        return letter_batch([
            letter_row(
                letter, originals.get(letter.offset), None if memory is None else memory.is_settled(letter)
            )
            for letter in letters
        ])  # fmt: skip


async def _next(found: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(found, None)
