"""The coordinator of one group as a client reaches it: a connection of its own, and the offsets that are kept there.

The connection is of its own because a join is parked there for as long as the group takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from leaselog.client.cluster import Cluster
from leaselog.client.committed_offsets import (
    CommittedOffset,
    Identity,
    commit_errors,
    commit_request,
    fetch_request,
    read_fetch,
)
from leaselog.client.connection import Connection
from leaselog.client.errors import BrokerError, is_retriable
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.offset_commit import OffsetCommitResponse
from leaselog.wire.messages.offset_fetch import OffsetFetchResponse
from leaselog.wire.schema import Message

__all__ = ["GroupCoordinator"]

M = TypeVar("M", bound=Message)

_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class GroupCoordinator:
    """Ask with `ask`, from any task; found when it is first asked, and again when it moved."""

    def __init__(self, cluster: Cluster, group_id: str, *, auto_create: bool = True) -> None:
        self._cluster = cluster
        self.group_id = group_id
        self._auto_create = auto_create
        self._connection: Connection | None = None
        self._finding = asyncio.Lock()
        #: topics as last seen; the newer messages know them by id alone
        self._topic_ids = dict[str, UUID]()
        #: of those, to be looked up before they are named again
        self._doubtful = set[str]()

    # topics

    async def look_up(self, topics: list[str] | None) -> Topology:
        """These topics, or all. Raises ``BrokerError`` for one that cannot be had; one that is not there may come."""
        found = await self._cluster.fetch_topology(
            topics, auto_create=topics is not None and self._auto_create
        )
        for name in topics or ():
            code = found.errors.get(name, ErrorCode.NONE)
            if code and not is_retriable(code):
                raise BrokerError(code, f"Topic '{name}'")
        ids = {name: info.topic_id for name, info in found.topics.items()}
        self._topic_ids.update(ids)
        self._doubtful.difference_update(ids)
        return found

    async def _know(self, partitions: Iterable[TopicPartition]) -> None:
        topics = {where.topic for where in partitions}
        if missing := {name for name in topics if name not in self._topic_ids or name in self._doubtful}:
            await self.look_up(sorted(missing))

    # offsets

    async def committed(
        self, wanted: Iterable[TopicPartition], *, require_stable: bool
    ) -> dict[TopicPartition, CommittedOffset]:
        """One try. Raises ``BrokerError``, of one partition for all of them."""
        wanted = frozenset(wanted)
        await self._know(wanted)
        request = fetch_request(self.group_id, wanted, self._topic_ids, require_stable=require_stable)
        answer = await self.ask(request, OffsetFetchResponse)
        try:
            return read_fetch(answer, self._topic_ids)
        except BrokerError as failed:
            self._learn(failed.code, wanted)
            raise

    async def commit(
        self,
        offsets: Mapping[TopicPartition, CommittedOffset],
        identity: Identity,
        read: Mapping[str, UUID],
    ) -> dict[TopicPartition, int]:
        """One try: the error code of each partition that was not committed.

        ``read`` are the ids of the topics that the offsets were read from: they say nothing of one that was made in the
        place of such a topic.
        """
        await self._know(where for where in offsets if where.topic not in read)
        ids = {**self._topic_ids, **read}
        request = commit_request(self.group_id, identity, offsets, ids)
        errors = commit_errors(await self.ask(request, OffsetCommitResponse), ids)
        for where, code in errors.items():
            self._learn(code, (where,))
        return errors

    def _learn(self, code: int, wheres: Iterable[TopicPartition]) -> None:
        if code in _MOVED:
            self.forget()
        if code == ErrorCode.UNKNOWN_TOPIC_ID:  # deleted, and perhaps made again under another id
            self._doubtful.update(where.topic for where in wheres)

    # the connection

    async def ask(self, message: Message, kind: type[M], timeout_ms: int | None = None) -> M:
        """One try. What is inside the answer is the caller's to read, but for a coordinator that moved."""
        connection = await self._connected()
        limit_ms = self._cluster.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            answer = await connection.request(message, kind, timeout_ms=limit_ms)
        except asyncio.CancelledError:
            # The answer may be far away (a parked join), and whatever is asked next would wait behind it.
            self.forget()
            raise
        if getattr(answer, "error_code", 0) in _MOVED:
            self.forget()
        return answer

    async def _connected(self) -> Connection:
        async with self._finding:
            if self._connection is None or self._connection.is_closed:
                node = await self._cluster.coordinator(self.group_id)
                self._connection = await self._cluster.open_connection(node)
            return self._connection

    def forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
