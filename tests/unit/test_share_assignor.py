"""The simple assignor: tables that Kafka's documentation of it gives, and what holds for every group."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.coordination.share_assignor import assign
from leaselog.coordination.share_group_facts import Assignment
from leaselog.model import MemberId, TopicId

T, U, V = (TopicId(UUID(int=i)) for i in (1, 2, 3))
Assigned = dict[MemberId, Assignment]


def names(count: int) -> list[MemberId]:
    return [MemberId(f"m{i:03}") for i in range(count)]


def fresh(members: int, partitions: int, current: Assigned | None = None) -> Assigned:
    wanted = {member: frozenset({T}) for member in names(members)}
    return assign(wanted, {T: frozenset(range(partitions))}, current or {})


def sizes(assigned: Assigned) -> list[int]:
    return [sum(len(p) for p in assigned[member].values()) for member in sorted(assigned)]


def holders(assigned: Assigned) -> dict[tuple[TopicId, int], int]:
    count: dict[tuple[TopicId, int], int] = {}
    for assignment in assigned.values():
        for topic, partitions in assignment.items():
            for i in partitions:
                count[topic, i] = count.get((topic, i), 0) + 1
    return count


@pytest.mark.parametrize(
    ("members", "partitions", "expected"),
    [
        (1, 3, [3]),
        (2, 3, [2, 1]),
        (3, 3, [1, 1, 1]),
        (4, 3, [2, 1, 2, 1]),
        (5, 3, [2, 1, 1, 1, 1]),
        (6, 3, [1] * 6),
        (16, 1, [1] * 16),
        (3, 0, [0, 0, 0]),
    ],
)
def test_members_get_equally_many_give_or_take_one(
    members: int, partitions: int, expected: list[int]
) -> None:
    assert sizes(fresh(members, partitions)) == expected


def test_a_group_that_stands_as_it_should_is_left_alone() -> None:
    for members, partitions in ((1, 3), (2, 5), (4, 3), (16, 1)):
        first = fresh(members, partitions)
        assert fresh(members, partitions, first) == first


def test_who_comes_takes_no_more_than_its_share() -> None:
    before = fresh(2, 6)
    after = fresh(3, 6, before)
    for member, assignment in before.items():
        assert after[member][T] <= assignment[T]
    assert sizes(after) == [2, 2, 2]


def test_what_is_left_behind_is_taken_on_and_the_rest_stays() -> None:
    before = fresh(3, 6)
    gone = names(3)[2]
    after = fresh(2, 6, {m: a for m, a in before.items() if m != gone})
    for member, assignment in after.items():
        assert before[member][T] <= assignment[T]


def test_who_had_one_more_than_others_goes_on_having_it() -> None:
    a, b, c, d = names(4)
    before: Assigned = {
        a: {T: frozenset({0})},
        b: {T: frozenset({1, 2})},
        c: {T: frozenset({3})},
        d: {T: frozenset({4, 5})},
    }
    assert fresh(4, 6, before) == before


def test_topics_that_not_everybody_wants_are_balanced_one_by_one() -> None:
    a, b, c = names(3)
    wanted = {a: frozenset({T}), b: frozenset({T, U}), c: frozenset({U, V})}
    available = {T: frozenset(range(2)), U: frozenset(range(4)), V: frozenset(range(1))}
    after = assign(wanted, available, {})
    assert {topic: len(p) for topic, p in after[a].items()} == {T: 1}
    assert {topic: len(p) for topic, p in after[b].items()} == {T: 1, U: 2}
    assert {topic: len(p) for topic, p in after[c].items()} == {U: 2, V: 1}


def test_nobody_gets_what_it_does_not_want_or_what_is_not_there() -> None:
    (a,) = names(1)
    had = {a: {T: frozenset({0, 9}), U: frozenset({0})}}
    assert assign({a: frozenset({T})}, {T: frozenset({0, 1})}, had) == {a: {T: frozenset({0, 1})}}


TOPICS = st.sampled_from([T, U, V])
MEMBERS = st.sampled_from(names(9))
WANTED = st.dictionaries(MEMBERS, st.frozensets(TOPICS, min_size=1), min_size=1)
AVAILABLE = st.dictionaries(TOPICS, st.frozensets(st.integers(0, 7)))
CURRENT = st.dictionaries(
    MEMBERS, st.dictionaries(TOPICS, st.frozensets(st.integers(0, 8), min_size=1), max_size=3)
)


@given(WANTED, AVAILABLE, CURRENT)
def test_everything_wanted_has_somebody_and_nobody_has_anything_else(
    wanted: dict[MemberId, frozenset[TopicId]],
    available: dict[TopicId, frozenset[int]],
    current: Assigned,
) -> None:
    after = assign(wanted, available, current)
    asked_for = {topic for topics in wanted.values() for topic in topics}
    assert after.keys() == wanted.keys()
    assert holders(after).keys() == {(t, i) for t in asked_for for i in available.get(t, ())}
    assert all(assignment.keys() <= wanted[member] for member, assignment in after.items())
    assert all(assignment[topic] for assignment in after.values() for topic in assignment)


@given(st.integers(1, 9), st.integers(1, 12), CURRENT)
def test_no_partition_has_more_members_than_it_takes_to_keep_all_busy(
    members: int, partitions: int, current: Assigned
) -> None:
    sharing = -(-members // partitions)
    assert max(holders(fresh(members, partitions, current)).values()) <= max(sharing, 1)


@given(st.integers(1, 9), st.integers(1, 12))
def test_without_a_past_the_balance_is_even(members: int, partitions: int) -> None:
    assigned = fresh(members, partitions)
    assert max(sizes(assigned)) - min(sizes(assigned)) <= 1
    assert min(sizes(assigned)) >= 1


@given(WANTED, AVAILABLE, CURRENT)
def test_the_same_group_is_always_assigned_the_same(
    wanted: dict[MemberId, frozenset[TopicId]],
    available: dict[TopicId, frozenset[int]],
    current: Assigned,
) -> None:
    turned = dict(reversed(list(wanted.items())))
    assert assign(wanted, available, current) == assign(turned, available, current)
