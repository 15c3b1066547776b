"""What one share session knows of the owners it fetches from: which of them may have something, in the order of turn.

An owner stands in the line from the moment it may have something to give until a look finds that it has not. Then it is
looked at again when something has happened at it (`LocalGroup`), or to all owners. So what a look costs does not depend
on how many partitions the session has. Finding the owners, when a session begins, and looking at many at once that have
nothing, as after a config has changed, goes in steps: nobody else waits long for the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush, heapreplace
from typing import TypeAlias

from leaselog.broker.lending.errors import as_fetch_error
from leaselog.broker.lending.local_group import LocalGroup, Waiter
from leaselog.broker.lending.partition_owner import SharePartitionOwner
from leaselog.model import ErrorCode, GroupId
from leaselog.share import ShareSession, TopicIdPartition

__all__ = ["Group", "FetchLine", "UnfinishedError"]

#: so many owners are found, or are looked at in vain, before others have the loop: about a millisecond
FOUND_AT_ONCE, SEEN_AT_ONCE = 32, 512


Group: TypeAlias = "LocalGroup[SharePartitionOwner, FetchLine]"
Reach: TypeAlias = Callable[[GroupId, TopicIdPartition], SharePartitionOwner | ErrorCode]


class UnfinishedError(Exception):
    """There is more to look at than in one turn of the loop."""


class FetchLine:
    """``reach`` gives the owner of a share partition, made if there is none, or says why it cannot be had."""

    __slots__ = (
        "_acquired_from",
        "_aside",
        "_heap",
        "_in_line",
        "_last_ticket",
        "_owners",
        "_reach",
        "_seen",
        "_to_find",
        "group",
        "may_read",
        "refused",
        "session",
        "waiter",
    )

    def __init__(self, reach: Reach, group: Group, session: ShareSession) -> None:
        self.session = session
        #: its request that waits now
        self.waiter: Waiter | None = None
        #: of the request under way: whether its client may read a topic now; None: whatever there is
        self.may_read: Callable[[TopicIdPartition], bool] | None = None
        self._reach = reach
        self.group = group
        self._owners: dict[SharePartitionOwner, None] = {}
        #: partitions whose owner is to be found, with why the one before has failed
        self._to_find: dict[TopicIdPartition, ErrorCode] = dict.fromkeys(session.partitions, ErrorCode.NONE)
        #: partitions that the request under way gets nothing of, and why; the next one has them looked for again
        self.refused: dict[TopicIdPartition, ErrorCode] = {}
        #: owners that may have something, as (turn, ticket, owner); the turn may be an earlier one of the owner's
        self._heap: list[tuple[int, int, SharePartitionOwner]] = []
        #: the same, with their tickets: an entry with another one is void
        self._in_line: dict[SharePartitionOwner, int] = {}
        self._last_ticket = 0
        #: entries of the heap that this look is through with
        self._aside: list[tuple[int, int, SharePartitionOwner]] = []
        #: the group's count of news at the last look
        self._seen = 0
        #: owners that the member may hold records of
        self._acquired_from: dict[SharePartitionOwner, None] = {}

    def has(self, owner: SharePartitionOwner) -> bool:
        return owner in self._owners

    @property
    def length(self) -> int:
        """How many owners may have something."""
        return len(self._in_line)

    # -- what the session consists of -----------------------------------------------------------------------

    def update(self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """The session has been updated so."""
        for at in added:
            if at in self.session.partitions and not self._knows(at):
                self._to_find[at] = ErrorCode.NONE
        for at in forgotten:
            self._to_find.pop(at, None)
            self.refused.pop(at, None)
            owner = self.group.owners.get(at)
            if owner is not None and owner in self._owners:
                self._leave(owner)

    def _knows(self, at: TopicIdPartition) -> bool:
        owner = self.group.owners.get(at)
        return at in self.refused or (owner is not None and owner in self._owners)

    def end(self) -> list[SharePartitionOwner]:
        """The session is over. The owners of which the member may hold something."""
        others = map(self.group.owners.get, (*self._to_find, *self.refused))
        owners = [*self._acquired_from, *(owner for owner in others if owner is not None)]
        for owner in list(self._owners):
            self._leave(owner)
        self._to_find.clear()
        self.refused.clear()
        return owners

    def owner_ended(self, owner: SharePartitionOwner) -> None:
        """Another one is to be found. A request that waits is told why, if there is a reason; the next tries anew."""
        self._forget(owner)
        if owner.at in self.session.partitions:
            self._to_find[owner.at] = owner.failure

    def _leave(self, owner: SharePartitionOwner) -> None:
        owner.lines = tuple(line for line in owner.lines if line is not self)
        self._forget(owner)

    def _forget(self, owner: SharePartitionOwner) -> None:
        self._owners.pop(owner, None)
        self._in_line.pop(owner, None)
        self._acquired_from.pop(owner, None)

    # -- looking --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A request of the session begins: what has failed may be there by now."""
        if self.refused:
            self._to_find.update(dict.fromkeys(self.refused, ErrorCode.NONE))
            self.refused.clear()
        if self._to_find:
            self._to_find = dict.fromkeys(self._to_find, ErrorCode.NONE)

    @property
    def has_news(self) -> bool:
        return bool(self._to_find) or self._seen != self.group.news_count

    def catch_up(self) -> None:
        """Learns what has happened since the last look. Raises ``UnfinishedError``: go on in the next turn."""
        if self.refused and self.group.has_all_changed_since(self._seen):
            self._ask_again()
        if self._to_find:
            self._find_owners()
        if self._seen != self.group.news_count:
            seen, self._seen = self._seen, self.group.news_count
            for owner in self.group.news_since(seen, self._owners):
                self._stand_in_line(owner)

    def _ask_again(self) -> None:
        """For the partitions that the client was not allowed to read: it may be by now."""
        for at, code in list(self.refused.items()):
            if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                del self.refused[at]
                self._to_find[at] = ErrorCode.NONE

    def _find_owners(self) -> None:
        for _ in range(FOUND_AT_ONCE):
            at, failure = next(iter(self._to_find.items()))
            del self._to_find[at]
            found = _failure(failure) or self._forbidden(at) or self._reach(self.session.key.group_id, at)
            if isinstance(found, ErrorCode):
                self.refused[at] = found
            else:
                self._add(found)
            if not self._to_find:
                self._to_find = {}  # one that was large stays large
                return
        raise UnfinishedError

    def _add(self, owner: SharePartitionOwner) -> None:
        owner.lines = (*owner.lines, self)
        self._owners[owner] = None
        if owner.holds_for(self.session.key.member):
            self._acquired_from[owner] = None
        self._stand_in_line(owner)

    def _stand_in_line(self, owner: SharePartitionOwner) -> None:
        if owner not in self._in_line:
            self._last_ticket += 1
            self._in_line[owner] = self._last_ticket
            heappush(self._heap, (self.session.partitions[owner.at], self._last_ticket, owner))

    def first(self) -> SharePartitionOwner | None:
        """Whose turn it is of those that have something for the member; None if none has.

        Raises ``UnfinishedError``: go on in the next turn.
        """
        heap, turns = self._heap, self.session.partitions
        for _ in range(SEEN_AT_ONCE):
            if not heap:
                if not self._aside:
                    self._in_line = {}
                return None
            turn, ticket, owner = heap[0]
            if self._in_line.get(owner) != ticket:
                heappop(heap)
            elif turns[owner.at] != turn:
                heapreplace(heap, (turns[owner.at], ticket, owner))
            elif not owner.can_give():
                heappop(heap)
                self._in_line.pop(owner, None)
            elif not self.session.may_acquire(owner.at) or self._forbidden(owner.at):
                self.step_aside()
            else:
                return owner
        raise UnfinishedError

    def _forbidden(self, at: TopicIdPartition) -> ErrorCode | None:
        """What to say of a partition whose topic the client may not read, for as long as that holds."""
        if self.may_read is None or self.may_read(at):
            return None
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def forbidden(self) -> dict[TopicIdPartition, ErrorCode]:
        """The partitions that have an owner and are not for this client, now."""
        if self.may_read is None:
            return {}
        return {owner.at: code for owner in self._owners if (code := self._forbidden(owner.at))}

    def step_aside(self) -> None:
        """The first lets the others have their turn in this look."""
        self._aside.append(heappop(self._heap))

    def end_look(self) -> None:
        """Whoever stepped aside is back in the line."""
        for entry in self._aside:
            heappush(self._heap, entry)
        self._aside.clear()

    # -- what came of it ------------------------------------------------------------------------------------

    def has_acquired(self, owner: SharePartitionOwner) -> None:
        """The member has got records of it."""
        self._acquired_from[owner] = None

    def owes_something(self) -> bool:
        """Has the member records that it has not acknowledged?"""
        member = self.session.key.member
        while self._acquired_from:
            owner = next(iter(self._acquired_from))
            if owner.is_owed_by(member):
                return True
            if owner.holds_for(member):  # all of it is being written down
                return any(owner.is_owed_by(member) for owner in self._acquired_from)
            del self._acquired_from[owner]
        return False


def _failure(code: ErrorCode) -> ErrorCode | None:
    return as_fetch_error(code) if code else None
