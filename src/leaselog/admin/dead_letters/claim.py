"""The one place from which a group's dead letters are put back: membership of a consumer group of its own.

The group's offsets are where it is remembered what has been done. A member that the group has gone on without cannot
commit any more, so two of them never write that down against each other. There is one member: whoever finds another
waits as long as one that was killed may take to be forgotten, and then says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType

from leaselog.admin.groups import GroupDescription, describe_groups
from leaselog.client import BrokerError, ClientError, UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.client.committed_offsets import commit_errors, fetch_request, read_fetch
from leaselog.client.machine import monotonic_ms
from leaselog.client.membership import Ask, CountPartitions, GroupSettings, Membership, Wait
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from leaselog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from leaselog.wire.schema import Versions

__all__ = ["Claim", "RedriveStopped", "committed", "group_of_redrive"]

SESSION_TIMEOUT_MS = 10_000
HEARTBEAT_INTERVAL_MS = 1_000
#: how long others that join would wait for this member, which leaves as soon as it hears of them
REBALANCE_TIMEOUT_MS = 60_000
LOOK_AGAIN_MS = 500
LEAVE_TIMEOUT_S = 5.0
#: Offsets of a group that nobody is in expire after a week, and with them it would be forgotten what was put back.
#: Until version 4 of the request the client could say for how long they are to be kept.
FOR_EVER_MS = 2**63 - 1 - 2**53
_LASTING = Versions(2, 4)


class RedriveStopped(ClientError):
    """A redrive cannot begin or go on; what it did is remembered, and the next one goes on from there."""


class _LastingCommit(OffsetCommitRequest):
    """In a version in which it can be said how long an offset is kept."""

    __slots__ = ()
    VERSIONS = _LASTING


class _NamedFetch(OffsetFetchRequest):
    """In a version in which topics go by name."""

    __slots__ = ()
    VERSIONS = Versions(1, 9)


def group_of_redrive(group_id: str) -> str:
    return f"{group_id}-redrive"


async def committed(
    cluster: Cluster, group_id: str, places: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, str]]:
    """Offset and metadata of each place that has some. Of a consumer group, which need not be there."""
    asked = fetch_request(group_id, places, {}, require_stable=True)
    request = _NamedFetch(
        group_id=asked.group_id, topics=asked.topics, groups=asked.groups, require_stable=asked.require_stable
    )

    async def attempt() -> OffsetFetchResponse:
        answer = await cluster.request(request, OffsetFetchResponse, node=await cluster.coordinator(group_id))
        # An error that is taken for "nothing committed" would have letters put back twice.
        read_fetch(answer, {})
        return answer

    answer = await cluster.retrying(attempt)
    found = [
        (topic.name, part.partition_index, part.committed_offset, part.metadata or "")
        for group in answer.groups
        for topic in group.topics
        for part in topic.partitions
    ] + [
        (topic.name, part.partition_index, part.committed_offset, part.metadata or "")
        for topic in answer.topics  # versions before 8 have no groups
        for part in topic.partitions
    ]
    return {
        TopicPartition(name, number): (offset, text) for name, number, offset, text in found if offset >= 0
    }


class Claim:
    """Use as ``async with Claim(…) as claim``; entering waits until nobody else has it.

    Raises ``RedriveStopped`` if somebody has and keeps it, and from `commit` if it was lost.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topic: str,
        partitions: int,
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
    ) -> None:
        self._cluster = cluster
        self._group_id = group_of_redrive(group_id)
        self._topic = topic
        self._partitions = partitions
        self._session_timeout_ms = session_timeout_ms
        settings = GroupSettings(
            self._group_id,
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=min(HEARTBEAT_INTERVAL_MS, session_timeout_ms // 3),
            max_poll_interval_ms=REBALANCE_TIMEOUT_MS,
        )
        self._membership = Membership(settings, monotonic_ms())
        self._membership.subscribe([topic])
        self._beating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Claim:
        try:
            await self._wait_until_free()
            await self._join()
        except BaseException:
            await self._leave()
            raise
        self._beating = asyncio.create_task(self._stay(), name="redrive-heartbeats")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        await self._leave()

    async def committed(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
        return await committed(self._cluster, self._group_id, places)

    async def commit(self, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Offsets with metadata, kept for as long as the group is."""
        topic = OffsetCommitRequestTopic(
            name=self._topic,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=where.partition, committed_offset=offset, committed_metadata=text
                )
                for where, (offset, text) in offsets.items()
            ],
        )
        await self._cluster.retrying(lambda: self._commit(topic))

    async def _commit(self, topic: OffsetCommitRequestTopic) -> None:
        membership = self._membership
        if not membership.may_commit or membership.must_give_up:
            raise RedriveStopped(f"group {self._group_id} went on without this redrive: run it again")
        node = await self._cluster.coordinator(self._group_id)
        generation, member_id = membership.generation, membership.member_id
        try:
            lasting = _LastingCommit(
                group_id=self._group_id,
                generation_id_or_member_epoch=generation,
                member_id=member_id,
                retention_time_ms=FOR_EVER_MS,
                topics=[topic],
            )
            answer = await self._cluster.request(lasting, OffsetCommitResponse, node=node)
        except UnsupportedVersion:  # a broker of the future, where offsets of an empty group expire
            topic.topic_id = (await self._cluster.topology([self._topic])).topic(self._topic).topic_id
            request = OffsetCommitRequest(
                group_id=self._group_id,
                generation_id_or_member_epoch=generation,
                member_id=member_id,
                topics=[topic],
            )
            answer = await self._cluster.request(request, OffsetCommitResponse, node=node)
        for code in commit_errors(answer, {}).values():
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
                raise RedriveStopped(f"group {self._group_id} went on without this redrive: run it again")
            if code == ErrorCode.REBALANCE_IN_PROGRESS:
                raise RedriveStopped(f"another redrive has joined group {self._group_id}: run it again")
            raise BrokerError(code, f"Group '{self._group_id}'")

    # membership

    async def _wait_until_free(self) -> None:
        """One that was killed is forgotten after its session time-out."""
        deadline_ms = monotonic_ms() + self._session_timeout_ms + 2 * LOOK_AGAIN_MS
        while True:
            found = (await describe_groups(self._cluster, [self._group_id]))[self._group_id]
            if isinstance(found, BrokerError):
                if found.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                    raise found
                return
            if not found.members:
                return
            if monotonic_ms() >= deadline_ms:
                raise RedriveStopped(self._taken(found))
            await asyncio.sleep(LOOK_AGAIN_MS / 1000)

    def _taken(self, found: GroupDescription) -> str:
        member = found.members[0]
        return (
            f"another redrive is at work: group {self._group_id} has member {member.member_id}"
            f" ({member.client_id}, {member.host})"
        )

    async def _join(self) -> None:
        everything = {TopicPartition(self._topic, number) for number in range(self._partitions)}
        deadline_ms = monotonic_ms() + REBALANCE_TIMEOUT_MS + self._session_timeout_ms
        while (assigned := self._membership.take_assigned()) is None:
            if monotonic_ms() >= deadline_ms:
                raise RedriveStopped(f"group {self._group_id} does not come to rest")
            await self._step()
        if assigned != everything:  # both looked before either was there
            raise RedriveStopped(f"another redrive has just joined group {self._group_id}")

    async def _stay(self) -> None:
        """Heartbeats, until the group goes on without us or wants to be divided: then `commit` says so."""
        while not self._membership.must_give_up:
            self._membership.polled(monotonic_ms())
            await self._step()

    async def _step(self) -> None:
        step = self._membership.step(monotonic_ms())
        try:
            match step:
                case Ask():
                    node = await self._cluster.coordinator(self._group_id)
                    answer = await self._cluster.request(step.message, step.kind, node=node)
                    self._membership.answered(step.message, answer, monotonic_ms())
                case CountPartitions():
                    self._membership.counted({self._topic: self._partitions})
                case Wait():
                    until_ms = step.until_ms
                    wait_ms = LOOK_AGAIN_MS if until_ms is None else until_ms - monotonic_ms()
                    await asyncio.sleep(max(1, min(wait_ms, LOOK_AGAIN_MS)) / 1000)
        except ClientError as failed:
            if not failed.is_retriable:
                raise
            self._membership.unanswered(monotonic_ms())

    async def _leave(self) -> None:
        """So that the next one need not wait. Without an answer it does."""
        last = self._membership.leave("the redrive is over")
        if last is None:
            return
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(LEAVE_TIMEOUT_S):
                node = await self._cluster.coordinator(self._group_id)
                await self._cluster.request(last.message, last.kind, node=node)
