"""Reasons and delays as they go out: bounded, and never anything that could keep an acknowledgement from going."""

from __future__ import annotations

import pytest

from leaselog.client.share.extras import MAX_REASON_CHARS, delay_ms_of, reason_of


class Untellable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("as it is", "as it is"),
        (ValueError("bad total"), "ValueError: bad total"),
        (ValueError(), "ValueError"),
        (Untellable(), "Untellable"),
        (OSError("name \udcff"), "OSError: name ?"),
    ],
)
def test_a_reason_says_what_the_cause_says(cause: str | Exception, reason: str) -> None:
    assert reason_of(cause) == reason


def test_a_long_reason_is_cut() -> None:
    reason = reason_of(ValueError("x" * 5_000))
    assert len(reason) == MAX_REASON_CHARS
    assert reason.startswith("ValueError: xxx")
    assert reason.endswith("x…")


@pytest.mark.parametrize(("seconds", "ms"), [(0, 0), (0.0001, 1), (1.5, 1_500), (86_400, 86_400_000)])
def test_a_delay_is_never_shortened(seconds: float, ms: int) -> None:
    assert delay_ms_of(seconds) == ms
