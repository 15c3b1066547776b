"""Keys and values as the text to print, by the names of Java's deserialisers. Pure. Java classes cannot be loaded."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from uuid import UUID

from leaselog.cli.arguments import UsageError

__all__ = ["NAMES", "ToText", "as_it_is", "to_text"]

#: raises ``ValueError`` for bytes that are none of its kind
ToText = Callable[[bytes], bytes]
_PACKAGE = "org.apache.kafka.common.serialization."


def as_it_is(data: bytes) -> bytes:
    return data


def _string(data: bytes) -> bytes:
    data.decode()  # what is no text is an error of the record's, where Java prints question marks
    return data


def _number(layout: struct.Struct, data: bytes) -> bytes:
    if len(data) != layout.size:
        raise ValueError(f"{len(data)} bytes, expected {layout.size}")
    return str(layout.unpack(data)[0]).encode()


def _uuid(data: bytes) -> bytes:
    return str(UUID(data.decode())).encode()


def _truth(data: bytes) -> bytes:
    if data not in (b"\x00", b"\x01"):
        raise ValueError(f"{data!r} is neither true nor false")
    return b"true" if data == b"\x01" else b"false"


_KNOWN: dict[str, ToText] = {
    "ByteArray": as_it_is,
    "Bytes": as_it_is,
    "String": _string,
    "Short": partial(_number, struct.Struct(">h")),
    "Integer": partial(_number, struct.Struct(">i")),
    "Long": partial(_number, struct.Struct(">q")),
    "Float": partial(_number, struct.Struct(">f")),
    "Double": partial(_number, struct.Struct(">d")),
    "Boolean": _truth,
    "UUID": _uuid,
}
NAMES = tuple(f"{name}Deserializer" for name in _KNOWN)


def to_text(option: str, name: str) -> ToText:
    """The deserialiser of this name, with or without Java's package. Raises ``UsageError``."""
    short = name.strip().removeprefix(_PACKAGE).removesuffix("Deserializer")
    if short not in _KNOWN:
        raise UsageError(f"{option} {name}: expected one of {', '.join(NAMES)}")
    return _KNOWN[short]
