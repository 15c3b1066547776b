"""How many connections there may be, and how fast new ones may come."""

from __future__ import annotations

import pytest

from leaselog.broker.config import BrokerConfig, ConfigError, connections_by_address
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.connection_bounds import ConnectionBounds


class Door:
    def __init__(self, **settings: str) -> None:
        self.config = BrokerConfig.from_originals({k.replace("_", "."): v for k, v in settings.items()})
        self.quotas = ClientQuotas(samples=11, sample_ms=1000)
        self.now_ms = 0.0
        self.bounds = ConnectionBounds(lambda: self.config, self.quotas, lambda: self.now_ms)

    def knock(
        self,
        host: str = "10.0.0.1",
        *,
        open_count: int = 1,
        open_of_host: int = 1,
        listener: str = "",
        there: int = 1,
    ) -> str | int:
        """Why the connection is refused, or how long it is to wait."""
        verdict = self.bounds.judge(host, open_count, open_of_host, listener, there)
        return verdict.refusal or verdict.pause_ms


def test_connections_are_counted_in_all_and_by_address() -> None:
    door = Door(max_connections="10", max_connections_per_ip="5")
    assert door.knock(open_count=10, open_of_host=5) == 0
    assert "too many" in str(door.knock(open_count=11))
    assert "too many" in str(door.knock(open_of_host=6))


def test_some_addresses_have_bounds_of_their_own() -> None:
    door = Door(max_connections_per_ip="5", max_connections_per_ip_overrides="10.0.0.1:7, 10.0.0.2:0,[::1]:3")
    assert [door.knock("10.0.0.1", open_of_host=n) == 0 for n in (7, 8)] == [True, False]
    assert "too many" in str(door.knock("10.0.0.2"))
    assert [door.knock("::1", open_of_host=n) == 0 for n in (3, 4)] == [True, False]
    assert [door.knock("10.0.0.3", open_of_host=n) == 0 for n in (5, 6)] == [True, False]


@pytest.mark.parametrize(
    "text", ["somewhere:5", "10.0.0.1", "10.0.0.1:-1", "10.0.0.1:many", "10.0.0.1:5;10.0.0.2:6"]
)
def test_overrides_that_make_no_sense_are_refused_at_the_start(text: str) -> None:
    with pytest.raises(ConfigError, match="expected ADDRESS:COUNT"):
        BrokerConfig.from_originals({"max.connections.per.ip.overrides": text})


def test_overrides_may_be_empty() -> None:
    assert connections_by_address("") == {}


def test_who_comes_too_early_waits_up_to_a_second_and_is_refused_beyond() -> None:
    door = Door(max_connection_creation_rate="10")
    assert [door.knock() for _ in range(110)] == [0] * 100 + list(range(100, 1001, 100))
    assert "too fast" in str(door.knock())
    assert "too fast" in str(door.knock()), "and counts for nothing"
    door.now_ms = 10_500.0
    assert door.knock() == 600
    door.now_ms = 12_000.0
    assert door.knock() == 0


def test_a_rate_of_none_lets_nobody_in() -> None:
    assert "too fast" in str(Door(max_connection_creation_rate="0").knock())


def test_an_address_over_its_quota_is_told_apart_and_counts_for_no_rate() -> None:
    door = Door(max_connection_creation_rate="10")
    door.quotas.changed({(("ip", "10.0.0.1"),): {"connection_creation_rate": 1.0}})
    for _ in range(10):
        assert door.knock() == 0
    verdict = door.bounds.judge("10.0.0.1", 1, 1)
    assert "its address" in verdict.refusal
    assert verdict.pause_ms == 1000
    assert [door.knock("10.0.0.2") for _ in range(91)] == [0] * 90 + [100]


def test_a_listener_has_bounds_of_its_own_beside_those_of_all() -> None:
    door = Door(
        listener_name_out_max_connections="2",
        listener_name_out_max_connection_creation_rate="1",
        max_connections="10",
        quota_window_num="2",
    )
    assert door.knock(listener="OUT", there=2) == 0
    assert "too many" in str(door.knock(listener="OUT", there=3))
    assert "too many" in str(door.knock(listener="IN", there=3, open_count=11))
    assert door.knock(listener="IN", there=3) == 0
    told = [door.knock(listener="OUT", there=1) for _ in range(4)]
    assert "too fast" in str(told[-1])
    assert door.knock(listener="IN", there=1) == 0
