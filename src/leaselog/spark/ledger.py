"""What the driver's reader holds, and what it has still to say of batches that are over. Pure.

Two things are known of a record here. Either it is *held*: leased to us under a lease, and its batch runs or is being
put together. Or it is *decided*: its batch is over and its outcome stands, but no broker has confirmed that yet,
because the lease was lost before, with a connection or with the driver's process. When such a record is leased again,
it is settled on the spot and no batch sees it a second time.

Somebody may have set the group back on purpose; then a finished record that comes is new. A group that has members
cannot be set back, so within a process there is no doubt. What an earlier process finished is told apart by the count
of deliveries, which is higher when a record comes again. But a broker that was killed remembers no delivery that had no
outcome, and Apache Kafka 4.2 takes one back that ends with its connection; then it takes the epoch of the group's state
to dispel the doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from leaselog.client import AcknowledgeType
from leaselog.model import TopicPartition
from leaselog.spark.extras import Placed
from leaselog.spark.outcomes import Decision
from leaselog.spark.runs import Run, Runs, count, overlaps, runs_of, subtract

__all__ = ["Ledger", "Leased", "Settlement"]

L = TypeVar("L")

#: the least delivery count of a record that cannot but be one that was decided
NO_DOUBT = 0

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
#: Decided and unconfirmed, of each outcome. Somebody else may have got those records, and then nobody ever confirms
#: them. Beyond it the lowest offsets are forgotten: should they come again, they are processed again.
MAX_UNCONFIRMED_RUNS = 10_000


@dataclass(frozen=True, slots=True)
class Leased(Generic[L]):
    """Ranges with delivery counts, leased under one lease."""

    lease: L
    ranges: Runs


@dataclass(frozen=True, slots=True)
class Settlement(Generic[L]):
    """One thing to tell the broker that leased the records."""

    lease: L
    ranges: Runs
    outcome: AcknowledgeType
    #: of some records, what was added to the outcome
    extras: Placed = field(default_factory=dict)


class Ledger(Generic[L]):
    """``L`` is whatever the caller knows a lease by."""

    def __init__(self) -> None:
        self._held: list[Leased[L]] = []
        #: each with the least delivery count that means it comes again
        self._decided: dict[AcknowledgeType, Runs] = {ACCEPT: (), REJECT: ()}

    @property
    def held_count(self) -> int:
        return sum(count(leased.ranges) for leased in self._held)

    @property
    def unconfirmed_count(self) -> int:
        return sum(map(count, self._decided.values()))

    def acquire(self, some: Iterable[Leased[L]]) -> tuple[Runs, list[Settlement[L]]]:
        """What of it is new, and is held from here on; and what has its outcome already."""
        new: list[Run] = []
        settlements: list[Settlement[L]] = []
        for leased in some:
            rest = leased.ranges
            for outcome, decided in self._decided.items():
                again = [run for run, least in overlaps(rest, decided) if run.value >= least]
                set_back = [run for run, least in overlaps(rest, decided) if run.value < least]
                if again:
                    settlements.append(Settlement(leased.lease, tuple(again), outcome))
                self._decided[outcome] = tuple(subtract(decided, set_back))
                rest = tuple(subtract(rest, again))
            if rest:
                self._take_held(rest)  # leased anew, so the lease of before is no more
                self._held.append(Leased(leased.lease, rest))
                new += rest
        return runs_of(new), settlements

    def forget_ended(self, among: Runs, has_ended: Callable[[L], bool]) -> Runs:
        """What of ``among`` is held no longer, because its lease has ended: it is on its way to somebody."""
        gone = [
            run
            for leased in self._held
            if has_ended(leased.lease)
            for run, _ in overlaps(leased.ranges, among)
        ]
        self._take_held(runs_of(gone))
        return runs_of(gone)

    def forget_topic(self, topic: str) -> None:
        """It was deleted and made again: what is leased by its name from here on was never seen before."""
        self._held = [
            Leased(leased.lease, rest) for leased in self._held if (rest := _without(leased.ranges, topic))
        ]
        for outcome, decided in self._decided.items():
            self._decided[outcome] = _without(decided, topic)

    def decide(self, decision: Decision, *, is_of_before: bool = False) -> list[Settlement[L]]:
        """A batch is over. Whatever of it is held is to be settled; of the rest, what was done stays known.

        ``is_of_before``: an earlier process carried it out, and the group may have been set back since. See `trust`.
        """
        settlements: list[Settlement[L]] = []
        for outcome, ranges in (
            (ACCEPT, decision.accepted),
            (RELEASE, decision.released),
            (REJECT, decision.rejected),
        ):
            settlements += [
                Settlement(leased.lease, leased.ranges, outcome) for leased in self._take_held(ranges)
            ]
            if outcome in self._decided:  # what was to be released and is not held has been released
                least = [run._replace(value=run.value + 1 if is_of_before else NO_DOUBT) for run in ranges]
                known = runs_of([*self._decided[outcome], *least])
                if len(known) > MAX_UNCONFIRMED_RUNS:
                    youngest = sorted(known, key=lambda run: run.start)[-MAX_UNCONFIRMED_RUNS:]
                    known = tuple(sorted(youngest))
                self._decided[outcome] = known
        return settlements

    def trust(self, places: Container[TopicPartition]) -> None:
        """In these partitions nobody has set the group back since an earlier process was at work."""
        for outcome, decided in self._decided.items():
            self._decided[outcome] = tuple(
                run._replace(value=NO_DOUBT) if TopicPartition(run.topic, run.partition) in places else run
                for run in decided
            )

    def _take_held(self, ranges: Runs) -> list[Leased[L]]:
        left: list[Leased[L]] = []
        all_taken: list[Leased[L]] = []
        for leased in self._held:
            taken = tuple(run for run, _ in overlaps(leased.ranges, ranges))
            if taken:
                all_taken.append(Leased(leased.lease, taken))
            if rest := subtract(leased.ranges, taken):
                left.append(Leased(leased.lease, tuple(rest)))
        self._held = left
        return all_taken

    def confirmed(self, settlement: Settlement[L]) -> None:
        """The broker knows: these records will not come again."""
        decided = self._decided.get(settlement.outcome)
        if decided is not None:
            self._decided[settlement.outcome] = tuple(subtract(decided, settlement.ranges))


def _without(some: Runs, topic: str) -> Runs:
    return tuple(run for run in some if run.topic != topic)
