"""What keys and values of coordinators' records begin with: two bytes that say their type or version."""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 - struct spells it like a module
from typing import TypeVar

from leaselog.wire.codec import decode
from leaselog.wire.errors import BadValue, Truncated
from leaselog.wire.schema import Message

__all__ = ["read_prefix", "read_value"]

_SHORT = Struct(">h")

M = TypeVar("M", bound=Message)


def read_prefix(data: bytes) -> int:
    try:
        return int(_SHORT.unpack_from(data)[0])
    except StructError as short:
        raise Truncated(f"{len(data)} bytes where a version should be") from short


def read_value(kind: type[M], value: bytes) -> M:
    version = int.from_bytes(value[: _SHORT.size], "big", signed=True)
    if version not in kind.VERSIONS:
        raise BadValue(f"{kind.NAME} version {version}, known are up to {kind.VERSIONS.last}")
    return decode(kind, version, value, _SHORT.size)
