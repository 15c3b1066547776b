"""Keeps one member in its classic group: asks the coordinator what the ``Membership`` decides, in tasks of its own.

It holds heartbeats up while the application works. What it finds out is for the owner of the partitions to follow, in
its own time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from leaselog.client.cluster import RETRY_BACKOFF_MAX_MS
from leaselog.client.committed_offsets import Identity
from leaselog.client.errors import BrokerError, ClientError
from leaselog.client.group_coordinator import GroupCoordinator
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.membership import Ask, CountPartitions, GroupSettings, Membership, Wait
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode

__all__ = ["GroupMember", "Wanted"]

#: names, or one pattern for the names of all topics that are not internal
Wanted = list[str] | re.Pattern[str]


class GroupMember:
    """`start` it again and again, which raises what went wrong; `stop`, then `leave`.

    ``changed`` is called when there is something for the owner to look at.
    """

    def __init__(
        self,
        coordinator: GroupCoordinator,
        settings: GroupSettings,
        wanted: Wanted,
        *,
        metadata_max_age_ms: int,
        changed: Callable[[], None],
    ) -> None:
        self.membership = Membership(settings, _now_ms())
        self.wanted = wanted
        self._coordinator = coordinator
        self._instance_id = settings.instance_id
        self._max_age_ms = metadata_max_age_ms
        self._changed = changed
        #: something changed that a waiting driver should look at
        self._news = asyncio.Event()
        self._look_again = asyncio.Event()
        self._tasks = dict[str, asyncio.Task[None]]()
        #: another process has our instance id: coming back would throw that one out
        self._fenced: BrokerError | None = None
        #: as the leader: the partition counts that the present assignment was made from
        self._counts = dict[str, int]()

    @property
    def identity(self) -> Identity:
        membership = self.membership
        return Identity(membership.member_id, self._instance_id, membership.generation)

    def want(self, wanted: Wanted) -> None:
        """Another subscription: the group is divided anew when its topics are known."""
        self.wanted = wanted
        self._look_again.set()

    def start(self) -> None:
        """See to it that everything runs. Raises what ended a part of it, which goes on with the next call."""
        if self._fenced is not None:
            raise self._fenced
        for name, work in (("drive", self._drive), ("watch", self._watch_topics)):
            task = self._tasks.get(name)
            if task is not None and task.done():
                del self._tasks[name]
                self.note_error(task)
            if name not in self._tasks:
                task = self._tasks[name] = asyncio.create_task(work())
                task.add_done_callback(lambda _: self._changed())

    def note_error(self, task: asyncio.Task[None]) -> None:
        """Raise what a part of it ended with."""
        try:
            task.result()
        except BrokerError as failed:
            self.note_code(failed.code, failed)
            raise

    def note_code(self, code: int, failed: BrokerError) -> None:
        if code == ErrorCode.FENCED_INSTANCE_ID:
            self._fenced = failed

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()

    async def leave(self) -> None:
        if (last := self.membership.leave("the consumer is being closed")) is not None:
            await self._coordinator.ask(last.message, last.kind)

    def news(self) -> None:
        """Somebody else changed the membership: have the driver look at it."""
        self._news.set()
        self._news = asyncio.Event()

    def _change(self) -> None:
        self.news()
        self._changed()

    async def _drive(self) -> None:
        """Does what the membership asks for, one thing after the other."""
        while True:
            news = self._news
            step = self.membership.step(_now_ms())
            try:
                match step:
                    case Ask():
                        answer = await self._coordinator.ask(step.message, step.kind, step.timeout_ms)
                        self.membership.answered(step.message, answer, _now_ms())
                    case CountPartitions():
                        await self._count(step.topics)
                    case Wait():
                        await _wait(news, step.until_ms)
                        continue
            except ClientError as failed:
                if not failed.is_retriable:
                    raise
                self.membership.unanswered(_now_ms())
            self._change()

    async def _count(self, topics: tuple[str, ...]) -> None:
        found = await self._coordinator.look_up(list(topics))
        self._counts = _partition_counts(found, topics)
        self.membership.counted({name: count for name, count in self._counts.items() if count})
        if not all(self._counts.values()):
            self._look_again.set()  # it may have been seen by now: nobody would look before its next time

    async def _watch_topics(self) -> None:
        """Keeps the subscription up to date, and as the leader what the assignment was made from."""
        while True:
            self._look_again.clear()
            try:
                is_complete = await self._refresh()
            except ClientError as failed:
                if not failed.is_retriable:
                    raise
                is_complete = False
            age_ms = self._max_age_ms if is_complete else min(self._max_age_ms, RETRY_BACKOFF_MAX_MS)
            await _wait(self._look_again, _now_ms() + age_ms)

    async def _refresh(self) -> bool:
        """Whether every topic that was asked for is there."""
        asked = self.wanted
        if isinstance(asked, re.Pattern):
            found = await self._coordinator.look_up(None)
            wanted = [n for n, t in found.topics.items() if asked.fullmatch(n) and not t.is_internal]
        else:
            found = await self._coordinator.look_up(list(dict.fromkeys([*asked, *self._counts])))
            wanted = asked
        if asked is not self.wanted:
            return False
        self.membership.subscribe(wanted)
        if self._counts and _partition_counts(found, self._counts) != self._counts:
            self.membership.rejoin()
        self._change()
        return all(name in found.topics for name in wanted)


async def _wait(changed: asyncio.Event, until_ms: int | None) -> None:
    limit_s = None if until_ms is None else max(0, until_ms - _now_ms()) / 1000
    # Not `wait_for`: until Python 3.12 it forgets a cancellation that comes together with what it waits for.
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            await changed.wait()


def _partition_counts(found: Topology, topics: Mapping[str, int] | tuple[str, ...]) -> dict[str, int]:
    """None of a topic that is not there: that it comes is a change, too."""
    return {name: len(found.topics[name].partitions) if name in found.topics else 0 for name in topics}
