"""Patterns of transactional ids: as RE2 reads them, and never slower than text times pattern."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.broker.transactions.patterns import PATTERN_LENGTH_MAX, BadPattern, Pattern

PARTS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "", "[a-c]", r"\."]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda part: f"(?:{part[0]}){part[1]}"),
    ),
    max_leaves=6,
)


@given(PARTS, st.text("ab.1c", max_size=6))
def test_a_text_matches_where_pythons_patterns_match(pattern: str, text: str) -> None:
    assert Pattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


def test_a_pattern_that_would_take_pythons_for_ever_is_matched_at_once() -> None:
    assert not Pattern("(a*)*" * 20 + "b").matches("a" * 2_000)


@pytest.mark.parametrize(
    "bad",
    [
        "(",
        ")",
        "a)",
        "[a",
        "*",
        "a**",
        "a{2}",
        "(?i)a",
        r"\p",
        "\\",
        "^a",
        "[z-a]",
        "a" * PATTERN_LENGTH_MAX + "a",
    ],
)
def test_what_is_no_pattern_here_is_refused(bad: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(bad)
