"""From bytes to what the application wants. A deserialiser is any callable; null never reaches it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from leaselog.client.errors import ConfigError
from leaselog.client.share.errors import RecordDeserializationError

__all__ = ["Deserializer", "as_bytes", "as_json", "as_string", "deserialized", "deserializer_of"]

T = TypeVar("T")
Deserializer = Callable[[bytes], T]


def as_bytes(data: bytes) -> bytes:
    return data


def as_string(data: bytes) -> str:
    return data.decode()


def as_json(data: bytes) -> Any:
    return json.loads(data)


_JAVA = "org.apache.kafka.common.serialization."
_NAMED: dict[str, Deserializer[Any]] = {
    "bytes": as_bytes,
    "string": as_string,
    "json": as_json,
    # what a configuration file that was written for Java says
    _JAVA + "ByteArrayDeserializer": as_bytes,
    _JAVA + "BytesDeserializer": as_bytes,
    _JAVA + "StringDeserializer": as_string,
}


def deserializer_of(wish: object, key: str) -> Deserializer[Any]:
    """The callable itself, or the one of that name. Raises ``ConfigError``."""
    if callable(wish):
        return wish
    if isinstance(wish, str) and wish in _NAMED:
        return _NAMED[wish]
    raise ConfigError(f"{key}={wish!r}: expected a callable, or one of bytes, string, json")


def deserialized(
    of_key: Deserializer[Any],
    of_value: Deserializer[Any],
    key: bytes | None,
    value: bytes | None,
    where: object,
    offset: int,
) -> tuple[Any, Any, RecordDeserializationError | None]:
    """Key and value of a record at this place, or what one of them was refused for."""
    part, made_key, made_value = "key", None, None
    try:
        if key is not None:
            made_key = of_key(key)
        part = "value"
        if value is not None:
            made_value = of_value(value)
    except Exception as refused:  # noqa: BLE001 - whatever a deserialiser raises is about this record
        return made_key, None, RecordDeserializationError(part, str(where), offset, refused)
    return made_key, made_value, None
