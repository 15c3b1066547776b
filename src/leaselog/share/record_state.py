"""Which state of a record may follow which.

Nothing here knows of offsets, members or time: it is the table that the machine checks every change against.
"""

from __future__ import annotations

from leaselog.model import RecordState

__all__ = ["TERMINAL", "RecordState", "is_legal"]

TERMINAL = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})

#: AVAILABLE to ARCHIVED without a delivery: the record is no longer in the log (compaction)
_LEGAL = {
    RecordState.AVAILABLE: frozenset({RecordState.ACQUIRED, RecordState.ARCHIVED}),
    RecordState.ACQUIRED: frozenset(
        {RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVING, RecordState.ARCHIVED}
    ),
    RecordState.ACKNOWLEDGED: frozenset[RecordState](),
    RecordState.ARCHIVING: frozenset({RecordState.ARCHIVED}),
    RecordState.ARCHIVED: frozenset[RecordState](),
}


def is_legal(old: RecordState, new: RecordState) -> bool:
    """May a record in ``old`` become ``new``? Never itself: a renewal keeps the state and is not a change of it."""
    return new in _LEGAL[old]
