"""A machine may die at any file operation of a broker's day: promises hold, and starting again changes nothing."""

from __future__ import annotations

import pytest

from sim.crash_points import FIRST, count_operations, die_at


def test_dying_here_and_there_in_a_day_loses_nothing() -> None:
    count = count_operations()
    assert count > 300, "the day has become too short to find anything"
    assert all(die_at(operation) for operation in range(FIRST, count, count // 6))


@pytest.mark.deep
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("seed", range(4))
def test_dying_at_any_operation_of_a_day_loses_nothing(seed: int) -> None:
    for operation in range(FIRST, count_operations(seed) + 1):
        assert die_at(operation, seed)
