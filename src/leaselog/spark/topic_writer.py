"""Writes rows to topics: what a task of ``kafka-topic`` does. No pyspark in here.

The producer lives on a thread of its own, so that it sends and hears its answers while the task waits for more rows. A
task is done when the brokers have acknowledged every record of it; one that is not written fails it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa

from leaselog.client import ClientError, ConfigError
from leaselog.client.cluster import Cluster
from leaselog.client.loop_thread import LoopThread
from leaselog.client.producer import BatchProducer, Delivered
from leaselog.spark.topic_options import TopicWriteOptions

__all__ = ["NotWritten", "check_columns", "write_rows"]

_TEXT_OR_BYTES = ("binary", "string")
#: what Spark's own sink takes, in Spark's spelling of types
_TYPES = {
    "key": _TEXT_OR_BYTES,
    "value": _TEXT_OR_BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}


class NotWritten(RuntimeError):
    """A record that the cluster did not take."""


def check_columns(columns: Mapping[str, str], topic: str | None) -> None:
    """Raises ``ConfigError`` for rows that could not be written. ``columns`` are names with Spark's types."""
    if "value" not in columns:
        raise ConfigError("kafka-topic needs the column value")
    if topic is None and "topic" not in columns:
        raise ConfigError("kafka-topic needs the option topic or a column topic")
    for name, types in _TYPES.items():
        if columns.get(name, types[0]) not in types:
            raise ConfigError(f"the column {name} is {columns[name]}: expected {' or '.join(types)}")


def write_rows(options: TopicWriteOptions, batches: Iterable[pa.RecordBatch]) -> int:
    """How many records were written: all of them. Raises ``NotWritten`` and what the client raises."""
    thread = LoopThread("leaselog-spark-producer")
    try:
        sending = _Sending(options)
        thread.run(sending.begin())
        written = 0
        try:
            for batch in batches:
                rows = list(_rows(batch, options.topic))
                thread.run(sending.send(rows))
                written += len(rows)
            thread.run(sending.finish())
        finally:
            thread.run(sending.stop())
    finally:
        thread.close()
    return written


class _Row(NamedTuple):
    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class _Sending:
    """One task's producer. All of it runs on the loop's thread."""

    def __init__(self, options: TopicWriteOptions) -> None:
        self._config = options.producer_config()
        self._failed: Delivered | None = None

    async def begin(self) -> None:
        config = self._config
        self._cluster = Cluster(
            config.bootstrap_servers,
            client_id=config.client_id,
            request_timeout_ms=config.request_timeout_ms,
            security=config.security,
        )
        self._producer = BatchProducer(self._cluster, config.settings, on_delivered=self._delivered)
        self._producer.start()

    async def send(self, rows: list[_Row]) -> None:
        for row in rows:
            await self._producer.send(
                row.topic, row.value, row.key, headers=row.headers, partition=row.partition
            )
        self._check()

    async def finish(self) -> None:
        await self._producer.flush()
        self._check()

    async def stop(self) -> None:
        await self._producer.stop()
        await self._cluster.close()

    def _delivered(self, batch: Delivered) -> None:
        if batch.error is not None and self._failed is None:
            self._failed = batch

    def _check(self) -> None:
        if (failed := self._failed) is not None:
            error: ClientError | None = failed.error
            raise NotWritten(f"{len(failed.records)} records for {failed.where}: {error}") from error


def _rows(batch: pa.RecordBatch, topic: str | None) -> Iterator[_Row]:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    keys, values = (_bytes(columns.get(name)) for name in ("key", "value"))
    topics = repeat(topic) if topic is not None else columns["topic"].to_pylist()
    partitions = columns["partition"].to_pylist() if "partition" in columns else repeat(None)
    headers = columns["headers"].to_pylist() if "headers" in columns else repeat(None)
    for _, to, partition, key, value, pairs in zip(
        range(batch.num_rows), topics, partitions, keys, values, headers, strict=False
    ):
        if to is None:
            raise ValueError("a row without a topic: give the option topic, or a topic in every row")
        yield _Row(to, partition, key, value, [_header(pair) for pair in pairs or ()])


def _bytes(column: pa.Array | None) -> Iterable[bytes | None]:
    if column is None:
        return repeat(None)
    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found


def _header(pair: Mapping[str, Any] | None) -> tuple[str, bytes | None]:
    if pair is None or pair["key"] is None:
        raise ValueError("a header without a key")
    return pair["key"], pair["value"]
