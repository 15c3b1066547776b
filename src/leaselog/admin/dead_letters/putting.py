"""Puts a batch into a partition so that it is there once, whoever sends it and however often (ADR 0015)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leaselog.admin.dead_letters.claim import RedriveStopped
from leaselog.admin.dead_letters.log_reader import read_batches
from leaselog.admin.dead_letters.memory import PendingBatch, PendingWindow
from leaselog.client import LATEST, BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.client.fetcher import list_offsets
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from leaselog.wire.records import Record, build_batch

__all__ = ["Identity", "is_there", "put"]

ACKS_ALL = -1
MAX_EPOCH = 32_766
#: the broker has looked at the records and does not take them
_REFUSALS = frozenset({
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
})  # fmt: skip


@dataclass(slots=True)
class Identity:
    """A producer id, with an epoch for each window: its batches begin with sequence 0, and no two are alike."""

    cluster: Cluster
    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH

    async def next(self) -> tuple[int, int]:
        """Of a producer without transactions the epoch is the client's own to count up (KIP-360)."""
        if self.producer_id == NO_PRODUCER_ID or self.epoch >= MAX_EPOCH:
            self.producer_id, self.epoch = await self.cluster.retrying(self._ask), NO_PRODUCER_EPOCH
        self.epoch += 1
        return self.producer_id, self.epoch

    async def _ask(self) -> int:
        answer = await self.cluster.request(
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1),
            InitProducerIdResponse,
        )
        raise_for(answer.error_code)
        return answer.producer_id


async def put(
    cluster: Cluster, where: TopicPartition, records: Iterable[Record], producer_id: int, epoch: int
) -> int | BrokerError:
    """The offset behind the batch, -1 if that is not told; or why the target does not take it.

    A broker that has the batch already says so, and that is as good.
    """
    kept = list(records)
    batch = build_batch(kept, producer_id=producer_id, producer_epoch=epoch, base_sequence=0)

    async def attempt() -> int:
        topology = await cluster.topology([where.topic])
        data = TopicProduceData(
            name=where.topic,
            topic_id=topology.topic(where.topic).topic_id,
            partition_data=[PartitionProduceData(index=where.partition, records=bytes(batch))],
        )
        request = ProduceRequest(acks=ACKS_ALL, timeout_ms=cluster.request_timeout_ms, topic_data=[data])
        answer = await cluster.request(request, ProduceResponse, node=topology.leader(where))
        (part,) = (part for topic in answer.responses for part in topic.partition_responses)
        if part.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            raise_for(part.error_code, part.error_message or str(where))
        return part.base_offset + len(kept) if part.base_offset >= 0 else -1

    try:
        return await cluster.retrying(attempt)
    except BrokerError as failed:
        if failed.code in _REFUSALS:
            return failed
        if failed.code is ErrorCode.INVALID_PRODUCER_EPOCH:
            raise RedriveStopped("another redrive has taken over") from failed
        raise


async def is_there(cluster: Cluster, window: PendingWindow, batch: PendingBatch) -> bool:
    """Whether the target's log has the batch: brokers forget producers that were silent for long, a log does not."""
    end = (await list_offsets(cluster, {batch.target: LATEST}))[batch.target]
    async for found in read_batches(cluster, batch.target, batch.since, end):
        if (found.header.producer_id, found.header.producer_epoch) == (window.producer_id, window.epoch):
            return True
    return False
