"""Reads partitions from given offsets on, without a group: the caller says which, and keeps no one else's place.

One fetch is under way to each leader; the next one leaves before the records of the last are decoded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from leaselog.client.cluster import RETRY_BACKOFF_MS, Cluster
from leaselog.client.errors import BrokerError, ClientError, raise_for, refusal
from leaselog.client.topology import Node, TopicInfo
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.isolation import with_fate
from leaselog.wire.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader, check_crc, whole_batches
from leaselog.wire.records import Record, read_records

__all__ = ["EARLIEST", "LATEST", "FetchLimits", "Fetched", "Fetcher", "list_offsets"]

#: ListOffsets' special timestamps
LATEST = -1
EARLIEST = -2
READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_CLIENT_REPLICA_ID = -1


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Java's fetch.max.wait.ms, fetch.min.bytes, fetch.max.bytes and max.partition.fetch.bytes."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 52_428_800
    partition_max_bytes: int = 1_048_576
    isolation_level: int = READ_UNCOMMITTED


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one fetch brought from one partition: a view of whole batches, decoded when ``records`` is walked."""

    where: TopicPartition
    start: int
    #: where the next fetch goes on
    end: int
    high_watermark: int
    batches: Sequence[tuple[int, BatchHeader]]
    data: Buffer

    def records(self) -> Iterator[Record]:
        """Records from ``start`` on, in order. Raises ``DecodeError`` at a batch that is corrupt."""
        return (record for _, record in self.entries())

    def entries(self) -> Iterator[tuple[BatchHeader, Record]]:
        """The same, each with the header of its batch, which knows leader epoch and timestamp type."""
        for position, header in self.batches:
            check_crc(self.data, header, position)
            for record in read_records(self.data, header, position):
                if record.offset >= self.start:
                    yield header, record


class _Place(NamedTuple):
    """A topic that is made again is another one, whatever the offset."""

    topic_id: UUID
    offset: int


