"""What a task reads: exactly its ranges, whatever lies around them, against one node that answers from a log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from leaselog.client import BrokerError
from leaselog.client.share.membership import as_kafka_text
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology
from leaselog.model import ErrorCode
from leaselog.spark import range_reader
from leaselog.spark.range_reader import DataLoss, RangeReader, read_ranges
from leaselog.spark.runs import Run, runs_of
from leaselog.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from leaselog.wire.record_batch import read_header
from leaselog.wire.records import Record, build_batch, rebuild_batch

TOPIC = TopicInfo("t", UUID(int=7), False, (PartitionInfo(0, 1, 0, (1,), (1,), ()),))


class LogCluster:
    """Batches of ten records from ``start`` to ``end``; each fetch gives one batch, or the next error."""

    def __init__(self, start: int = 0, end: int = 100, gaps: Sequence[int] = ()) -> None:
        self.start, self.end, self.gaps = start, end, gaps
        #: what the leader takes for safe in its first answers
        self.visible_ends: list[int] = []
        self.is_left = False
        self.errors: list[int] = []
        self.fetched: list[int] = []

    request_timeout_ms = 1_000

    async def __aenter__(self) -> LogCluster:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_left = True

    async def topology(self, topics: list[str]) -> Topology:
        return Topology({1: Node(1, "h", 1)}, None, 1, {"t": TOPIC}, {})

    async def retrying(self, attempt: Any) -> Any:
        for _ in range(3):
            try:
                return await attempt()
            except BrokerError as failed:
                if not failed.is_retriable:
                    raise
        raise AssertionError("tried too often")

    async def request(self, message: Any, kind: type, **_: Any) -> Any:
        if not isinstance(message, FetchRequest):
            part = ListOffsetsPartitionResponse(partition_index=0, offset=self.start)
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[part])])
        asked = message.topics[0].partitions[0].fetch_offset
        self.fetched.append(asked)
        data = PartitionData(high_watermark=self.end, log_start_offset=self.start)
        if self.errors:
            data.error_code = self.errors.pop(0)
        elif not self.start <= asked <= self.end:
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        elif self.visible_ends:
            data.high_watermark = self.visible_ends.pop(0)
        elif asked < self.end:
            data.records = self._batch(asked - asked % 10)
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC.topic_id, partitions=[data])])

    def _batch(self, base: int) -> bytes:
        records = [
            Record(b"k", b"%d" % offset, [("h", b"x")] if offset % 2 else (), 1_000 + offset, offset)
            for offset in range(base, base + 10)
        ]
        whole = build_batch(records, base_offset=base)
        if not set(self.gaps) & set(range(base, base + 10)):
            return bytes(whole)
        return bytes(rebuild_batch(read_header(whole), [r for r in records if r.offset not in self.gaps]))


def read(
    monkeypatch: pytest.MonkeyPatch,
    cluster: LogCluster,
    *ranges: Run,
    lives: Mapping[str, str] | None = None,
    **more: Any,
) -> list[pa.RecordBatch]:
    monkeypatch.setattr(range_reader, "Cluster", lambda *_, **__: cluster)

    async def collect() -> list[pa.RecordBatch]:
        return [batch async for batch in RangeReader("h:1", **more).batches(runs_of(ranges), lives or {})]

    return asyncio.run(collect())


def column(batches: list[pa.RecordBatch], name: str) -> list[Any]:
    return [value for batch in batches for value in batch.column(name).to_pylist()]


def run(start: int, end: int, delivery_count: int = 1) -> Run:
    return Run("t", 0, start, end, delivery_count)


def test_exactly_the_ranges_are_read_with_their_delivery_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = read(monkeypatch, LogCluster(), run(3, 5), run(8, 12, 2), run(50, 60))
    offsets = [3, 4, 8, 9, 10, 11, *range(50, 60)]
    assert column(batches, "offset") == offsets
    assert column(batches, "value") == [b"%d" % offset for offset in offsets]
    assert column(batches, "delivery_count") == [1, 1, 2, 2, 2, 2, *[1] * 10]
    assert set(column(batches, "topic")) == {"t"}


def test_records_of_a_topic_that_was_made_again_are_not_taken_for_those_that_were_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, before = as_kafka_text(TOPIC.topic_id), as_kafka_text(UUID(int=6))
    assert len(column(read(monkeypatch, LogCluster(), run(3, 5), lives={"t": here}), "offset")) == 2
    with pytest.raises(DataLoss, match="the topic was deleted and made again"):
        read(monkeypatch, LogCluster(), run(3, 5), run(7, 9), lives={"t": before})
    kept = read(monkeypatch, LogCluster(), run(3, 5), run(7, 9), lives={"t": before}, fail_on_data_loss=False)
    assert kept == []


def test_what_lies_between_ranges_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LogCluster()
    read(monkeypatch, cluster, run(0, 10), run(90, 95))
    assert cluster.fetched == [0, 90]


def test_offsets_without_a_record_are_no_rows_and_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = read(monkeypatch, LogCluster(gaps=(4, 5, 19)), run(0, 20))
    assert column(batches, "offset") == [offset for offset in range(20) if offset not in (4, 5, 19)]


def test_the_columns_are_those_of_sparks_kafka_source(monkeypatch: pytest.MonkeyPatch) -> None:
    (batch,) = read(monkeypatch, LogCluster(), run(0, 2), include_headers=True)
    assert batch.schema.names == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"),
        "delivery_count",
    ]
    assert batch.column("headers").to_pylist() == [None, [{"key": "h", "value": b"x"}]]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [1_000_000, 1_001_000]


def test_a_leader_that_moved_is_asked_where_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LogCluster()
    cluster.errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert column(read(monkeypatch, cluster, run(0, 2)), "offset") == [0, 1]


def test_records_that_were_deleted_are_an_error_unless_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(DataLoss, match=r"t-0: records from offset 3 on .* begins at 20"):
        read(monkeypatch, LogCluster(start=20), run(3, 25))
    found = read(monkeypatch, LogCluster(start=20), run(3, 25), fail_on_data_loss=False)
    assert column(found, "offset") == [20, 21, 22, 23, 24]


def test_records_behind_the_end_of_a_log_that_lost_some_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataLoss, match="ends at 10"):
        read(monkeypatch, LogCluster(end=10), run(5, 15))
    found = read(monkeypatch, LogCluster(end=10), run(5, 15), fail_on_data_loss=False)
    assert column(found, "offset") == [5, 6, 7, 8, 9]


def test_several_ranges_behind_the_end_are_given_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LogCluster(end=30)
    cluster.visible_ends = [10] * (range_reader.MAX_EMPTY_ANSWERS + 2)
    found = read(
        monkeypatch, cluster, run(12, 14), run(16, 18), run(20, 22), run(24, 26), fail_on_data_loss=False
    )
    assert column(found, "offset") == [24, 25]


def test_a_new_leader_that_does_not_show_all_of_its_log_yet_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = LogCluster()
    cluster.visible_ends = [5, 5, 12]
    assert column(read(monkeypatch, cluster, run(10, 20)), "offset") == list(range(10, 20))


def test_a_task_that_stops_reading_half_way_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = LogCluster()
    monkeypatch.setattr(range_reader, "Cluster", lambda *_, **__: cluster)
    monkeypatch.setattr(range_reader, "BATCH_ROWS", 10)
    batches = read_ranges(RangeReader("h:1"), (run(0, 50),))
    assert next(batches).num_rows == 10
    assert not cluster.is_left
    batches.close()
    assert cluster.is_left
