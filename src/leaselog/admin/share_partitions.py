"""What a share group has in flight: who holds what, how often records were delivered, how old the oldest one is.

An extension that leaselog brokers serve; others raise ``UnsupportedVersion``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from leaselog.admin.outcome import Outcomes, outcome, try_each
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire import extensions as wire

__all__ = ["Holding", "SharePartitionDescription", "describe_share_partitions"]

_LEADER_TROUBLE = frozenset({
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Holding:
    """What one member holds; the times are from when it was asked."""

    member_id: str
    record_count: int
    first_deadline_ms: int
    last_deadline_ms: int


@dataclass(frozen=True, slots=True)
class SharePartitionDescription:
    """Counts are records."""

    start_offset: int
    #: of the window; nobody has asked for what lies behind it
    end_offset: int
    high_watermark: int
    #: leased to members
    in_flight: int
    #: to be had now
    available: int
    #: accepted or archived, behind others that are not
    done_ahead: int
    window_used: int
    window_limit: int
    #: since the batch with the first unfinished record was written; None if there is none, or no time in it
    oldest_age_ms: int | None
    #: unfinished records of the window by how often they were delivered
    delivery_counts: Mapping[int, int]
    holders: tuple[Holding, ...]
    #: held back until a time; how far that of the first is from when it was asked, None if there is none
    waiting: int = 0
    next_due_ms: int | None = None
    #: their dead letters are on the way
    archiving: int = 0
    #: since the broker began: their deliveries ran out, and they became no dead letters
    given_up: int = 0


async def describe_share_partitions(
    cluster: Cluster, group_id: str, places: Iterable[TopicPartition]
) -> Outcomes[TopicPartition, SharePartitionDescription]:
    """How the group stands in each partition, as its leader says. Raises ``UnsupportedVersion``."""

    async def attempt(
        wanted: Sequence[TopicPartition],
    ) -> Outcomes[TopicPartition, SharePartitionDescription]:
        topology = await cluster.fetch_topology(sorted({where.topic for where in wanted}))
        found = Outcomes[TopicPartition, SharePartitionDescription]()
        by_leader = dict[Node, list[TopicPartition]]()
        for where in wanted:
            try:
                by_leader.setdefault(topology.leader(where), []).append(where)
            except BrokerError as failed:
                found[where] = failed
        for answer in await asyncio.gather(*(_ask(cluster, n, group_id, w) for n, w in by_leader.items())):
            found.update(answer)
        return found

    return await try_each(cluster, places, attempt, passing=_LEADER_TROUBLE)


async def _ask(
    cluster: Cluster, leader: Node, group_id: str, places: Iterable[TopicPartition]
) -> Outcomes[TopicPartition, SharePartitionDescription]:
    by_topic = dict[str, list[int]]()
    for where in places:
        by_topic.setdefault(where.topic, []).append(where.partition)
    request = wire.DescribeSharePartitionsRequest(
        group_id=group_id,
        topics=[
            wire.DescribeSharePartitionsRequestTopic(name=name, partitions=partitions)
            for name, partitions in by_topic.items()
        ],
    )
    answer = await cluster.request(request, wire.DescribeSharePartitionsResponse, node=leader)
    raise_for(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, part.partition): outcome(
            part.error_code, part.error_message, _description(part)
        )
        for topic in answer.topics
        for part in topic.partitions
    }


def _description(part: wire.DescribedSharePartition) -> SharePartitionDescription:
    return SharePartitionDescription(
        part.start_offset,
        part.end_offset,
        part.high_watermark,
        part.acquired,
        part.available,
        part.done_ahead,
        part.window_used,
        part.window_limit,
        None if part.oldest_age_ms < 0 else part.oldest_age_ms,
        {d.deliveries: d.record_count for d in part.delivery_counts},
        tuple(
            Holding(h.member_id, h.record_count, h.first_deadline_ms, h.last_deadline_ms)
            for h in part.holders
        ),
        part.waiting,
        None if part.next_due_ms < 0 else part.next_due_ms,
        part.archiving,
        part.given_up,
    )
