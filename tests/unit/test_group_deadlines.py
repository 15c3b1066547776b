from __future__ import annotations

from leaselog.coordination.group_deadlines import Deadlines


def test_the_earliest_deadline_comes_first_and_only_when_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("late", 20)
    deadlines.set("early", 10)
    assert deadlines.next() == 10
    assert deadlines.pop_due(9) is None
    assert [deadlines.pop_due(20), deadlines.pop_due(20), deadlines.pop_due(20)] == ["early", "late", None]


def test_a_moved_deadline_counts_from_where_it_was_moved_to() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.set("a", 30)
    assert deadlines.pop_due(29) is None
    assert deadlines.next() == 30
    deadlines.set("a", 20)
    assert deadlines.pop_due(20) == "a"
    assert deadlines.next() is None


def test_a_cancelled_deadline_never_comes_and_can_be_set_again() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.cancel("a")
    assert deadlines.pop_due(100) is None
    deadlines.set("a", 5)
    assert deadlines.pop_due(100) == "a"


def test_a_key_moved_many_times_leaves_a_small_heap() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for at in range(100_000, 0, -1):
        deadlines.set("a", at)
    assert len(deadlines._heap) < 100
    assert deadlines.pop_due(1) == "a"
    assert deadlines.pop_due(100_000) is None
