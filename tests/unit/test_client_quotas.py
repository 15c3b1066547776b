"""Byte rates and the pauses they ask for, with the time as an argument."""

from __future__ import annotations

import pytest

from leaselog.broker.quotas import client_quotas
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.rate import MAX_THROTTLE_MS, Rate
from leaselog.coordination.cluster_records import QuotaEntity


def rate(*records: tuple[float, int], samples: int = 11, sample_ms: int = 1000) -> Rate:
    """Of these (time, bytes)."""
    made = Rate(samples, sample_ms)
    for at_ms, size_bytes in records:
        made.record(size_bytes, at_ms)
    return made


def test_somebody_new_may_move_a_whole_window_at_once() -> None:
    assert rate((0, 1000)).throttle_ms(100, 0) == 0
    assert rate((0, 1001)).throttle_ms(100, 0) == 10


def test_the_pause_is_what_brings_the_rate_down_to_the_limit() -> None:
    """As Kafka computes it: the bytes over the limit, over the limit, times the window."""
    busy = rate((0, 3000))
    assert busy.throttle_ms(100, 0) == 20_000
    assert busy.throttle_ms(100, 5_000) == 20_000, "not until the window has filled does time count"
    assert busy.throttle_ms(100, 10_500) == 19_500
    slowed = rate((0, 1000), (5_000, 250))
    assert slowed.throttle_ms(100, 5_000) == 2_500


def test_a_sample_is_forgotten_when_the_window_has_passed_it() -> None:
    busy = rate((0, 3000), (500, 1000), (1_500, 500))
    assert busy.throttle_ms(100, 10_999) == 45_000 - 10_999
    assert busy.throttle_ms(100, 11_000) == 0, "the first two were one sample"
    assert not busy.is_idle(12_499)
    assert busy.is_idle(12_500)


def test_a_window_of_one_sample_measures_since_it_began() -> None:
    assert rate((0, 50), samples=1).throttle_ms(100, 0) == 499
    assert rate((0, 50), samples=1).throttle_ms(100, 400) == 100
    assert rate((0, 50), samples=1).throttle_ms(100, 500) == 0


def test_a_sustained_sender_who_pauses_as_told_keeps_to_the_limit() -> None:
    sender, now_ms, sent_bytes = rate(), 0.0, 0
    while now_ms < 300_000:
        sender.record(30_000, now_ms)
        sent_bytes += 30_000
        now_ms += max(sender.throttle_ms(10_000, now_ms), 1)
    assert 0.9 * 10_000 < sent_bytes / (now_ms / 1000) < 1.1 * 10_000


def test_many_records_make_few_samples() -> None:
    busy = rate(*((at_ms, 1) for at_ms in range(0, 60_000, 10)))
    assert len(busy._samples) <= 12
    assert busy._total == sum(size for _, size in busy._samples)


def test_a_pause_fits_into_an_answer() -> None:
    assert rate((0, 2**40)).throttle_ms(1, 0) == MAX_THROTTLE_MS


# -- quotas

ALL_CLIENTS: QuotaEntity = (("client-id", None),)
ANONYMOUS: QuotaEntity = (("user", "ANONYMOUS"),)


def quotas(limits: dict[QuotaEntity, dict[str, float]]) -> ClientQuotas:
    made = ClientQuotas(samples=11, sample_ms=1000)
    made.changed(limits)
    return made


def test_nobody_is_limited_until_there_is_a_limit_to_enforce() -> None:
    unlimited = quotas({ANONYMOUS: {"controller_mutation_rate": 1.0}})
    assert (unlimited.limits_produce, unlimited.limits_fetch) == (False, False)
    unlimited.changed({ANONYMOUS: {"producer_byte_rate": 1.0}})
    assert (unlimited.limits_produce, unlimited.limits_fetch) == (True, False)
    unlimited.changed({})
    assert unlimited.limits_produce is False
    assert (unlimited.limits_requests, unlimited.limits_connections) == (False, False)


def test_each_client_has_the_default_limit_for_itself() -> None:
    each = quotas({ALL_CLIENTS: {"producer_byte_rate": 100.0}})
    assert each.produced("a", 2000, 0) == 10_000
    assert each.produced("b", 500, 0) == 0
    assert each.produced("a", 0, 0) == 10_000
    assert each.produced(None, 500, 0) == 0


def test_all_clients_of_a_user_share_the_users_limit() -> None:
    shared = quotas({ANONYMOUS: {"producer_byte_rate": 100.0}})
    assert shared.produced("a", 1000, 0) == 0
    assert shared.produced("b", 1000, 0) == 10_000


