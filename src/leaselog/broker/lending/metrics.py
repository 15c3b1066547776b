"""What the broker counts of share groups, in plain numbers; `broker.telling.share_text` tells them.

Machines count for themselves. What an owner has counted is kept when it ends, so that totals only rise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from leaselog.broker.runtime.plain_histogram import PlainHistogram
from leaselog.model import GroupId
from leaselog.share import Counters, SharePartition

__all__ = ["ShareMetrics"]

#: of the partitions that a share fetch names, the part that gave records
FETCH_RATIOS = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
ACQUIRE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LOAD_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class CountingOwner(Protocol):
    """An owner whose machine counts."""

    @property
    def machine(self) -> SharePartition | None: ...


@dataclass(slots=True)
class GroupFetches:
    ratio: PlainHistogram = field(default_factory=lambda: PlainHistogram(FETCH_RATIOS))
    acquire_seconds: PlainHistogram = field(default_factory=lambda: PlainHistogram(ACQUIRE_SECONDS))


class ShareMetrics:
    def __init__(self) -> None:
        self.load_seconds = PlainHistogram(LOAD_SECONDS)
        #: of owners that have ended
        self.ended = Counters()
        #: share fetches whose time ran out before there was enough
        self.expired_fetches = 0
        #: partitions that share fetches looked at, and those of them that gave records
        self.partitions_asked = 0
        self.partitions_given = 0
        #: closed with their connection
        self.evicted_sessions = 0
        #: of the groups that have a share partition here
        self.groups: dict[GroupId, GroupFetches] = {}

    def loaded(self, seconds: float) -> None:
        self.load_seconds.observe(seconds)

    def fetched(self, group_id: GroupId, asked: int, given: int, seconds: float, *, is_late: bool) -> None:
        """A share fetch has ended that looked at so many partitions."""
        self.partitions_asked += asked
        self.partitions_given += given
        self.expired_fetches += is_late and not given
        group = self.groups.get(group_id)
        if group is None:
            return  # what it waited for is not here any more
        group.ratio.observe(given / asked)
        if given:
            group.acquire_seconds.observe(seconds)

    def group_came(self, group_id: GroupId) -> None:
        self.groups[group_id] = GroupFetches()

    def group_gone(self, group_id: GroupId) -> None:
        self.groups.pop(group_id, None)

    def owner_ended(self, owner: CountingOwner) -> None:
        if owner.machine is not None:
            _add(self.ended, owner.machine.counters)

    def of_ended(self) -> Counters:
        """Of all owners that have ended, to be added to."""
        sums = Counters()
        _add(sums, self.ended)
        return sums

    def add(self, sums: Counters, owners: Iterable[CountingOwner]) -> None:
        for owner in owners:
            if owner.machine is not None:
                _add(sums, owner.machine.counters)


def _add(sums: Counters, more: Counters) -> None:
    sums.acquired += more.acquired
    sums.redelivered += more.redelivered
    sums.refused_acknowledgements += more.refused_acknowledgements
    sums.lock_timeouts += more.lock_timeouts
    sums.delayed += more.delayed
    sums.given_back += more.given_back
    sums.released_by_session += more.released_by_session
    sums.failed_writes += more.failed_writes
    for kind, count in enumerate(more.acknowledged):
        sums.acknowledged[kind] += count
