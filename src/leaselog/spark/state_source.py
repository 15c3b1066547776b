"""``format("kafka-share-state")`` for PySpark: the state topic of share groups as a table. Thin; see `state_reader`."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from leaselog.spark.state_options import StateOptions
from leaselog.spark.state_reader import StateReader, StateTask, look_up_state_tasks
from leaselog.spark.state_rows import state_spark_schema

__all__ = ["KafkaShareStateDataSource"]


class KafkaShareStateDataSource(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return "kafka-share-state"

    def schema(self) -> str:
        return state_spark_schema(StateOptions.of(self._given).view)

    def reader(self, schema: Any) -> DataSourceReader:
        return _Reader(StateOptions.of(self._given))


class _Task(InputPartition):
    def __init__(self, task: StateTask) -> None:
        super().__init__(task)
        self.task = task


class _Reader(DataSourceReader):
    def __init__(self, options: StateOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        # Spark makes a task of its own, with nothing in it, of no task at all
        return [_Task(task) for task in look_up_state_tasks(self._options) or [StateTask((), {})]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return StateReader(self._options).batches(partition.task)
