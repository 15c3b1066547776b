"""The broker's numbers, as somebody who scrapes them over HTTP reads them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from broker_in_a_box import in_a_box, run
from prometheus_client import CollectorRegistry, generate_latest

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.net.api import api_of, load_handlers
from leaselog.broker.runtime.metrics import REQUEST_SECONDS, Metrics
from leaselog.broker.telling.text import CountCollector, registry_of
from leaselog.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from leaselog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

LONG_MS = 3_600_000


def call(request: type[Message] = HeartbeatRequest) -> Any:
    load_handlers()
    return SimpleNamespace(api=api_of(request.API_KEY))


def counts(metrics: Metrics) -> CollectorRegistry:
    """What is told of numbers that belong to no broker."""
    registry = CollectorRegistry()
    registry.register(CountCollector(metrics))
    return registry


def value(told: CollectorRegistry, name: str, **labels: str) -> float | None:
    return told.get_sample_value(name, labels)


def test_durations_land_in_every_bucket_that_holds_them() -> None:
    metrics = Metrics()
    for seconds in (0.0001, 0.0002, 3.0, 99.0):
        metrics.request_answered("Heartbeat", seconds)
    told = counts(metrics)
    name = "leaselog_request_seconds"
    assert value(told, f"{name}_bucket", api="Heartbeat", le="0.0001") == 1
    assert value(told, f"{name}_bucket", api="Heartbeat", le="0.00025") == 2
    assert value(told, f"{name}_bucket", api="Heartbeat", le="5.0") == 3
    assert value(told, f"{name}_bucket", api="Heartbeat", le=f"{REQUEST_SECONDS[-1]:.1f}") == 3
    assert value(told, f"{name}_bucket", api="Heartbeat", le="+Inf") == 4
    assert value(told, f"{name}_count", api="Heartbeat") == 4
    assert value(told, f"{name}_sum", api="Heartbeat") == pytest.approx(102.0003)


def test_error_codes_are_counted_at_every_depth_of_an_answer() -> None:
    metrics = Metrics()
    metrics.count_errors(call().api, HeartbeatResponse(error_code=27))
    deep = DeleteTopicsResponse(responses=[DeletableTopicResult(error_code=3)] * 2)
    metrics.count_errors(call().api, deep)
    told, errors = counts(metrics), "leaselog_request_errors_total"
    assert value(told, errors, api="Heartbeat", error="REBALANCE_IN_PROGRESS") == 1
    assert value(told, errors, api="Heartbeat", error="UNKNOWN_TOPIC_OR_PARTITION") == 2


def test_a_deleted_topics_numbers_go_and_a_new_ones_begin_at_nothing() -> None:
    metrics = Metrics()
    metrics.produced("t", 10, 2)
    metrics.fetched("t", 10)
    metrics.topic_gone("t")
    metrics.topic_gone("never there")
    told = counts(metrics)
    for name in ("produced_bytes", "produced_records", "fetched_bytes"):
        assert value(told, f"leaselog_{name}_total", topic="t") is None
    metrics.produced("t", 7, 1)
    metrics.fetched("t", 3)
    assert value(told, "leaselog_produced_bytes_total", topic="t") == 7
    assert value(told, "leaselog_produced_records_total", topic="t") == 1
    assert value(told, "leaselog_fetched_bytes_total", topic="t") == 3


def test_what_has_no_labels_is_told_from_the_start_and_what_has_them_once_there_is_one() -> None:
    lines = generate_latest(counts(Metrics())).decode().splitlines()
    told = {line.rpartition(" ")[0] for line in lines if not line.startswith("#") and "_bucket" not in line}
    assert told == {
        "leaselog_connections_accepted_total",
        "leaselog_connections_refused_total",
        "leaselog_received_bytes_total",
        "leaselog_sent_bytes_total",
        "leaselog_sync_seconds_count",
        "leaselog_sync_seconds_sum",
    }
    assert "# TYPE leaselog_request_errors_total counter" in lines
    assert not [line for line in lines if "_created" in line]


def test_an_error_without_a_name_is_told_by_its_number() -> None:
    metrics = Metrics()
    metrics.count_errors(call().api, HeartbeatResponse(error_code=31_999))
    assert value(counts(metrics), "leaselog_request_errors_total", api="Heartbeat", error="31999") == 1


def test_records_logs_and_waiting_requests_are_seen_in_a_brokers_numbers() -> None:
    async def story() -> None:
        async with in_a_box(durability="fsync") as box:
            broker = box.broker
            await broker.cluster.create_topics([NewTopic("t", 1)])
            sent = bytes(build_batch([Record(b"k", b"v", timestamp_ms=broker.now_ms())] * 3))
            part = PartitionProduceData(index=0, records=sent)
            data = [TopicProduceData(name="t", partition_data=[part])]
            await box.ask(ProduceRequest(acks=-1, topic_data=data), ProduceResponse, 9)

            def fetch(offset: int) -> FetchRequest:
                wish = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
                topics = [FetchTopic(topic="t", partitions=[wish])]
                return FetchRequest(max_wait_ms=LONG_MS, min_bytes=1, session_epoch=0, topics=topics)

            await box.ask(fetch(0), FetchResponse, 12)
            waiting = asyncio.ensure_future(box.ask(fetch(3), FetchResponse, 12))
            for _ in range(5):
                await asyncio.sleep(0)
            seen = registry_of(broker)
            at = {"topic": "t", "partition": "0"}
            assert value(seen, "leaselog_produced_bytes_total", topic="t") == len(sent)
            assert value(seen, "leaselog_produced_records_total", topic="t") == 3
            assert value(seen, "leaselog_fetched_bytes_total", topic="t") == len(sent)
            assert value(seen, "leaselog_log_size_bytes", **at) == len(sent)
            assert value(seen, "leaselog_log_start_offset", **at) == 0
            assert value(seen, "leaselog_log_end_offset", **at) == 3
            assert value(seen, "leaselog_waiting_requests") == 1
            assert value(seen, "leaselog_fetch_sessions") == 2
            assert value(seen, "leaselog_unsent_bytes") == 0
            assert value(seen, "leaselog_failed_logs") == 0
            assert (value(seen, "leaselog_sync_seconds_count") or 0) >= 1
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert value(seen, "leaselog_waiting_requests") == 0

    run(story())
