"""When a record that failed is tried again, and what a worker does while everything fails. Pure, time is an argument.

A record that fails waits longer every time, so that the few deliveries it has outlast a restart or a short outage.
When record after record fails it is not the records: then one at a time is tried, again and again without spending
its deliveries, and the others are left in the queue until one has worked.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from random import Random
from typing import Any

__all__ = ["DEFAULT_DELAYS_S", "Outage", "RetryDelays"]

#: With Kafka's five deliveries a record is tried over eleven minutes.
DEFAULT_DELAYS_S = (1.0, 10.0, 60.0, 600.0)
#: records that failed together come again apart
JITTER = 0.2

#: so many different records in a row, with none that worked in between
OPENS_AFTER = 5
FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 30_000
#: So often is a record tried within one delivery while everything fails: it may be the record after all.
TRIES_A_DELIVERY = 10


class RetryDelays:
    """By how often a record has failed; the last delay is for all that come after it. None at all: no delay."""

    def __init__(self, delays_s: Iterable[float], chance: Random) -> None:
        self._delays_s = tuple(delays_s)
        self._chance = chance

    @staticmethod
    def checked(given: object) -> tuple[float, ...]:
        """Raises ``ValueError`` unless these are finite times, in seconds."""
        try:
            delays = tuple(float(one) for one in given)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            delays = (-1.0,)
        if not all(0 <= one < math.inf for one in delays):
            raise ValueError(f"retry_delays={given!r}: expected seconds, as (1, 10, 60)")
        return delays

    def delay_ms(self, delivery_count: int) -> int:
        if not self._delays_s:
            return 0
        delay_s = self._delays_s[min(max(delivery_count, 1), len(self._delays_s)) - 1]
        return math.ceil(1000 * delay_s * self._chance.uniform(1 - JITTER, 1 + JITTER))


class Outage:
    """Whether everything fails. While it does, `next_ms` says when the next record may be tried."""

    def __init__(self) -> None:
        self.is_open = False
        self.next_ms = 0
        self.begun_ms = 0
        self._pause_ms = FIRST_PAUSE_MS
        #: which failed since one worked; no more than it takes
        self._failed = set[Hashable]()
        self._tries = dict[Any, int]()

    def failed(self, record: Hashable, now_ms: int, *, is_trial: bool) -> bool:
        """Whether this is the failure with which it begins."""
        if self.is_open:
            if is_trial:
                self._pause_ms = min(2 * self._pause_ms, LONGEST_PAUSE_MS)
                self.next_ms = now_ms + self._pause_ms
            return False
        self._failed.add(record)
        if len(self._failed) < OPENS_AFTER:
            return False
        self.is_open = True
        self.begun_ms = now_ms
        self._pause_ms = FIRST_PAUSE_MS
        self.next_ms = now_ms + self._pause_ms
        return True

    def worked(self) -> bool:
        """Whether it ends with this."""
        was_open, self.is_open = self.is_open, False
        self._failed.clear()
        self._tries.clear()
        return was_open

    def may_try_again(self, delivery: Hashable) -> bool:
        """Counts this try; whether there may be another one within the same delivery."""
        tries = self._tries.pop(delivery, 0) + 1
        if tries >= TRIES_A_DELIVERY:
            return False
        self._tries[delivery] = tries
        return True
