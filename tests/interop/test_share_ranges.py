"""Ranges without records: our range consumer on a broker that knows how to leave them out, and on one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import WAIT_S, create_topic, producer_of
from interop.test_share_librdkafka import set_group
from leaselog.client import AcknowledgeType
from leaselog.client.share.range_consumer import AsyncRangeConsumer

pytestmark = pytest.mark.all_on_kafka

RECORDS, RECORD_BYTES = 100, 1_000


@pytest.mark.on_kafka
def test_ranges_are_acquired_and_settled_and_leaselog_leaves_the_records_out(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    producer = producer_of(broker)
    for _ in range(RECORDS):
        producer.produce(topic, b"x" * RECORD_BYTES)
    assert producer.flush(WAIT_S) == 0

    async def acquire_all() -> tuple[list[tuple[int, int, int]], int, float]:
        consumer = AsyncRangeConsumer(
            bootstrap_servers=broker.address,
            group_id=group,
            share_acknowledgement_mode="explicit",
            share_acquire_mode="record_limit",
        )
        consumer.subscribe([topic])
        found, told_bytes, count = list[tuple[int, int, int]](), 0, 0
        try:
            async with asyncio.timeout(WAIT_S):
                while count < RECORDS:
                    for leased in await consumer.acquire(0.5, 1_000, 50_000_000):
                        found += leased.ranges
                        told_bytes += leased.size_bytes
                        count += leased.count
                        types = dict.fromkeys(
                            range(leased.ranges[0][0], leased.ranges[-1][1]), AcknowledgeType.ACCEPT
                        )
                        ((_, error),) = await consumer.settle([(leased.lease, types)], WAIT_S)
                        assert error is None
            return found, told_bytes, consumer.core.metrics.bytes.total
        finally:
            await consumer.close(WAIT_S)

    found, told_bytes, received_bytes = asyncio.run(acquire_all())
    assert sorted(offset for start, end, _ in found for offset in range(start, end)) == list(range(RECORDS))
    assert {count for _, _, count in found} == {1}
    assert told_bytes > RECORDS * RECORD_BYTES
    assert received_bytes == (told_bytes if is_kafka() else 0)
