"""Patterns of topic names: RE2's rules, in bounded time."""

from __future__ import annotations

import time

from leaselog.broker.groups.patterns import MAX_PATTERN_CHARS, matching, why_no_pattern

NAMES = ["orders", "orders.eu", "my-orders", "x"]


def test_a_name_is_matched_as_a_whole() -> None:
    assert matching("orders", NAMES) == {"orders"}
    assert matching("orders.*", NAMES) == {"orders", "orders.eu"}
    assert matching("", NAMES) == frozenset()


def test_what_is_no_pattern_matches_nothing_and_says_why() -> None:
    assert why_no_pattern("a(") == "missing ): a("
    assert matching("a(", NAMES) == frozenset()
    assert why_no_pattern("(?=a)b") is not None, "RE2 looks at nothing twice"
    assert why_no_pattern("a" * (MAX_PATTERN_CHARS + 1)) is not None
    assert why_no_pattern("((a{0,200}){0,200}){0,200}") is not None, "too large when it is compiled"


def test_a_pattern_that_backtracks_elsewhere_takes_no_time() -> None:
    began_s = time.process_time()
    assert matching("(a+)+b", ["a" * 249] * 1_000) == frozenset()
    assert time.process_time() - began_s < 1
