"""Share state, for handlers and persisters: which partition of ``__share_group_state`` keeps a key, and its owner.

The topic is made when state is first to be kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.coordinators.partitions import CoordinatorPartitions, coordinator_partition
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_state.ledger import StateTopicLedger
from leaselog.broker.share_state.lost_tails import cut_to_logs
from leaselog.broker.share_state.owner import ShareStateCounts, ShareStateOwner
from leaselog.coordination.cluster_names import SHARE_STATE_TOPIC
from leaselog.coordination.cluster_shard import Topic
from leaselog.coordination.share_state_commands import (
    DropTopicState,
    KeyedCommand,
    ShareStateAnswer,
    ShareSummary,
)
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.coordination.share_state_shard import ShareStateLimits
from leaselog.log import Durability
from leaselog.model import ErrorCode, Refused

if TYPE_CHECKING:
    from leaselog.broker.config import BrokerConfig

__all__ = ["ShareCoordinator", "share_state_limits"]

log = StructuredLog("share state")

NOT_HERE = Refused(ErrorCode.NOT_COORDINATOR, "This is not the correct coordinator.")
NEGATIVE = Refused(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


@lru_cache(8192)
def _place(key: SharePartitionKey, count: int) -> int:
    return coordinator_partition(str(key), count)


class ShareCoordinator:
    def __init__(self, runtime: Runtime, cluster: Cluster, logs: LogStore) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._logs = logs
        self._owners = CoordinatorPartitions(cluster, logs, SHARE_STATE_TOPIC, self._new_owner)
        self._limits = share_state_limits(runtime.config)
        self._write_timeout_s = runtime.config.share_coordinator_write_timeout_ms / 1000
        self.counts = ShareStateCounts()
        #: the topic, while it is being made
        self._making: asyncio.Future[Topic | Refused] | None = None

    async def start(self) -> None:
        """Loads all state there is, and drops what is about topics that a crash kept it from dropping, or about records
        that it took."""
        await self._owners.start()
        self._drop_lost_topics()
        if not self._logs.is_clean:
            self.counts.cut += await cut_to_logs(self._owners.every(), self._logs.partitions())

    def stop(self) -> None:
        """Writes what is decided; who waits is refused, so that connections can end."""
        self._owners.stop()

    # -- asking ---------------------------------------------------------------------------------------------

    def ask(self, command: KeyedCommand) -> asyncio.Future[ShareStateAnswer]:
        """Decided now, answered when it is safe, with the kind of answer that belongs to the command.

        NOT_COORDINATOR while there is no topic to keep it in.
        """
        key = command.key
        owner = self._owner_of(key)
        if owner is None or key.partition < 0:
            answer: asyncio.Future[ShareStateAnswer] = asyncio.get_running_loop().create_future()
            answer.set_result(NOT_HERE if owner is None else NEGATIVE)
            return answer
        return owner.ask(command, exists=self._exists(key))

    async def ready(self, key: SharePartitionKey) -> Refused | None:
        """Makes the topic if it is not there, and waits until the key's owner has loaded."""
        # Others may wait for the same making: who gives up must not end it.
        made = await asyncio.shield(self._make())
        if isinstance(made, Refused):
            return made
        owner = self._owner_of(key)
        if owner is None:
            return NOT_HERE
        await owner.loaded()
        return None

    def prepare(self) -> None:
        """Begins to make the topic if it is not there; ``ready`` waits for the same making."""
        if not self._owners.count():
            self._make()

    def _make(self) -> asyncio.Future[Topic | Refused]:
        """The making under way, until its partitions are open: the cluster knows of the topic before that."""
        if self._making is None:
            self._making = asyncio.ensure_future(self._cluster.ensure_topic(SHARE_STATE_TOPIC))
            self._making.add_done_callback(self._made)
        return self._making

    def _made(self, _: asyncio.Future[Topic | Refused]) -> None:
        self._making = None

    def topic_deleted(self, name: str) -> None:
        """Forgets what groups had to say about it. Nobody waits for that: what a crash leaves is dropped at the
        next start."""
        if name == SHARE_STATE_TOPIC:
            self._owners.drop()
        self._drop_lost_topics()

    def partition_returned(self, partition: Partition) -> None:
        """A log that had failed is back: share state that is kept in it is read again, and what is told of records that
        it has lost is cut off."""
        self._owners.returned(partition)
        if partition.log.config.durability is not Durability.FSYNC:
            cutting = cut_to_logs(self._owners.made(), [partition])
            cutting.add_done_callback(self._cut)

    def _cut(self, cutting: asyncio.Task[int]) -> None:
        if cutting.cancelled():
            return
        failure = cutting.exception()
        if failure is None:
            self.counts.cut += cutting.result()
        else:
            log.error("the cut of share state cannot be synced", failure=failure)

    def state_epochs(self) -> Iterator[tuple[SharePartitionKey, int]]:
        """Of every key whose state is kept here."""
        return (found for owner in self._owners.made() for found in owner.state_epochs())

    def kept_keys(self) -> list[SharePartitionKey]:
        """Of all state that is kept here."""
        return [key for owner in self._owners.made() for key in owner.kept_keys()]

    def summary(self, key: SharePartitionKey) -> ShareSummary | None:
        """As it was decided last, safe or not; None if nothing is kept."""
        owner = self._owner_of(key)
        return None if owner is None else owner.summary(key)

    def key_count(self) -> int:
        """Share partitions whose state is kept here."""
        return sum(owner.key_count() for owner in self._owners.made())

    def owner_states(self) -> list[str]:
        return [owner.state for owner in self._owners.made()]

    # -- upkeep ---------------------------------------------------------------------------------------------

    async def keep_house(self, prune_s: float, cold_s: float) -> None:
        """Snapshots what has long had none, and prunes, each in its own time, until cancelled."""
        loop = asyncio.get_running_loop()
        next_cold, next_prune = loop.time() + cold_s, loop.time() + prune_s
        while True:
            await asyncio.sleep(max(0.0, min(next_cold, next_prune) - loop.time()))
            if loop.time() >= next_cold:
                next_cold = loop.time() + cold_s
                await self.snapshot_cold()
            if loop.time() >= next_prune:
                next_prune = loop.time() + prune_s
                await self.prune()

    async def snapshot_cold(self) -> None:
        for owner in self._owners.every():
            await owner.snapshot_cold()

    async def prune(self) -> None:
        """Lets go of what nobody needs to read again; the space is given back by the next retention check."""
        has_moved = False
        for owner in self._owners.every():
            has_moved |= owner.prune()
            await asyncio.sleep(0)
        if not has_moved:
            return
        try:
            self._logs.checkpoint_starts()
        except OSError as error:
            # It is written down again with the next checkpoint. Until then a crash means to read more.
            log.error("where the logs start cannot be written down", failure=error)

    # -- owners ---------------------------------------------------------------------------------------------

    def _exists(self, key: SharePartitionKey) -> bool:
        topic = self._cluster.topic_by_id(key.topic_id)
        return topic is not None and 0 <= key.partition < topic.partition_count

    def _drop_lost_topics(self) -> None:
        for owner in self._owners.every():
            for topic_id in owner.topic_ids():
                if self._cluster.topic_by_id(topic_id) is None:
                    owner.ask(DropTopicState(topic_id))

    def _owner_of(self, key: SharePartitionKey) -> ShareStateOwner | None:
        count = self._owners.count()
        return self._owners.owner(_place(key, count)) if count else None

    def _new_owner(self, partition: Partition) -> ShareStateOwner:
        return ShareStateOwner(
            partition,
            StateTopicLedger(partition),
            self._limits,
            now_ms=self._runtime.now_ms,
            counts=self.counts,
            write_timeout_s=self._write_timeout_s,
        )


def share_state_limits(config: BrokerConfig) -> ShareStateLimits:
    return ShareStateLimits(
        snapshot_update_records_per_snapshot=config.share_coordinator_snapshot_update_records_per_snapshot,
        cold_partition_snapshot_interval_ms=config.share_coordinator_cold_partition_snapshot_interval_ms,
    )
