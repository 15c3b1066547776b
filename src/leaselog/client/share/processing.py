"""One record being worked on: renewed meanwhile, and acknowledged by how the work ends."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from leaselog.client.errors import ClientError
from leaselog.client.share.acknowledgements import AcknowledgeType
from leaselog.client.share.errors import Transient
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.remarks import Remark, delay_ms_of, reason_of

__all__ = ["ExceptionTypes", "Outcome", "Processing", "outcome_of"]

K = TypeVar("K")
V = TypeVar("V")

ExceptionTypes = tuple[type[BaseException], ...]

_log = logging.getLogger("leaselog.client.share")


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: AcknowledgeType
    remark: Remark | None = None


class _Bench(Protocol):
    """Where the work is done: the consumer, as far as `Processing` has to know it."""

    def begin_work_on(self, record: ShareRecord[Any, Any], /) -> None: ...

    def end_work_on(self, record: ShareRecord[Any, Any], outcome: Outcome, /, *, insist: bool) -> None: ...


class Processing(Generic[K, V]):
    """Use as ``with``. A record that could not be deserialised is rejected even if the block ends well."""

    def __init__(
        self, bench: _Bench, record: ShareRecord[K, V], transient: ExceptionTypes, suppress: bool
    ) -> None:
        self._bench = bench
        self._record = record
        self._transient = transient
        self._suppress = suppress

    def __enter__(self) -> ShareRecord[K, V]:
        self._bench.begin_work_on(self._record)
        return self._record

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        outcome = outcome_of(self._record, error, self._transient)
        self._bench.end_work_on(self._record, outcome, insist=bool(error or self._record.error))
        return self._suppress and isinstance(error, Exception)


def outcome_of(
    record: ShareRecord[Any, Any], error: BaseException | None, transient: ExceptionTypes
) -> Outcome:
    """What the end of the work means for the record."""
    if error is None:
        if record.error is None:
            return Outcome(AcknowledgeType.ACCEPT)
        return Outcome(AcknowledgeType.REJECT, Remark(reason=reason_of(record.error)))
    if not isinstance(error, Exception):
        return Outcome(
            AcknowledgeType.RELEASE
        )  # cancelled or interrupted: nobody knows, so somebody else may try
    if isinstance(error, Transient):
        return Outcome(AcknowledgeType.RELEASE, _delay_of(error))
    if isinstance(error, transient) or (isinstance(error, ClientError) and error.is_retriable):
        return Outcome(AcknowledgeType.RELEASE)
    return Outcome(AcknowledgeType.REJECT, Remark(reason=reason_of(error)))


def _delay_of(error: Transient) -> Remark | None:
    if error.delay is None:
        return None
    try:
        return Remark(delay_ms_of(max(0.0, error.delay)), is_asked=True)
    except (TypeError, ValueError):
        _log.warning("%s(delay=%r): expected seconds", type(error).__name__, error.delay)
        return None
