"""What a query adds to its outcomes: how long a released record waits, and why one is rejected. Pure.

On the way from a task to the driver it is grouped, since many records wait equally long. A delay of a record that is
not released in the end, or a reason of one that is not rejected, means nothing and is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leaselog.client import AcknowledgeType
from leaselog.client.share.extras import Extra, reason_of
from leaselog.model import TopicPartition
from leaselog.spark import runs
from leaselog.spark.outcomes import OUTCOME_COLUMNS, named_outcome
from leaselog.spark.runs import Run, Runs, runs_of

__all__ = [
    "EXTRA_COLUMNS",
    "Placed",
    "Extras",
    "fits",
    "from_json",
    "joined",
    "placed",
    "extra_columns",
    "extras_of",
    "to_json",
]

#: of a query's answer, if it has them
EXTRA_COLUMNS = ("delay_ms", "reason")

Extras = Mapping[Extra, Runs]
#: by partition and offset
Placed = Mapping[TopicPartition, Mapping[int, Extra]]


def extra_columns(there: Iterable[str]) -> tuple[str, ...]:
    """The columns to ask a query's answer for, or nothing if it has none that say more than the outcomes."""
    more = tuple(name for name in EXTRA_COLUMNS if name in set(there))
    return (*OUTCOME_COLUMNS, *more) if more else ()


def extras_of(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Extras:
    """What single records have, in columns as `extra_columns` names them. Raises ``ValueError`` naming the record."""
    names = tuple(columns)
    found = dict[Extra, list[Run]]()
    for row in rows:
        said = dict(zip(names, row, strict=True))
        extra = _extra(said)
        if extra is not None:
            offset = said["offset"]
            found.setdefault(extra, []).append(Run(said["topic"], said["partition"], offset, offset + 1, 0))
    return {extra: runs_of(some) for extra, some in found.items()}


def _extra(said: Mapping[str, Any]) -> Extra | None:
    delay, reason, kind = said.get("delay_ms"), said.get("reason"), named_outcome(said["ack"])
    if kind is AcknowledgeType.RELEASE and delay is not None:
        try:
            return Extra(max(0, int(delay)), is_asked=True)
        except (TypeError, ValueError, OverflowError):
            place = f"{said['topic']}-{said['partition']} offset {said['offset']}"
            raise ValueError(f"{place}: delay_ms is {delay!r}: expected milliseconds") from None
    if kind is AcknowledgeType.REJECT and reason is not None:
        return Extra(reason=reason_of(str(reason)), is_asked=True)
    return None


def joined(several: Iterable[Extras]) -> Extras:
    """Those of several tasks as one."""
    found = dict[Extra, list[Run]]()
    for extras in several:
        for extra, ranges in extras.items():
            found.setdefault(extra, []).extend(ranges)
    return {extra: runs_of(some) for extra, some in found.items()}


def placed(reports: Iterable[Extras]) -> Placed:
    """By record; what a later report says holds."""
    found = dict[TopicPartition, dict[int, Extra]]()
    for extras in reports:
        for extra, ranges in extras.items():
            for run in ranges:
                offsets = found.setdefault(TopicPartition(run.topic, run.partition), {})
                offsets.update(dict.fromkeys(range(run.start, run.end), extra))
    return found


def fits(extra: Extra, outcome: AcknowledgeType) -> bool:
    return outcome is (AcknowledgeType.REJECT if extra.reason is not None else AcknowledgeType.RELEASE)


def to_json(extras: Extras) -> list[list[Any]]:
    return [[extra.delay_ms, extra.reason, runs.to_json(ranges)] for extra, ranges in extras.items()]


def from_json(content: Any) -> Extras:
    """Raises ``ValueError`` for what `to_json` cannot have made."""
    try:
        return {
            Extra(int(delay_ms), reason, is_asked=True): runs.from_json(ranges)
            for delay_ms, reason, ranges in content
        }
    except (TypeError, ValueError) as bad:
        raise ValueError(f"not delays and reasons: {content!r:.200}") from bad