def test_a_users_limit_holds_for_whoever_logs_in_under_that_name() -> None:
    alices = quotas({(("user", "alice"),): {"producer_byte_rate": 100.0}})
    assert alices.produced("a", 2000, 0, user="alice") == 10_000
    assert alices.produced("a", 2000, 0, user="bob") == 0
    assert alices.produced("a", 2000, 0) == 0


def test_the_limit_of_a_user_and_client_stands_above_the_users_own() -> None:
    both = quotas(
        {
            (("user", "alice"),): {"producer_byte_rate": 100.0},
            (("client-id", "a"), ("user", "alice")): {"producer_byte_rate": 1e6},
        }
    )
    assert both.produced("a", 2000, 0, user="alice") == 0
    assert both.produced("b", 2000, 0, user="alice") == 10_000


def test_a_limit_of_somebody_else_is_nobodys_concern() -> None:
    others = quotas({(("user", "admin"),): {"producer_byte_rate": 1.0}})
    assert others.produced("a", 10**9, 0) == 0


def test_produced_and_fetched_bytes_count_apart() -> None:
    both = quotas({ALL_CLIENTS: {"producer_byte_rate": 100.0, "consumer_byte_rate": 100.0}})
    assert both.produced("a", 1000, 0) == 0
    assert both.fetching("a", 1000, 0) == 0


def test_records_that_are_not_given_do_not_count() -> None:
    reader = quotas({ALL_CLIENTS: {"consumer_byte_rate": 100.0}})
    assert reader.fetching("a", 900, 0) == 0
    assert [reader.fetching("a", 200, 0) for _ in range(3)] == [1_000] * 3
    assert reader.fetching("a", 100, 0) == 0


def test_a_batch_larger_than_the_window_is_read_by_a_client_that_had_nothing() -> None:
    reader = quotas({ALL_CLIENTS: {"consumer_byte_rate": 100.0}})
    assert reader.fetching("a", 5_000, 0) == 0
    assert reader.fetching("a", 1, 0) == 40_010
    assert reader.fetching("a", 5_000, 11_000) == 0


def test_one_fetch_may_bring_a_window_of_bytes() -> None:
    reader = quotas({(("client-id", "a"),): {"consumer_byte_rate": 100.0}})
    assert reader.fetch_room_bytes("a") == 1000
    assert reader.fetch_room_bytes("b") > 2**40


def test_a_changed_limit_meets_what_was_moved_before() -> None:
    changing = quotas({ALL_CLIENTS: {"producer_byte_rate": 1000.0}})
    assert changing.produced("a", 2000, 0) == 0
    changing.changed({ALL_CLIENTS: {"producer_byte_rate": 100.0}})
    assert changing.produced("a", 0, 0) == 10_000


def test_the_client_unused_for_longest_is_forgotten_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_quotas, "MAX_TRACKED", 2)
    each = quotas({ALL_CLIENTS: {"producer_byte_rate": 100.0}})
    for client in ("a", "b", "a", "c"):
        each.produced(client, 1000, 0)
    assert each.produced("a", 0, 0) == 10_000
    assert each.produced("b", 1000, 0) == 0


def test_time_used_is_limited_in_percent_and_a_pause_for_it_is_a_sample_at_most() -> None:
    worker = quotas({ALL_CLIENTS: {"request_percentage": 50.0}})
    assert worker.limits_requests
    assert worker.worked_for("a", 5.0, 0) == 0, "half of ten seconds"
    assert worker.worked_for("a", 0.1, 0) == 200
    assert worker.worked_for("a", 60.0, 0) == 1000
    assert worker.worked_for("b", 0.1, 0) == 0


def test_connections_are_limited_by_address_and_one_that_is_refused_does_not_count() -> None:
    doors = quotas(
        {
            (("ip", None),): {"connection_creation_rate": 2.0},
            (("ip", "10.0.0.1"),): {"connection_creation_rate": 4.0},
        }
    )
    assert doors.limits_connections
    assert [doors.connecting("10.0.0.2", 0) for _ in range(22)] == [0] * 20 + [500] * 2
    assert [doors.connecting("10.0.0.1", 0) for _ in range(41)] == [0] * 40 + [250]
    assert doors.connecting("10.0.0.2", 11_000) == 0


def test_without_a_default_other_addresses_may_connect_as_they_like() -> None:
    doors = quotas({(("ip", "10.0.0.1"),): {"connection_creation_rate": 1.0}})
    assert [doors.connecting("10.0.0.2", 0) for _ in range(100)] == [0] * 100