class Fetcher:
    """Give it places with ``assign``, then call ``poll`` again and again; ``close`` when done."""

    def __init__(
        self, cluster: Cluster, limits: FetchLimits | None = None, *, reset: int | None = None
    ) -> None:
        self._cluster = cluster
        self._limits = limits or FetchLimits()
        #: where to go on (``EARLIEST`` or ``LATEST``) when the log no longer has an offset; None raises instead
        self._reset = reset
        #: places to look up before anything more is fetched of them
        self._lost = dict[TopicPartition, int]()
        #: where each partition's next fetch begins
        self.positions = dict[TopicPartition, int]()
        #: of these, not fetched for the moment: nobody has come for what is there, or it is paused
        self.held = set[TopicPartition]()
        self._moved = dict[TopicPartition, int]()
        self._topics = dict[str, TopicInfo]()
        self._stale = True
        #: not asked for until their leaders have been looked up once more
        self._suspect = set[TopicPartition]()
        #: the last try failed: the next one waits a moment
        self._is_failing = False
        self._preparing: asyncio.Task[None] | None = None
        #: raised by the next `poll` that has nothing to return
        self._failure: ClientError | None = None
        self._under_way = dict[int, asyncio.Task[FetchResponse]]()
        #: what each fetch under way asked for, and of which topic
        self._asked = dict[int, Mapping[TopicPartition, _Place]]()
        #: done when `wake` is called while `poll` waits
        self._waking: asyncio.Future[None] | None = None

    def assign(self, where: TopicPartition, offset: int) -> None:
        self.positions[where] = offset
        self._lost.pop(where, None)
        self._moved.pop(where, None)
        self._suspect.discard(where)
        self._stale = self._stale or where.topic not in self._topics

    def give_up(self, where: TopicPartition) -> None:
        self.positions.pop(where, None)
        self.held.discard(where)
        self._lost.pop(where, None)
        self._moved.pop(where, None)
        self._suspect.discard(where)

    @property
    def topic_ids(self) -> dict[str, UUID]:
        """Of the topics that are read, as they were when reading began."""
        return {name: info.topic_id for name, info in self._topics.items()}

    def has_lost(self, where: TopicPartition) -> bool:
        """Whether the place is to be looked up, or has been and nobody was told."""
        return where in self._lost or where in self._moved

    def take_moved(self) -> dict[TopicPartition, int]:
        """Where reading goes on elsewhere than it stopped, told once: the log was cut, or its topic made again."""
        moved, self._moved = self._moved, {}
        return moved

    def wake(self) -> None:
        """Let a `poll` that waits return now with what there is."""
        if self._waking is not None and not self._waking.done():
            self._waking.set_result(None)

    async def close(self) -> None:
        tasks: list[asyncio.Task[Any]] = [*self._under_way.values()]
        if self._preparing is not None:
            tasks.append(self._preparing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._under_way.clear()
        self._preparing = None

    async def poll(self, timeout_ms: int) -> list[Fetched]:
        """What came in, or an empty list after ``timeout_ms`` or `wake`. Raises what trying again would not mend.

        Nothing is lost with it: what else came is returned first, and a cancelled call has taken nothing.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        waking = self._waking = loop.create_future()
        while True:
            self.launch()
            if self._failure is None:
                waiting: list[asyncio.Future[Any]] = [*self._under_way.values(), waking]
                if self._preparing is not None:
                    waiting.append(self._preparing)
                limit_s = max(0.0, deadline - loop.time())
                await asyncio.wait(waiting, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            fetched = self._collect()
            if fetched or waking.done() or loop.time() >= deadline:
                return fetched

    def launch(self) -> None:
        """A fetch to every leader that has none under way and something to be asked for."""
        for leader, asked in self._idle_leaders().items():
            self._asked[leader] = asked
            self._under_way[leader] = asyncio.create_task(self._fetch(leader, asked))
        if self._preparing is None and self.positions and (self._stale or self._lost):
            self._preparing = asyncio.create_task(self._prepare())

    def _collect(self) -> list[Fetched]:
        """Without a wait in it, so that what is taken from here arrives."""
        if self._preparing is not None and self._preparing.done():
            done, self._preparing = self._preparing, None
            try:
                done.result()
            except ClientError as failed:
                self._failed(failed, ())
        fetched = list[Fetched]()
        for leader in [leader for leader, task in self._under_way.items() if task.done()]:
            fetched += self._answered(leader)
        if not fetched and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return fetched

    def _answered(self, leader: int) -> list[Fetched]:
        task, asked = self._under_way.pop(leader), self._asked.pop(leader)
        try:
            answer = task.result()
            raise_for(answer.error_code)
        except ClientError as failed:
            self._failed(failed, asked)
            return []
        fetched = list[Fetched]()
        for where, data in self._partitions(answer):
            # The caller may have moved the place, or given it up, since this fetch left.
            if where in asked and self._place(where) == asked[where] and where not in self._lost:
                fetched += self._accept(where, asked[where].offset, data)
        return fetched

    def _failed(self, failed: ClientError, suspects: Iterable[TopicPartition]) -> None:
        self._suspect.update(where for where in suspects if where in self.positions)
        self._stale = self._is_failing = True
        if not failed.is_retriable and self._failure is None:
            self._failure = failed

    def _partitions(self, answer: FetchResponse) -> Iterator[tuple[TopicPartition, PartitionData]]:
        names = {info.topic_id: info.name for info in self._topics.values()}
        for topic in answer.responses:
            for data in topic.partitions:
                yield TopicPartition(topic.topic or names.get(topic.topic_id, ""), data.partition_index), data

    def _accept(self, where: TopicPartition, start: int, data: PartitionData) -> Iterable[Fetched]:
        if data.error_code:
            failed = self._refusal(data.error_code, where)
            if failed.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                failed = BrokerError(data.error_code, f"{where} has no offset {start}")
                if self._reset is not None:
                    self._lost[where] = self._reset
                    return ()
            self._failed(failed, (where,))
            return ()
        records = data.records or b""
        batches = list(whole_batches(records))
        if not batches:
            return ()
        end = max(start, batches[-1][1].end_offset)
        self.positions[where] = end
        kept = _readable(batches, data.aborted_transactions or (), records, start)
        return (Fetched(where, start, end, data.high_watermark, kept, records),)

    async def _prepare(self) -> None:
        """Learns what the next fetches have to know."""
        if self._is_failing:
            self._is_failing = False
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        if self._stale:
            await self._look_up()
        await self._find_lost()

    async def _find_lost(self) -> None:
        """Retention may overtake a slow reader: then what is gone is gone, and reading goes on elsewhere."""
        wanted = dict(self._lost)
        if not wanted:
            return
        for where, offset in (await list_offsets(self._cluster, wanted)).items():
            if self._lost.get(where) == wanted[where]:  # else it has a place by now, or was given up
                del self._lost[where]
                self.positions[where] = self._moved[where] = offset

    async def _look_up(self) -> None:
        names = sorted({where.topic for where in self.positions})
        known, found = self._topics, await self._cluster.fetch_topology(names)
        for where in self.positions:
            before, now = known.get(where.topic), found.topics.get(where.topic)
            if before is not None and now is not None and before.topic_id != now.topic_id:
                # Made again: all of it came after we began to read, and the old offsets mean nothing in it.
                self._lost[where] = EARLIEST
        # What is not there may come back as another one.
        self._topics = {**{name: known[name] for name in names if name in known}, **found.topics}
        self._suspect = {where for where in self._suspect if where.topic not in found.topics}
        # Of what is read by now, which may be more than was asked for.
        self._stale = any(where.topic not in found.topics for where in self.positions)
        self._is_failing = any(name not in found.topics for name in names)
        for name in names:
            code = found.errors.get(name, ErrorCode.NONE)
            if code and not BrokerError(code).is_retriable:
                raise refusal(
                    code, f"Topic '{name}'", f"DESCRIBE topic '{name}'", self._cluster.security.user
                )

    def _refusal(self, code: int, where: TopicPartition) -> BrokerError:
        return refusal(code, str(where), f"READ topic '{where.topic}'", self._cluster.security.user)

    def _place(self, where: TopicPartition) -> _Place | None:
        if where not in self.positions or where.topic not in self._topics:
            return None
        return _Place(self._topics[where.topic].topic_id, self.positions[where])

    def _idle_leaders(self) -> dict[int, dict[TopicPartition, _Place]]:
        idle = dict[int, dict[TopicPartition, _Place]]()
        for where, offset in self.positions.items():
            info = self._topics.get(where.topic)
            if info is None or where in self.held or where in self._lost or where in self._suspect:
                continue
            there = where.partition < len(info.partitions)
            leader = info.partitions[where.partition].leader if there else -1
            if leader < 0:
                self._failed(BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, str(where)), (where,))
            elif leader not in self._under_way:
                idle.setdefault(leader, {})[where] = _Place(info.topic_id, offset)
        return idle

    async def _fetch(self, leader: int, asked: Mapping[TopicPartition, _Place]) -> FetchResponse:
        limits = self._limits
        by_topic = dict[str, list[FetchPartition]]()
        for where, place in asked.items():
            part = FetchPartition(
                partition=where.partition,
                fetch_offset=place.offset,
                partition_max_bytes=limits.partition_max_bytes,
            )
            by_topic.setdefault(where.topic, []).append(part)
        request = FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            isolation_level=limits.isolation_level,
            topics=[
                FetchTopic(topic=name, topic_id=self._topics[name].topic_id, partitions=parts)
                for name, parts in by_topic.items()
            ],
        )
        connection = await self._cluster.connection(leader)
        return await connection.request(
            request, FetchResponse, timeout_ms=limits.max_wait_ms + self._cluster.request_timeout_ms
        )


def _readable(
    batches: Sequence[tuple[int, BatchHeader]],
    aborted: Sequence[AbortedTransaction],
    data: Buffer,
    start: int,
) -> list[tuple[int, BatchHeader]]:
    """Batches an application may see: no control batches, and nothing of a transaction known to be aborted."""
    begun = ((one.producer_id, one.first_offset) for one in aborted)
    return [
        (position, header)
        for position, header, is_aborted in with_fate(batches, begun)
        if not (is_aborted or header.is_control) and header.end_offset > start
    ]


async def list_offsets(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], *, isolation_level: int = READ_UNCOMMITTED
) -> dict[TopicPartition, int]:
    """The offset of each partition at a timestamp, or at ``EARLIEST`` or ``LATEST``; -1 where no record is so young."""
    found = dict[TopicPartition, int]()

    async def attempt() -> None:
        missing = [where for where in timestamps if where not in found]
        topology = await cluster.topology(sorted({where.topic for where in missing}))
        by_leader = dict[int, list[TopicPartition]]()
        for where in missing:
            by_leader.setdefault(topology.leader(where).node_id, []).append(where)
        answers = await asyncio.gather(
            *(_ask_offsets(cluster, topology.nodes[leader], {w: timestamps[w] for w in wheres}, isolation_level)
              for leader, wheres in by_leader.items())
        )  # fmt: skip
        for answer in answers:
            found.update(answer)

    await cluster.retrying(attempt)
    return found


async def _ask_offsets(
    cluster: Cluster, leader: Node, timestamps: Mapping[TopicPartition, int], isolation_level: int
) -> dict[TopicPartition, int]:
    by_topic = dict[str, list[ListOffsetsPartition]]()
    for where, timestamp in timestamps.items():
        part = ListOffsetsPartition(partition_index=where.partition, timestamp=timestamp)
        by_topic.setdefault(where.topic, []).append(part)
    answer = await cluster.request(
        ListOffsetsRequest(
            replica_id=_CLIENT_REPLICA_ID,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=name, partitions=parts) for name, parts in by_topic.items()],
            timeout_ms=cluster.request_timeout_ms,
        ),
        ListOffsetsResponse,
        node=leader,
    )
    found = dict[TopicPartition, int]()
    for topic in answer.topics:
        for partition in topic.partitions:
            where = TopicPartition(topic.name, partition.partition_index)
            if partition.error_code:
                right = f"DESCRIBE topic '{topic.name}'"
                raise refusal(partition.error_code, str(where), right, cluster.security.user)
            found[where] = partition.offset
    return found
