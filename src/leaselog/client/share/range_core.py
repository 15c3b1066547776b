"""A share consumer's core that leases ranges instead of records, any number of them at a time. Pure.

For who plans work that others carry out: it wants to know which offsets it holds, of which delivery, and until when;
the records themselves somebody else will read from the topic, so brokers that know how leave them out. What is held is
renewed until it is settled, however long that takes, and records can be acquired while others are held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from leaselog.client.errors import RequestTimedOut
from leaselog.client.share.acknowledgements import Bundle, Commit, Lease
from leaselog.client.share.acquired import LeasedRange
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core import ShareCore
from leaselog.client.share.errors import IllegalState
from leaselog.client.share.extras import Extra
from leaselog.client.share.holdings import Holdings
from leaselog.client.share.record import ShareRecord

__all__ = ["LeasedRanges", "RangeCore"]


@dataclass(frozen=True, slots=True, eq=False)
class LeasedRanges:
    """What one fetch acquired of one partition."""

    lease: Lease
    #: ascending and disjoint
    ranges: tuple[LeasedRange, ...]
    #: of the log batches they lie in, whether or not the broker sent them
    size_bytes: int

    @property
    def count(self) -> int:
        return sum(end - start for start, end, _ in self.ranges)


class _HeldOffsets(Holdings):
    """Offsets by lease, where a consumer of records holds records."""

    def __init__(self) -> None:
        super().__init__()
        self._offsets = dict[Lease, list[int]]()

    def hold(self, lease: Lease, offsets: Iterable[int]) -> None:
        self._offsets[lease] = list(offsets)

    def settle(self, lease: Lease, offsets: Mapping[int, int]) -> None:
        left = [offset for offset in self._offsets.pop(lease, ()) if offset not in offsets]
        if left:
            self._offsets[lease] = left

    def forget_ended(self, now_ms: int) -> None:
        for lease in [lease for lease in self._offsets if has_ended(lease, now_ms)]:
            del self._offsets[lease]

    def leases(self) -> Iterator[tuple[Lease, list[int]]]:
        yield from list(self._offsets.items())


class RangeCore(ShareCore):
    """Say `want_ranges`, then `take_ranges` until there is nothing under way; `settle` what came of them."""

    def __init__(self, config: ShareConsumerConfig, member_id: str, now_ms: int) -> None:
        self._held = _HeldOffsets()
        super().__init__(config, member_id, now_ms, self._held)
        self._state.is_worked_on = True  # leases are renewed from the moment they are taken
        self._state.ranges_only = True

    @property
    def is_fetching(self) -> bool:
        """Whether an answer is to come that may bring more."""
        asks = [node.under_way for node in self._state.nodes.values()]
        return any(ask is not None and ask.fetches for ask in asks)

    def want_ranges(self, wait_ms: int, limit: int, max_bytes: int) -> None:
        """The next `step` fetches up to ``limit`` records and about ``max_bytes`` from each broker it asks."""
        self._state.config = replace(self._state.config, fetch_max_bytes=max_bytes)
        self.want_records(wait_ms, limit)

    def take(self, now_ms: int, limit: int) -> list[ShareRecord[Any, Any]]:
        """Never: records that were left out would look like gaps, and be settled as such."""
        raise IllegalState("This consumer leases ranges of offsets, not records.")

    def take_ranges(self, now_ms: int) -> list[LeasedRanges]:
        """Everything acquired since. From here on it is held and renewed. Raises what there is to know first."""
        self._raise_what_to_know()
        self._held.forget_ended(now_ms)
        taken = list[LeasedRanges]()
        while self._buffer.queue:
            acquired = self._buffer.queue.popleft()
            lease = acquired.lease
            if has_ended(lease, now_ms):
                self.metrics.expired_in_buffer += len(acquired.rest())
                continue
            lease.delivered_ms = now_ms
            self._held.hold(lease, acquired.rest())
            taken.append(LeasedRanges(lease, acquired.ranges(), acquired.bytes))
        return taken

    def settle(
        self,
        lease: Lease,
        types: Mapping[int, int],
        now_ms: int,
        timeout_ms: int,
        extras: Mapping[int, Extra] | None = None,
    ) -> Commit:
        """Acknowledge some offsets of a lease, at once. The commit is done when it is known what came of it."""
        self._held.settle(lease, types)
        commit = Commit()
        bundle = Bundle(
            lease,
            dict(types),
            now_ms + timeout_ms,
            commit,
            is_urgent=True,
            is_visible=False,
            extras=extras or {},
        )
        commit.waiting.add(bundle)
        if lease.life.ended is not None:
            self._settling.settle(bundle, lease.life.ended, now_ms)
        elif lease.deadline_ms <= now_ms and not lease.is_renewable:
            why = "the lease ran out, and the broker had refused to renew it"
            self._settling.settle(bundle, RequestTimedOut(f"{lease.where}: {why}"), now_ms)
        else:
            self._state.send(bundle)
        return commit


def has_ended(lease: Lease, now_ms: int) -> bool:
    """Whether what was leased is on its way to somebody else."""
    return lease.life.ended is not None or lease.deadline_ms <= now_ms
