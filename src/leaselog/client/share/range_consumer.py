"""A share-group member that acquires ranges of offsets and settles them later, in any order, for asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leaselog.client.errors import ClientError
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.machine import monotonic_s, new_uuid
from leaselog.client.share.acknowledgements import Lease
from leaselog.client.share.async_consumer import AsyncShareConsumer
from leaselog.client.share.extras import Extra
from leaselog.client.share.membership import as_kafka_text
from leaselog.client.share.range_core import LeasedRanges, RangeCore, has_ended

__all__ = ["AsyncRangeConsumer"]

#: how much longer than asked `acquire` waits for an answer that is under way, so that it is not left in a buffer
_GRACE_S = 1.0


class AsyncRangeConsumer(AsyncShareConsumer[bytes, bytes]):
    """As its base, with `acquire` and `settle` in place of polls and commits. Configured alike.

    ``max.poll.interval.ms`` bounds how long it stays a member, and renews, without an `acquire`.
    """

    def __init__(self, config: Mapping[str, object] | None = None, **more: object) -> None:
        super().__init__(config, **more)
        assert isinstance(self.core, RangeCore)
        self._ranges = self.core

    def _new_core(self) -> RangeCore:
        return RangeCore(self.config, as_kafka_text(new_uuid()), _now_ms())

    async def acquire(self, timeout: float, limit: int, max_bytes: int) -> list[LeasedRanges]:
        """What could be acquired, an empty list after ``timeout`` seconds. It is renewed until it is settled.

        ``limit`` counts records and holds exactly in record_limit mode; ``max_bytes`` is as ``fetch.max.bytes``.
        Raises ``BrokerError`` for what the application has to know.
        """
        with self._in_use("acquire"):
            core = self._ranges
            core.take_completed()
            core.begin_work(_now_ms())
            deadline = monotonic_s() + timeout
            try:
                while True:
                    self.check_woken()
                    taken = core.take_ranges(_now_ms())
                    remaining = deadline - monotonic_s()
                    if taken or (remaining <= 0 and not (core.is_fetching and remaining > -_GRACE_S)):
                        return taken
                    if remaining > 0:
                        core.want_ranges(int(remaining * 1000), limit, max_bytes)
                        self.pump()
                    else:
                        core.want_nothing()  # no other fetch after the one that is under way
                    await self.changed(remaining if remaining > 0 else remaining + _GRACE_S)
            finally:
                core.want_nothing()
                self.pump()

    def has_ended(self, lease: Lease) -> bool:
        """Whether what was leased is on its way to somebody else. From any thread."""
        return has_ended(lease, _now_ms())

    async def settle(
        self,
        outcomes: Iterable[tuple[Lease, Mapping[int, int]]],
        timeout: float,
        extras: Mapping[Lease, Mapping[int, Extra]] | None = None,
    ) -> list[tuple[Lease, ClientError | None]]:
        """Acknowledge offsets of leases with these types. Of each lease None, or why the broker may not know it.

        ``extras`` add to some of the types what a broker that is leaselog's understands.
        """
        with self._in_use("settle"):
            timeout_ms = int(timeout * 1000)
            added = extras or {}
            sent = [
                (lease, self._ranges.settle(lease, types, _now_ms(), timeout_ms, added.get(lease)))
                for lease, types in outcomes
            ]
            self.pump()
            deadline = monotonic_s() + timeout
            for _, commit in sent:
                await self._wait_commit(commit, deadline)
            return [(lease, commit.results.get(lease.where)) for lease, commit in sent]
