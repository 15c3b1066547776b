"""Acknowledgements on the wire: all that was said, in order, in few pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.client.share.acknowledgements import wire_batches
from leaselog.client.share.acquired import leased_ranges
from leaselog.client.share.extras import Extra
from leaselog.wire.errors import DecodeError

ACCEPT, RELEASE, REJECT = 1, 2, 3


def written(said: dict[int, int]) -> list[tuple[int, int, tuple[int, ...]]]:
    return [batch[:3] for batch in wire_batches(said)]


def test_one_type_for_neighbours_travels_once() -> None:
    assert written(dict.fromkeys(range(10, 500), ACCEPT)) == [(10, 499, (ACCEPT,))]


def test_a_hole_begins_another_batch() -> None:
    assert written({1: ACCEPT, 2: ACCEPT, 4: ACCEPT}) == [(1, 2, (ACCEPT,)), (4, 4, (ACCEPT,))]


def test_types_that_alternate_share_a_batch() -> None:
    assert written({1: ACCEPT, 2: RELEASE, 3: REJECT}) == [(1, 3, (ACCEPT, RELEASE, REJECT))]


def test_a_long_run_between_others_has_its_own_batch() -> None:
    said = {0: REJECT, **dict.fromkeys(range(1, 21), ACCEPT), 21: RELEASE, 22: ACCEPT}
    assert written(said) == [(0, 0, (REJECT,)), (1, 20, (ACCEPT,)), (21, 22, (RELEASE, ACCEPT))]


def test_equal_extras_travel_once_and_another_begins_another_batch() -> None:
    said = dict.fromkeys(range(6), RELEASE)
    extras = {1: Extra(delay_ms=5), 2: Extra(delay_ms=5), 3: Extra(delay_ms=6)}
    assert list(wire_batches(said, extras)) == [
        (0, 0, (RELEASE,), None),
        (1, 2, (RELEASE,), Extra(delay_ms=5)),
        (3, 3, (RELEASE,), Extra(delay_ms=6)),
        (4, 5, (RELEASE,), None),
    ]


def test_an_extra_that_was_asked_for_travels_with_one_that_was_not() -> None:
    said = dict.fromkeys(range(2), RELEASE)
    extras = {0: Extra(given_back=True, is_asked=True), 1: Extra(given_back=True)}
    assert len(list(wire_batches(said, extras))) == 1


some_extras = st.sampled_from(
    [Extra(delay_ms=0), Extra(delay_ms=9), Extra(reason=""), Extra(reason="no"), Extra(given_back=True)]
)


@given(st.dictionaries(st.integers(0, 200), st.tuples(st.integers(0, 4), st.none() | some_extras)))
def test_what_is_written_is_what_was_said(said: dict[int, tuple[int, Extra | None]]) -> None:
    read = dict[int, tuple[int, Extra | None]]()
    before = -1
    extras = {offset: extra for offset, (_, extra) in said.items() if extra is not None}
    for first, last, types, extra in wire_batches({o: kind for o, (kind, _) in said.items()}, extras):
        assert before < first <= last
        assert len(types) in (1, last - first + 1)
        before = last
        read |= {
            offset: (types[0 if len(types) == 1 else offset - first], extra)
            for offset in range(first, last + 1)
        }
    assert read == said


def test_neighbouring_ranges_of_one_delivery_count_become_one() -> None:
    assert list(leased_ranges([(0, 0, 1), (1, 1, 1), (2, 3, 2), (5, 5, 2)])) == [
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
        list(leased_ranges(told))


def test_no_ranges_stay_none() -> None:
    assert list(leased_ranges([])) == []
