"""How fast a client may make and take away partitions (KIP-599): Kafka's `controller_mutation_rate`.

A bucket of tokens a client: it fills with the rate and holds a window's worth, and each partition made or taken away
takes one. Whoever asks while there is any has all that it asks for, so that a topic larger than the bucket can be made,
and owes the rest. Who owes is refused, topic by topic, by the versions that know THROTTLING_QUOTA_EXCEEDED; older ones
have what they ask for. Both are told to pause until the debt is paid, and their connection is not read for so long.

Pure: the time is an argument. Bound: `MAX_TRACKED` buckets; one more takes the place of the one unused for longest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from math import ceil

from leaselog.broker.quotas.rate import MAX_THROTTLE_MS
from leaselog.coordination.cluster_quotas import CONTROLLER_MUTATION_RATE, QuotaHolder, find_limit
from leaselog.coordination.cluster_records import QuotaEntity
from leaselog.model import ErrorCode, Refused

__all__ = ["UNLIMITED", "MutationAllowance", "MutationQuotas"]

MAX_TRACKED = 10_000
_NO_DEBT = 1e-6
EXCEEDED = Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")


class _Bucket:
    __slots__ = ("filled_ms", "tokens")

    def __init__(self, tokens: float, now_ms: float) -> None:
        #: below nothing: owed
        self.tokens = tokens
        self.filled_ms = now_ms

    @property
    def owed(self) -> float:
        """What adding up fractions of seconds leaves of a token is no debt."""
        return -self.tokens if self.tokens < -_NO_DEBT else 0.0


class MutationAllowance:
    """What one request may change, by one limit or by none."""

    __slots__ = ("_bucket", "_is_strict", "_rate")

    def __init__(self, bucket: _Bucket | None = None, rate: float = 0.0, *, is_strict: bool = False) -> None:
        self._bucket = bucket
        self._rate = rate
        self._is_strict = is_strict

    def take(self, partitions: int) -> Refused | None:
        """Takes a token for each partition, or refuses all of them."""
        if self._bucket is None:
            return None
        if self._is_strict and self._bucket.owed:
            return EXCEEDED
        self._bucket.tokens -= partitions
        return None

    @property
    def throttle_ms(self) -> int:
        """Until nothing is owed any more."""
        owed = 0.0 if self._bucket is None else self._bucket.owed
        return min(ceil(owed / self._rate * 1000 - _NO_DEBT), MAX_THROTTLE_MS) if owed else 0


#: of whoever has no limit, and of the broker itself
UNLIMITED = MutationAllowance()


class MutationQuotas:
    def __init__(self, *, samples: int, sample_ms: int) -> None:
        self._window_s = samples * sample_ms / 1000
        self._limits: dict[QuotaEntity, float] = {}
        #: least recently used first
        self._buckets: OrderedDict[QuotaHolder, _Bucket] = OrderedDict()

    def changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """These are the limits from now on. What clients owe they go on owing."""
        key = CONTROLLER_MUTATION_RATE
        self._limits = {entity: limits[key] for entity, limits in quotas.items() if key in limits}
        if not self._limits:
            self._buckets.clear()

    def allowance(
        self, user: str, client_id: str | None, now_ms: float, *, is_strict: bool
    ) -> MutationAllowance:
        found = find_limit(self._limits, user, client_id or "")
        if found is None:
            return UNLIMITED
        rate, holder = found
        return MutationAllowance(self._bucket(holder, rate, now_ms), rate, is_strict=is_strict)

    def _bucket(self, holder: QuotaHolder, rate: float, now_ms: float) -> _Bucket:
        most = rate * self._window_s
        bucket = self._buckets.get(holder)
        if bucket is None:
            if len(self._buckets) >= MAX_TRACKED:
                self._buckets.popitem(last=False)
            bucket = self._buckets[holder] = _Bucket(most, now_ms)
        self._buckets.move_to_end(holder)
        bucket.tokens = min(most, bucket.tokens + (now_ms - bucket.filled_ms) / 1000 * rate)
        bucket.filled_ms = now_ms
        return bucket
