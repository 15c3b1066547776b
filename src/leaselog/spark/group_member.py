"""A member of a share group for a caller that blocks: it lives on a thread of its own as long as the query runs.

There it beats and renews what is held, whatever the caller is doing. Everything that is asked of the cluster from the
driver goes through here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from leaselog.admin import AsyncAdmin, Resource, ResourceType, ShareOffset
from leaselog.client import LATEST, BrokerError, ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.client.loop_thread import LoopThread
from leaselog.client.security.config import security_of
from leaselog.client.share.acknowledgements import Lease
from leaselog.client.share.extras import Extra
from leaselog.client.share.membership import as_kafka_text
from leaselog.client.share.range_consumer import AsyncRangeConsumer
from leaselog.client.share.range_core import LeasedRanges
from leaselog.model import ErrorCode, TopicPartition
from leaselog.spark.extras import fits
from leaselog.spark.ledger import Leased, Settlement
from leaselog.spark.options import SourceOptions
from leaselog.spark.queue_reader import Acquisition, Progress, Settled
from leaselog.spark.runs import Run, runs_of
from leaselog.spark.state_epochs import state_epochs

__all__ = ["GroupMember"]

SETTLE_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 10.0

_log = logging.getLogger("leaselog.spark")


class GroupMember:
    """Joins with the first `acquire`. Raises ``ClientError`` for what trying again does not mend."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._thread = LoopThread("leaselog-spark-member")
        self._consumer: AsyncRangeConsumer | None = None
        self._cluster: Cluster | None = None

    def acquire(self, timeout_s: float, records: int, size_bytes: int) -> Acquisition:
        return self._thread.run(self._acquire(timeout_s, records, size_bytes))

    async def _acquire(self, timeout_s: float, records: int, size_bytes: int) -> Acquisition:
        if self._consumer is None:
            await self._set_starting_offsets()
            self._consumer = AsyncRangeConsumer(self._options.consumer_config())
            self._consumer.subscribe(self._options.topics)
        leased = await self._consumer.acquire(timeout_s, records, size_bytes)
        lives = {one.lease.where.topic: one.lease.where.topic_id for one in leased}
        return Acquisition(
            # a topic that was made again while they were fetched: nobody can say anything of those of before any more
            [_leased(one) for one in leased if one.lease.where.topic_id == lives[one.lease.where.topic]],
            sum(one.size_bytes for one in leased),
            {topic: as_kafka_text(topic_id) for topic, topic_id in lives.items()},
        )

    async def _set_starting_offsets(self) -> None:
        """Where a group begins that has not begun yet is a config of the group, in Kafka as here."""
        wanted = self._options.starting_offsets
        if wanted is None or await self._offsets():
            return
        admin = AsyncAdmin.over(self._shared_cluster())
        group = Resource(ResourceType.GROUP, self._options.box.group_id)
        await admin.alter_configs(group, put={"share.auto.offset.reset": wanted.value})
        _log.info("share group %s begins at %s", self._options.box.group_id, wanted.value)

    def settle(self, settlements: Sequence[Settlement[Any]]) -> list[Settled]:
        """What became of each. What one lease has is told in one piece."""
        by_lease, extras = dict[Lease, dict[int, int]](), dict[Lease, dict[int, Extra]]()
        for settlement in settlements:
            types = by_lease.setdefault(settlement.lease, {})
            for run in settlement.ranges:
                types.update(dict.fromkeys(range(run.start, run.end), int(settlement.outcome)))
            extras.setdefault(settlement.lease, {}).update(_extras(settlement))
        consumer = self._consumer
        assert consumer is not None, "what is held was acquired"
        results = dict(self._thread.run(consumer.settle(by_lease.items(), SETTLE_TIMEOUT_S, extras)))
        return [Settled(results[s.lease], _ran_out(s.lease, results[s.lease])) for s in settlements]

    def has_ended(self, lease: Lease) -> bool:
        """Whether what was leased is on its way to somebody else."""
        return self._consumer is None or self._consumer.has_ended(lease)

    def epochs(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Of the group's state, where they are to be had."""
        return self._thread.run(self._epochs(places))

    async def _epochs(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return await state_epochs(self._shared_cluster(), self._options.box.group_id, places)

    def log_ends(self) -> dict[TopicPartition, int]:
        return self._thread.run(self._log_ends())

    async def _log_ends(self) -> dict[TopicPartition, int]:
        cluster = self._shared_cluster()
        return await list_offsets(cluster, dict.fromkeys(await self._places(), LATEST))

    def progress(self) -> dict[TopicPartition, Progress]:
        """Partitions that the group has not begun are not in it."""
        found = self._thread.run(self._offsets())
        return {where: Progress(offset.start_offset, offset.lag) for where, offset in found.items()}

    async def _offsets(self) -> dict[TopicPartition, ShareOffset]:
        group_id = self._options.box.group_id
        admin = AsyncAdmin.over(self._shared_cluster())
        try:
            found = await admin.list_share_group_offsets({group_id: await self._places()})
        except BrokerError as failed:
            if failed.code is ErrorCode.GROUP_ID_NOT_FOUND:
                return {}
            raise
        return {where: offset for where, offset in found[group_id].items() if isinstance(offset, ShareOffset)}

    async def _places(self) -> list[TopicPartition]:
        topology = await self._shared_cluster().topology(self._options.topics)
        return [
            TopicPartition(name, info.partition)
            for name in self._options.topics
            for info in topology.topic(name).partitions
        ]

    def _shared_cluster(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(
                self._options.box.bootstrap_servers,
                client_id="leaselog-spark",
                security=security_of(self._options.security),
            )
        return self._cluster

    def close(self) -> None:
        """What is held goes back to the group."""
        if not self._thread.is_closed:
            self._thread.run(self._close())
            self._thread.close()

    async def _close(self) -> None:
        if self._consumer is not None:
            await self._consumer.close(CLOSE_TIMEOUT_S)
        if self._cluster is not None:
            await self._cluster.close()


def _extras(settlement: Settlement[Any]) -> dict[int, Extra]:
    return {
        offset: extra
        for run in settlement.ranges
        if (at := settlement.extras.get(TopicPartition(run.topic, run.partition)))
        for offset in range(run.start, run.end)
        if (extra := at.get(offset)) is not None and fits(extra, settlement.outcome)
    }


def _ran_out(lease: Lease, error: ClientError | None) -> bool:
    """Whether a renewal would have kept it. A lease that ended with its connection had other troubles."""
    return error is not None and not lease.is_renewable and lease.life.ended is None


def _leased(one: LeasedRanges) -> Leased[Lease]:
    where = one.lease.where
    return Leased(one.lease, runs_of(_runs(where.topic, where.partition, one.ranges)))


def _runs(topic: str, partition: int, ranges: Iterable[tuple[int, int, int]]) -> Iterable[Run]:
    return (Run(topic, partition, start, end, delivery_count) for start, end, delivery_count in ranges)
