"""Merging stretches of delivery state: every way in which two can lie, and which of them holds."""

from __future__ import annotations

import pytest

from leaselog.coordination.share_state_batches import StateBatch, StateBatches, combine

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
HELD = (2, ACKNOWLEDGED)
#: delivery count first, then state
HIGHER = [(3, AVAILABLE), (2, ARCHIVED)]
LOWER = [(1, ARCHIVED), (2, AVAILABLE)]

#: what is held, what is new, what comes of it if the new is higher, and if it is lower. One character an offset.
LAYOUTS = [
    ("aaaaaa", "bbbbbb", "bbbbbb", "aaaaaa"),
    ("aaaaaa", "bbb", "bbbaaa", "aaaaaa"),
    ("aaa", "bbbbbb", "bbbbbb", "aaabbb"),
    ("aaaaaa", " bbb", "abbbaa", "aaaaaa"),
    ("aaaaaa", "   bbb", "aaabbb", "aaaaaa"),
    ("aaaa", "  bbbb", "aabbbb", "aaaabb"),
    ("aaa", "   bbb", "aaabbb", "aaabbb"),
    ("aa", "    bb", "aa  bb", "aa  bb"),
    ("  aaaa", "bbbb", "bbbbaa", "bbaaaa"),
    (" aaa", "bbbbbb", "bbbbbb", "baaabb"),
    ("   aaa", "bbbbbb", "bbbbbb", "bbbaaa"),
    ("   aaa", "bbb", "bbbaaa", "bbbaaa"),
    ("    aa", "bb", "bb  aa", "bb  aa"),
    ("aa  aa", "  bb", "aabbaa", "aabbaa"),
    ("aa  aa", " bbbb", "abbbba", "aabbaa"),
    ("aa  aa", "bbbbbbb", "bbbbbbb", "aabbaab"),
    (" a a a", "bbbbbbb", "bbbbbbb", "bababab"),
]


def drawn(picture: str, like: dict[str, tuple[int, int]]) -> tuple[StateBatch, ...]:
    """The fewest batches that show it."""
    batches: list[StateBatch] = []
    for offset, letter in enumerate(picture):
        if letter == " ":
            continue
        count, state = like[letter]
        if batches and batches[-1].end == offset and batches[-1].rank == (count, state, 0):
            batches[-1] = batches[-1]._replace(end=offset + 1)
        else:
            batches.append(StateBatch(offset, offset + 1, state, count))
    return tuple(batches)


@pytest.mark.parametrize("new", HIGHER)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_higher_holds_where_two_overlap(layout: tuple[str, str, str, str], new: tuple[int, int]) -> None:
    held, other, expected, _ = layout
    like = {"a": HELD, "b": new}
    assert combine(drawn(held, like), drawn(other, like)) == drawn(expected, like)


@pytest.mark.parametrize("new", LOWER)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_lower_only_fills_what_is_free(layout: tuple[str, str, str, str], new: tuple[int, int]) -> None:
    held, other, _, expected = layout
    like = {"a": HELD, "b": new}
    assert combine(drawn(held, like), drawn(other, like)) == drawn(expected, like)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_likes_become_one(layout: tuple[str, str, str, str]) -> None:
    held, other, expected, _ = layout
    like = {"a": HELD, "b": HELD}
    assert combine(drawn(held, like), drawn(other, like)) == drawn(expected, like)


def test_a_batch_that_turns_like_its_neighbours_joins_them() -> None:
    held = (
        StateBatch(0, 5, ACKNOWLEDGED, 1),
        StateBatch(5, 8, AVAILABLE, 1),
        StateBatch(8, 9, ACKNOWLEDGED, 1),
    )
    assert combine(held, [StateBatch(5, 8, ACKNOWLEDGED, 1)]) == (StateBatch(0, 9, ACKNOWLEDGED, 1),)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (-1, (StateBatch(2, 5, ACKNOWLEDGED, 1), StateBatch(7, 9, AVAILABLE, 1))),
        (2, (StateBatch(2, 5, ACKNOWLEDGED, 1), StateBatch(7, 9, AVAILABLE, 1))),
        (4, (StateBatch(4, 5, ACKNOWLEDGED, 1), StateBatch(7, 9, AVAILABLE, 1))),
        (5, (StateBatch(7, 9, AVAILABLE, 1),)),
        (6, (StateBatch(7, 9, AVAILABLE, 1),)),
        (8, (StateBatch(8, 9, AVAILABLE, 1),)),
        (9, ()),
    ],
)
def test_nothing_is_known_below_the_start(start: int, expected: tuple[StateBatch, ...]) -> None:
    held = (StateBatch(2, 5, ACKNOWLEDGED, 1), StateBatch(7, 9, AVAILABLE, 1))
    assert combine(held, start=start) == expected


def test_a_batch_without_offsets_says_nothing() -> None:
    assert combine([StateBatch(5, 5, ACKNOWLEDGED, 1), StateBatch(9, 3, ACKNOWLEDGED, 1)]) == ()


def test_a_copy_goes_its_own_way() -> None:
    one = StateBatches([StateBatch(0, 5, ACKNOWLEDGED, 1)])
    other = one.copy()
    other.add([StateBatch(3, 9, ARCHIVED, 5)])
    assert tuple(one) == (StateBatch(0, 5, ACKNOWLEDGED, 1),)
    assert tuple(other) == (StateBatch(0, 3, ACKNOWLEDGED, 1), StateBatch(3, 9, ARCHIVED, 5))
