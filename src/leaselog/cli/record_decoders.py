"""The records of internal topics in words: group records, cluster metadata, share group state. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module

from leaselog.cli.message_json import message_json, upper_snake
from leaselog.wire.codec import decode
from leaselog.wire.errors import DecodeError
from leaselog.wire.primitives import read_uvarint
from leaselog.wire.records import Record
from leaselog.wire.schema import Message

__all__ = [
    "Decoder",
    "decode_cluster_metadata",
    "decode_offsets",
    "decode_share_group_state",
    "decode_text",
    "dump_json",
]

#: a record's key and payload as they are printed; None for what it does not have
Shown = tuple[str | None, str | None]
Decoder = Callable[[Record], Shown]

_METADATA_FRAME = 1


def decode_text(record: Record) -> Shown:
    return _text(record.key), _text(record.value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def decode_offsets(record: Record) -> Shown:
    """A record of __consumer_offsets."""
    return _coordinator("group_records", record)


def decode_share_group_state(record: Record) -> Shown:
    """A record of __share_group_state."""
    return _coordinator("share_records", record)


def decode_cluster_metadata(record: Record) -> Shown:
    """A record of __cluster_metadata: frame version, type and version as varints, then the message."""
    data = record.value or b""
    try:
        frame, position = read_uvarint(data, 0)
        key, position = read_uvarint(data, position)
        version, position = read_uvarint(data, position)
        kind = _messages("metadata_records", "Record").get(key)
        if frame != _METADATA_FRAME or kind is None:
            return None, f"Error at {record.offset}, skipping. unknown frame {frame} or type {key}"
        message = decode(kind, version, data, position)
    except DecodeError as bad:
        return None, f"Error at {record.offset}, skipping. {bad}"
    shown = {"type": upper_snake(kind.__name__), "version": version, "data": message_json(message, version)}
    return None, dump_json(shown)


def _coordinator(module: str, record: Record) -> Shown:
    """Coordinators write the record's type before the key and its version before the value."""
    if record.key is None or len(record.key) < 2:
        return decode_text(record)
    number = int.from_bytes(record.key[:2], "big")
    key_kind, value_kind = _messages(module, "Key").get(number), _messages(module, "Value").get(number)
    if key_kind is None or value_kind is None:
        return f"UNKNOWN({number})", "UNKNOWN"
    try:
        key = {"type": str(number), "data": message_json(decode(key_kind, 0, record.key, 2), 0)}
        return dump_json(key), _value(value_kind, record.value)
    except DecodeError as bad:
        return f"<CORRUPT {bad}>", _text(record.value)


def _value(kind: type[Message], data: bytes | None) -> str:
    if data is None:
        return "<DELETE>"
    version = int.from_bytes(data[:2], "big")
    if version not in kind.VERSIONS:
        return f"UNKNOWN({version})"
    return dump_json({"version": str(version), "data": message_json(decode(kind, version, data, 2), version)})


def dump_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@cache
def _messages(module: str, suffix: str) -> dict[int, type[Message]]:
    """The messages of a module whose names end so, by their number."""
    found = vars(import_module(f"leaselog.wire.messages.{module}")).values()
    return {
        kind.API_KEY: kind
        for kind in found
        if isinstance(kind, type)
        and issubclass(kind, Message)
        and kind.API_KEY >= 0
        and kind.__name__.endswith(suffix)
    }
