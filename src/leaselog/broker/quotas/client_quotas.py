"""Client quotas at work (KIP-13, 124, 219, 612): what each client has used, and for how long it is to pause.

`broker.cluster.cluster` tells the limits whenever they change; handlers ask with each request that moves records,
connections with each request and when they begin. Whoever is over a limit gets its answer at once, with the pause in
it, and its connection is not read for that long. Without limits `limits_produce`, `limits_fetch`, `limits_requests` and
`limits_connections` are False, and nobody goes further.

Bytes are record bytes: the few that surround them in a request count in Apache Kafka and do not here. Time is what a
request takes of the loop, as Kafka counts that of its threads: 100 percent are all of it. The user is the name of the
client's principal: Kafka's ANONYMOUS where nobody logs in.

Bound: `MAX_TRACKED` rates of each kind. One more takes the place of the one unused for longest, whose holder starts
afresh.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from leaselog.broker.quotas.rate import Rate
from leaselog.coordination.cluster_quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    QuotaHolder,
    find_limit,
)
from leaselog.coordination.cluster_records import QuotaEntity
from leaselog.model import ANONYMOUS as NOBODY

__all__ = ["ANONYMOUS", "MAX_TRACKED", "ClientQuotas"]

#: the user of a connection that nobody authenticated
ANONYMOUS = NOBODY.name
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
        self._rates: OrderedDict[QuotaHolder, Rate] = OrderedDict()

    def changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        self.by_entity = {entity: limits[self.key] for entity, limits in quotas.items() if self.key in limits}
        if not self.by_entity:
            self._rates.clear()

    def find(self, user: str, client_id: str | None) -> tuple[float, Rate] | None:
        """The limit that counts for the client, with the rate it is compared with."""
        found = find_limit(self.by_entity, user, client_id or "")
        return None if found is None else (found[0], self._rate(found[1]))

    def find_of_address(self, host: str) -> tuple[float, Rate] | None:
        for name in (host, None):
            limit = self.by_entity.get(((IP, name),))
            if limit is not None:
                return limit, self._rate((None, host))
        return None

    def _rate(self, holder: QuotaHolder) -> Rate:
        rate = self._rates.get(holder)
        if rate is not None:
            self._rates.move_to_end(holder)
            return rate
        if len(self._rates) >= MAX_TRACKED:
            self._rates.popitem(last=False)
        rate = self._rates[holder] = Rate(self._samples, self._sample_ms)
        return rate


class ClientQuotas:
    def __init__(self, *, samples: int, sample_ms: int) -> None:
        self._window_s = max(samples - 1, 1) * sample_ms / 1000
        self._produce = _Limits(PRODUCER_BYTE_RATE, samples, sample_ms)
        self._fetch = _Limits(CONSUMER_BYTE_RATE, samples, sample_ms)
        self._requests = _Limits(REQUEST_PERCENTAGE, samples, sample_ms)
        self._connections = _Limits(CONNECTION_CREATION_RATE, samples, sample_ms)
        #: Kafka's longest pause for time used: nobody is to be silent for so long that it seems gone
        self._longest_request_pause_ms = sample_ms
        #: whether anybody is limited
        self.limits_produce = False
        self.limits_fetch = False
        self.limits_requests = False
        self.limits_connections = False

    def changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """These are the limits from now on. What clients have moved so far keeps counting."""
        for limits in (self._produce, self._fetch, self._requests, self._connections):
            limits.changed(quotas)
        self.limits_produce = bool(self._produce.by_entity)
        self.limits_fetch = bool(self._fetch.by_entity)
        self.limits_requests = bool(self._requests.by_entity)
        self.limits_connections = bool(self._connections.by_entity)

    def produced(
        self, client_id: str | None, size_bytes: int, now_ms: float, *, user: str = ANONYMOUS
    ) -> int:
        """Counts the bytes; how long the client is to pause, in ms."""
        return _moved(self._produce.find(user, client_id), size_bytes, now_ms)

    def fetching(
        self, client_id: str | None, size_bytes: int, now_ms: float, *, user: str = ANONYMOUS
    ) -> int:
        """How long the client is to pause before it may have the bytes. 0: it has them, and they are counted.

        A client with a clean sheet gets them however many they are: a batch larger than the whole window would
        otherwise never be read. (In Apache Kafka it never is.)
        """
        found = self._fetch.find(user, client_id)
        if found is None:
            return 0
        limit, rate = found
        pause_ms = 0 if rate.is_idle(now_ms) else rate.throttle_ms(limit, now_ms, size_bytes)
        if not pause_ms:
            rate.record(size_bytes, now_ms)
        return pause_ms

    def fetched(self, client_id: str | None, size_bytes: int, now_ms: float, *, user: str = ANONYMOUS) -> int:
        """Counts bytes that a client has, whatever the limit; how long it is to pause, in ms."""
        return _moved(self._fetch.find(user, client_id), size_bytes, now_ms)

    def fetch_room_bytes(self, client_id: str | None, *, user: str = ANONYMOUS) -> int:
        """The most that one fetch may bring: what the limit allows in a whole window."""
        found = self._fetch.find(user, client_id)
        return UNLIMITED_BYTES if found is None else int(found[0] * self._window_s)

    def worked_for(
        self, client_id: str | None, seconds: float, now_ms: float, *, user: str = ANONYMOUS
    ) -> int:
        """Counts the time that a request took; how long its client is to pause, in ms."""
        pause_ms = _moved(self._requests.find(user, client_id), 100 * seconds, now_ms)
        return min(pause_ms, self._longest_request_pause_ms)

    def connecting(self, host: str, now_ms: float) -> int:
        """For how long the address has no new connection, in ms. 0: it has this one, and it counts."""
        found = self._connections.find_of_address(host)
        if found is None:
            return 0
        limit, rate = found
        pause_ms = rate.throttle_ms(limit, now_ms, 1)
        if not pause_ms:
            rate.record(1, now_ms)
        return pause_ms


def _moved(found: tuple[float, Rate] | None, amount: float, now_ms: float) -> int:
    if found is None:
        return 0
    limit, rate = found
    rate.record(amount, now_ms)
    return rate.throttle_ms(limit, now_ms)
