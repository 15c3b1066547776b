"""What clients may make the broker hold together: whose turn it is to wait when it is a lot."""

from __future__ import annotations

from leaselog.broker.quotas.held_bytes import HeldBytes


def test_there_is_room_for_anybody_up_to_the_limit() -> None:
    held = HeldBytes(100)
    held.change("a", 60)
    assert (held.room_bytes("a"), held.room_bytes("b")) == (40, 50)
    assert not held.is_full
    held.change("a", 40)
    assert held.is_full
    held.change("a", -100)
    assert held.room_bytes("a") == 100


def test_at_the_limit_whoever_holds_less_than_an_equal_part_may_hold_more() -> None:
    held = HeldBytes(120)
    held.change("greedy", 120)
    assert held.room_bytes("greedy") == 0
    assert held.room_bytes("modest") == 60
    held.change("modest", 50)
    assert held.room_bytes("modest") == 10
    assert held.room_bytes("third") == 40


def test_one_host_that_holds_it_all_leaves_room_for_every_other() -> None:
    held = HeldBytes(1000)
    held.change("greedy", 5000)
    for number in range(9):
        room = held.room_bytes(f"host {number}")
        assert room >= 100
        held.change(f"host {number}", room)


def test_who_waits_is_called_in_turn_when_something_is_given_back() -> None:
    held, called = HeldBytes(100), list[str]()
    waits = {name: (lambda name=name: called.append(name)) for name in "abc"}
    held.change("x", 100)
    for name in "abc":
        held.wait(waits[name])
    held.forget(waits["b"])
    held.change("x", 20)
    assert called == []
    held.change("x", -10)
    assert called == ["a", "c"]
    held.change("x", -50)
    assert called == ["a", "c"], "once each"


def test_who_finds_no_room_waits_again() -> None:
    held, looks = HeldBytes(100), list[int]()

    def look() -> None:
        looks.append(held.room_bytes("x"))
        if not looks[-1]:
            held.wait(look)

    held.change("x", 150)
    look()
    held.change("x", -20)
    held.change("x", -40)
    assert looks == [0, 0, 10]
    assert not held.has_waiting


def test_without_a_limit_there_is_always_room() -> None:
    held = HeldBytes(-1)
    held.change("a", 1 << 40)
    assert not held.is_full
    assert held.room_bytes("a") > 1 << 40
