"""Every message of the protocol in every version, and messages with random values in them."""

from __future__ import annotations

import importlib
import random
import re
import uuid
from typing import Any

from leaselog.wire import extensions
from leaselog.wire.messages import MODULES
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from leaselog.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from leaselog.wire.schema import Field, Message
from leaselog.wire.share_extensions import ExtendedShareAcknowledgeRequest, ExtendedShareFetchRequest
from leaselog.wire.share_fetch_ranges import RangesShareFetchResponse

__all__ = ["as_read", "make", "protocol_messages"]

#: as which the broker, and our clients, read messages that may carry tags of leaselog's own
_EXTENDED: dict[type[Message], type[Message]] = {
    ShareFetchRequest: ExtendedShareFetchRequest,
    ShareAcknowledgeRequest: ExtendedShareAcknowledgeRequest,
    ShareFetchResponse: RangesShareFetchResponse,
}


def as_read(kind: type[Message]) -> type[Message]:
    return _EXTENDED.get(kind, kind)


def protocol_messages() -> list[tuple[type[Message], int]]:
    """Requests and responses, Kafka's and leaselog's own; in an order that does not change between runs."""
    modules = [importlib.import_module(f"leaselog.wire.messages.{name}") for name in MODULES.values()]
    kinds = {
        kind
        for module in (*modules, extensions)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Message) and kind.API_KEY >= 0
    }
    return [
        (kind, version)
        for kind in sorted(kinds, key=lambda kind: (kind.API_KEY, kind.NAME))
        for version in range(kind.VERSIONS.first, kind.VERSIONS.last + 1)
    ]


def make(kind: type[Message], version: int, chance: random.Random) -> Message:
    """A message with a random value in every field that the version has."""
    message = kind()
    for field in kind.FIELDS:
        if version in field.versions:
            setattr(message, field.name, _value(field, version, chance))
    return message


def _value(field: Field, version: int, chance: random.Random) -> Any:
    struct_tag = field.tag >= 0 and not isinstance(field.kind, str) and not field.array
    if chance.random() < 0.2 and (struct_tag or (version in field.nullable and version not in field.tagged)):
        return None
    if field.array:
        return [_one(field, version, chance) for _ in range(chance.randrange(3))]
    return _one(field, version, chance)


def _one(field: Field, version: int, chance: random.Random) -> Any:
    if not isinstance(field.kind, str):
        return make(field.kind, version, chance)
    if field.kind == "string":
        return chance.choice(["", "a", "žluťoučký kůň", "x" * 200])
    if field.kind in ("bytes", "records"):
        return chance.randbytes(chance.choice([0, 1, 127, 300]))
    if field.kind == "uuid":
        return uuid.UUID(int=chance.getrandbits(128) | 1)
    if field.kind == "bool":
        return chance.random() < 0.5
    if field.kind == "float64":
        return chance.choice([0.0, 1.5, -2.25])
    if field.name.endswith("error_code"):
        return chance.randrange(-1, 134)
    if re.search(r"(_ms|timestamp|time)$", field.name):
        # kio makes times of these, and its times do not take every number
        return chance.choice([0, 1, 999, 86_400_000])
    bits = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}[field.kind]
    return chance.choice([0, 1, (1 << bits) - 1, chance.getrandbits(bits)])
