"""What the pipeline, and an audit, print in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leaselog.cli.output import print_table
from leaselog.spark.verdicts import ACCEPTED, ARCHIVED, Audit

__all__ = ["PipelineOutcome", "audit_json", "audit_rows", "broken_promises", "outcome_json", "print_outcome"]


@dataclass(frozen=True, slots=True)
class PipelineOutcome:
    orders: int
    verdict: Audit
    #: in Parquet
    rows: int
    seconds: float
    #: where it is; None if it could not be drawn
    picture: str | None

    @property
    def broken(self) -> list[str]:
        """What was promised and is not so."""
        found = broken_promises(self.verdict)
        total = self.verdict.total()
        if total != self.orders:
            found.append(f"{self.orders:,} orders were produced, {total:,} records were found")
        if self.rows != self.verdict.total(ACCEPTED):
            found.append(
                f"{self.rows:,} rows in Parquet for {self.verdict.total(ACCEPTED):,} accepted records"
            )
        return found


def broken_promises(verdict: Audit) -> list[str]:
    """One line for each way in which records are not accounted for, with where the first of them are."""
    lines = []
    for why, count in verdict.wrong.items():
        places = [f"{one.partition}:{one.offset}" for one in verdict.suspects if one.verdict == why]
        where = (
            f" (partition:offset {', '.join(places)}{', …' if len(places) < count else ''})" if places else ""
        )
        lines.append(f"{count:,} records {why}{where}")
    return lines


def audit_rows(verdict: Audit) -> list[tuple[str, str]]:
    """For a table."""
    again = {times: count for times, count in verdict.by_deliveries.items() if times > 1}
    rows = [
        ("accepted", f"{verdict.total(ACCEPTED):,}"),
        *((f"  at delivery {times}", f"{count:,}") for times, count in again.items()),
        ("archived", f"{verdict.total(ARCHIVED):,}"),
        *((f"  {fault}", f"{count:,}") for fault, count in sorted(verdict.faults.items())),
        *((why, f"{count:,}") for why, count in verdict.wrong.items()),
    ]
    return [*rows, ("unaccounted for", f"{sum(verdict.wrong.values()):,}")]


def print_outcome(outcome: PipelineOutcome) -> None:
    rows = [
        ("produced", f"{outcome.orders:,}"),
        *audit_rows(outcome.verdict),
        ("rows in Parquet", f"{outcome.rows:,}"),
    ]
    print_table(("Orders", "Number"), rows, right=("Number",))
    print(f"in {outcome.seconds:.1f} s of Spark, {outcome.orders / outcome.seconds:,.0f} records/s")
    if outcome.picture is not None:
        print(f"the picture: {outcome.picture}")


def audit_json(verdict: Audit) -> dict[str, Any]:
    return {
        "records": verdict.total(),
        "accepted": verdict.total(ACCEPTED),
        "acceptedByDelivery": {str(times): count for times, count in verdict.by_deliveries.items()},
        "archived": verdict.total(ARCHIVED),
        "archivedByFault": dict(verdict.faults),
        "unaccounted": verdict.wrong,
        "sample": [
            {"verdict": one.verdict, "partition": one.partition, "offset": one.offset}
            for one in verdict.suspects
        ],
    }


def outcome_json(outcome: PipelineOutcome) -> dict[str, Any]:
    return {
        "produced": outcome.orders,
        **audit_json(outcome.verdict),
        "rows": outcome.rows,
        "seconds": round(outcome.seconds, 3),
        "recordsPerSecond": round(outcome.orders / outcome.seconds),
        "picture": outcome.picture,
    }
