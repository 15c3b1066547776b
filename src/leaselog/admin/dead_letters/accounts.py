"""What became of a group's dead letters in a redrive: each of them is in one of the numbers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["RedriveResult", "Tally"]


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """``letters`` is the sum of all the other numbers."""

    group_id: str
    #: where the letters lie
    topic: str
    #: nothing was written: ``redriven`` is what would be
    is_dry_run: bool
    #: all of the group's that were in the topic when the redrive began
    letters: int
    #: put back by this redrive, or begun by one that was interrupted and finished by this one
    redriven: int
    #: put back by earlier ones
    before: int
    #: not selected
    skipped: int
    #: selected, and put back as often as is allowed
    too_often: int
    #: the target does not take them: too large, or no key where one is needed
    refused: int
    #: there is nothing to put back: never copied or forgotten, and the record itself is not in its log any more
    gone: int
    #: selected, and not come to
    remaining: int
    #: what was put back, by the topic it went to
    by_target: Mapping[str, int]


@dataclass(slots=True)
class Tally:
    group_id: str
    topic: str
    is_dry_run: bool
    letters: int = 0
    before: int = 0
    skipped: int = 0
    too_often: int = 0
    refused: int = 0
    gone: int = 0
    by_target: Counter[str] = field(default_factory=Counter)

    @property
    def redriven(self) -> int:
        return self.by_target.total()

    @property
    def remaining(self) -> int:
        done = self.redriven + self.before + self.skipped + self.too_often + self.refused + self.gone
        return self.letters - done

    def end(self) -> None:
        """Everything was gone through. What was counted and not met again has left the log in between."""
        self.gone += self.remaining

    @property
    def result(self) -> RedriveResult:
        return RedriveResult(
            self.group_id,
            self.topic,
            self.is_dry_run,
            self.letters,
            self.redriven,
            self.before,
            self.skipped,
            self.too_often,
            self.refused,
            self.gone,
            self.remaining,
            dict(self.by_target),
        )
