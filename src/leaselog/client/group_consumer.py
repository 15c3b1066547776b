"""Reads topics as a member of a classic consumer group: joins, reads what it is assigned, commits what is done.

One task asks the coordinator what the ``Membership`` decides, on a connection of its own, since a join is parked
there for as long as the group takes. Everything that moves partitions happens inside ``poll``, so that the caller
never gets a record of a partition that it has given up. Only what the caller called ``done`` is ever committed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from leaselog.client.cluster import RETRY_BACKOFF_MAX_MS, RETRY_BACKOFF_MS, Cluster
from leaselog.client.committed_offsets import commit_request, fetch_request, read_commit, read_fetch
from leaselog.client.connection import Connection
from leaselog.client.errors import BrokerError, ClientError, is_retriable
from leaselog.client.fetcher import LATEST, READ_COMMITTED, Fetched, Fetcher, FetchLimits, list_offsets
from leaselog.client.membership import Ask, CountPartitions, GroupSettings, Membership, Wait
from leaselog.client.surroundings import monotonic_ms as _now_ms
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.offset_commit import OffsetCommitResponse
from leaselog.wire.messages.offset_fetch import OffsetFetchResponse
from leaselog.wire.schema import Message

__all__ = ["GroupConsumer", "GroupReading"]

M = TypeVar("M", bound=Message)

#: how long `close` tries to commit and to leave; the group finds out by itself after the session time-out
CLOSE_TIMEOUT_MS = 5_000
_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


@dataclass(frozen=True, slots=True)
class GroupReading:
    """Java's enable.auto.commit, auto.commit.interval.ms, auto.offset.reset and metadata.max.age.ms."""

    group: GroupSettings
    limits: FetchLimits = field(default_factory=FetchLimits)
    #: where a partition without a committed offset begins; None raises
    reset: int | None = LATEST
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    metadata_max_age_ms: int = 300_000


