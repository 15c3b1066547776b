"""One record being worked on: renewed meanwhile, and acknowledged by how the work ends."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from leaselog.client.errors import ClientError
from leaselog.client.share.acknowledgements import AcknowledgeType
from leaselog.client.share.errors import Transient
from leaselog.client.share.record import ShareRecord

__all__ = ["ExceptionTypes", "Processing", "outcome_of"]

K = TypeVar("K")
V = TypeVar("V")

ExceptionTypes = tuple[type[BaseException], ...]


class _Bench(Protocol):
    """Where the work is done: the consumer, as far as `Processing` has to know it."""

    def begin_work_on(self, record: ShareRecord[Any, Any], /) -> None: ...

    def end_work_on(
        self, record: ShareRecord[Any, Any], kind: AcknowledgeType, /, *, insist: bool
    ) -> None: ...


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
) -> AcknowledgeType:
    """What the end of the work means for the record."""
    if error is None:
        return AcknowledgeType.ACCEPT if record.error is None else AcknowledgeType.REJECT
    if not isinstance(error, Exception):
        return AcknowledgeType.RELEASE  # cancelled or interrupted: nobody knows, so somebody else may try
    if isinstance(error, (Transient, *transient)) or (isinstance(error, ClientError) and error.is_retriable):
        return AcknowledgeType.RELEASE
    return AcknowledgeType.REJECT
