"""Whoever sets or deletes what a group has come to needs it without members from the first step to the last.

So such work on one group is done one at a time, and who joins meanwhile waits for it, a moment at most, and is told to
come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leaselog.model import GroupId

__all__ = ["GroupTurns"]


class GroupTurns:
    def __init__(self) -> None:
        #: groups that an administrator is at, until when
        self._closed: dict[GroupId, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def without_members(self, group_id: GroupId) -> AsyncIterator[None]:
        """Nobody joins the group inside, and nobody else changes its state: a member that came between two steps
        would be given what goes with the next."""
        while (others := self._closed.get(group_id)) is not None:
            await asyncio.wait([others])
        done = self._closed[group_id] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._closed[group_id]
            done.set_result(None)

    async def is_open(self, group_id: GroupId, patience_s: float) -> bool:
        """Once nobody is at it any more; False if that takes too long for a heartbeat."""
        work = self._closed.get(group_id)
        if work is not None:
            await asyncio.wait([work], timeout=patience_s)
        return group_id not in self._closed
