"""Records as text: the lines of Apache's DefaultMessageFormatter, or a JSON object each. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaselog.cli.arguments import UsageError
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import BatchHeader, TimestampType
from leaselog.wire.records import Record, RecordHeader

__all__ = ["RecordFormat", "Shown", "as_json", "as_line", "shown", "timestamp_type_name"]

_TRUTH = {"true": True, "false": False}
_TIMESTAMP_TYPES = {
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
_IGNORED_PREFIXES = ("key.deserializer", "value.deserializer", "headers.deserializer", "header.deserializer")


@dataclass(frozen=True, slots=True)
class RecordFormat:
    print_timestamp: bool = False
    print_key: bool = False
    print_offset: bool = False
    print_partition: bool = False
    print_delivery: bool = False
    print_epoch: bool = False
    print_headers: bool = False
    print_value: bool = True
    key_separator: bytes = b"\t"
    line_separator: bytes = b"\n"
    headers_separator: bytes = b","
    null_literal: bytes = b"null"

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> RecordFormat:
        known = {name.replace("_", "."): name for name in cls.__slots__}
        values = dict[str, bool | bytes]()
        for key, text in properties.items():
            if key.startswith(_IGNORED_PREFIXES):
                raise UsageError(
                    f"--formatter-property {key}: Java classes cannot be loaded, values print as they are"
                )
            if key not in known:
                raise UsageError(f"--formatter-property {key}: expected one of {', '.join(sorted(known))}")
            if key.startswith("print."):
                if text.strip().lower() not in _TRUTH:
                    raise UsageError(f"--formatter-property {key}={text}: expected true or false")
                values[known[key]] = _TRUTH[text.strip().lower()]
            else:
                values[known[key]] = text.encode()
        return cls(**values)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Shown:
    """A record as the tools print it, wherever it comes from."""

    where: TopicPartition
    offset: int
    timestamp_ms: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: Sequence[RecordHeader]
    #: -1 where nobody says
    leader_epoch: int = -1
    #: only share groups count
    delivery_count: int | None = None


def shown(where: TopicPartition, header: BatchHeader, record: Record) -> Shown:
    return Shown(
        where, record.offset, record.timestamp_ms, header.timestamp_type, record.key, record.value,
        record.headers, header.leader_epoch,
    )  # fmt: skip


def as_line(record: Shown, form: RecordFormat) -> bytes:
    """One record, separators and all. Bytes, since keys and values need not be text."""
    parts = list[bytes]()
    if form.print_timestamp:
        parts.append(_timestamp(record).encode())
    if form.print_partition:
        parts.append(b"Partition:%d" % record.where.partition)
    if form.print_offset:
        parts.append(b"Offset:%d" % record.offset)
    if form.print_delivery:
        parts.append(b"Delivery:" + _number(record.delivery_count))
    if form.print_epoch:
        parts.append(b"Epoch:" + _number(record.leader_epoch if record.leader_epoch >= 0 else None))
    if form.print_headers:
        parts.append(_headers(record, form))
    if form.print_key:
        parts.append(form.null_literal if record.key is None else record.key)
    if form.print_value:
        parts.append(form.null_literal if record.value is None else record.value)
    return form.key_separator.join(parts) + form.line_separator


def _number(value: int | None) -> bytes:
    return b"NOT_PRESENT" if value is None else b"%d" % value


def _timestamp(record: Shown) -> str:
    if record.timestamp_ms < 0:
        return "NO_TIMESTAMP"
    return f"{_TIMESTAMP_TYPES[record.timestamp_type]}:{record.timestamp_ms}"


def timestamp_type_name(header: BatchHeader) -> str:
    return _TIMESTAMP_TYPES[header.timestamp_type]


def _headers(record: Shown, form: RecordFormat) -> bytes:
    if not record.headers:
        return b"NO_HEADERS"
    pairs = (
        name.encode("utf-8", "surrogateescape") + b":" + (form.null_literal if value is None else value)
        for name, value in record.headers
    )
    return form.headers_separator.join(pairs)


def as_json(record: Shown) -> bytes:
    """One line of JSON. Bytes that are not UTF-8 come as base64, under a name that says so."""
    told: dict[str, object] = {
        "topic": record.where.topic,
        "partition": record.where.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "timestampType": _TIMESTAMP_TYPES[record.timestamp_type],
        **({} if record.delivery_count is None else {"deliveryCount": record.delivery_count}),
        **_text("key", record.key),
        **_text("value", record.value),
        "headers": [{"key": _printable(name), **_text("value", value)} for name, value in record.headers],
    }
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def _printable(name: str) -> str:
    """A header's name whose bytes were not UTF-8 carries surrogates, which JSON cannot."""
    return name.encode("utf-8", "surrogateescape").decode(errors="replace")


def _text(name: str, value: bytes | None) -> dict[str, str | None]:
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(value).decode()}
