"""What a query adds to its outcomes: how long a released record waits, and why one is rejected. Pure.

On the way from a task to the driver it is grouped, since many records wait equally long. A delay of a record that is
not released in the end, or a reason of one that is not rejected, means nothing and is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leaselog.client import AcknowledgeType
from leaselog.client.share.remarks import Remark, reason_of
from leaselog.model import TopicPartition
from leaselog.spark import runs
from leaselog.spark.outcomes import OUTCOME_COLUMNS, named_outcome
from leaselog.spark.runs import Run, Runs, runs_of

__all__ = [
    "REMARK_COLUMNS",
    "Placed",
    "Remarks",
    "fits",
    "from_json",
    "joined",
    "placed",
    "remark_columns",
    "remarks_of",
    "to_json",
]

#: of a query's answer, if it has them
REMARK_COLUMNS = ("delay_ms", "reason")

Remarks = Mapping[Remark, Runs]
#: by partition and offset
Placed = Mapping[TopicPartition, Mapping[int, Remark]]


def remark_columns(there: Iterable[str]) -> tuple[str, ...]:
    """The columns to ask a query's answer for, or nothing if it has none that say more than the outcomes."""
    more = tuple(name for name in REMARK_COLUMNS if name in set(there))
    return (*OUTCOME_COLUMNS, *more) if more else ()


def remarks_of(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Remarks:
    """What single records have, in columns as `remark_columns` names them. Raises ``ValueError`` naming the record."""
    names = tuple(columns)
    found = dict[Remark, list[Run]]()
    for row in rows:
        said = dict(zip(names, row, strict=True))
        remark = _remark(said)
        if remark is not None:
            offset = said["offset"]
            found.setdefault(remark, []).append(Run(said["topic"], said["partition"], offset, offset + 1, 0))
    return {remark: runs_of(some) for remark, some in found.items()}


def _remark(said: Mapping[str, Any]) -> Remark | None:
    delay, reason, kind = said.get("delay_ms"), said.get("reason"), named_outcome(said["ack"])
    if kind is AcknowledgeType.RELEASE and delay is not None:
        try:
            return Remark(max(0, int(delay)), is_asked=True)
        except (TypeError, ValueError, OverflowError):
            place = f"{said['topic']}-{said['partition']} offset {said['offset']}"
            raise ValueError(f"{place}: delay_ms is {delay!r}: expected milliseconds") from None
    if kind is AcknowledgeType.REJECT and reason is not None:
        return Remark(reason=reason_of(str(reason)), is_asked=True)
    return None


def joined(several: Iterable[Remarks]) -> Remarks:
    """Those of several tasks as one."""
    found = dict[Remark, list[Run]]()
    for remarks in several:
        for remark, ranges in remarks.items():
            found.setdefault(remark, []).extend(ranges)
    return {remark: runs_of(some) for remark, some in found.items()}


def placed(reports: Iterable[Remarks]) -> Placed:
    """By record; what a later report says holds."""
    found = dict[TopicPartition, dict[int, Remark]]()
    for remarks in reports:
        for remark, ranges in remarks.items():
            for run in ranges:
                offsets = found.setdefault(TopicPartition(run.topic, run.partition), {})
                offsets.update(dict.fromkeys(range(run.start, run.end), remark))
    return found


def fits(remark: Remark, outcome: AcknowledgeType) -> bool:
    return outcome is (AcknowledgeType.REJECT if remark.reason is not None else AcknowledgeType.RELEASE)


def to_json(remarks: Remarks) -> list[list[Any]]:
    return [[remark.delay_ms, remark.reason, runs.to_json(ranges)] for remark, ranges in remarks.items()]


def from_json(content: Any) -> Remarks:
    """Raises ``ValueError`` for what `to_json` cannot have made."""
    try:
        return {
            Remark(int(delay_ms), reason, is_asked=True): runs.from_json(ranges)
            for delay_ms, reason, ranges in content
        }
    except (TypeError, ValueError) as bad:
        raise ValueError(f"not delays and reasons: {content!r:.200}") from bad
