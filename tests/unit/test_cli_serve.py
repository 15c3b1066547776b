"""What `leaselog serve` says before anybody connects."""

from __future__ import annotations

import resource

import pytest

from leaselog.broker.config import BrokerConfig
from leaselog.cli.serve import MACOS_OPEN_MAX, is_a_guess, raise_file_limit


@pytest.mark.parametrize(
    ("listens_on", "advertised", "expected"),
    [
        ("0.0.0.0", None, True),
        ("::", None, True),
        ("", None, True),
        ("0.0.0.0", "PLAINTEXT://queue.example:9092", False),
        ("127.0.0.1", None, False),
    ],
)
def test_an_address_that_nobody_chose_is_warned_of(
    listens_on: str, advertised: str | None, expected: bool
) -> None:
    config = BrokerConfig.from_originals({} if advertised is None else {"advertised.listeners": advertised})
    assert is_a_guess(listens_on, config) is expected


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
