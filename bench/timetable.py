"""How long a run is going to take: said before it begins, and corrected by how long its rows really take.

Only arithmetic. What a row takes on a quiet machine of two cores is its own to say (`Row.case_s`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.frame import KAFKA, LEASELOG, Case, Row
from bench.runner import Turn

__all__ = ["Progress", "expected_s", "timetable"]

#: starting a broker of its own, some work, and ending it; those that rows share are warmed up once a round
SET_UP_S = {LEASELOG: 8.0, KAFKA: 18.0}
#: a quick case is mostly the start of its clients
QUICK_CASE_S = 5.0

Cases = Callable[[Row], Sequence[Case]]


def expected_s(turn: Turn, cases: Cases, *, is_quick: bool) -> float:
    """Of one row on one broker: what its cases take, and what comes before."""
    each_s = min(turn.row.case_s, QUICK_CASE_S) if is_quick else turn.row.case_s
    set_up_s = SET_UP_S[turn.kind] if turn.row.has_own_broker else 0.0
    return set_up_s + each_s * len(cases(turn.row))


def timetable(turns: Iterable[Turn], cases: Cases, *, is_quick: bool) -> str:
    """A line for each row, and the sum."""
    by_row: dict[str, float] = {}
    for turn in turns:
        spent_s = expected_s(turn, cases, is_quick=is_quick)
        by_row[turn.row.name] = by_row.get(turn.row.name, 0.0) + spent_s
    lines = [f"  {name:20} {seconds / 60:6.1f} min" for name, seconds in by_row.items()]
    return "\n".join(["expected, on a quiet machine:", *lines, f"  {'all':20} {_minutes(by_row.values())}"])


def _minutes(seconds: Iterable[float]) -> str:
    return f"{sum(seconds) / 60:6.1f} min"


@dataclass(slots=True)
class Progress:
    """What is left of a run that has begun, when it goes on at the pace so far."""

    left_s: float
    _expected_s: float = 0.0
    _took_s: float = 0.0

    def ended(self, expected_s: float, took_s: float) -> None:
        """One turn is over."""
        self.left_s -= expected_s
        self._expected_s += expected_s
        self._took_s += took_s

    def likely_s(self, expected_s: float) -> float:
        """What is expected to take so long, at the pace so far."""
        return expected_s * (self._took_s / self._expected_s if self._expected_s else 1.0)
