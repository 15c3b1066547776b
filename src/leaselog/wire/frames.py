"""The few bytes around every message: a length and the header of a request.

Header versions follow from the message: a flexible request carries header 2, a flexible response header 1.
ApiVersions is the exception that lets strangers meet: its response header is always version 0.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from leaselog.wire.errors import BadLength, BadValue, Truncated
from leaselog.wire.primitives import MAX_TAGGED_FIELDS, Buffer, read_uvarint

__all__ = ["API_VERSIONS", "RequestHeader", "read_request_header", "skip_tagged_fields"]

API_VERSIONS = 18
_FIXED = struct.Struct(">hhih")


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    #: where the client id ends; a flexible header goes on with tagged fields
    end: int


def read_request_header(frame: Buffer) -> RequestHeader:
    """The part of the header that every version shares. Tagged fields behind it: `skip_tagged_fields`."""
    if len(frame) < _FIXED.size:
        raise Truncated(f"a request of {len(frame)} bytes is shorter than its header")
    api_key, api_version, correlation_id, length = _FIXED.unpack_from(frame)
    end = _FIXED.size + max(length, 0)
    if length < -1 or end > len(frame):
        raise BadLength(f"client id of {length} bytes in a frame of {len(frame)}")
    try:
        client_id = None if length < 0 else str(frame[_FIXED.size : end], "utf-8")
    except UnicodeDecodeError as bad:
        raise BadValue("client id is not UTF-8") from bad
    return RequestHeader(api_key, api_version, correlation_id, client_id, end)


def skip_tagged_fields(buffer: Buffer, position: int) -> int:
    """The position behind a section of tagged fields that nobody here reads."""
    if position < len(buffer) and not buffer[position]:
        return position + 1  # as good as always
    count, position = read_uvarint(buffer, position)
    if count > MAX_TAGGED_FIELDS:
        raise BadLength(f"{count} tagged fields in the request header")
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > len(buffer):
            raise Truncated("tagged field in the request header")
    return position
