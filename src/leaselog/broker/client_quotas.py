"""Client quotas at work (KIP-13, 219): what each client has produced and fetched, and for how long it is to pause.

`broker.cluster` tells the limits whenever they change; handlers ask with each request that moves records. Whoever
is over a limit gets its answer at once, with the pause in it, and its connection is not read for that long. Without
limits `limits_produce` and `limits_fetch` are False, and a handler goes no further.

Bytes are record bytes: the few that surround them in a request count in Apache Kafka and do not here. Nobody is
authenticated yet, so the user of every client is Kafka's ANONYMOUS.

Bound: `MAX_TRACKED` rates of each kind. One more takes the place of the one unused for longest, whose holder starts
afresh.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from leaselog.broker.byte_rate import ByteRate
from leaselog.coordination.cluster_quotas import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    QuotaHolder,
    find_limit,
)
from leaselog.coordination.cluster_records import QuotaEntity

__all__ = ["ANONYMOUS", "MAX_TRACKED", "ClientQuotas"]

ANONYMOUS = "ANONYMOUS"
MAX_TRACKED = 10_000
UNLIMITED_BYTES = 2**63


class _Limits:
    """The limits of one key and the rates they apply to."""

    def __init__(self, key: str, samples: int, sample_ms: int) -> None:
        self.key = key
        self.by_entity: dict[QuotaEntity, float] = {}
        self._samples = samples
        self._sample_ms = sample_ms
        #: least recently used first
        self._rates: OrderedDict[QuotaHolder, ByteRate] = OrderedDict()

    def changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        self.by_entity = {entity: limits[self.key] for entity, limits in quotas.items() if self.key in limits}
        if not self.by_entity:
            self._rates.clear()

    def find(self, client_id: str | None) -> tuple[float, ByteRate] | None:
        """The limit that counts for the client, with the rate it is compared with."""
        found = find_limit(self.by_entity, ANONYMOUS, client_id or "")
        return None if found is None else (found[0], self._rate(found[1]))

    def _rate(self, holder: QuotaHolder) -> ByteRate:
        rate = self._rates.get(holder)
        if rate is not None:
            self._rates.move_to_end(holder)
            return rate
        if len(self._rates) >= MAX_TRACKED:
            self._rates.popitem(last=False)
        rate = self._rates[holder] = ByteRate(self._samples, self._sample_ms)
        return rate


class ClientQuotas:
    def __init__(self, *, samples: int, sample_ms: int) -> None:
        self._window_s = max(samples - 1, 1) * sample_ms / 1000
        self._produce = _Limits(PRODUCER_BYTE_RATE, samples, sample_ms)
        self._fetch = _Limits(CONSUMER_BYTE_RATE, samples, sample_ms)
        #: whether anybody is limited
        self.limits_produce = False
        self.limits_fetch = False

    def changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """These are the limits from now on. What clients have moved so far keeps counting."""
        for limits in (self._produce, self._fetch):
            limits.changed(quotas)
        self.limits_produce = bool(self._produce.by_entity)
        self.limits_fetch = bool(self._fetch.by_entity)

    def produced(self, client_id: str | None, size_bytes: int, now_ms: float) -> int:
        """Counts the bytes; how long the client is to pause, in ms."""
        return _moved(self._produce.find(client_id), size_bytes, now_ms)

    def fetching(self, client_id: str | None, size_bytes: int, now_ms: float) -> int:
        """How long the client is to pause before it may have the bytes. 0: it has them, and they are counted.

        A client with a clean sheet gets them however many they are: a batch larger than the whole window would
        otherwise never be read. (In Apache Kafka it never is.)
        """
        found = self._fetch.find(client_id)
        if found is None:
            return 0
        limit, rate = found
        pause_ms = 0 if rate.is_idle(now_ms) else rate.throttle_ms(limit, now_ms, size_bytes)
        if not pause_ms:
            rate.record(size_bytes, now_ms)
        return pause_ms

    def fetched(self, client_id: str | None, size_bytes: int, now_ms: float) -> int:
        """Counts bytes that a client has, whatever the limit; how long it is to pause, in ms."""
        return _moved(self._fetch.find(client_id), size_bytes, now_ms)

    def fetch_room_bytes(self, client_id: str | None) -> int:
        """The most that one fetch may bring: what the limit allows in a whole window."""
        found = self._fetch.find(client_id)
        return UNLIMITED_BYTES if found is None else int(found[0] * self._window_s)


def _moved(found: tuple[float, ByteRate] | None, size_bytes: int, now_ms: float) -> int:
    if found is None:
        return 0
    limit, rate = found
    rate.record(size_bytes, now_ms)
    return rate.throttle_ms(limit, now_ms)
