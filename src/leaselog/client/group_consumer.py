"""Reads topics as a member of a classic consumer group, or partitions that it is told; commits what is done.

What moves partitions is followed by its owner, in its own time: `take_change` says what has become of the assignment,
`told` that the owner knows and goes on. So nobody gets a record of a partition that was given up, and only what the
owner called `done` is ever committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from leaselog.client.cluster import RETRY_BACKOFF_MS, Cluster
from leaselog.client.committed_offsets import CommittedOffset, Identity
from leaselog.client.errors import BrokerError, ClientError, IllegalState, is_retriable, refusal
from leaselog.client.fetcher import LATEST, READ_COMMITTED, Fetched, Fetcher, FetchLimits, list_offsets
from leaselog.client.group_coordinator import GroupCoordinator
from leaselog.client.group_member import GroupMember, Wanted
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.membership import GroupSettings
from leaselog.model import ErrorCode, TopicPartition

__all__ = ["Assigned", "GroupConsumer", "GroupReading", "Revoked"]

#: how long `close` tries to commit and to leave; the group finds out by itself after the session time-out
CLOSE_TIMEOUT_MS = 5_000
#: nobody will read there any more, so it does not matter where
_TOPIC_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@dataclass(frozen=True, slots=True)
class GroupReading:
    """Java's enable.auto.commit, auto.commit.interval.ms, auto.offset.reset and metadata.max.age.ms."""

    #: None reads for itself: there is nobody to share with, and nowhere to commit
    group: GroupSettings | None
    limits: FetchLimits = field(default_factory=FetchLimits)
    #: where a partition without a committed offset begins; None raises
    reset: int | None = LATEST
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    metadata_max_age_ms: int = 300_000
    auto_create: bool = True


