"""A handler: a function, the topics it is for, and what its parameters want. Read once, when it is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from leaselog.client.share.calling import WrongHandler, check_handler, is_async
from leaselog.client.share.errors import RecordDeserializationError
from leaselog.client.share.record import ShareRecord
from leaselog.client.worker.payloads import Decode, decode_for

__all__ = ["AnyRecord", "Handler", "Subject"]

AnyRecord = ShareRecord[Any, Any]
#: what one call is about: a record, or those of a batch
Subject = AnyRecord | list[AnyRecord]

_LISTS = (list, Sequence, Iterable)


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """Made with `of`, which raises ``TypeError`` and ``ValueError`` for what could not be called."""

    function: Callable[..., Any]
    topics: tuple[str, ...]
    is_async: bool
    takes_record: bool
    decode: Decode | None
    result_topic: str | None = None
    #: 1: it takes a record at a time
    batch: int = 1
    batch_wait_s: float = 0.0
    is_batch: bool = False

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        topics: Sequence[str],
        *,
        known_names: Mapping[str, Any],
        decode: Callable[[bytes], Any] | None,
        result_topic: str | None,
        batch: int | None,
        batch_wait: float,
    ) -> Handler:
        check_handler(function, blocking=False)
        if batch is not None and batch < 1:
            raise ValueError(f"batch={batch}: expected at least one")
        if not batch_wait >= 0:
            raise ValueError(f"batch_wait={batch_wait}: expected zero or more seconds")
        payload, takes_record = _parameters(function, known_names)
        if batch is not None:
            payload = _item_of(payload)
        return cls(
            function,
            tuple(topics),
            is_async(function),
            takes_record,
            decode_for(payload) if decode is None else _decode_with(decode),
            result_topic,
            batch or 1,
            batch_wait,
            batch is not None,
        )

    def call(self, subject: Subject) -> Any:
        """What the function returned, which may be a coroutine. Raises ``RecordDeserializationError``."""
        if isinstance(subject, list):
            given: Any = [self.payload(record) for record in subject]
        else:
            given = self.payload(subject)
        made = self.function(given, subject) if self.takes_record else self.function(given)
        if inspect.isgenerator(made) or inspect.isasyncgen(made):
            raise WrongHandler(f"{self.name} returned a generator: nothing has been done")
        return made

    @property
    def name(self) -> str:
        return _name(self.function)

    def payload(self, record: AnyRecord) -> Any:
        if self.decode is None:
            return record
        try:
            return self.decode(record.raw_value)
        except Exception as refused:
            raise RecordDeserializationError("value", str(record.where), record.offset, refused) from refused


def _decode_with(decode: Callable[[bytes], Any]) -> Decode:
    return lambda value: None if value is None else decode(value)


def _parameters(function: Callable[..., Any], known_names: Mapping[str, Any]) -> tuple[Any, bool]:
    """The annotation of the payload, and whether a second parameter takes the record."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.Parameter.empty, False  # of some that are written in C nobody knows
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [one for one in signature.parameters.values() if one.kind in kinds]
    takes_any = any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values())
    hints = _hints(function, known_names)
    second = parameters[1] if len(parameters) > 1 else None
    takes_record = second is not None and (
        second.default is second.empty or _is_record(hints.get(second.name, second.annotation))
    )
    try:
        signature.bind(*[None] * (2 if takes_record else 1))
    except TypeError:
        raise TypeError(
            f"{_name(function)}{signature} is no handler: expected a payload and, if it likes, the record"
        ) from None
    if second is not None and takes_record:
        wanted = hints.get(second.name, second.empty)
        if wanted is not second.empty and not _is_record(wanted):
            raise TypeError(f"{_name(function)}: its second parameter is the ShareRecord, not {wanted!r}")
    if not parameters:
        assert takes_any
        return inspect.Parameter.empty, False
    return hints.get(parameters[0].name, inspect.Parameter.empty), takes_record


def _is_record(hint: Any) -> bool:
    inner = get_args(hint)[0] if get_origin(hint) in _LISTS and get_args(hint) else hint
    return inner is ShareRecord or get_origin(inner) is ShareRecord


def _hints(function: Any, known_names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Annotations, with what is written as text looked up where the function was written."""
    while hasattr(function, "func"):  # partial
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        function = type(function).__call__
    try:
        return get_type_hints(function, localns=dict(known_names))
    except NameError as unknown:
        raise TypeError(
            f"{_name(function)}: {unknown}. What a handler's annotations name has to be there when it is declared"
        ) from None


def _item_of(annotation: Any) -> Any:
    """Of a batch handler's list[Order], Order."""
    if annotation is inspect.Parameter.empty or annotation is list:
        return inspect.Parameter.empty
    if get_origin(annotation) in _LISTS and get_args(annotation):
        return get_args(annotation)[0]
    raise TypeError(f"a batch handler takes a list, as list[dict]; this one says {annotation!r}")


def _name(function: object) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
