"""A message as Kafka's JSON: field names in camel case, ids and bytes in base64, tagged fields only when set. Pure."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any
from uuid import UUID

from leaselog.wire.codec import decode
from leaselog.wire.errors import DecodeError
from leaselog.wire.schema import Field, Message

__all__ = ["camel_case", "message_json", "upper_snake"]

#: bytes that are themselves a message with a version in front: the field, and the message
_INNER = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}


def message_json(message: Message, version: int) -> dict[str, Any]:
    """The fields that this version of the message has."""
    return {
        camel_case(field.name): _value(message, field, version)
        for field in message.FIELDS
        if version in field.versions and _is_shown(message, field, version)
    }


def _is_shown(message: Message, field: Field, version: int) -> bool:
    return version not in field.tagged or getattr(message, field.name) != field.default


def _value(message: Message, field: Field, version: int) -> Any:
    value = getattr(message, field.name)
    if value is None:
        return None
    if field.array:
        return [_one(element, version) for element in value]
    if type(message).__name__ == "MemberMetadata" and field.name in _INNER:
        return _inner(bytes(value), _INNER[field.name])
    return _one(value, version)


def _one(value: Any, version: int) -> Any:
    if isinstance(value, Message):
        return message_json(value, version)
    if isinstance(value, UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return value


def _inner(data: bytes, name: str) -> Any:
    """What a classic consumer tells its group, if it reads as that; other protocols put anything there."""
    from leaselog.wire.messages import client_data

    kind: type[Message] | None = getattr(client_data, name, None)
    if kind is None or len(data) < 2:
        return base64.b64encode(data).decode()
    version = min(int.from_bytes(data[:2], "big"), kind.VERSIONS.last)
    try:
        return message_json(decode(kind, version, data, 2), version)
    except DecodeError:
        return base64.b64encode(data).decode()


@cache
def camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


@cache
def upper_snake(name: str) -> str:
    """``FeatureLevelRecord`` as ``FEATURE_LEVEL_RECORD``."""
    return "".join(f"_{c}" if c.isupper() and i else c.upper() for i, c in enumerate(name))
