"""Who may have a connection: how many there may be, of all and of one address, and how fast new ones may come.

The counts are `max.connections`, of all and of a listener by its name, `max.connections.per.ip` and its overrides; who
is beyond them is closed at once. `max.connection.creation.rate` is of all together, or of a listener by its name: who
comes too early is not read before its time, and closed if that is more than a second away, as the system does with
those it has no room for. The quota ``connection_creation_rate`` (KIP-612) is of one address: who is over it is closed
when the pause is over, as with Apache Kafka, so that it does not come back at once; it counts for no rate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from leaselog.broker.config import BrokerConfig, connections_by_address
from leaselog.broker.config.listeners import bounds_of_listener
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.rate import Rate

__all__ = ["ConnectionBounds", "Verdict"]

LONGEST_WAIT_MS = 1000


class Verdict(NamedTuple):
    #: not to be served, and why
    refusal: str = ""
    #: not to be read, or not to be closed, before
    pause_ms: int = 0


class ConnectionBounds:
    def __init__(
        self, config: Callable[[], BrokerConfig], quotas: ClientQuotas, monotonic_ms: Callable[[], float]
    ) -> None:
        """``config`` is asked each time, as the bounds may change while the broker runs."""
        self._config = config
        self._quotas = quotas
        self._monotonic_ms = monotonic_ms
        now = config()
        self._new_rate = partial(Rate, now.quota_window_num, now.quota_window_size_seconds * 1000)
        self._rate = self._new_rate()
        self._rates_of_listeners: dict[str, Rate] = {}

    def judge(
        self, host: str, open_count: int, open_of_host: int, listener: str = "", open_of_listener: int = 0
    ) -> Verdict:
        """Of a new connection, which the counts hold already."""
        config, now_ms = self._config(), self._monotonic_ms()
        own = bounds_of_listener(config, listener)
        of_host = config.max_connections_per_ip
        if config.max_connections_per_ip_overrides:
            of_host = connections_by_address(config.max_connections_per_ip_overrides).get(host, of_host)
        is_crowded = own.connections is not None and open_of_listener > own.connections
        if is_crowded or open_count > config.max_connections or open_of_host > of_host:
            return Verdict("too many connections, closing the newest")
        if self._quotas.limits_connections and (pause_ms := self._quotas.connecting(host, now_ms)):
            return Verdict("its address connects too often, closing the newest connection", pause_ms)
        rates = [(self._rate, config.max_connection_creation_rate)]
        if own.rate is not None:
            rates.append((self._rates_of_listeners.setdefault(listener, self._new_rate()), own.rate))
        pause_ms = max(_pause_ms(rate, limit, now_ms) for rate, limit in rates)
        if pause_ms > LONGEST_WAIT_MS:
            return Verdict("connections come too fast, closing the newest")
        for rate, _ in rates:
            rate.record(1, now_ms)
        return Verdict(pause_ms=pause_ms)


def _pause_ms(rate: Rate, limit: int, now_ms: float) -> int:
    return rate.throttle_ms(limit, now_ms, 1) if limit else LONGEST_WAIT_MS + 1
