"""What an audit saw of each record, as a history for the checker that judges the simulations and the SIGKILL suites.

A row of the output is what its record's acceptance comes to, so that is what is written down: no row, nothing was
accepted, whatever the group's state says; a second row, it came again after that had been answered. A record of the
topic was sent; a row that is not what the job makes of its record is a record that nobody sent. Nobody wrote down
when records were leased, so of leases the checker finds nothing out here: the suites that have clocks are for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from leaselog.spark.verdicts import Seen
from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    Delivered,
    Event,
    Kind,
    Sent,
    Stored,
    to_line,
)
from leaselog.testing.share_history_check import Rules, Verdict, judge

__all__ = ["events_of", "judged"]

_GROUP = "group"
#: the topic and the output do not tell the group's limit
_NO_LIMIT = 2**31 - 1
_DONE = ("acknowledged", "passed")


def judged(records: Iterable[Seen], path: Path | None = None) -> tuple[Verdict, int]:
    """The verdict, and of how many events; they are written down in ``path``, one line each, if it is given."""
    events, through = list[Event](), dict[int, int]()
    for seen in records:
        through[seen.partition] = seen.offset + 1
        events += events_of(seen)
    if path is not None:
        with path.open("w") as file:
            file.writelines(to_line(event) + "\n" for event in events)
    return judge(events, Rules(_NO_LIMIT, lock_duration_ms=0, through=through)), len(events)


def events_of(seen: Seen) -> Iterator[Event]:
    """Times are steps: one thing comes after the other, and nothing is told of how much later."""
    place, at_ns = (seen.partition, seen.offset), 0
    if seen.is_record:
        yield Sent(_name(seen, seen.wanted), seen.partition)
        yield Stored(_name(seen, seen.wanted), *place)
    if seen.state == "archived" or (seen.state == "passed" and seen.wanted is None and not seen.rows):
        yield from _answered(place, "reject", at_ns)
    for row in range(seen.rows):
        at_ns = 4 * row + 2
        count = max(seen.deliveries or 1, 1)
        yield Delivered(_GROUP, *place, _name(seen, seen.found), count, at_ns, at_ns + 1)
        if row == 0 and seen.state in _DONE:
            yield from _answered(place, "accept", at_ns + 2)


def _answered(place: tuple[int, int], kind: Kind, at_ns: int) -> Iterator[Event]:
    yield Acknowledging(_GROUP, *place, kind, at_ns)
    yield Answered(_GROUP, *place, True, at_ns + 1)


def _name(seen: Seen, digest: int | None) -> str:
    made = "no row" if digest is None else f"row {digest & 2**64 - 1:016x}"
    return f"{seen.partition}:{seen.offset} {made}"
