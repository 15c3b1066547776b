"""The rules of an acknowledgement: its shape, and who may. What a type makes of a record is in ``dead_letters``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from leaselog.model import ErrorCode, MemberId, Refused
from leaselog.share.commands import AcknowledgementBatch, AcknowledgeType
from leaselog.share.inflight import Cell
from leaselog.share.record_state import RecordState

__all__ = ["find_malformed", "is_hole", "segments", "why_not"]


#: by number; to ask the enum takes several times as long
_TYPES: dict[int, AcknowledgeType] = {kind.value: kind for kind in AcknowledgeType}


def find_malformed(batches: Iterable[AcknowledgementBatch], *, may_renew: bool) -> Refused | None:
    """INVALID_REQUEST for batches that no partition could obey; None when their shape is right.

    ``may_renew``: the request says so (IsRenewAck, from version 2 on). The start of a batch may equal the last
    offset of the one before, as in Apache Kafka; that record is then refused for its state.
    """
    previous_last = -1
    for batch in batches:
        problem = _shape_problem(batch, previous_last, 4 if may_renew else 3)
        if problem is not None:
            return Refused(ErrorCode.INVALID_REQUEST, problem)
        previous_last = batch.end - 1
    return None


def _shape_problem(batch: AcknowledgementBatch, previous_last: int, highest_type: int) -> str | None:
    count = batch.end - batch.start
    if count <= 0:
        return f"acknowledgement batch ends at {batch.end - 1}, before it starts at {batch.start}"
    if batch.start < previous_last:
        return f"acknowledgement batch starts at {batch.start}, in the batch before it, which ends at {previous_last}"
    if not batch.types:
        return "acknowledgement batch without types"
    if len(batch.types) > 1 and len(batch.types) != count:
        return (
            f"acknowledgement batch of {count} offsets with {len(batch.types)} types, expected 1 or {count}"
        )
    for kind in batch.types:
        if not 0 <= kind <= highest_type:
            return f"acknowledge type {kind}, expected 0 to {highest_type}"
    return None


def segments(batch: AcknowledgementBatch, start: int) -> list[tuple[int, int, AcknowledgeType]]:
    """Stretches of one type, without what lies below ``start``."""
    at = batch.start if batch.start > start else start
    if len(batch.types) == 1:
        return [(at, batch.end, _TYPES[batch.types[0]])]
    found: list[tuple[int, int, AcknowledgeType]] = []
    for kind, same in groupby(_tail(batch.types, at - batch.start)):
        end = at + sum(1 for _ in same)
        found.append((at, end, _TYPES[kind]))
        at = end
    return found


def _tail(types: Sequence[int], skip: int) -> Sequence[int]:
    return types[skip:] if skip else types


def is_hole(cell: Cell) -> bool:
    """An offset at which the log has no record: archived without ever having been delivered."""
    return cell.state is RecordState.ARCHIVED and cell.delivery_count == 0


def why_not(cell: Cell, member: MemberId) -> Refused | None:
    """Why this member may not acknowledge this record. Texts are Apache Kafka's: its clients show them."""
    if cell.state is not RecordState.ACQUIRED:
        text = "The batch cannot be acknowledged. The batch is not in the acquired state."
    elif cell.holder != member:
        text = "Member is not the owner of batch record"
    elif cell.write is not None:
        text = "The record state is invalid. The acknowledgement of delivery could not be completed."
    else:
        return None
    return Refused(ErrorCode.INVALID_RECORD_STATE, text)
