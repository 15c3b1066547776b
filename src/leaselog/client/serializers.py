"""From what the application has to bytes. A serialiser is any callable; None never reaches it, it becomes null."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from leaselog.client.errors import ConfigError

__all__ = ["Serializer", "from_bytes", "from_json", "from_string", "serializer_of"]

T = TypeVar("T", contravariant=True)
Serializer = Callable[[T], bytes]


def from_bytes(value: bytes) -> bytes:
    return value


def from_string(value: str) -> bytes:
    if not isinstance(value, str):  # so that the application hears of a type, and not of a method
        raise TypeError(f"from_string: expected a str, not {type(value).__name__}")
    return value.encode()


def from_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


_JAVA = "org.apache.kafka.common.serialization."
_NAMED: dict[str, Serializer[Any]] = {
    "bytes": from_bytes,
    "string": from_string,
    "json": from_json,
    # what a configuration file that was written for Java says
    _JAVA + "ByteArraySerializer": from_bytes,
    _JAVA + "BytesSerializer": from_bytes,
    _JAVA + "StringSerializer": from_string,
}


def serializer_of(wish: object, key: str) -> Serializer[Any]:
    """The callable itself, or the one of that name. Raises ``ConfigError``."""
    if callable(wish):
        return wish
    if isinstance(wish, str) and wish in _NAMED:
        return _NAMED[wish]
    raise ConfigError(f"{key}={wish!r}: expected a callable, or one of bytes, string, json")
