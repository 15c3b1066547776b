"""Transactions, for the handlers: which partition of ``__transaction_state`` looks after an id, and asking its owner.

The topic is made when somebody first looks for a coordinator.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

from leaselog.broker.cluster.cluster import TRANSACTION_STATE_TOPIC, Cluster
from leaselog.broker.config import BrokerConfig
from leaselog.broker.coordinators.partitions import CoordinatorPartitions, coordinator_partition
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.transactions.markers import EndOffsets, MarkerWriter
from leaselog.broker.transactions.owner import TransactionOwner
from leaselog.coordination.transaction_commands import (
    AbortOverdue,
    DropExpired,
    EndTransaction,
    InitProducer,
    ListTransactions,
    NeedsProducerId,
    TransactionAnswer,
    TransactionCommand,
    TransactionListing,
    Upkeep,
)
from leaselog.coordination.transaction_facts import Transaction
from leaselog.coordination.transaction_shard import TransactionLimits
from leaselog.model import BrokenInvariant, ErrorCode, Refused, TransactionalId

__all__ = ["TransactionCoordinator", "transaction_limits"]

A = TypeVar("A")

NOT_HERE = Refused(ErrorCode.NOT_COORDINATOR)
#: what all transactional ids together may make the broker hold; each partition of the topic has a part of it
HELD_BYTES_MAX = 256 << 20


class _Partitions:
    """Which topics there are, and the logs of their partitions, for who writes markers."""

    def __init__(self, cluster: Cluster, logs: LogStore) -> None:
        self.cluster = cluster
        self.logs = logs


class TransactionCoordinator:
    def __init__(self, runtime: Runtime, cluster: Cluster, logs: LogStore, end_offsets: EndOffsets) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self.markers = MarkerWriter(runtime, _Partitions(cluster, logs), end_offsets)
        self._owners = CoordinatorPartitions(cluster, logs, TRANSACTION_STATE_TOPIC, self._new_owner)

    async def start(self) -> None:
        """Loads every transactional id there is, and goes on with the ends that were decided."""
        await self._owners.start()

    def stop(self) -> None:
        """Refuses whoever waits. Markers that are not written yet are written at the next start."""
        self._owners.stop()

    # -- asking ---------------------------------------------------------------------------------------------

    async def ask(
        self, transactional_id: TransactionalId, command: TransactionCommand, expected: type[A]
    ) -> A | Refused:
        """The answer of the id's owner, once it is there and safe. NOT_COORDINATOR without an owner."""
        answer = await self._ask(transactional_id, command)
        if isinstance(answer, NeedsProducerId):
            fresh = await self._cluster.next_producer_id()
            if isinstance(fresh, Refused):
                # Retriable, and KAFKA_STORAGE_ERROR means nothing to a producer here.
                return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            assert isinstance(command, (InitProducer, EndTransaction)), "nobody else takes producer ids"
            answer = await self._ask(transactional_id, command._replace(fresh_producer_id=fresh))
        return _expect(answer, expected)

    async def _ask(self, transactional_id: TransactionalId, command: TransactionCommand) -> TransactionAnswer:
        owner = self._owner(transactional_id)
        return NOT_HERE if owner is None else await owner.ask(command)

    def find(self, transactional_id: TransactionalId) -> Transaction | None:
        """As it was decided last, safe or not."""
        owner = self._owner(transactional_id)
        return None if owner is None else owner.find(transactional_id)

    async def finished(self, transactional_id: TransactionalId, patience_s: float) -> None:
        """Returns when the transaction that is ending is over, or after that long."""
        owner = self._owner(transactional_id)
        if owner is not None:
            await owner.finished(transactional_id, patience_s)

    async def listed(self, command: ListTransactions) -> TransactionListing | Refused:
        """All that match, of every owner."""
        found: list[tuple[TransactionalId, Transaction]] = []
        for owner in self._owners.every():
            listing = _expect(await owner.ask(command), TransactionListing)
            if isinstance(listing, Refused):
                return listing
            found += listing.transactions
        return TransactionListing(tuple(found))

    def owner_states(self) -> list[str]:
        return [owner.state for owner in self._owners.made()]

    def counts(self) -> tuple[int, int, int]:
        """Ids, open transactions, and those whose markers are being written."""
        counts = [owner.counts() for owner in self._owners.made()]
        return sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts)

    # -- what changes ---------------------------------------------------------------------------------------

    def topic_deleted(self, name: str) -> None:
        """The transactions go with their topic. One that is open elsewhere needs no marker there any more."""
        if name == TRANSACTION_STATE_TOPIC:
            self._owners.drop()

    def partition_returned(self, partition: Partition) -> None:
        """A log that had failed is back: the transactions of its partition are read again."""
        self._owners.returned(partition)

    # -- upkeep ---------------------------------------------------------------------------------------------

    async def keep_house(self, overdue_s: float, expired_s: float) -> None:
        """Aborts what is overdue and forgets ids that nobody uses, each in its own time, until cancelled."""
        loop = asyncio.get_running_loop()
        next_overdue, next_expired = loop.time() + overdue_s, loop.time() + expired_s
        while True:
            await asyncio.sleep(max(0.0, min(next_overdue, next_expired) - loop.time()))
            if loop.time() >= next_overdue:
                next_overdue = loop.time() + overdue_s
                await self.upkeep(AbortOverdue())
            if loop.time() >= next_expired:
                next_expired = loop.time() + expired_s
                await self.upkeep(DropExpired())

    async def upkeep(self, command: AbortOverdue | DropExpired) -> None:
        """In every partition, as much at a time as the command says."""
        for owner in self._owners.made():
            has_more = True
            while has_more:
                done = await owner.ask(command)
                has_more = isinstance(done, Upkeep) and done.has_more
                await asyncio.sleep(0)

    # -- owners ---------------------------------------------------------------------------------------------

    def _owner(self, transactional_id: TransactionalId) -> TransactionOwner | None:
        count = self._owners.count()
        return self._owners.owner(coordinator_partition(transactional_id, count)) if count else None

    def _new_owner(self, partition: Partition) -> TransactionOwner:
        return TransactionOwner(
            partition,
            transaction_limits(self._runtime.config, max(self._owners.count(), 1)),
            self.markers.write_all,
            now_ms=self._runtime.now_ms,
            version=lambda: self._cluster.feature_level("transaction.version"),
        )


def _expect(answer: TransactionAnswer, expected: type[A]) -> A | Refused:
    if isinstance(answer, (expected, Refused)):
        return answer
    raise BrokenInvariant(f"a transaction owner answered {answer!r:.200}, expected {expected.__name__}")


def transaction_limits(config: BrokerConfig, partition_count: int) -> TransactionLimits:
    return TransactionLimits(
        max_timeout_ms=config.transaction_max_timeout_ms,
        id_expiration_ms=config.transactional_id_expiration_ms,
        held_bytes_max=HELD_BYTES_MAX // partition_count,
    )
