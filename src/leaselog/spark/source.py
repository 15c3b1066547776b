"""``format("kafka-share")`` for PySpark: the data source, its stream reader and its sink. Thin; see `queue_reader`.

Spark makes many copies of these objects: one on the driver that lives as long as the query, and others that only plan,
or only read in a task. Nothing is opened before it is needed, so a copy costs nothing and can be sent anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from leaselog.client import ClientError, ConfigError
from leaselog.spark.arrow_records import spark_schema
from leaselog.spark.batch import BEGINNING, Batch, Lives
from leaselog.spark.driver_end import leave_with_spark
from leaselog.spark.extras import Extras, extra_columns, extras_of, joined
from leaselog.spark.group_member import GroupMember
from leaselog.spark.options import Acknowledge, BoxOptions, SourceOptions
from leaselog.spark.outcome_box import OutcomeBox
from leaselog.spark.outcomes import OUTCOME_COLUMNS, merged, report_of
from leaselog.spark.queue_reader import QueueReader
from leaselog.spark.range_reader import RangeReader, read_ranges
from leaselog.spark.room import Room
from leaselog.spark.runs import Runs

__all__ = ["KafkaShareDataSource"]

#: how long the source of a driver that was killed may take to notice and to leave
PREDECESSOR_S = 20.0


class KafkaShareDataSource(DataSource):
    """Reads a share group as a stream, and takes the outcomes of its records as one."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return "kafka-share"

    def schema(self) -> str:
        return spark_schema(SourceOptions.of(self._given).include_headers)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return _StreamReader(SourceOptions.of(self._given))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        missing = [name for name in OUTCOME_COLUMNS if name not in schema.fieldNames()]
        if missing:
            raise ConfigError(
                f"kafka-share takes the columns {', '.join(OUTCOME_COLUMNS)}; not there: {missing}"
            )
        return _OutcomeWriter(BoxOptions.of(self._given), extra_columns(schema.fieldNames()))


class _Ranges(InputPartition):
    """One task's work."""

    def __init__(self, ranges: Runs, lives: Lives) -> None:
        super().__init__(ranges)
        self.ranges = ranges
        self.lives = lives


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._reader = RangeReader(
            options.box.bootstrap_servers,
            include_headers=options.include_headers,
            fail_on_data_loss=options.fail_on_data_loss,
            security=options.security,
        )
        #: only in the one process on the driver that is asked for offsets
        self._queue: QueueReader | None = None
        self._open: ExitStack | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return BEGINNING.to_offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        rows = self._options.max_records
        return ReadMaxBytes(self._options.max_bytes) if rows is None else ReadMaxRows(rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        return dict(self._driver().latest(start, _room(self._options, limit)))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        lives = dict(Batch.from_offset(end).lives)
        return [_Ranges(ranges, lives) for ranges in self._driver().plan(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_ranges(self._reader, partition.ranges, partition.lives)

    def commit(self, end: dict[str, Any]) -> None:
        self._driver().over(end)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._driver().begin_draining()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        try:
            return self._driver().backlog()
        except ClientError:  # a figure for people: the query goes on without it
            return None

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._queue = self._open = None

    def _driver(self) -> QueueReader:
        if self._queue is None:
            with ExitStack() as opening:
                box = None
                if self._options.acknowledge is Acknowledge.EXPLICIT:
                    box = OutcomeBox(self._options.box)
                    opening.enter_context(box.as_owner(PREDECESSOR_S))
                leave_with_spark()
                self._queue = QueueReader(self._options, GroupMember(self._options), box, time.monotonic)
                opening.callback(self._queue.stop)
                self._open = opening.pop_all()
        return self._queue


def _room(options: SourceOptions, limit: ReadLimit) -> Room:
    match limit:
        case ReadAllAvailable():
            return Room.of(options, takes_all=True)
        case ReadMaxRows():
            return Room.of(options, max_rows=limit.max_rows)
        case ReadMaxBytes():
            return Room.of(options, max_bytes=limit.max_bytes)
        case ReadMinRows():
            return Room.of(options, min_rows=limit.min_rows)
        case _:
            raise ConfigError(f"kafka-share does not know the read limit {limit}")


@dataclass
class _Outcomes(WriterCommitMessage):
    """What one task's rows say."""

    outcomes: Runs
    extras: Extras


class _OutcomeWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: BoxOptions, extra_columns: tuple[str, ...]) -> None:
        self._options = options
        self._extra_columns = extra_columns

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        reports, extras = list[Runs](), list[Extras]()
        for batch in iterator:
            reports.append(report_of(_rows(batch, OUTCOME_COLUMNS)))
            if self._extra_columns:
                extras.append(extras_of(self._extra_columns, _rows(batch, self._extra_columns)))
        return _Outcomes(merged(reports), joined(extras))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        told = [message for message in messages if message is not None]
        outcomes = merged(message.outcomes for message in told)
        OutcomeBox(self._options).drop(batchId, outcomes, joined(message.extras for message in told))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing was said; the query ends, and its source gives back what it holds."""


def _rows(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
