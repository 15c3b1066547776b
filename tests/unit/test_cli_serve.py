"""What `leaselog serve` says before anybody connects."""

from __future__ import annotations

import resource

import pytest

from leaselog.broker.config import BrokerConfig
from leaselog.broker.config.listeners import Address, read_listeners
from leaselog.cli.serve import MACOS_OPEN_MAX, guesses, raise_file_limit, ready_line


@pytest.mark.parametrize(
    ("listeners", "advertised", "guessed"),
    [
        ("PLAINTEXT://0.0.0.0:1", None, ["PLAINTEXT"]),
        ("PLAINTEXT://[::]:1", None, ["PLAINTEXT"]),
        ("PLAINTEXT://:1", None, ["PLAINTEXT"]),
        ("PLAINTEXT://0.0.0.0:1", "PLAINTEXT://queue.example:9092", []),
        ("PLAINTEXT://127.0.0.1:1", None, []),
        ("PLAINTEXT://:1,SSL://:2", "PLAINTEXT://queue.example:9092", ["SSL"]),
    ],
)
def test_an_address_that_nobody_chose_is_warned_of(
    listeners: str, advertised: str | None, guessed: list[str]
) -> None:
    more = {} if advertised is None else {"advertised.listeners": advertised}
    config = BrokerConfig.from_originals({"listeners": listeners, **more})
    assert [listener.name for listener in guesses(read_listeners(config), config)] == guessed


def test_the_ready_line_names_one_listener_as_ever_and_several_by_name() -> None:
    config = BrokerConfig.from_originals({"listeners": "PLAINTEXT://[::1]:0,SSL://:0"})
    listeners = read_listeners(config)
    places, told = [Address("::1", 5), Address("", 6)], [Address("::1", 5), Address("q.example", 6)]
    assert ready_line(listeners[:1], places[:1], told[:1]) == "leaselog ready on [::1]:5"
    assert ready_line(listeners[1:], places[1:], told[1:]) == (
        "leaselog ready on :6, and tells clients to connect to q.example:6 (advertised.listeners)"
    )
    assert ready_line(listeners, places, told) == (
        "leaselog ready on PLAINTEXT://[::1]:5, SSL://:6 (advertised as q.example:6)"
    )


@pytest.mark.parametrize(
    ("soft", "most", "becomes"),
    [(1_024, 524_288, 524_288), (256, MACOS_OPEN_MAX, MACOS_OPEN_MAX), (20_000, MACOS_OPEN_MAX, 20_000)],
    ids=["what the system allows", "macOS allows less than it says", "more than that is left alone"],
)
def test_the_limit_of_open_files_is_raised_as_far_as_the_system_lets_it(
    monkeypatch: pytest.MonkeyPatch, soft: int, most: int, becomes: int
) -> None:
    unlimited, limit = 2**63 - 1, soft

    def set_limit(what: int, limits: tuple[int, int]) -> None:
        nonlocal limit
        if limits[0] > most:
            raise ValueError("current limit exceeds maximum limit")
        limit = limits[0]

    monkeypatch.setattr(
        resource, "getrlimit", lambda what: (soft, most if most > MACOS_OPEN_MAX else unlimited)
    )
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    raise_file_limit()
    assert limit == becomes
