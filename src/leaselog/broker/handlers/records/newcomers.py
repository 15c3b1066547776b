"""Which partitions a produce writes to for the first time in its transaction, and how they become part of it.

Once a partition has a batch of the transaction its log knows, and nobody is asked any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.broker.net.api import RequestContext
from leaselog.broker.transactions.joining import join
from leaselog.coordination.transaction_commands import ProducerEpoch
from leaselog.model import (
    AclOperation,
    AclResourceType,
    ErrorCode,
    ProducerId,
    Refused,
    TopicPartition,
    TransactionalId,
)
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.produce import ProduceRequest
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import CRC_START, HEADER_BYTES, TRANSACTIONAL_BIT, read_header

__all__ = ["Newcomers", "is_transactional", "newcomers"]

#: partitions become part of the transaction by being written to
ADDS_SINCE = 12
#: TRANSACTION_ABORTABLE is known to the client
ABORTABLE_SINCE = 11

_TRY_AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


@dataclass(slots=True)
class Newcomers:
    name: TransactionalId
    places: dict[TopicPartition, ProducerEpoch]

    async def join(self, context: RequestContext) -> dict[TopicPartition, Refused]:
        """Those that may not be written to, and why."""
        producers = set(self.places.values())
        if len(producers) > 1:
            several = Refused(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING, "The transaction has more than one producer id."
            )
            return dict.fromkeys(self.places, several)
        codes = await join(
            context.broker.transactions,
            self.name,
            producers.pop(),
            self.places,
            adds=context.version >= ADDS_SINCE,
            patience_s=context.broker.config.add_partitions_to_txn_retry_backoff_max_ms / 1000,
        )
        return {
            place: _refusal(code, context.version)
            for place, code in codes.items()
            if code is not ErrorCode.NONE
        }


def newcomers(request: ProduceRequest, context: RequestContext) -> Newcomers | None:
    """None if all partitions know of the transaction, or none is to be asked."""
    broker = context.broker
    if not broker.config.transaction_partition_verification_enable and context.version < ADDS_SINCE:
        return None
    places: dict[TopicPartition, ProducerEpoch] = {}
    for topic in request.topic_data:
        name = broker.cluster.topic_name(topic.name, topic.topic_id)
        if name is not None and not context.may(
            AclOperation.WRITE, AclResourceType.TOPIC, name, is_probe=True
        ):
            continue  # what may not be written is no part of a transaction
        for data in topic.partition_data if name is not None else ():
            partition = broker.logs.partition(name, data.index) if name is not None else None
            producer = _producer(data.records)
            if (
                partition is not None
                and producer is not None
                and not partition.log.is_in_transaction(*producer)
            ):
                places[partition.name] = producer
    return Newcomers(TransactionalId(request.transactional_id or ""), places) if places else None


def is_transactional(records: Buffer | None) -> bool:
    """Whether the bytes begin with a batch of a transaction; what else they are is for the log to say."""
    if records is None or len(records) < HEADER_BYTES:
        return False
    return bool(records[CRC_START + 1] & TRANSACTIONAL_BIT)  # the attributes' low byte


def _producer(records: Buffer | None) -> ProducerEpoch | None:
    """Who wrote the transaction's batch; None if it is none, or nothing that can be read."""
    if records is None or not is_transactional(records):
        return None
    try:
        header = read_header(records)
    except DecodeError:
        return None
    return ProducerEpoch(ProducerId(header.producer_id), header.producer_epoch)


def _refusal(code: ErrorCode, version: int) -> Refused:
    """What Kafka makes of the coordinator's words, for a producer."""
    if code is ErrorCode.PRODUCER_FENCED:
        return Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE:
        return Refused(ErrorCode.INVALID_TXN_STATE, "The partition is not part of the transaction.")
    if code is ErrorCode.TRANSACTION_ABORTABLE:
        return Refused(code, "The partition is not part of the transaction.")
    if code in _TRY_AGAIN and not (code is ErrorCode.CONCURRENT_TRANSACTIONS and version >= ADDS_SINCE):
        return Refused(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"Nobody could say whether it is part of the transaction: {code.name}.",
        )
    return Refused(code)
