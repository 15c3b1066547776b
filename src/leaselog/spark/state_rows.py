"""The state topic as Arrow record batches, in two views: what was said, and what holds. No pyspark in here.

Offsets of stretches are inclusive, as in Kafka's records and tools: ``offset between first_offset and last_offset``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

import pyarrow as pa

from leaselog.admin import topic_id_text
from leaselog.spark.share_history import ShareHistory
from leaselog.spark.state_options import View
from leaselog.spark.state_records import SharePlace, StateEntry, Stretch, state_name

__all__ = ["log_rows", "record_rows", "row_batches", "state_arrow_schema", "state_spark_schema"]

BATCH_ROWS = 10_000

Row = tuple[Any, ...]
#: topics by id; one that was deleted is not in it
Topics = Mapping[UUID, str]

_PLACE = (
    ("group_id", "string"),
    ("topic_id", "string"),
    ("topic", "string"),
    ("partition", "int"),
)
_STRETCH = (
    ("first_offset", "bigint"),
    ("last_offset", "bigint"),
    ("state", "string"),
    ("delivery_count", "int"),
    ("start_offset", "bigint"),
)
_COLUMNS = {
    View.LOG: (
        ("kind", "string"),
        *_PLACE,
        *_STRETCH,
        ("snapshot_epoch", "int"),
        ("state_epoch", "int"),
        ("leader_epoch", "int"),
        ("delivery_complete_count", "int"),
        ("time", "timestamp"),
        ("state_partition", "int"),
        ("state_offset", "bigint"),
    ),
    View.RECORDS: (*_PLACE, *_STRETCH),
}
_ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_NO_STRETCH = (None, None, None, None)


def state_spark_schema(view: View) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in _COLUMNS[view])


def state_arrow_schema(view: View) -> pa.Schema:
    return pa.schema([pa.field(name, _ARROW[kind]) for name, kind in _COLUMNS[view]])


def log_rows(
    entry: StateEntry, topics: Topics, time_ms: int, state_partition: int, state_offset: int
) -> Iterator[Row]:
    """A row for each stretch; one without offsets for an entry that tells of none."""
    stretches = [_stretch(stretch, state_name(stretch.state)) for stretch in entry.stretches]
    for stretch in stretches or [_NO_STRETCH]:
        yield (
            entry.kind,
            *_place(entry.place, topics),
            *stretch,
            entry.start_offset,
            entry.snapshot_epoch,
            entry.state_epoch,
            entry.leader_epoch,
            entry.delivery_complete_count,
            time_ms * 1000,
            state_partition,
            state_offset,
        )


def record_rows(histories: Mapping[SharePlace, ShareHistory], topics: Topics) -> Iterator[Row]:
    """A row for each stretch of records with one state and one delivery count."""
    for place, history in histories.items():
        for stretch, word in history.records():
            shown = _stretch(stretch, word or state_name(stretch.state))
            yield *_place(place, topics), *shown, history.start_offset


def _place(place: SharePlace, topics: Topics) -> Row:
    return place.group, topic_id_text(place.topic_id), topics.get(place.topic_id), place.partition


def _stretch(stretch: Stretch, state: str) -> Row:
    delivery_count = stretch.delivery_count if stretch.delivery_count >= 0 else None
    return stretch.start, stretch.end - 1, state, delivery_count


def row_batches(rows: Iterable[Row], view: View) -> Iterator[pa.RecordBatch]:
    schema = state_arrow_schema(view)
    rows = iter(rows)
    while some := list(islice(rows, BATCH_ROWS)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
