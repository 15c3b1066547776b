"""Produce: what is written, what is refused and how, in each version, as Apache Kafka 4.3.1 answered the same bytes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.net.api import RequestContext, api_of
from leaselog.broker.net.dispatch import Unanswerable
from leaselog.broker.runtime.client import Client
from leaselog.broker.telling.text import registry_of
from leaselog.model import ErrorCode
from leaselog.wire.codec import decode, encode
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.records import Record, build_batch

VERSIONS = range(3, 14)
ALL, LEADER, NONE = -1, 1, 0


def batch(box: Box, count: int = 1, **more: Any) -> bytes:
    now_ms = box.broker.now_ms()
    return bytes(build_batch([Record(b"k", b"v", timestamp_ms=now_ms)] * count, **more))


async def a_topic(box: Box, name: str = "t", partitions: int = 2, **configs: str) -> UUID:
    settings = tuple((key.replace("_", "."), value) for key, value in configs.items())
    await box.broker.cluster.create_topics([NewTopic(name, partitions, configs=settings)])
    topic = box.broker.cluster.topic(name)
    assert topic is not None
    return topic.topic_id


def asked(
    *parts: tuple[int, bytes | None],
    topic: str = "t",
    topic_id: UUID | None = None,
    acks: int = ALL,
    transactional_id: str | None = None,
) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=records) for index, records in parts]
    named = TopicProduceData(name=topic, partition_data=data)
    if topic_id is not None:
        named.topic_id = topic_id
    return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=1000, topic_data=[named])


async def produce(
    box: Box, *parts: tuple[int, bytes | None], version: int = 9, **more: Any
) -> list[PartitionProduceResponse]:
    response = await box.ask(asked(*parts, **more), ProduceResponse, version)
    return [p for topic in response.responses for p in topic.partition_responses]


def codes(answers: list[PartitionProduceResponse]) -> list[tuple[int, int]]:
    return [(p.error_code, p.base_offset) for p in answers]


@pytest.mark.parametrize("version", VERSIONS)
def test_records_get_the_next_offsets_in_every_version(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await a_topic(box)
            for base_offset in (0, 3):
                (p,) = await produce(box, (0, batch(box, 3)), version=version, topic_id=topic_id)
                start = 0 if version >= 5 else -1
                assert (p.error_code, p.base_offset, p.log_start_offset) == (0, base_offset, start)
                assert p.log_append_time_ms == -1

    run(story())


def test_each_partition_fails_alone() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            found = await produce(box, (0, batch(box)), (9, batch(box)), (1, b""), (-1, batch(box)))
            unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
            assert codes(found) == [(0, 0), unknown, (ErrorCode.INVALID_RECORD, -1), unknown]

    run(story())


def test_no_records_are_refused_and_answered() -> None:
    """Kafka closes nothing and answers nothing to null records, and the client waits for its timeout."""

    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            assert codes(await produce(box, (0, None), (1, batch(box)))) == [
                (ErrorCode.INVALID_RECORD, -1),
                (0, 0),
            ]

    run(story())


def test_a_partition_named_twice_is_written_twice() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            assert codes(await produce(box, (0, batch(box, 2)), (0, batch(box)))) == [(0, 0), (0, 2)]

    run(story())


def test_a_topic_nobody_knows_is_refused_by_name_or_by_id() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            for version, code in (
                (12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                (13, ErrorCode.UNKNOWN_TOPIC_ID),
            ):
                found = await produce(box, (0, batch(box)), version=version, topic_id=UUID(int=7))
                assert codes(found) == [(code, -1)]
            zero = await produce(box, (0, batch(box)), version=13)
            assert codes(zero) == [(ErrorCode.UNKNOWN_TOPIC_ID, -1)]

    run(story())


def test_acks_are_all_one_or_none() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            refused = await produce(box, (0, batch(box)), (1, batch(box)), acks=2)
            assert codes(refused) == [(ErrorCode.INVALID_REQUIRED_ACKS, -1)] * 2
            assert codes(await produce(box, (0, batch(box)), acks=LEADER)) == [(0, 0)]

    run(story())


def test_more_in_sync_replicas_are_not_asked_for_than_there_are() -> None:
    """Kafka 4 clamps min.insync.replicas to the size of the replica set."""

    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box, min_insync_replicas="2")
            assert codes(await produce(box, (0, batch(box)), acks=ALL)) == [(0, 0)]

    run(story())


def test_a_transactional_batch_fails_its_whole_request_and_nothing_is_written() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            part = batch(box, producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
            refused = await produce(box, (0, batch(box)), (1, part))
            assert codes(refused) == [(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)] * 2
            assert codes(await produce(box, (0, batch(box)), (1, batch(box)))) == [(0, 0), (0, 0)]

    run(story())


def test_a_transactional_id_alone_does_no_harm() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            assert codes(await produce(box, (0, batch(box)), transactional_id="tx")) == [(0, 0)]

    run(story())


def test_a_repeated_batch_is_answered_with_where_and_when_it_was_first() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            records = [Record(b"k", b"v", timestamp_ms=box.broker.now_ms() - 50)]
            sent = bytes(build_batch(records, producer_id=5, producer_epoch=0, base_sequence=0))
            (first,) = await produce(box, (0, sent))
            (again,) = await produce(box, (0, sent))
            assert (again.error_code, again.base_offset) == (0, first.base_offset)
            assert (first.log_append_time_ms, again.log_append_time_ms) == (-1, records[0].timestamp_ms)
            assert box.broker.logs.partition("t", 0).log.end_offset == 1  # type: ignore[union-attr]
            counted = registry_of(box.broker).get_sample_value
            assert counted("leaselog_produced_records_total", {"topic": "t"}) == 1, (
                "written once, counted once"
            )

    run(story())


def test_a_gap_in_the_sequence_is_refused_with_where_the_log_starts() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            for sequence in (0, 5):
                sent = batch(box, producer_id=5, producer_epoch=0, base_sequence=sequence)
                (p,) = await produce(box, (0, sent))
            assert (p.error_code, p.base_offset) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
            assert p.log_start_offset == 0

    run(story())


def test_bytes_the_log_never_sees_are_refused_without_a_log_start() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            good = batch(box)
            for bad in (good + good, good[:-1] + b"x", good[:-3]):
                (p,) = await produce(box, (0, bad))
                assert p.error_code in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
                assert p.log_start_offset == -1

    run(story())


def test_records_that_break_the_topics_rules_are_named() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box, cleanup_policy="compact")
            now_ms = box.broker.now_ms()
            records = [Record(key, b"v", timestamp_ms=now_ms) for key in (b"k", None)]
            (p,) = await produce(box, (0, bytes(build_batch(records))), version=8)
            assert p.error_code == ErrorCode.INVALID_RECORD
            assert [e.batch_index for e in p.record_errors] == [1]
            assert p.log_start_offset == 0

    run(story())


def test_an_internal_topic_takes_nothing_from_clients() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await box.broker.cluster.ensure_topic("__consumer_offsets")
            found = await produce(box, (0, batch(box)), topic="__consumer_offsets")
            assert codes(found) == [(ErrorCode.INVALID_TOPIC_EXCEPTION, -1)]

    run(story())


def test_a_topic_that_takes_the_logs_time_tells_it() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box, message_timestamp_type="LogAppendTime")
            before_ms = box.broker.now_ms()
            (p,) = await produce(box, (0, batch(box)))
            assert before_ms <= p.log_append_time_ms <= box.broker.now_ms()

    run(story())


def test_without_acks_nothing_is_answered_and_an_error_ends_the_connection() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            api = api_of(ProduceRequest.API_KEY)
            assert api is not None
            context = RequestContext(box.broker, api, 9, "test", Client(1, "127.0.0.1", 5555))

            def send(*parts: tuple[int, bytes]) -> object:
                arrived = decode(ProduceRequest, 9, bytearray(encode(asked(*parts, acks=NONE), 9)))
                return api.handler(arrived, context)

            assert send((0, batch(box))) is None
            with pytest.raises(Unanswerable, match="acks=0"):
                send((0, batch(box)), (9, batch(box)))
            assert box.broker.logs.partition("t", 0).log.end_offset == 2  # type: ignore[union-attr]

    run(story())


def test_acks_all_waits_for_the_disk_and_a_deleted_topic_ends_the_wait() -> None:
    async def story() -> None:
        async with in_a_box(durability="fsync") as box:
            topic_id = await a_topic(box)
            api = api_of(ProduceRequest.API_KEY)
            assert api is not None
            context = RequestContext(box.broker, api, 9, "test", Client(1, "127.0.0.1", 5555))
            arrived = decode(ProduceRequest, 9, bytearray(encode(asked((0, batch(box))), 9)))
            waiting: Any = api.handler(arrived, context)
            box.broker.logs.delete_topic("t")
            response = await waiting
            (p,) = response.responses[0].partition_responses
            assert p.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert topic_id

    run(story())
