"""What a handler's annotation makes of a record's value, and what its return value is as bytes. Pure."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import json
import types
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Union, get_args, get_origin

from leaselog.client.share.record import ShareRecord
from leaselog.client.worker.shapes import Misfit, is_model, shape_of, type_name

__all__ = ["Decode", "decode_for", "result_bytes"]

#: of a value, None for a null one
Decode = Callable[[bytes | None], Any]


def decode_for(annotation: Any) -> Decode | None:
    """None where the handler takes the record itself. Raises ``TypeError`` for what no payload can become.

    ``Any`` says as little as no annotation does; ``object`` is whatever JSON there is.
    """
    if annotation in (inspect.Parameter.empty, Any) or _is_record(annotation):
        return None
    kind, takes_null = _without_null(annotation)
    decode = _decode(kind)

    def decode_or_null(value: bytes | None) -> Any:
        if value is not None:
            return decode(value)
        if takes_null:
            return None
        raise Misfit(f"expected {type_name(kind)}, not a null value")

    return decode_or_null


def _is_record(annotation: Any) -> bool:
    return annotation is ShareRecord or get_origin(annotation) is ShareRecord


def _without_null(annotation: Any) -> tuple[Any, bool]:
    if annotation is object:
        return object, True
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    args = get_args(annotation)
    rest = [arg for arg in args if arg is not type(None)]
    return (rest[0] if len(rest) == 1 else Union[tuple(rest)]), len(rest) < len(args)  # noqa: UP007


def _decode(kind: Any) -> Callable[[bytes], Any]:
    if kind is bytes:
        return lambda value: value
    if kind is str:
        return lambda value: value.decode()
    if is_model(kind):
        return kind.model_validate_json  # type: ignore[no-any-return]
    shape = shape_of(kind)
    return lambda value: shape(json.loads(value), "payload")


def result_bytes(value: object) -> bytes:
    """Bytes as they are, text as UTF-8, anything else as JSON. Raises ``TypeError``."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if is_model(type(value)):
        return value.model_dump_json().encode()  # type: ignore[attr-defined, no-any-return]
    return json.dumps(value, default=_as_json, separators=(",", ":"), ensure_ascii=False).encode()


def _as_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if is_model(type(value)):
        return value.model_dump(mode="json")
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | Decimal):
        return str(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(
        f"a result cannot be {type(value).__name__}: expected bytes, str, a dataclass, or what JSON can say"
    )
