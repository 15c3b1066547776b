"""Client quotas as clients see them: set, described, kept, and felt in the answers to produce and fetch."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.model import ErrorCode
from leaselog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from leaselog.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.records import Record, build_batch

Entity = dict[str, str | None]
USER: Entity = {"user": "u"}
EVERY_CLIENT: Entity = {"client-id": None}


def entry(entity: Entity, **limits: float | None) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in limits.items()],
    )


async def alter(box: Box, *entries: EntryData, validate_only: bool = False) -> list[tuple[int, str | None]]:
    request = AlterClientQuotasRequest(entries=entries, validate_only=validate_only)
    answer = await box.ask(request, AlterClientQuotasResponse, 1)
    return [(e.error_code, e.error_message) for e in answer.entries]


async def described(box: Box, *components: ComponentData, version: int = 1) -> list[tuple[Entity, object]]:
    request = DescribeClientQuotasRequest(components=components)
    answer = await box.ask(request, DescribeClientQuotasResponse, version)
    assert answer.error_code == 0
    assert answer.entries is not None
    return [
        ({part.entity_type: part.entity_name for part in e.entity}, {v.key: v.value for v in e.values})
        for e in answer.entries
    ]


async def a_topic(box: Box) -> UUID:
    (made,) = await box.broker.cluster.create_topics([NewTopic("t", 1)])
    assert isinstance(made, CreatedTopic)
    return made.topic.topic_id


def batch(size_bytes: int) -> memoryview:
    return memoryview(build_batch([Record(None, bytes(size_bytes), timestamp_ms=1)]))


async def produce(box: Box, size_bytes: int, *, topic: str = "t") -> ProduceResponse:
    data = PartitionProduceData(index=0, records=batch(size_bytes))
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    return await box.ask(request, ProduceResponse, 9)


async def fetch(
    box: Box, topic_id: UUID, offset: int = 0, *, session_id: int = 0, epoch: int = -1, asks: bool = True
) -> FetchResponse:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic_id=topic_id, partitions=[partition])] if asks else [],
    )
    return await box.ask(request, FetchResponse, 16)


def records_in(answer: FetchResponse) -> int:
    """Bytes of records."""
    return sum(len(p.records or b"") for topic in answer.responses for p in topic.partitions)


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_set_is_described_and_what_is_removed_is_not(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            assert await described(box, version=version) == []
            both: Entity = {"client-id": None, "user": "u"}
            wanted = [
                entry(USER, producer_byte_rate=5.0, request_percentage=12.5),
                entry(both, consumer_byte_rate=7.0),
            ]
            assert await alter(box, *wanted) == [(0, None)] * 2
            assert await described(box, version=version) == [
                (USER, {"producer_byte_rate": 5.0, "request_percentage": 12.5}),
                (both, {"consumer_byte_rate": 7.0}),
            ]
            exactly = ComponentData(entity_type="client-id", match_type=1, match=None)
            assert await described(box, exactly, version=version) == [(both, {"consumer_byte_rate": 7.0})]
            await alter(box, entry(both, consumer_byte_rate=None), entry(USER, request_percentage=None))
            assert await described(box, version=version) == [(USER, {"producer_byte_rate": 5.0})]

    run(story())


def test_an_impossible_filter_is_told_so() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            request = DescribeClientQuotasRequest(components=[ComponentData(entity_type="foo", match=None)])
            answer = await box.ask(request, DescribeClientQuotasResponse, 1)
            assert (answer.error_code, answer.error_message, answer.entries) == (
                ErrorCode.UNSUPPORTED_VERSION,
                "Unsupported entity type foo",
                None,
            )

    run(story())


def test_only_what_is_possible_is_changed() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            bad = entry({"user": "bad"}, producer_byte_rate=-1.0)
            assert await alter(box, bad, entry(USER, producer_byte_rate=5.0)) == [
                (ErrorCode.INVALID_REQUEST, "Quota producer_byte_rate must be greater than 0"),
                (0, None),
            ]
            assert await described(box) == [(USER, {"producer_byte_rate": 5.0})]

    run(story())


def test_validating_changes_nothing() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            assert await alter(box, entry(EVERY_CLIENT, producer_byte_rate=5.0), validate_only=True) == [
                (0, None)
            ]
            assert await described(box) == []
            assert not box.broker.quotas.limits_produce

    run(story())


def test_quotas_outlive_the_broker_and_are_in_force_at_once(tmp_path: Path) -> None:
    async def first() -> None:
        async with in_a_box(str(tmp_path)) as box:
            await alter(box, entry(EVERY_CLIENT, producer_byte_rate=5.0))

    async def second() -> None:
        async with in_a_box(str(tmp_path)) as box:
            assert await described(box) == [(EVERY_CLIENT, {"producer_byte_rate": 5.0})]
            assert box.broker.quotas.limits_produce

    run(first())
    run(second())


def test_a_producer_over_its_quota_is_told_for_how_long_to_pause() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box)
            await alter(box, entry(EVERY_CLIENT, producer_byte_rate=1000.0))
            assert (await produce(box, 1000)).throttle_time_ms == 0
            answer = await produce(box, 30_000)
            assert answer.responses[0].partition_responses[0].error_code == 0
            assert 20_000 <= answer.throttle_time_ms < 22_000, "31 KB at 1 KB/s, less the window of 10 s"
            await alter(box, entry(EVERY_CLIENT, producer_byte_rate=None))
            assert (await produce(box, 30_000)).throttle_time_ms == 0

    run(story())


def test_refused_records_count_as_well() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await alter(box, entry(EVERY_CLIENT, producer_byte_rate=1000.0))
            answer = await produce(box, 30_000, topic="nowhere")
            assert (
                answer.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            assert answer.throttle_time_ms > 19_000

    run(story())


def test_a_fetcher_over_its_quota_gets_the_records_later() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await a_topic(box)
            for _ in range(3):
                await produce(box, 8_000)
            await alter(box, entry(EVERY_CLIENT, consumer_byte_rate=1000.0))
            first = await fetch(box, topic_id)
            assert 8_000 < records_in(first) < 9_000, "no more than the quota of a window"
            second = await fetch(box, topic_id, 1)
            assert (second.error_code, second.responses, second.session_id) == (0, [], 0)
            assert 6_000 < second.throttle_time_ms < 7_000
            await alter(box, entry(EVERY_CLIENT, consumer_byte_rate=None))
            assert records_in(await fetch(box, topic_id, 1)) > 16_000

    run(story())


def test_a_full_fetch_over_the_quota_leaves_no_session() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await a_topic(box)
            await produce(box, 8_000)
            await alter(box, entry(EVERY_CLIENT, consumer_byte_rate=1000.0))
            assert records_in(await fetch(box, topic_id)) > 8_000
            answer = await fetch(box, topic_id, epoch=0)
            assert (answer.session_id, answer.responses) == (0, [])
            assert answer.throttle_time_ms > 0
            assert len(box.broker.fetch_sessions) == 0

    run(story())


def test_a_session_goes_on_after_a_throttled_answer() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            topic_id = await a_topic(box)
            await produce(box, 8_000)
            await produce(box, 8_000)
            await alter(box, entry(EVERY_CLIENT, consumer_byte_rate=1000.0))
            first = await fetch(box, topic_id, epoch=0)
            session_id = first.session_id
            assert session_id > 0
            throttled = await fetch(box, topic_id, 1, session_id=session_id, epoch=1)
            assert (throttled.session_id, throttled.responses) == (session_id, [])
            assert throttled.throttle_time_ms > 0
            await alter(box, entry(EVERY_CLIENT, consumer_byte_rate=None))
            later = await fetch(box, topic_id, session_id=session_id, epoch=2, asks=False)
            assert records_in(later) > 8_000, "from where the throttled request asked"

    run(story())
