"""What an audit says of the records of a topic. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["ACCEPTED", "ARCHIVED", "Audit", "Seen", "Suspect"]

#: the two verdicts on a record that is accounted for; all others name what is wrong
ACCEPTED, ARCHIVED = "accepted", "archived"


class Seen(NamedTuple):
    """What topic, output and state topic say of one offset, before anybody judges it."""

    partition: int
    offset: int
    #: whether there is a record at all
    is_record: bool
    #: a digest of the row that it has to have; None if it is to have none
    wanted: int | None
    #: a digest of the row that it has
    found: int | None
    rows: int
    #: as in the state topic; "passed" behind the group's start, "open" if nothing is said
    state: str
    deliveries: int | None


@dataclass(frozen=True, slots=True)
class Suspect:
    """A record that is not accounted for."""

    verdict: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Audit:
    #: by verdict and by number of deliveries, where that is known
    counts: Mapping[tuple[str, int | None], int]
    #: by what was wrong with them, of the archived
    faults: Mapping[str, int]
    suspects: Sequence[Suspect] = ()

    def total(self, *verdicts: str) -> int:
        """Records with one of these verdicts, or all."""
        return sum(n for (verdict, _), n in self.counts.items() if not verdicts or verdict in verdicts)

    @property
    def wrong(self) -> dict[str, int]:
        """Records that are not accounted for, by why."""
        verdicts = sorted({verdict for verdict, _ in self.counts} - {ACCEPTED, ARCHIVED})
        return {verdict: self.total(verdict) for verdict in verdicts}

    @property
    def by_deliveries(self) -> dict[int, int]:
        """How many accepted records came so many times."""
        known = [(times, n) for (verdict, times), n in self.counts.items() if verdict == ACCEPTED and times]
        return dict(sorted(known))
