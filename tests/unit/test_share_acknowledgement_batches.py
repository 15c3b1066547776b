"""Acknowledgements on the wire: all that was said, in order, in few pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.client.share.acknowledgements import wire_batches
from leaselog.client.share.acquired import lent_ranges
from leaselog.wire.errors import DecodeError

ACCEPT, RELEASE, REJECT = 1, 2, 3


def test_one_type_for_neighbours_travels_once() -> None:
    assert list(wire_batches(dict.fromkeys(range(10, 500), ACCEPT))) == [(10, 499, (ACCEPT,))]


def test_a_hole_begins_another_batch() -> None:
    assert list(wire_batches({1: ACCEPT, 2: ACCEPT, 4: ACCEPT})) == [(1, 2, (ACCEPT,)), (4, 4, (ACCEPT,))]


def test_types_that_alternate_share_a_batch() -> None:
    assert list(wire_batches({1: ACCEPT, 2: RELEASE, 3: REJECT})) == [(1, 3, (ACCEPT, RELEASE, REJECT))]


def test_a_long_run_between_others_has_its_own_batch() -> None:
    said = {0: REJECT, **dict.fromkeys(range(1, 21), ACCEPT), 21: RELEASE, 22: ACCEPT}
    assert list(wire_batches(said)) == [(0, 0, (REJECT,)), (1, 20, (ACCEPT,)), (21, 22, (RELEASE, ACCEPT))]


@given(st.dictionaries(st.integers(0, 200), st.integers(0, 4)))
def test_what_is_written_is_what_was_said(said: dict[int, int]) -> None:
    read = dict[int, int]()
    before = -1
    for first, last, types in wire_batches(said):
        assert before < first <= last
        assert len(types) in (1, last - first + 1)
        before = last
        read.update(zip(range(first, last + 1), types * (last - first + 1), strict=False))
    assert read == said


def test_neighbouring_ranges_of_one_delivery_count_become_one() -> None:
    assert list(lent_ranges([(0, 0, 1), (1, 1, 1), (2, 3, 2), (5, 5, 2)])) == [
        (0, 2, 1),
        (2, 4, 2),
        (5, 6, 2),
    ]


@pytest.mark.parametrize(
    "told",
    [
        [(0, 2**62, 1)],
        [(0, 2**19, 1), (2**19 + 1, 2**20, 2)],
        [(-5, 3, 1)],
        [(7, 3, 1)],
        [(3, 7, 1), (5, 9, 1)],
        [(3, 7, 1), (0, 1, 1)],
    ],
)
def test_ranges_that_nobody_lends_are_refused_before_anything_is_kept_of_them(
    told: list[tuple[int, int, int]],
) -> None:
    with pytest.raises(DecodeError):
        list(lent_ranges(told))


def test_no_ranges_stay_none() -> None:
    assert list(lent_ranges([])) == []
