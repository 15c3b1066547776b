from __future__ import annotations

from leaselog.coordination.group_deadlines import DeadlineMoves, Deadlines


def taken(deadlines: Deadlines[str], now_ms: int) -> str | None:
    """The key that is due, which then has no deadline any more."""
    key = deadlines.due(now_ms)
    if key is not None:
        deadlines.cancel(key)
    return key


def test_the_earliest_deadline_comes_first_and_only_when_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("late", 20)
    deadlines.set("early", 10)
    assert deadlines.next() == 10
    assert taken(deadlines, 9) is None
    assert [taken(deadlines, 20), taken(deadlines, 20), taken(deadlines, 20)] == ["early", "late", None]


def test_a_moved_deadline_counts_from_where_it_was_moved_to() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.set("a", 30)
    assert taken(deadlines, 29) is None
    assert deadlines.next() == 30
    deadlines.set("a", 20)
    assert taken(deadlines, 20) == "a"
    assert deadlines.next() is None


def test_a_cancelled_deadline_never_comes_and_can_be_set_again() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.cancel("a")
    assert taken(deadlines, 100) is None
    deadlines.set("a", 5)
    assert taken(deadlines, 100) == "a"


def test_a_key_moved_many_times_leaves_a_small_heap() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for at in range(100_000, 0, -1):
        deadlines.set("a", at)
    assert len(deadlines._heap) < 100
    assert taken(deadlines, 1) == "a"
    assert taken(deadlines, 100_000) is None


def test_what_a_turn_wants_moves_nothing_before_it_is_carried_out_and_then_in_its_order() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    moves: DeadlineMoves[str] = DeadlineMoves()
    moves.cancel("a")
    moves.set("b", 30)
    moves.set("b", 20)
    moves.set("a", 40)
    assert deadlines.due(10) == "a"
    deadlines.move(moves.made)
    assert [taken(deadlines, 100), taken(deadlines, 100), taken(deadlines, 100)] == ["b", "a", None]
