"""How long a run is going to take: said before it begins, and corrected by how long its rows really take.

Only arithmetic. What a row takes on a quiet machine of two cores is its own to say (`Row.case_s`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.frame import KAFKA, LEASELOG, Case, Row
from bench.runner import Turn

__all__ = ["Progress", "expected_s", "timetable"]

#: starting a broker of its own, some work, and ending it
SET_UP_S = {LEASELOG: 8.0, KAFKA: 18.0}
#: of the broker that the rows of a round share
WARM_UP_S = {LEASELOG: 22.0, KAFKA: 85.0}
#: a quick case is mostly the start of its clients, a quick warm-up that of broker and clients
QUICK_CASE_S, QUICK_WARM_UP_S = 5.0, 15.0

Cases = Callable[[Row], Sequence[Case]]


def expected_s(turns: Sequence[Turn], cases: Cases, *, is_quick: bool) -> list[float]:
    """Of each row on one broker: what its cases take, and what comes before."""
    warm_ups_s = _warm_ups_s(turns, is_quick=is_quick)
    return [
        _own_s(turn, cases, is_quick=is_quick) + warm_up_s
        for turn, warm_up_s in zip(turns, warm_ups_s, strict=True)
    ]


def timetable(turns: Sequence[Turn], cases: Cases, *, is_quick: bool) -> str:
    """A line for each row, one for warming up, and the sum."""
    by_row: dict[str, float] = {}
    for turn in turns:
        own_s = _own_s(turn, cases, is_quick=is_quick)
        by_row[turn.row.name] = by_row.get(turn.row.name, 0.0) + own_s
    by_row["warming up"] = sum(_warm_ups_s(turns, is_quick=is_quick))
    lines = [f"  {name:20} {_minutes([seconds])}" for name, seconds in by_row.items() if seconds]
    return "\n".join(["expected, on a quiet machine:", *lines, f"  {'all':20} {_minutes(by_row.values())}"])


def _own_s(turn: Turn, cases: Cases, *, is_quick: bool) -> float:
    each_s = min(turn.row.case_s, QUICK_CASE_S) if is_quick else turn.row.case_s
    set_up_s = SET_UP_S[turn.kind] if turn.row.has_own_broker else 0.0
    return set_up_s + each_s * len(cases(turn.row))


def _warm_ups_s(turns: Iterable[Turn], *, is_quick: bool) -> list[float]:
    """Of each turn; the first on a shared broker warms it up."""
    warm: set[tuple[int, str, str]] = set()
    seconds: list[float] = []
    for turn in turns:
        broker = turn.round, turn.durability, turn.kind
        is_first = not turn.row.has_own_broker and broker not in warm
        seconds.append((QUICK_WARM_UP_S if is_quick else WARM_UP_S[turn.kind]) if is_first else 0.0)
        if is_first:
            warm.add(broker)
    return seconds


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
