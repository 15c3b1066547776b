"""What `leaselog serve` says before anybody connects."""

from __future__ import annotations

import pytest

from leaselog.broker.config import BrokerConfig
from leaselog.cli.serve import is_a_guess


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
