"""The states of a record in a share group, with Kafka's ids, and which may follow which.

Nothing here knows of offsets, members or time: it is the table that the machine checks every change against.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["TERMINAL", "RecordState", "is_legal"]


class RecordState(IntEnum):
    """Kafka's ids: these go into ``__share_group_state`` as they are. ACQUIRED never does."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    #: on its way to the dead-letter queue (KIP-1191); becomes ARCHIVED once it is there
    ARCHIVING = 3
    ARCHIVED = 4


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
