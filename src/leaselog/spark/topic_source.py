"""``format("kafka-topic")`` for PySpark: ranges of topics for batch queries, and rows written by any query. Thin."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from leaselog.client import ConfigError
from leaselog.spark.arrow_records import spark_schema
from leaselog.spark.range_reader import read_ranges
from leaselog.spark.runs import Runs
from leaselog.spark.topic_lookup import look_up_tasks, reader_of
from leaselog.spark.topic_options import TopicReadOptions, TopicWriteOptions
from leaselog.spark.topic_writer import check_columns, write_rows

__all__ = ["KafkaTopicDataSource"]


class KafkaTopicDataSource(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return "kafka-topic"

    def schema(self) -> str:
        return spark_schema(TopicReadOptions.of(self._given).include_headers, with_delivery_count=False)

    def reader(self, schema: Any) -> DataSourceReader:
        return _Reader(TopicReadOptions.of(self._given))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        raise ConfigError('kafka-topic is not read as a stream: use format("kafka-share")')

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            raise ConfigError('a topic cannot be overwritten, only appended to: use mode("append")')
        return _Writer(self._write_options(schema))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        # In output mode complete Spark says overwrite; every batch's rows are appended, as Spark's own sink does.
        return _StreamWriter(self._write_options(schema))

    def _write_options(self, schema: Any) -> TopicWriteOptions:
        options = TopicWriteOptions.of(self._given)
        check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, options.topic)
        return options


class _Ranges(InputPartition):
    """One task's work."""

    def __init__(self, ranges: Runs) -> None:
        super().__init__(ranges)
        self.ranges = ranges


class _Reader(DataSourceReader):
    def __init__(self, options: TopicReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        # Spark makes a task of its own, with nothing in it, of no task at all
        return [_Ranges(ranges) for ranges in look_up_tasks(self._options) or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_ranges(reader_of(self._options), partition.ranges)


@dataclass
class _Written(WriterCommitMessage):
    """The records of one task, which stand in their topics already: there is nothing left to commit or to undo."""

    records: int


class _Writer(DataSourceArrowWriter):
    def __init__(self, options: TopicWriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _Written(write_rows(self._options, iterator))


class _StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: TopicWriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _Written(write_rows(self._options, iterator))
