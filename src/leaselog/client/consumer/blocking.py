"""The ordinary consumer for threads: an asyncio consumer on a loop of its own, which beats while the application works.

What waits crosses over to the loop's thread and back. Listeners are called in the application's thread, never in the
loop's: a change of the assignment comes back from the middle of a poll, and the poll goes on when they were told.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from re import Pattern
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from leaselog.client.cluster import READY_TIMEOUT_S
from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.config_values import Given
from leaselog.client.consumer.async_consumer import CLOSE_TIMEOUT_S, AsyncConsumer, Change, Listener
from leaselog.client.consumer.config import ConsumerConfig
from leaselog.client.consumer.places import Offsets, Partitions
from leaselog.client.consumer.record import ConsumerRecord
from leaselog.client.durations import FOR_EVER_S, seconds, seconds_or_for_ever
from leaselog.client.errors import IllegalState
from leaselog.client.forks import tell_of_forks
from leaselog.client.loop_thread import LoopThread
from leaselog.client.machine import monotonic_s
from leaselog.client.share.deserializers import Deserializer
from leaselog.client.share.errors import ConcurrentAccess, WakeupError
from leaselog.model import TopicPartition

__all__ = ["Consumer"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

#: what a listener may not do, in the middle of a poll
_NOT_WHILE_LISTENING = ("poll", "subscribe", "unsubscribe", "assign", "close", "wait_until_ready")


class Consumer(Generic[K, V]):
    """Reads topics as a member of a group, or partitions that it is told. Use as ``with``, or `close` it.

    Configuration is Kafka's, as a mapping, as keywords, or both; names have dots or underscores. A text in place of the
    mapping is ``bootstrap.servers``. Time-outs of calls are seconds. One thread at a time may be in here, else
    ``ConcurrentAccess``; `wakeup` may come from anywhere.
    """

    # The most particular first: the last takes any keyword.
    @overload
    def __init__(
        self: Consumer[K, V],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Consumer[bytes, V],
        config: Given = None,
        *,
        value_deserializer: Deserializer[V],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Consumer[K, bytes],
        config: Given = None,
        *,
        key_deserializer: Deserializer[K],
        **more: object,
    ) -> None: ...

    @overload
    def __init__(
        self: Consumer[bytes, bytes],
        config: Given = None,
        **more: object,
    ) -> None: ...

    def __init__(self, config: Given = None, **more: object) -> None:
        self._given = (config, more)
        self._consumer: AsyncConsumer[Any, Any] = AsyncConsumer(config, **more)
        self._thread: LoopThread | None = None
        self._in_use = threading.Lock()
        self._is_of_a_parent = False
        self._user = ""
        #: the thread in which a listener is at work
        self._listening: int | None = None
        #: what arrived for a poll that was interrupted just then, and where its records end
        self._left_over: list[ConsumerRecord[K, V]] | Change | None = None
        self._left_ends: dict[TopicPartition, int] = {}
        self._closed = False
        tell_of_forks(self)

    def begin_in_child(self) -> None:
        """What `forks` calls in the child of a fork: what has begun is the parent's, else this is another member."""
        self._in_use = threading.Lock()
        if self._thread is None:
            config, more = self._given
            self._consumer = AsyncConsumer(config, **more)
        else:
            self._is_of_a_parent = True

    def __enter__(self) -> Consumer[K, V]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Records that an exception ended the work on are not committed by themselves: they come again."""
        if error is not None:
            self._consumer.take_back_had()
        self.close()

    # what to read

    @property
    def config(self) -> ConsumerConfig:
        return self._consumer.config

    def subscription(self) -> frozenset[str]:
        """The names that were subscribed to; empty with a pattern."""
        return self._consumer.subscription()

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are this consumer's at the moment."""
        return self._consumer.assignment()

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
        with self._use("subscribe"):
            self._do(
                lambda: self._consumer.subscribe(
                    topics, on_assigned=on_assigned, on_revoked=on_revoked, on_lost=on_lost
                )
            )

    def assign(self, partitions: Partitions) -> None:
        """Read these partitions, and no others, whoever else may. Where reading has begun it goes on.

        A partition begins where the group has committed, if there is a group, else as ``auto.offset.reset`` says.
        """
        with self._use("assign"):
            self._do(lambda: self._consumer.assign(partitions))

    def unsubscribe(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Read nothing any more: commit as `close` does, and leave the group."""
        with self._use("unsubscribe"):
            self._forget_left_over()
            self._tell(self._wait(self._consumer.begin_leaving(seconds(timeout))))
            self._wait(self._consumer.end_leaving())

    # records

    def poll(self, timeout: float | None = 1.0) -> list[ConsumerRecord[K, V]]:
        """Records, at once if there are some, else an empty list after ``timeout`` seconds; None or -1 is for ever.

        With it the application asks on: what was handed out before is done, and is what auto commit commits. In here
        the group is followed, so partitions come and go. Raises ``WakeupError``, and ``BrokerError`` for what the
        application has to know; the next call goes on.
        """
        deadline = monotonic_s() + seconds_or_for_ever(timeout)
        with self._use("poll"):
            return self._poll(deadline, self.config.max_poll_records)

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        """Records one by one, for ever, until `wakeup` or the loop is left.

        As a `poll` for each record: a record is done when the loop asks for the next one.
        """
        while (record := self._next()) is not None:
            yield record

    def _next(self) -> ConsumerRecord[K, V] | None:
        with self._use("poll"):
            if self._left_over is None and (record := self._consumer.take_next()) is not None:
                return record
            try:
                return self._poll(monotonic_s() + FOR_EVER_S, 1)[0]
            except WakeupError:
                return None

    def _poll(self, deadline: float, limit: int) -> list[ConsumerRecord[K, V]]:
        asks_on = True
        while True:
            found = self._take_left_over()
            if found is None:
                work = self._consumer.poll_or_change(deadline, limit, asks_on=asks_on)
                found = self._wait(work, self._keep)
            if isinstance(found, list):
                return found
            asks_on = False
            self._tell(found)

    def _keep(self, found: list[ConsumerRecord[Any, Any]] | Change) -> None:
        self._left_over, self._left_ends = found, self._consumer.take_back_had()

    def _take_left_over(self) -> list[ConsumerRecord[K, V]] | Change | None:
        found, self._left_over = self._left_over, None
        self._consumer.give_had(self._left_ends)
        self._left_ends = {}
        return found

    def _forget_left_over(self) -> None:
        self._left_over, self._left_ends = None, {}

    # partitions that come and go

    def _tell(self, change: Change) -> None:
        self._listening = threading.get_ident()
        try:
            made = self._consumer.call_listener(change)
            if inspect.iscoroutine(made):
                made.close()
                raise TypeError(
                    "a listener is a coroutine function, which nobody awaits here: AsyncConsumer does"
                )
        finally:
            self._listening = None
            self._do(lambda: self._consumer.told(change))

    # committing

    def commit(self, what: Offsets | None = None, timeout: float | None = None) -> None:
        """Commit what was handed out, all of it; or this record, these records, or offsets to go on at by partition.

        An offset is a number, or a number and a text that is kept with it. Returns when the group has it; without a
        ``timeout`` it is tried for ``default.api.timeout.ms``. Raises ``BrokerError``, of a partition that is no longer
        this consumer's, too.
        """
        with self._use("commit"):
            self._wait(self._consumer.commit(what, timeout))

    def committed(
        self, partitions: Partitions | None = None, timeout: float | None = None
    ) -> dict[TopicPartition, CommittedOffset | None]:
        """What the group has committed of each, of all that are assigned if none are named."""
        with self._use("committed"):
            return self._wait(self._consumer.committed(partitions, timeout))

    # places

    def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that is handed out of it."""
        with self._use("position"):
            return self._wait(self._consumer.position(partition, timeout))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at this offset with the next poll. It is what auto commit commits, too."""
        with self._use("seek"):
            self._do(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, partitions: Partitions | None = None, timeout: float | None = None) -> None:
        """Go on where each of these begins; all that are assigned if none are named."""
        with self._use("seek_to_beginning"):
            self._wait(self._consumer.seek_to_beginning(partitions, timeout))

    def seek_to_end(self, partitions: Partitions | None = None, timeout: float | None = None) -> None:
        """Go on where each of these ends now; all that are assigned if none are named."""
        with self._use("seek_to_end"):
            self._wait(self._consumer.seek_to_end(partitions, timeout))

    def pause(self, partitions: Partitions | None = None) -> None:
        """Hand out nothing of these until `resume`, and stay in the group; all if none are named."""
        with self._use("pause"):
            self._do(lambda: self._consumer.pause(partitions))

    def resume(self, partitions: Partitions | None = None) -> None:
        with self._use("resume"):
            self._do(lambda: self._consumer.resume(partitions))

    def paused(self) -> frozenset[TopicPartition]:
        return self._consumer.paused()

    # looking around

    def partitions_for(self, topic: str, timeout: float | None = None) -> tuple[TopicPartition, ...]:
        """The partitions of a topic. Raises ``BrokerError`` for one that is not there."""
        with self._use("partitions_for"):
            return self._wait(self._consumer.partitions_for(topic, timeout))

    def beginning_offsets(
        self, partitions: Partitions, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        with self._use("beginning_offsets"):
            return self._wait(self._consumer.beginning_offsets(partitions, timeout))

    def end_offsets(self, partitions: Partitions, timeout: float | None = None) -> dict[TopicPartition, int]:
        """The offset of the next record to come; with ``read_committed``, of the first that is not decided."""
        with self._use("end_offsets"):
            return self._wait(self._consumer.end_offsets(partitions, timeout))

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, int | None]:
        """The offset of the first record of each that is of this time or later; None where there is none."""
        with self._use("offsets_for_times"):
            return self._wait(self._consumer.offsets_for_times(times_ms, timeout))

    def lag(
        self, partitions: Partitions | None = None, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """How many offsets lie between the position and the end of each; of all that are assigned if none are named."""
        with self._use("lag"):
            return self._wait(self._consumer.lag(partitions, timeout))

    def wait_until_ready(self, timeout: float | None = READY_TIMEOUT_S) -> None:
        """Returns when the cluster answers, and has every topic subscribed to, with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        with self._use("wait_until_ready"):
            self._wait(self._consumer.wait_until_ready(timeout))

    # the end

    def wakeup(self) -> None:
        """The call that waits now, or the next that could, raises ``WakeupError``. From any thread."""
        self._consumer.wakeup()

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Leave the group in good order; about ``timeout`` seconds at most. A second call does nothing.

        With auto commit, what was handed out is committed. Cannot be woken up.
        """
        if self._closed or self._is_of_a_parent:
            return
        timeout = seconds(timeout)
        with self._use("close"):
            self._forget_left_over()
            try:
                if self._thread is not None:
                    try:
                        self._tell(self._wait(self._consumer.begin_leaving(timeout)))
                    finally:
                        self._wait(self._consumer.end_closing())
            finally:
                self._closed = True
                if self._thread is not None:
                    self._thread.close()

    # crossing over

    @contextmanager
    def _use(self, what: str) -> Iterator[None]:
        if self._is_of_a_parent:
            raise IllegalState(
                "This consumer was made before a fork, and is its parent's: make one in each process that uses one."
            )
        if self._listening == threading.get_ident():
            if what in _NOT_WHILE_LISTENING:
                raise IllegalState(f"{what} from within a listener, which is called in the middle of a poll")
            yield
            return
        if not self._in_use.acquire(blocking=False):
            raise ConcurrentAccess(f"{what} while another thread is in {self._user}: one thread at a time")
        self._user = what
        try:
            if self._closed:
                raise IllegalState("This consumer has already been closed.")
            yield
        finally:
            self._in_use.release()

    def _do(self, call: Callable[[], T]) -> T:
        async def wrapped() -> T:
            return call()

        return self._wait(wrapped())

    def _wait(self, work: Coroutine[Any, Any, T], keep: Callable[[T], None] | None = None) -> T:
        """The result of ``work``, done in the loop's thread. An interrupted wait ends the work before it goes on."""
        if self._thread is None:
            self._thread = LoopThread("leaselog-consumer")
        return self._thread.run(work, keep)