class GroupConsumer:
    """Use as ``async with``: `poll` again and again, `done` for what came, and the rest goes by itself.

    ``topics`` are names, or one pattern for the names of all topics that are not internal.
    """

    def __init__(self, cluster: Cluster, topics: list[str] | re.Pattern[str], settings: GroupReading) -> None:
        self._cluster = cluster
        self._wanted = topics
        self._settings = settings
        self._membership = Membership(settings.group, _now_ms())
        self._fetcher = Fetcher(cluster, settings.limits, reset=settings.reset)
        self._connection: Connection | None = None
        self._finding = asyncio.Lock()
        #: something changed that a waiting driver or poll should look at
        self._changed = asyncio.Event()
        self._tasks = list[asyncio.Task[None]]()
        #: topics as last seen; the coordinator's newer messages know them by id alone
        self._topic_ids = dict[str, UUID]()
        #: as the leader: the partition counts that the present assignment was made from
        self._counts = dict[str, int]()
        #: assigned, with no place to begin at yet
        self._unplaced = frozenset[TopicPartition]()
        #: of every partition held: everything before this offset is done
        self._done = dict[TopicPartition, int]()
        #: what the coordinator is known to have of it
        self._committed = dict[TopicPartition, int]()
        self._commit_at_ms = _now_ms() + settings.auto_commit_interval_ms
        self._committing: asyncio.Task[None] | None = None

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that `poll` reads from."""
        return frozenset(self._done)

    async def __aenter__(self) -> GroupConsumer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def poll(self, timeout_ms: int) -> list[Fetched]:
        """What came in, perhaps nothing, within about ``timeout_ms``. Raises what trying again would not mend.

        A rebalance takes place in here: what was `done` is committed, and partitions go and come.
        """
        self._start()
        self._membership.polled(_now_ms())
        changed = self._changed
        # Commits fall due in here: a longer wait would be late for them.
        timeout_ms = min(timeout_ms, max(RETRY_BACKOFF_MS, self._settings.auto_commit_interval_ms))
        try:
            await self._follow()
        except ClientError as failed:
            if not failed.is_retriable:
                raise
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
            return []
        self._auto_commit()
        if self._done:
            return await self._fetcher.poll(timeout_ms)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                await changed.wait()
        return []

    def done(self, where: TopicPartition, end: int) -> None:
        """Everything of this partition before ``end`` is done with, and may be committed."""
        if where in self._done:  # else it was lost meanwhile, and is somebody else's to commit
            self._done[where] = end

    async def commit(self, *, timeout_ms: int | None = None) -> None:
        """Commit what is done. Raises ``BrokerError``; after a rebalance there may be nothing left to commit."""
        if self._committing is not None:
            await asyncio.wait([self._committing])
        await self._cluster.retrying(self._commit_once, timeout_ms=timeout_ms)

    async def close(self) -> None:
        """Commit, leave the group, and let go of everything, in about ``CLOSE_TIMEOUT_MS``. Call it once."""
        await self._stop_tasks()
        # Whatever fails here, the group does without us after the session time-out, and others read again
        # what could not be committed.
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_MS / 1000):
                if self._settings.auto_commit and self._membership.may_commit:
                    await self.commit(timeout_ms=CLOSE_TIMEOUT_MS)
                if (last := self._membership.leave("the consumer is being closed")) is not None:
                    await self._ask_coordinator(last.message, last.kind)
        await self._fetcher.close()
        self._forget_coordinator()

    # tasks

    def _start(self) -> None:
        if not self._tasks:
            for work in (self._drive(), self._watch_topics()):
                task = asyncio.create_task(work)
                task.add_done_callback(lambda _: self._change())
                self._tasks.append(task)
        for task in self._tasks:
            if task.done():
                task.result()  # they end only by raising

    async def _stop_tasks(self) -> None:
        tasks = [*self._tasks, *([self._committing] if self._committing is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _change(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        self._fetcher.wake()

    async def _drive(self) -> None:
        """Does what the membership asks for, one thing after the other."""
        while True:
            changed = self._changed
            step = self._membership.step(_now_ms())
            try:
                match step:
                    case Ask():
                        await self._ask(step)
                    case CountPartitions():
                        await self._count(step.topics)
                    case Wait():
                        await _wait(changed, step.until_ms)
                        continue
            except ClientError as failed:
                if not failed.is_retriable:
                    raise
                self._membership.unanswered(_now_ms())
            self._change()

    async def _ask(self, step: Ask) -> None:
        answer = await self._ask_coordinator(step.message, step.kind, step.timeout_ms)
        if getattr(answer, "error_code", 0) in _MOVED:
            self._forget_coordinator()
        self._membership.answered(step.message, answer, _now_ms())

    async def _count(self, topics: tuple[str, ...]) -> None:
        found = await self._look_up(list(topics))
        self._counts = _partition_counts(found, topics)
        self._membership.counted(self._counts)

    # topics

    async def _watch_topics(self) -> None:
        """Keeps the subscription up to date, and as the leader what the assignment was made from."""
        while True:
            try:
                is_complete = await self._refresh()
            except ClientError as failed:
                if not failed.is_retriable:
                    raise
                is_complete = False
            age_ms = self._settings.metadata_max_age_ms
            await asyncio.sleep((age_ms if is_complete else min(age_ms, RETRY_BACKOFF_MAX_MS)) / 1000)

    async def _refresh(self) -> bool:
        """Whether every topic that was asked for is there."""
        if isinstance(self._wanted, re.Pattern):
            found = await self._look_up(None)
            wanted = [n for n, t in found.topics.items() if self._wanted.fullmatch(n) and not t.is_internal]
        else:
            found = await self._look_up(list(dict.fromkeys([*self._wanted, *self._counts])))
            wanted = self._wanted
        self._membership.subscribe(wanted)
        if self._counts and _partition_counts(found, self._counts) != self._counts:
            self._membership.rejoin()
        self._change()
        return all(name in found.topics for name in wanted)

    async def _look_up(self, topics: list[str] | None) -> Topology:
        found = await self._cluster.fetch_topology(topics, auto_create=topics is not None)
        for name in topics or ():
            code = found.errors.get(name, ErrorCode.NONE)
            if code and not is_retriable(code):
                raise BrokerError(code, f"Topic '{name}'")
        self._topic_ids.update((name, info.topic_id) for name, info in found.topics.items())
        return found

    # partitions

    async def _follow(self) -> None:
        """Brings what is read in line with what the membership says."""
        if self._membership.must_give_up:
            await self._give_up()
        if (assigned := self._membership.take_assigned()) is not None:
            self._unplaced = assigned
        if self._unplaced:
            await self._place()

    async def _give_up(self) -> None:
        if self._settings.auto_commit and self._membership.may_commit:
            # The group waits for everybody, but not for longer than its rebalance time-out. What could not be
            # committed is read again by whoever is assigned it next.
            limit_ms = min(self._settings.group.max_poll_interval_ms, self._cluster.api_timeout_ms)
            with suppress(ClientError):
                await self.commit(timeout_ms=limit_ms)
        self._unplaced = frozenset()
        for held in (self._fetcher.positions, self._done, self._committed):
            held.clear()
        if self._membership.must_give_up:  # a commit may have found out that it no longer is ours
            self._membership.given_up()
        self._change()

    async def _place(self) -> None:
        """Find where the assigned partitions begin, and begin."""
        assigned = self._unplaced
        missing = {where.topic for where in assigned} - self._topic_ids.keys()
        if missing:
            await self._look_up(sorted(missing))
        committed = await self._fetch_committed(assigned)
        bare = [where for where in assigned if where not in committed]
        if bare and self._settings.reset is None:
            raise BrokerError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{bare[0]} has no committed offset")
        fresh = dict[TopicPartition, int]()
        if bare and self._settings.reset is not None:
            fresh = await list_offsets(
                self._cluster,
                dict.fromkeys(bare, self._settings.reset),
                isolation_level=self._settings.limits.isolation_level,
            )
        self._unplaced = frozenset()
        self._committed = dict(committed)
        self._done = {**committed, **fresh}
        for where, offset in self._done.items():
            self._fetcher.assign(where, offset)

    async def _fetch_committed(self, wanted: frozenset[TopicPartition]) -> dict[TopicPartition, int]:
        settings = self._settings
        stable = settings.limits.isolation_level == READ_COMMITTED
        request = fetch_request(settings.group.group_id, wanted, self._topic_ids, require_stable=stable)
        answer = await self._ask_coordinator(request, OffsetFetchResponse)
        try:
            return read_fetch(answer, self._topic_ids)
        except BrokerError as failed:
            if failed.code in _MOVED:
                self._forget_coordinator()
            if failed.code is ErrorCode.UNKNOWN_TOPIC_ID:  # deleted, and perhaps made again under another id
                self._topic_ids.clear()
            raise

    # committing

    def _auto_commit(self) -> None:
        if not self._settings.auto_commit or _now_ms() < self._commit_at_ms:
            return
        if self._committing is None or self._committing.done():
            self._commit_at_ms = _now_ms() + self._settings.auto_commit_interval_ms
            self._committing = asyncio.create_task(self._try_commit())

    async def _try_commit(self) -> None:
        """One try: what fails now comes with the next."""
        with suppress(ClientError):
            await self._commit_once()

    async def _commit_once(self) -> None:
        membership, group = self._membership, self._settings.group
        offsets = {w: end for w, end in self._done.items() if self._committed.get(w) != end}
        if not offsets or not membership.may_commit:
            return
        generation = membership.generation
        request = commit_request(
            group.group_id, membership.member_id, group.instance_id, generation, offsets, self._topic_ids
        )
        codes = read_commit(await self._ask_coordinator(request, OffsetCommitResponse))
        if codes & _MOVED:
            self._forget_coordinator()
        for code in codes:
            membership.thrown_out(code, generation)
        if codes:
            self._change()
            # The worst one: as long as there is an error that stays, trying again is in vain.
            raise BrokerError(min(codes, key=is_retriable), f"Group '{group.group_id}'")
        if generation == membership.generation:
            self._committed.update((w, end) for w, end in offsets.items() if w in self._done)

    # the coordinator

    async def _ask_coordinator(self, message: Message, kind: type[M], timeout_ms: int | None = None) -> M:
        connection = await self._coordinator()
        limit_ms = self._cluster.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            return await connection.request(message, kind, timeout_ms=limit_ms)
        except asyncio.CancelledError:
            # The answer may be far away (a parked join), and whatever is asked next would wait behind it.
            self._forget_coordinator()
            raise

    async def _coordinator(self) -> Connection:
        async with self._finding:
            if self._connection is None or self._connection.is_closed:
                node = await self._cluster.coordinator(self._settings.group.group_id)
                self._connection = await self._cluster.open_connection(node)
            return self._connection

    def _forget_coordinator(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


async def _wait(changed: asyncio.Event, until_ms: int | None) -> None:
    limit_s = None if until_ms is None else max(0, until_ms - _now_ms()) / 1000
    # Not `wait_for`: until Python 3.12 it forgets a cancellation that comes together with what it waits for.
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await changed.wait()


def _partition_counts(found: Topology, topics: Mapping[str, int] | tuple[str, ...]) -> dict[str, int]:
    return {name: len(found.topics[name].partitions) for name in topics if name in found.topics}
