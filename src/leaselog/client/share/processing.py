"""One record being worked on: renewed meanwhile, and acknowledged by how the work ends.

What ends badly is released: a mistake in the code, or a service that is down, is no fault of the record. It is rejected
by `Reject`, or by an exception that somebody has named.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.errors import Reject, Transient
from leaselog.client.share.extras import Extra, delay_ms_of, reason_of
from leaselog.client.share.record import ShareRecord

__all__ = ["ExceptionTypes", "Judgement", "Acknowledgement", "Processing"]

K = TypeVar("K")
V = TypeVar("V")

ExceptionTypes = Iterable[type[BaseException]]

_log = logging.getLogger("leaselog.client.share")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    kind: AcknowledgeType
    extra: Extra | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Which exceptions reject a record. Made with `of`, which raises ``TypeError`` for anything but exception types."""

    reject: tuple[type[BaseException], ...] = ()
    #: in spite of ``reject``
    transient: tuple[type[BaseException], ...] = ()

    @classmethod
    def of(cls, *, reject: ExceptionTypes = (), transient: ExceptionTypes = ()) -> Self:
        return cls(_types("reject", reject), _types("transient", transient))

    def acknowledgement(self, record: ShareRecord[Any, Any], error: BaseException | None) -> Acknowledgement:
        """What the end of the work means for the record."""
        error = record.error if error is None else error
        if error is None:
            return Acknowledgement(AcknowledgeType.ACCEPT)
        if isinstance(error, Transient):
            return Acknowledgement(AcknowledgeType.RELEASE, _delay_of(error))
        rejects = isinstance(error, (Reject, *self.reject)) and not isinstance(error, self.transient)
        if rejects and isinstance(error, Exception):
            return Acknowledgement(AcknowledgeType.REJECT, Extra(reason=_reason_of(error)))
        return Acknowledgement(AcknowledgeType.RELEASE)


def _types(name: str, given: Iterable[object]) -> tuple[type[BaseException], ...]:
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else (None,)
    types = tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException))
    if len(types) < len(found):
        raise TypeError(f"{name}={given!r}: expected a collection of exception types, as (TimeoutError,)")
    return types


def _reason_of(error: Exception) -> str:
    if isinstance(error, Reject):
        return reason_of(str(error) or error.__cause__ or error)
    return reason_of(error)


def _delay_of(error: Transient) -> Extra | None:
    if error.delay is None:
        return None
    try:
        return Extra(delay_ms_of(max(0.0, error.delay)), is_asked=True)
    except (TypeError, ValueError):
        _log.warning("%s(delay=%r): expected seconds", type(error).__name__, error.delay)
        return None


class _Consumer(Protocol):
    """Where the work is done: the consumer, as far as `Processing` has to know it."""

    def begin_work_on(self, record: ShareRecord[Any, Any], /) -> None: ...

    def end_work_on(
        self, record: ShareRecord[Any, Any], said: Acknowledgement, /, *, insist: bool
    ) -> None: ...


class Processing(Generic[K, V]):
    """Use as ``with``. A record that could not be deserialised is not accepted even if the block ends well."""

    def __init__(
        self, consumer: _Consumer, record: ShareRecord[K, V], judgement: Judgement, suppress: bool
    ) -> None:
        self._consumer = consumer
        self._record = record
        self._judgement = judgement
        self._suppress = suppress

    def __enter__(self) -> ShareRecord[K, V]:
        self._consumer.begin_work_on(self._record)
        return self._record

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        acknowledgement = self._judgement.acknowledgement(self._record, error)
        insists = error is not None or acknowledgement.kind is AcknowledgeType.REJECT
        self._consumer.end_work_on(self._record, acknowledgement, insist=insists)
        return self._suppress and isinstance(error, Exception)
