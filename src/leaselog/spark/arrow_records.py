"""Records as Arrow record batches, in the columns of Spark's Kafka source, and the delivery count. No pyspark in here.

Spark compares the schema of the first batch with the declared one, field by field; so both are written down here, and
a test holds them together.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from leaselog.wire.record_batch import TimestampType
from leaselog.wire.records import Record

__all__ = ["ArrowRows", "arrow_schema", "spark_schema"]

_MICROS = 1000


def spark_schema(include_headers: bool, with_delivery_count: bool = True) -> str:
    """The declared schema, as Spark spells it."""
    headers = ", headers array<struct<key: string, value: binary>>" if include_headers else ""
    delivery_count = ", delivery_count int" if with_delivery_count else ""
    return (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
        f" timestampType int{headers}{delivery_count}"
    )


def arrow_schema(include_headers: bool, with_delivery_count: bool = True) -> pa.Schema:
    """The same as Arrow has it."""
    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    fields = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
        *([pa.field("headers", pa.list_(pa.field("element", header)))] if include_headers else []),
        *([pa.field("delivery_count", pa.int32())] if with_delivery_count else []),
    ]
    return pa.schema(fields)


class ArrowRows:
    """Collects records of one partition, until `take` makes a batch of them."""

    def __init__(
        self, topic: str, partition: int, include_headers: bool, with_delivery_count: bool = True
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._schema = arrow_schema(include_headers, with_delivery_count)
        self._include_headers = include_headers
        self._with_delivery_count = with_delivery_count
        self._clear()

    def _clear(self) -> None:
        self._records: list[Record] = []
        self._timestamp_types: list[int] = []
        self._delivery_counts: list[int] = []

    def __len__(self) -> int:
        return len(self._records)

    def is_of(self, topic: str, partition: int) -> bool:
        return (self._topic, self._partition) == (topic, partition)

    def add(self, records: Sequence[Record], timestamp_type: TimestampType, delivery_count: int) -> None:
        self._records += records
        self._timestamp_types += [int(timestamp_type)] * len(records)
        self._delivery_counts += [delivery_count] * len(records)

    def take(self) -> pa.RecordBatch:
        """Everything collected."""
        records, size = self._records, len(self._records)
        columns = [
            pa.array([record.key for record in records], pa.binary()),
            pa.array([record.value for record in records], pa.binary()),
            pa.repeat(pa.scalar(self._topic, pa.string()), size),
            pa.repeat(pa.scalar(self._partition, pa.int32()), size),
            pa.array([record.offset for record in records], pa.int64()),
            pa.array([record.timestamp_ms * _MICROS for record in records], pa.timestamp("us", tz="UTC")),
            pa.array(self._timestamp_types, pa.int32()),
        ]
        if self._include_headers:
            headers = [_headers(record) for record in records]
            columns.append(pa.array(headers, self._schema.field("headers").type))
        if self._with_delivery_count:
            columns.append(pa.array(self._delivery_counts, pa.int32()))
        self._clear()
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _headers(record: Record) -> list[dict[str, object]] | None:
    """None without any, as Spark's source has it. A key that is not UTF-8 loses what Arrow could not hold."""
    if not record.headers:
        return None
    return [
        {"key": key.encode(errors="surrogateescape").decode(errors="replace"), "value": value}
        for key, value in record.headers
    ]
