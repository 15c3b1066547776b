"""The producer against a cluster that answers as scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from leaselog.client import producer as producer_module
from leaselog.client.accumulator import BatchLimits
from leaselog.client.errors import BrokerError, ConnectionLost
from leaselog.client.producer import BatchProducer, Delivered, ProducerSettings
from leaselog.client.security.config import PLAINTEXT
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology
from leaselog.model import ErrorCode
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from leaselog.wire.record_batch import read_header
from leaselog.wire.records import read_records

TOPIC = TopicInfo("t", UUID(int=7), False, (PartitionInfo(0, 1, 0, (1,), (1,), ()),))
NODE = Node(1, "host", 9092)
#: an error code to answer with, or an exception in place of an answer
Step = int | Exception


class ScriptedCluster:
    """One node that leads everything. Each produce request gets the next step, success when there is none left."""

    security = PLAINTEXT
    request_timeout_ms = 1000

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self._log = 0
        self.epoch = -1
        #: (epoch, base sequence, values) of every batch that arrived
        self.arrived = list[tuple[int, int, list[bytes | None]]]()
        self.lookups = 0

    async def topology(self, topics: list[str], *, auto_create: bool = False) -> Topology:
        return Topology({1: NODE}, None, 1, {"t": TOPIC}, {})

    async def fetch_topology(self, topics: list[str]) -> Topology:
        self.lookups += 1
        return await self.topology(topics)

    async def connection(self, node: int) -> ScriptedCluster:
        return self

    async def any_connection(self) -> ScriptedCluster:
        return self

    def version_for(self, request: type) -> int:
        return request.VERSIONS.last  # type: ignore[attr-defined,no-any-return]

    async def request(self, message: Any, kind: type, *, timeout_ms: int) -> Any:
        if isinstance(message, InitProducerIdRequest):
            self.epoch += 1
            return InitProducerIdResponse(producer_id=5, producer_epoch=self.epoch)
        assert isinstance(message, ProduceRequest)
        return await self._produce(message)

    async def _produce(self, message: ProduceRequest) -> ProduceResponse:
        data = message.topic_data[0].partition_data[0].records
        assert data is not None
        header = read_header(data)
        values = [record.value for record in read_records(data, header)]
        self.arrived.append((header.producer_epoch, header.base_sequence, values))
        await asyncio.sleep(0)  # as long as others that are on their way take to arrive
        step = self._steps.pop(0) if self._steps else 0
        if isinstance(step, Exception):
            raise step
        base = self._log
        self._log += 0 if step else len(values)
        part = PartitionProduceResponse(index=0, error_code=step, base_offset=-1 if step else base)
        topic = TopicProduceResponse(topic_id=TOPIC.topic_id, partition_responses=[part])
        return ProduceResponse(responses=[topic])


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_module, "RETRY_BACKOFF_MS", 0)


def produce(cluster: ScriptedCluster, *groups: list[bytes], **settings: Any) -> list[Delivered]:
    """Send each group of values and wait for it; what the producer said of every batch."""
    seen = list[Delivered]()

    async def main() -> None:
        made: Callable[..., BatchProducer] = BatchProducer
        async with made(cluster, ProducerSettings(**settings), on_delivered=seen.append) as producer:
            for group in groups:
                for value in group:
                    await producer.send("t", value)
                await producer.flush()

    asyncio.run(main())
    return seen


def test_records_handed_over_together_arrive_together_and_numbered() -> None:
    cluster = ScriptedCluster()
    seen = produce(cluster, [b"a", b"b"], [b"c"])
    assert cluster.arrived == [(0, 0, [b"a", b"b"]), (0, 2, [b"c"])]
    assert [d.base_offset for d in seen] == [0, 2]


@pytest.mark.parametrize("failure", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ConnectionLost("gone")])
def test_what_may_pass_is_sent_again_under_the_same_number(failure: Step) -> None:
    cluster = ScriptedCluster(failure)
    seen = produce(cluster, [b"a"])
    assert cluster.arrived == [(0, 0, [b"a"])] * 2
    assert [d.error for d in seen] == [None]
    assert cluster.lookups == 1  # the leader may be another one by now


def test_a_batch_that_lingered_while_the_identity_was_asked_for_leaves_without_a_flush(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [1_000]
    monkeypatch.setattr(producer_module, "_now_ms", lambda: clock[0])

    class SlowCluster(ScriptedCluster):
        async def request(self, message: Any, kind: type, *, timeout_ms: int) -> Any:
            if isinstance(message, InitProducerIdRequest):
                clock[0] += 50
            return await super().request(message, kind, timeout_ms=timeout_ms)

    async def main() -> None:
        arrived = asyncio.Event()
        made: Callable[..., BatchProducer] = BatchProducer
        async with made(SlowCluster(), on_delivered=lambda _: arrived.set()) as producer:
            await producer.send("t", b"a")
            async with asyncio.timeout(30):
                await arrived.wait()

    asyncio.run(main())


def test_a_duplicate_is_a_delivery() -> None:
    seen = produce(ScriptedCluster(ConnectionLost("gone"), ErrorCode.DUPLICATE_SEQUENCE_NUMBER), [b"a"])
    assert [d.error for d in seen] == [None]


def test_a_refused_batch_is_reported_and_the_next_begins_a_new_epoch() -> None:
    cluster = ScriptedCluster(ErrorCode.MESSAGE_TOO_LARGE)
    seen = produce(cluster, [b"a"], [b"b"])
    assert isinstance(seen[0].error, BrokerError)
    assert (seen[0].error.code, seen[1].error) == (ErrorCode.MESSAGE_TOO_LARGE, None)
    assert cluster.arrived[1] == (1, 0, [b"b"])


def test_a_broker_that_lost_count_gets_a_new_epoch() -> None:
    cluster = ScriptedCluster(0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    seen = produce(cluster, [b"a"], [b"b"])
    assert cluster.arrived == [(0, 0, [b"a"]), (0, 1, [b"b"]), (1, 0, [b"b"])]
    assert [d.error for d in seen] == [None, None]


def test_what_a_broker_says_of_a_younger_batch_makes_no_older_one_delivered() -> None:
    """A broker that lost its log in a power cut, and began with the younger one, answers the same."""
    lost = ConnectionLost("gone")
    cluster = ScriptedCluster(0, lost, lost, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    seen = produce(cluster, [b"z"], [b"a", b"b"], [b"c"], limits=BatchLimits(batch_bytes=1))
    assert cluster.arrived == [
        (0, 0, [b"z"]),
        (0, 1, [b"a"]),
        (0, 2, [b"b"]),
        (0, 1, [b"a"]),
        (0, 2, [b"b"]),
        (1, 0, [b"a"]),
        (1, 1, [b"c"]),
    ]
    assert [(d.records[0].value, d.error) for d in seen[1:]] == [(b"b", None), (b"a", None), (b"c", None)]


def test_without_idempotence_no_producer_id_is_asked_for() -> None:
    cluster = ScriptedCluster()
    produce(cluster, [b"a"], acks=1)
    assert (cluster.epoch, cluster.arrived) == (-1, [(-1, -1, [b"a"])])


def test_retries_are_counted() -> None:
    seen = produce(ScriptedCluster(*[ErrorCode.NOT_ENOUGH_REPLICAS] * 9), [b"a"], retries=2)
    assert "given up after 3 tries" in str(seen[0].error)


def test_a_record_too_large_never_leaves() -> None:
    cluster = ScriptedCluster()
    with pytest.raises(BrokerError, match=r"MESSAGE_TOO_LARGE.*max\.request\.size is 1000"):
        produce(cluster, [b"x" * 1000], max_request_bytes=1000)
    assert cluster.arrived == []
