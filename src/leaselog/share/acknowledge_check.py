"""May this member acknowledge all of these records? Looks at the window, changes nothing."""

from __future__ import annotations

from leaselog.model import ErrorCode, MemberId, Refused
from leaselog.share.acknowledging import is_hole, why_not
from leaselog.share.commands import Acknowledge, AcknowledgementBatch
from leaselog.share.record_window import RecordWindow

__all__ = ["first_refusal"]

_NOT_FOUND = "Batch record not found. The request batch offsets are not found in the cache."
_FIRST_PAST = "Batch record not found. The first offset in request is past acquired records."
_LAST_PAST = "Batch record not found. The last offset in request is past acquired records."
_TWICE = "The record state is invalid. The acknowledgement of delivery could not be completed."


def first_refusal(command: Acknowledge, window: RecordWindow) -> Refused | None:
    """The first reason against it; None when every record may be acknowledged or lies below the window."""
    before = window.start
    for batch in command.batches:
        if batch.end <= window.start:
            continue
        refusal = _out_of_window(batch, window) or _not_theirs(batch, before, command.member, window)
        if refusal is not None:
            return refusal
        before = batch.end
    return None


def _out_of_window(batch: AcknowledgementBatch, window: RecordWindow) -> Refused | None:
    if window.start == window.end:
        return Refused(ErrorCode.INVALID_RECORD_STATE, _NOT_FOUND)
    if batch.start >= window.end:
        return Refused(ErrorCode.INVALID_REQUEST, _FIRST_PAST)
    if batch.end > window.end:
        return Refused(ErrorCode.INVALID_REQUEST, _LAST_PAST)
    return None


def _not_theirs(
    batch: AcknowledgementBatch, before: int, member: MemberId, window: RecordWindow
) -> Refused | None:
    start = batch.start if batch.start > window.start else window.start
    if start < before:  # the same record twice in one request
        return Refused(ErrorCode.INVALID_RECORD_STATE, _TWICE)
    for _, _, cell in window.runs(start, batch.end):
        refusal = why_not(cell, member)
        if refusal is not None and not is_hole(cell):
            return refusal
    return None
