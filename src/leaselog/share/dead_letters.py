"""When a record becomes a dead letter, and why: KIP-1191's rules and words.

Only what a consumer rejected, or what has used up its deliveries, goes to the dead-letter topic. What the log does not
hold any more, and records of aborted transactions, are archived without one.
"""

from __future__ import annotations

from leaselog.share.commands import AcknowledgeType, Limits
from leaselog.share.record_state import RecordState

__all__ = ["LIMIT_REACHED", "NO_RECORD", "REJECTED", "cause_from_count", "fate_of", "fate_of_last_delivery"]

#: header values of dead letters, as Apache Kafka writes them
REJECTED = "Offset rejected by client."
LIMIT_REACHED = "Offset delivery count exceeded the threshold."
#: of what is archived without a letter because its consumer found nothing at the offset: it has not failed
NO_RECORD = "No record at the offset."

Fate = tuple[RecordState, str | None]

_FATES: dict[AcknowledgeType, Fate] = {
    AcknowledgeType.GAP: (RecordState.ARCHIVED, NO_RECORD),
    AcknowledgeType.ACCEPT: (RecordState.ACKNOWLEDGED, None),
    AcknowledgeType.RELEASE: (RecordState.AVAILABLE, None),
    AcknowledgeType.REJECT: (RecordState.ARCHIVED, None),
}


def fate_of(kind: AcknowledgeType, delivery_count: int, limits: Limits, reason: str | None = None) -> Fate:
    """What an acknowledgement makes of a record, and the cause if that is a dead letter: the client's if it has one."""
    if kind is AcknowledgeType.RELEASE and delivery_count >= limits.delivery_count_limit:
        return fate_of_last_delivery(limits)
    if kind is AcknowledgeType.REJECT and limits.has_dead_letters:
        return RecordState.ARCHIVING, reason or REJECTED
    return _FATES[kind]


def fate_of_last_delivery(limits: Limits) -> Fate:
    """What becomes of a record that is given back after the last delivery it may have.

    Without dead letters it is given up: nothing is left to tell of it, so whoever counts has to know by the cause.
    """
    return (RecordState.ARCHIVING if limits.has_dead_letters else RecordState.ARCHIVED), LIMIT_REACHED


def cause_from_count(delivery_count: int, limits: Limits) -> str:
    """The cause as far as stored state tells it: a new leader knows the count and nothing else."""
    return LIMIT_REACHED if delivery_count >= limits.delivery_count_limit else REJECTED