@dataclass(frozen=True, slots=True)
class Assigned:
    """These are read from now on, and no others."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Revoked:
    """These are given up, which are all: the group is divided anew, or has gone on without us (``is_lost``)."""

    partitions: frozenset[TopicPartition]
    is_lost: bool


class GroupConsumer:
    """Use as ``async with``: `poll` again and again, `done` for what came, and the rest goes by itself."""

    def __init__(self, cluster: Cluster, topics: Wanted | None, settings: GroupReading) -> None:
        self._cluster = cluster
        self._settings = settings
        self._fetcher = Fetcher(cluster, settings.limits, reset=settings.reset)
        self._coordinator: GroupCoordinator | None = None
        if settings.group is not None:
            self._coordinator = GroupCoordinator(
                cluster, settings.group.group_id, auto_create=settings.auto_create
            )
        self._member: GroupMember | None = None
        #: something changed that a waiting poll should look at
        self._changed = asyncio.Event()
        #: assigned, with no place to begin at yet
        self._unplaced = frozenset[TopicPartition]()
        #: of every other partition held: everything before this offset is done
        self._done = dict[TopicPartition, int]()
        #: what the coordinator is known to have of it
        self._committed = dict[TopicPartition, int]()
        self._commit_at_ms = _now_ms() + settings.auto_commit_interval_ms
        self._committing: asyncio.Task[None] | None = None
        #: what the next change needs: a commit before partitions are given up, or places to begin at
        self._following: asyncio.Task[Revoked | None] | None = None
        self._follow_at_ms = 0
        if topics is not None:
            self.subscribe(topics)

    async def __aenter__(self) -> GroupConsumer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # what is read

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._done) | self._unplaced

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """Of the partitions that are read from: where the next fetch begins."""
        return self._fetcher.positions

    @property
    def held(self) -> set[TopicPartition]:
        """Of these nothing is fetched for the moment."""
        return self._fetcher.held

    @property
    def must_give_up(self) -> bool:
        """Whether nothing more of what is held may be handed out."""
        return self._member is not None and self._member.membership.must_give_up

    @property
    def may_commit(self) -> bool:
        """Whether what is held is still ours to speak for."""
        return self._member is None or self._member.membership.may_commit

    def subscribe(self, topics: Wanted) -> None:
        """Become a member of the group that reads these, or want others than before."""
        if self._member is not None:
            self._member.want(topics)
            return
        assert self._coordinator is not None, "only a group can divide topics"
        assert self._settings.group is not None
        self._member = GroupMember(
            self._coordinator,
            self._settings.group,
            topics,
            metadata_max_age_ms=self._settings.metadata_max_age_ms,
            changed=self.change,
        )

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these, and no others; where reading has begun it goes on."""
        assert self._member is None, "the group says what a member reads"
        wanted = frozenset(partitions)
        for where in self.assignment - wanted:
            self._forget(where)
        self._unplaced = wanted - self._done.keys()
        self.change()

    def seek(self, where: TopicPartition, offset: int) -> None:
        """Go on here. Everything before counts as done."""
        assert where in self.assignment, f"{where} is not read"
        self._unplaced -= {where}
        self._done[where] = offset
        self._fetcher.assign(where, offset)
        self.change()

    def done(self, where: TopicPartition, end: int) -> None:
        """Everything of this partition before ``end`` is done with, and may be committed."""
        if where in self._done:  # else it was lost meanwhile, and is somebody else's to commit
            self._done[where] = end

    def take_moved(self) -> frozenset[TopicPartition]:
        """Where reading goes on elsewhere than it stopped: what came before is of no use any more."""
        moved = self._fetcher.take_moved()
        for where, offset in moved.items():
            self.done(where, offset)
        return frozenset(moved)

    async def poll(self, timeout_ms: int) -> list[Fetched]:
        """What came in, perhaps nothing, within about ``timeout_ms``. Raises what trying again would not mend."""
        self.tick()
        while (change := self.take_change()) is not None:
            self.told(change)
        fetched = await self.fetch(timeout_ms)
        self.take_moved()
        return fetched

    def tick(self) -> None:
        """The owner is alive: to be called at least every ``max_poll_interval_ms``. Raises what went wrong."""
        if self._member is not None:
            self._member.start()
            self._member.membership.polled(_now_ms())
        self._auto_commit()

    async def fetch(self, timeout_ms: int) -> list[Fetched]:
        """What came in within the time, or until something has changed. A cancelled call has taken nothing."""
        # Commits fall due in here: a longer wait would be late for them.
        timeout_ms = min(timeout_ms, max(RETRY_BACKOFF_MS, self._settings.auto_commit_interval_ms))
        if self._follow_at_ms:
            timeout_ms = min(timeout_ms, max(0, self._follow_at_ms - _now_ms()))
        if self._fetcher.positions and not self.must_give_up:
            return await self._fetcher.poll(timeout_ms)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                await self._changed.wait()
        return []

    def change(self) -> None:
        """Let whoever waits look again."""
        self._changed.set()
        self._changed = asyncio.Event()
        self._fetcher.wake()

    # following the group

    def take_change(self) -> Revoked | Assigned | None:
        """What has become of the assignment, for the owner to act on before it calls `told`. None: read on.

        What it takes to get there goes on in the background and wakes a `fetch`. Raises what ended it.
        """
        if self._following is not None:
            if not self._following.done():
                return None
            following, self._following = self._following, None
            try:
                revoked = following.result()
            except ClientError as failed:
                if not failed.is_retriable:
                    raise
                self._follow_at_ms = _now_ms() + RETRY_BACKOFF_MS
                return None
            if revoked is not None:
                return revoked
        return self._next_change()

    def _next_change(self) -> Assigned | None:
        membership = None if self._member is None else self._member.membership
        if membership is not None and membership.must_give_up:
            self._follow(self._commit_before_giving_up())
        elif membership is not None and (assigned := membership.take_assigned()) is not None:
            self._unplaced = assigned
            return Assigned(assigned)
        elif self._unplaced and _now_ms() >= self._follow_at_ms:
            self._follow(self.place())
        return None

    def _follow(self, work: Coroutine[Any, Any, Revoked | None]) -> None:
        self._follow_at_ms = 0
        self._following = asyncio.create_task(work)
        self._following.add_done_callback(lambda _: self.change())

    def told(self, change: Revoked | Assigned) -> None:
        """The owner knows, and holds nothing any more of what was revoked."""
        if isinstance(change, Assigned):
            return
        for where in self.assignment:
            self._forget(where)
        self._unplaced = frozenset()
        if self._member is not None and self._member.membership.must_give_up:
            self._member.membership.given_up()
            self._member.news()
        self.change()

    def _forget(self, where: TopicPartition) -> None:
        self._fetcher.give_up(where)
        self._done.pop(where, None)
        self._committed.pop(where, None)

    async def _commit_before_giving_up(self) -> Revoked:
        if self._settings.auto_commit and self.may_commit:
            # The group waits for everybody, but not for longer than its rebalance time-out. What could not be
            # committed is read again by whoever is assigned it next.
            assert self._settings.group is not None
            limit_ms = min(self._settings.group.max_poll_interval_ms, self._cluster.api_timeout_ms)
            with suppress(ClientError):
                await self.commit(timeout_ms=limit_ms, is_last=True)
        return Revoked(self.assignment, is_lost=not self.may_commit)

    async def place(self) -> None:
        """Find where the assigned partitions begin, and begin."""
        wanted, committed = self._unplaced, dict[TopicPartition, int]()
        if self._coordinator is not None:
            found = await self.committed(wanted)
            committed = {where: place.offset for where, place in found.items()}
        bare = [where for where in wanted if where not in committed]
        # Of those that are given a place meanwhile nobody asks.
        if (bare := [where for where in bare if where in self._unplaced]) and self._settings.reset is None:
            raise BrokerError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{min(bare)} has no committed offset")
        if bare and self._settings.reset is not None:
            isolation = self._settings.limits.isolation_level
            resets = dict.fromkeys(bare, self._settings.reset)
            fresh = await list_offsets(self._cluster, resets, isolation_level=isolation)
        else:
            fresh = {}
        for where, offset in {**committed, **fresh}.items():
            if where in self._unplaced:
                self._done[where] = offset
                self._fetcher.assign(where, offset)
                if where in committed:
                    self._committed[where] = offset
        self._unplaced -= self._done.keys()

    # committing

    async def committed(self, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, CommittedOffset]:
        """What the group has committed, where it has. One try."""
        stable = self._settings.limits.isolation_level == READ_COMMITTED
        return await self._kept_by().committed(wanted, require_stable=stable)

    def _kept_by(self) -> GroupCoordinator:
        if self._coordinator is None:
            raise IllegalState("group.id is missing: offsets are committed for a group")
        return self._coordinator

    def _auto_commit(self) -> None:
        if not self._settings.auto_commit or _now_ms() < self._commit_at_ms or self._coordinator is None:
            return
        if self._committing is None or self._committing.done():
            self._commit_at_ms = _now_ms() + self._settings.auto_commit_interval_ms
            self._committing = asyncio.create_task(self._try_commit())

    async def _try_commit(self) -> None:
        """One try: what fails now comes with the next."""
        with suppress(ClientError):
            await self._commit_once(None, is_last=True)

    async def commit(
        self,
        offsets: Mapping[TopicPartition, CommittedOffset] | None = None,
        *,
        timeout_ms: int | None = None,
        is_last: bool = False,
    ) -> None:
        """Commit what is done, or these places. Raises ``BrokerError``, also if they are not ours to commit any more.

        ``is_last`` makes nothing of topics that are not there any more.
        """
        self._kept_by()
        if self._committing is not None:
            await asyncio.wait([self._committing])
        refused = await self._cluster.retrying(
            lambda: self._commit_once(offsets, is_last=is_last), timeout_ms=timeout_ms
        )
        if refused is not None:
            raise refused

    async def _commit_once(
        self, offsets: Mapping[TopicPartition, CommittedOffset] | None, *, is_last: bool
    ) -> BrokerError | None:
        """Raises what may pass; returns what another try would not mend."""
        if offsets is None:
            offsets = self._to_commit()
        if not offsets:
            return None
        if (refused := self._refuses(offsets)) is not None:
            return refused
        identity = Identity() if self._member is None else self._member.identity
        errors = await self._kept_by().commit(offsets, identity, self._fetcher.topic_ids)
        if self._is_same(identity) and errors.keys() <= offsets.keys():
            for where in offsets.keys() - errors.keys():
                if where in self._done:
                    self._committed[where] = offsets[where].offset
        if is_last:
            errors = {where: code for where, code in errors.items() if code not in _TOPIC_GONE}
        return self._judged(errors, identity) if errors else None

    def _to_commit(self) -> dict[TopicPartition, CommittedOffset]:
        """What is done; not of a topic that is not the one it was."""
        return {
            where: CommittedOffset(end)
            for where, end in self._done.items()
            if self._committed.get(where) != end and not self._fetcher.has_lost(where)
        }

    def _refuses(self, offsets: Mapping[TopicPartition, CommittedOffset]) -> BrokerError | None:
        """A member speaks for what it holds, and as long as the group counts on it."""
        if self._member is None:
            return None
        others = sorted(where for where in offsets if where not in self.assignment)
        if others:
            return BrokerError(ErrorCode.ILLEGAL_GENERATION, f"{others[0]} is not assigned to this consumer")
        if not self.may_commit:
            words = f"Group '{self._kept_by().group_id}' went on without this consumer"
            return BrokerError(ErrorCode.UNKNOWN_MEMBER_ID, words)
        return None

    def _judged(self, errors: Mapping[TopicPartition, int], identity: Identity) -> BrokerError:
        """The worst one: as long as there is an error that stays, trying again is in vain."""
        where = min(errors, key=lambda each: (is_retriable(errors[each]), each))
        group_id = self._kept_by().group_id
        right = f"READ group '{group_id}' and topic '{where.topic}'"
        failed = refusal(errors[where], f"Group '{group_id}', {where}", right, self._cluster.security.user)
        if self._member is not None:
            for code in set(errors.values()):
                self._member.membership.thrown_out(code, identity.generation)
                self._member.note_code(code, failed)
            self._member.news()
            self.change()
        if failed.is_retriable and failed.code is not ErrorCode.UNKNOWN_TOPIC_ID:
            raise failed
        return failed

    def _is_same(self, identity: Identity) -> bool:
        return self._member is None or self._member.identity == identity

    # the end

    async def close(self) -> None:
        """Commit, leave the group, and let go of everything, in about ``CLOSE_TIMEOUT_MS``. Call it once."""
        deadline_ms = _now_ms() + CLOSE_TIMEOUT_MS
        await self.stop(CLOSE_TIMEOUT_MS)
        await self.leave(deadline_ms - _now_ms())
        await self.let_go()

    async def stop(self, timeout_ms: int) -> Revoked:
        """Begin to leave: nothing is done in the background any more, and what is done is committed."""
        tasks: list[asyncio.Task[Any]] = [t for t in (self._committing, self._following) if t is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._committing = self._following = None
        if self._member is not None:
            await self._member.stop()
        # Whatever fails here, the group does without us after the session time-out, and others read again
        # what could not be committed.
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                if self._settings.auto_commit and self._coordinator is not None and self.may_commit:
                    await self.commit(timeout_ms=timeout_ms, is_last=True)
        return Revoked(self.assignment, is_lost=not self.may_commit)

    async def leave(self, timeout_ms: int) -> None:
        """After `stop`: say goodbye to the group, and read nothing any more."""
        member, self._member = self._member, None
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(max(0, timeout_ms) / 1000):
                if member is not None:
                    await member.leave()
        for where in self.assignment:
            self._forget(where)
        self._unplaced = frozenset()
        if self._coordinator is not None:
            self._coordinator.forget()

    async def let_go(self) -> None:
        """The very end, after `leave`."""
        await self._fetcher.close()
