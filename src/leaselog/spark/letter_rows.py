"""Dead letters as Arrow record batches: what their headers say in columns, and the record. No pyspark in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from leaselog.admin.dead_letters.letter import Letter, hops_of, own_headers
from leaselog.wire.records import Record

__all__ = ["letter_arrow_schema", "letter_batch", "letter_row", "letter_spark_schema"]

Row = tuple[Any, ...]

_MICROS = 1000
_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_HEADERS = "array<struct<key: string, value: binary>>"
_COLUMNS = (
    ("group_id", "string"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("delivery_count", "int"),
    ("cause", "string"),
    ("time", "timestamp"),
    ("key", "binary"),
    ("value", "binary"),
    ("headers", _HEADERS),
    ("redrive_hops", "int"),
    ("settled", "boolean"),
    ("letter_topic", "string"),
    ("letter_partition", "int"),
    ("letter_offset", "bigint"),
)
_ARROW: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    _HEADERS: pa.list_(pa.field("element", _HEADER)),
}


def letter_spark_schema() -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in _COLUMNS)


def letter_arrow_schema() -> pa.Schema:
    return pa.schema([pa.field(name, _ARROW[kind]) for name, kind in _COLUMNS])


def letter_row(letter: Letter, original: Record | None, is_settled: bool | None) -> Row:
    """``original`` is the record that failed, where it is known; it has what the letter lacks."""
    key, value, headers = letter.key, letter.value, None
    if original is not None:
        key, value = original.key, original.value
        headers = [
            {"key": name.encode(errors="surrogateescape").decode(errors="replace"), "value": told}
            for name, told in own_headers(original.headers)
        ]
    return (
        letter.group_id,
        letter.source.topic,
        letter.source.partition,
        letter.source_offset,
        letter.delivery_count,
        letter.cause,
        letter.time_ms * _MICROS,
        key,
        value,
        headers,
        hops_of(letter, original),
        is_settled,
        letter.place.topic,
        letter.place.partition,
        letter.offset,
    )


def letter_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    schema = letter_arrow_schema()
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
