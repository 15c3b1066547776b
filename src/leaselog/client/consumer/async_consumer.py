"""The ordinary consumer for asyncio: what an application has had, has asked on after, and wants to read.

How partitions come and go, and how they are read, is the group consumer's business. Nothing is handed to the caller
across an await: a cancelled `poll` has taken no records.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from re import Pattern
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from leaselog.client.cluster import READY_TIMEOUT_S, Cluster
from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.compiled_records import record_reader
from leaselog.client.config_values import Given
from leaselog.client.consumer.config import ConsumerConfig
from leaselog.client.consumer.places import (
    Offsets,
    Partitions,
    offsets_of,
    partition_of,
    partitions_of,
    topics_of,
)
from leaselog.client.consumer.record import ConsumerRecord
from leaselog.client.consumer.waiting_records import Decoding, WaitingRecords
from leaselog.client.durations import FOR_EVER_S, seconds, seconds_or_for_ever
from leaselog.client.errors import IllegalState, RequestTimedOut
from leaselog.client.fetcher import EARLIEST, LATEST, list_offsets
from leaselog.client.group_consumer import Assigned, GroupConsumer, Revoked
from leaselog.client.group_member import Wanted
from leaselog.client.machine import monotonic_s
from leaselog.client.share.deserializers import Deserializer
from leaselog.client.share.errors import ConcurrentAccess, WakeupError
from leaselog.model import TopicPartition

__all__ = ["CLOSE_TIMEOUT_S", "AsyncConsumer", "Change", "Listener", "Listeners"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

#: called with the partitions that came or went
Listener = Callable[[frozenset[TopicPartition]], object]
Change = Assigned | Revoked

#: Java's default
CLOSE_TIMEOUT_S = 30.0
#: for the goodbye to a coordinator that may be gone: the group finds out by itself after the session time-out
_LEAVE_TIMEOUT_S = 3.0
#: A loop over records looks up at the group and the clock this often, not at every record.
_LOOKS_UP_S = 0.05
#: what a listener may not do, in the middle of a poll
_NOT_WHILE_LISTENING = ("poll", "subscribe", "unsubscribe", "assign", "close", "wait_until_ready")


class Listeners:
    """Whom to tell of partitions. Without `lost` it is `revoked` that hears of those, as in Java."""

    def __init__(
        self,
        assigned: Listener | None = None,
        revoked: Listener | None = None,
        lost: Listener | None = None,
    ) -> None:
        self._assigned, self._revoked, self._lost = assigned, revoked, lost or revoked

    def call(self, change: Change) -> object:
        """What the one concerned returned."""
        if isinstance(change, Assigned):
            return None if self._assigned is None else self._assigned(change.partitions)
        listener = self._lost if change.is_lost else self._revoked
        return None if listener is None or not change.partitions else listener(change.partitions)


class AsyncConsumer(Generic[K, V]):
    """Reads topics as a member of a group, or partitions that it is told. Use as ``async with``, or `close` it.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores. A text in place of the
    mapping is ``bootstrap.servers``. Time-outs of calls are seconds. One task at a time may wait in here, else
    ``ConcurrentAccess``; `wakeup` may come from anywhere.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: AsyncConsumer[K, V],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncConsumer[bytes, V],
        config: Given = None,
        *,
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncConsumer[K, bytes],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: AsyncConsumer[bytes, bytes],
        config: Given = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Given = None, **more: object) -> None:
        self.config = ConsumerConfig.of(config, **more)
        self._cluster = self._new_cluster()
        self._reader = GroupConsumer(self._cluster, None, self.config.reading)
        self._waiting = WaitingRecords(
            Decoding(
                self.config.key_deserializer,
                self.config.value_deserializer,
                self.config.check_crcs,
                record_reader(checked=self.config.check_crcs),
            )
        )
        #: where what was handed out since the application last asked on ends
        self._had = dict[TopicPartition, int]()
        self._paused = set[TopicPartition]()
        self._wanted: Wanted = []
        self._is_told = False  # what to read, by `assign`
        self._listeners = Listeners()
        self._looked_up_s = -math.inf
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = False
        self._user: str | None = None
        self._listening: asyncio.Task[Any] | None = None
        self._closed = False

    def _new_cluster(self) -> Cluster:
        return Cluster(
            self.config.bootstrap_servers,
            security=self.config.security,
            client_id=self.config.client_id,
            request_timeout_ms=self.config.request_timeout_ms,
            api_timeout_ms=self.config.default_api_timeout_ms,
        )

    async def __aenter__(self) -> AsyncConsumer[K, V]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Records that an exception ended the work on are not committed by themselves: they come again."""
        if error is not None:
            self._had.clear()
        await self.close()

    # what to read

    def subscription(self) -> frozenset[str]:
        """The names that were subscribed to; empty with a pattern."""
        return frozenset() if isinstance(self._wanted, Pattern) else frozenset(self._wanted)

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are this consumer's at the moment."""
        return self._reader.assignment

    def subscribe(
        self,
        topics: Iterable[str] | Pattern[str],
        *,
        on_assigned: Listener | None = None,
        on_revoked: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Read these topics, or those that the whole of a pattern matches, as a member of the group.

        Replaces the subscription; the group is joined with the next `poll`. Listeners are called from within `poll` and
        `close` with a set of partitions: before they are given up, when they may still be committed; when the group has
        gone on without us and they may not; and with all there are when there are others.
        """
        self._check_use("subscribe")
        wanted = topics_of(topics)
        if self.config.group_id is None:
            raise IllegalState("group.id is missing: a group divides topics; without one, assign partitions")
        if self._is_told:
            raise IllegalState("This consumer reads what assign said: unsubscribe first.")
        if not wanted:
            raise ValueError("no topic to subscribe to; unsubscribe leaves the group")
        self._listeners = Listeners(on_assigned, on_revoked, on_lost)
        self._wanted = wanted
        self._reader.subscribe(wanted)

    def assign(self, partitions: Partitions) -> None:
        """Read these partitions, and no others, whoever else may. Where reading has begun it goes on.

        A partition begins where the group has committed, if there is a group, else as ``auto.offset.reset`` says.
        """
        self._check_use("assign")
        if self._wanted:
            raise IllegalState("This consumer has subscribed to topics: unsubscribe first.")
        wanted = frozenset(partitions_of(partitions))
        self._ask_on()
        for where in self._reader.assignment - wanted:
            self._drop(where)
        self._is_told = True
        self._reader.assign(wanted)

    async def unsubscribe(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Read nothing any more: commit as `close` does, and leave the group."""
        with self._in_use("unsubscribe"):
            await self._tell(await self.begin_leaving(seconds(timeout)))
            await self.end_leaving()

    async def begin_leaving(self, timeout: float) -> Revoked:
        """What `unsubscribe` and `close` begin with; then listeners are told, then it is `end_leaving`."""
        self._ask_on()
        return await self._reader.stop(math.ceil(timeout * 1000))

    async def end_leaving(self) -> None:
        for where in self._reader.assignment:
            self._drop(where)
        await self._reader.leave(math.ceil(_LEAVE_TIMEOUT_S * 1000))
        self._wanted, self._is_told = [], False

    # records

    async def poll(self, timeout: float | None = 1.0) -> list[ConsumerRecord[K, V]]:
        """Records, at once if there are some, else an empty list after ``timeout`` seconds; None or -1 is for ever.

        With it the application asks on: what was handed out before is done, and is what auto commit commits. In here
        the group is followed, so partitions come and go. Raises ``WakeupError``, and ``BrokerError`` for what the
        application has to know; the next call goes on.
        """
        deadline = monotonic_s() + seconds_or_for_ever(timeout)
        with self._in_use("poll"):
            self._ask_on()
            return await self._wait_records(deadline, self.config.max_poll_records)

    async def _wait_records(self, deadline: float, limit: int) -> list[ConsumerRecord[K, V]]:
        while True:
            found = await self._records_or_change(deadline, limit)
            if isinstance(found, list):
                return found
            await self._tell(found)

    async def poll_or_change(
        self, deadline: float, limit: int, *, asks_on: bool
    ) -> list[ConsumerRecord[K, V]] | Change:
        """A part of a `poll`: records, or nothing when it is time; or a change, for listeners and then `told`."""
        with self._in_use("poll"):
            if asks_on:
                self._ask_on()
            return await self._records_or_change(deadline, limit)

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:
        """Records one by one, for ever, until `wakeup` or the loop is left.

        As a `poll` for each record: a record is done when the loop asks for the next one.
        """
        while (record := self.take_next() or await self._poll_one()) is not None:
            yield record

    async def _poll_one(self) -> ConsumerRecord[K, V] | None:
        with self._in_use("poll"):
            self._ask_on()
            with suppress(WakeupError):
                return (await self._wait_records(monotonic_s() + FOR_EVER_S, 1))[0]
            return None

    def take_next(self) -> ConsumerRecord[K, V] | None:
        """The short way of a loop: the next record, if it is there and nobody has to look up before it."""
        if (
            self._user is not None
            or self._closed
            or self._woken
            or self._reader.must_give_up
            or monotonic_s() - self._looked_up_s > _LOOKS_UP_S
        ):
            return None
        self._ask_on()
        records = self._take(1)
        return records[0] if records else None

    async def _records_or_change(self, deadline: float, limit: int) -> list[ConsumerRecord[K, V]] | Change:
        if not self._wanted and not self._is_told:
            raise IllegalState(
                "This consumer has nothing to read: subscribe to topics, or assign partitions."
            )
        await asyncio.sleep(0)  # heartbeats have their turn, however many records there are
        is_time = False
        while True:
            self._check_woken()
            self._reader.tick()
            self._drop_moved()
            self._looked_up_s = monotonic_s()
            if (change := self._reader.take_change()) is not None:
                return change
            records = self._take(limit) if not self._reader.must_give_up else []
            if records or is_time:
                return records
            remaining_s = deadline - monotonic_s()
            is_time = remaining_s <= 0
            fetched = await self._reader.fetch(math.ceil(max(0.0, remaining_s) * 1000))
            self._drop_moved()  # what has come since then is of the new place
            for part in fetched:
                self._waiting.add(part)
                self._reader.held.add(part.where)

    def _take(self, limit: int) -> list[ConsumerRecord[K, V]]:
        records, ends = self._waiting.take(limit, self._paused)
        self._had.update(ends)
        for where in ends:
            if where not in self._waiting:
                self._reader.held.discard(where)
        return records

    def _ask_on(self) -> None:
        for where, end in self._had.items():
            self._reader.done(where, end)
        self._had.clear()

    def take_back_had(self) -> dict[TopicPartition, int]:
        """What was handed out last did not arrive; `give_had` when it does."""
        had, self._had = self._had, {}
        return had

    def give_had(self, had: Mapping[TopicPartition, int]) -> None:
        self._had.update(had)

    def _drop_moved(self) -> None:
        for where in self._reader.take_moved():
            self._had.pop(where, None)
            self._drop_waiting(where)

    def _drop(self, where: TopicPartition) -> None:
        self._had.pop(where, None)
        self._paused.discard(where)
        self._waiting.drop(where)

    def _drop_waiting(self, where: TopicPartition) -> None:
        self._waiting.drop(where)
        if where not in self._paused:
            self._reader.held.discard(where)

    # partitions that come and go

    async def _tell(self, change: Change) -> None:
        self._listening = asyncio.current_task()
        try:
            made = self._listeners.call(change)
            if inspect.isawaitable(made):
                await made
        finally:
            self._listening = None
            self.told(change)

    def call_listener(self, change: Change) -> object:
        """In the thread of the caller, who calls `told` afterwards."""
        return self._listeners.call(change)

    def told(self, change: Change) -> None:
        if isinstance(change, Revoked):
            for where in self._reader.assignment:
                self._drop(where)
            self._reader.told(change)

    # committing

    async def commit(self, what: Offsets | None = None, timeout: float | None = None) -> None:
        """Commit what was handed out, all of it; or this record, these records, or offsets to go on at by partition.

        An offset is a number, or a number and a text that is kept with it. Returns when the group has it; without a
        ``timeout`` it is tried for ``default.api.timeout.ms``. Raises ``BrokerError``, of a partition that is no longer
        this consumer's, too.
        """
        with self._in_use("commit"):
            offsets = None if what is None else offsets_of(what)
            if offsets is None:
                self._ask_on()
            await self._within(
                timeout, "committed", lambda limit_ms: self._reader.commit(offsets, timeout_ms=limit_ms)
            )

    async def committed(
        self, partitions: Partitions | None = None, timeout: float | None = None
    ) -> dict[TopicPartition, CommittedOffset | None]:
        """What the group has committed of each, of all that are assigned if none are named."""
        with self._in_use("committed"):
            wanted = self._named(partitions)
            if not wanted:
                return {}
            found = await self._trying(timeout, "answered", lambda: self._reader.committed(wanted))
            return {where: found.get(where) for where in wanted}

    # places

    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that is handed out of it."""
        with self._in_use("position"):
            (where,) = self._assigned((partition_of(partition),))
            if where not in self._reader.positions:
                await self._trying(timeout, "found", self._reader.place)
            return self._positions()[where]

    def _positions(self) -> dict[TopicPartition, int]:
        return {**self._reader.positions, **self._waiting.positions}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at this offset with the next poll. It is what auto commit commits, too."""
        self._check_use("seek")
        (where,) = self._assigned((partition_of(partition),))
        if not isinstance(offset, int) or offset < 0:
            raise ValueError(f"offset={offset!r}: expected an offset from 0 on")
        self._seek(where, offset)

    def _seek(self, where: TopicPartition, offset: int) -> None:
        self._had.pop(where, None)
        self._drop_waiting(where)
        self._reader.seek(where, offset)

    async def seek_to_beginning(
        self, partitions: Partitions | None = None, timeout: float | None = None
    ) -> None:
        """Go on where each of these begins; all that are assigned if none are named."""
        await self._seek_to(partitions, EARLIEST, timeout, "seek_to_beginning")

    async def seek_to_end(self, partitions: Partitions | None = None, timeout: float | None = None) -> None:
        """Go on where each of these ends now; all that are assigned if none are named."""
        await self._seek_to(partitions, LATEST, timeout, "seek_to_end")

    async def _seek_to(
        self, partitions: Partitions | None, place: int, timeout: float | None, what: str
    ) -> None:
        with self._in_use(what):
            wanted = self._assigned(self._named(partitions))
            for where, offset in (await self._list(wanted, place, timeout)).items():
                self._seek(where, offset)

    def pause(self, partitions: Partitions | None = None) -> None:
        """Hand out nothing of these until `resume`, and stay in the group; all if none are named."""
        self._check_use("pause")
        for where in self._assigned(self._named(partitions)):
            self._paused.add(where)
            self._reader.held.add(where)

    def resume(self, partitions: Partitions | None = None) -> None:
        self._check_use("resume")
        for where in self._assigned(self._named(partitions)):
            self._paused.discard(where)
            if where not in self._waiting:
                self._reader.held.discard(where)
        self._reader.change()

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(self._paused)

    # looking around

    async def partitions_for(self, topic: str, timeout: float | None = None) -> tuple[TopicPartition, ...]:
        """The partitions of a topic. Raises ``BrokerError`` for one that is not there."""
        with self._in_use("partitions_for"):
            found = await self._trying(timeout, "answered", lambda: self._cluster.fetch_topology([topic]))
            return tuple(TopicPartition(topic, each.partition) for each in found.topic(topic).partitions)

    async def beginning_offsets(
        self, partitions: Partitions, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        with self._in_use("beginning_offsets"):
            return await self._list(partitions_of(partitions), EARLIEST, timeout)

    async def end_offsets(
        self, partitions: Partitions, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the next record to come; with ``read_committed``, of the first that is not decided."""
        with self._in_use("end_offsets"):
            return await self._list(partitions_of(partitions), LATEST, timeout)

    async def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, int | None]:
        """The offset of the first record of each that is of this time or later; None where there is none."""
        with self._in_use("offsets_for_times"):
            asked = {partition_of(where): time_ms for where, time_ms in times_ms.items()}
            if any(time_ms < 0 for time_ms in asked.values()):
                raise ValueError(f"{min(asked.values())}: expected milliseconds since 1970")
            found = await self._list_times(asked, timeout)
            return {where: None if offset < 0 else offset for where, offset in found.items()}

    async def lag(
        self, partitions: Partitions | None = None, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """How many offsets lie between the position and the end of each; of all that are assigned if none are named."""
        with self._in_use("lag"):
            wanted = self._assigned(self._named(partitions))
            if any(where not in self._reader.positions for where in wanted):
                await self._trying(timeout, "found", self._reader.place)
            ends, positions = await self._list(wanted, LATEST, timeout), self._positions()
            return {where: max(0, end - positions[where]) for where, end in ends.items()}

    async def wait_until_ready(self, timeout: float | None = READY_TIMEOUT_S) -> None:
        """Returns when the cluster answers, and has every topic subscribed to, with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        with self._in_use("wait_until_ready"):
            topics = {where.topic for where in self._reader.assignment} | self.subscription()
            await self._cluster.wait_until_ready(
                seconds_or_for_ever(timeout),
                sorted(topics),
                auto_create=self.config.allow_auto_create_topics,
            )

    async def _list(
        self, partitions: Iterable[TopicPartition], place: int, timeout: float | None
    ) -> dict[TopicPartition, int]:
        return await self._list_times(dict.fromkeys(partitions, place), timeout)

    async def _list_times(
        self, asked: Mapping[TopicPartition, int], timeout: float | None
    ) -> dict[TopicPartition, int]:
        if not asked:
            return {}
        isolation = self.config.reading.limits.isolation_level
        return await self._within(
            timeout, "answered", lambda _: list_offsets(self._cluster, asked, isolation_level=isolation)
        )

    # the end

    def wakeup(self) -> None:
        """The call that waits now, or the next that could, raises ``WakeupError``. From any thread."""
        self._woken = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits in it
                self._loop.call_soon_threadsafe(self._reader.change)

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Leave the group in good order; about ``timeout`` seconds at most. A second call does nothing.

        With auto commit, what was handed out is committed. Cannot be woken up.
        """
        if self._closed:
            return
        with self._in_use("close"):
            try:
                await self._tell(await self.begin_leaving(seconds(timeout)))
            finally:
                await self.end_closing()

    async def end_closing(self) -> None:
        """What `close` does when listeners were told."""
        self._closed = True
        try:
            await self.end_leaving()
        finally:
            await self._reader.let_go()
            await self._cluster.close()

    # the way calls come in

    def _named(self, partitions: Partitions | None) -> list[TopicPartition]:
        return sorted(self._reader.assignment) if partitions is None else partitions_of(partitions)

    def _assigned(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        wanted, assignment = list(partitions), self._reader.assignment
        for where in wanted:
            if where not in assignment:
                raise IllegalState(f"{where} is not assigned to this consumer")
        return wanted

    async def _trying(
        self, timeout: float | None, done: str, attempt: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        return await self._within(
            timeout, done, lambda limit_ms: self._cluster.retrying(attempt, timeout_ms=limit_ms)
        )

    async def _within(self, timeout: float | None, done: str, work: Callable[[int], Awaitable[T]]) -> T:
        """What ``work`` returns, given so many milliseconds, and no more than that whatever it waits for."""
        limit_s = self.config.default_api_timeout_ms / 1000 if timeout is None else seconds(timeout)
        try:
            async with asyncio.timeout(limit_s):
                return await work(math.ceil(limit_s * 1000))
        except TimeoutError:
            raise RequestTimedOut(f"not {done} in {limit_s:g} s") from None

    def _check_use(self, what: str) -> None:
        if self._closed:
            raise IllegalState("This consumer has already been closed.")
        if self._listening is not None and what in _NOT_WHILE_LISTENING:
            raise IllegalState(f"{what} from within a listener, which is called in the middle of a poll")

    @contextmanager
    def _in_use(self, what: str) -> Iterator[None]:
        self._check_use(what)
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise ConcurrentAccess(f"{what} from another event loop than the one the consumer began in")
        if self._listening is not None and self._listening is asyncio.current_task():
            yield
            return
        if self._user is not None:
            raise ConcurrentAccess(f"{what} while another task is in {self._user}: one task at a time")
        self._user = what
        try:
            yield
        finally:
            self._user = None

    def _check_woken(self) -> None:
        if self._woken:
            self._woken = False
            raise WakeupError("the consumer was woken up")
