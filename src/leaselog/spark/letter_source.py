"""``format("kafka-dead-letters")`` for PySpark: dead letters of share groups as a table. Thin; see `letter_reader`."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from leaselog.spark.letter_options import LetterOptions
from leaselog.spark.letter_reader import LetterReader, LetterTask, look_up_letter_tasks
from leaselog.spark.letter_rows import letter_spark_schema

__all__ = ["KafkaDeadLettersDataSource"]


class KafkaDeadLettersDataSource(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return "kafka-dead-letters"

    def schema(self) -> str:
        LetterOptions.of(self._given)  # what is wrong with them is said before anything is asked
        return letter_spark_schema()

    def reader(self, schema: Any) -> DataSourceReader:
        return _Reader(LetterOptions.of(self._given))


class _Task(InputPartition):
    def __init__(self, task: LetterTask) -> None:
        super().__init__(task)
        self.task = task


class _Reader(DataSourceReader):
    def __init__(self, options: LetterOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        # Spark makes a task of its own, with nothing in it, of no task at all
        return [_Task(task) for task in look_up_letter_tasks(self._options) or [LetterTask((), {})]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return LetterReader(self._options).batches(partition.task)
