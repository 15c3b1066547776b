"""How far share groups have come (KIP-932): their offsets listed, set and deleted, all at the group's coordinator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from leaselog.admin.coordinated import ask_coordinators
from leaselog.admin.outcome import Outcomes, outcome
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.topology import Node
from leaselog.model import TopicPartition
from leaselog.wire.messages import alter_share_group_offsets as alter
from leaselog.wire.messages import delete_share_group_offsets as delete
from leaselog.wire.messages import describe_share_group_offsets as describe

__all__ = [
    "ShareOffset",
    "alter_share_group_offsets",
    "delete_share_group_offsets",
    "list_share_group_offsets",
]

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """Where a share group begins in a partition, and how much is left to do from there."""

    #: everything below is done, or was never asked for
    start_offset: int
    #: of the partition's leader that wrote it; None if unknown
    leader_epoch: int | None
    #: records neither accepted nor archived; None if the broker does not know (before KIP-1226, or just now)
    lag: int | None


async def list_share_group_offsets(
    cluster: Cluster, groups: Mapping[str, Iterable[TopicPartition] | None]
) -> Outcomes[str, dict[TopicPartition, ShareOffset | BrokerError | None]]:
    """The offsets of each group at these partitions, or (None) wherever it has any.

    A partition that was asked for and has no state is None. Its error fails a partition, never its group.
    """
    wanted = {group_id: None if places is None else list(places) for group_id, places in groups.items()}

    async def ask(
        node: Node, ids: Sequence[str]
    ) -> Outcomes[str, dict[TopicPartition, ShareOffset | BrokerError | None]]:
        request = describe.DescribeShareGroupOffsetsRequest(
            groups=[
                describe.DescribeShareGroupOffsetsRequestGroup(group_id=i, topics=_asked(wanted[i]))
                for i in ids
            ]
        )
        answer = await cluster.request(request, describe.DescribeShareGroupOffsetsResponse, node=node)
        return {g.group_id: outcome(g.error_code, g.error_message, _offsets(g)) for g in answer.groups}

    return await ask_coordinators(cluster, groups, ask)


def _asked(
    places: Iterable[TopicPartition] | None,
) -> list[describe.DescribeShareGroupOffsetsRequestTopic] | None:
    if places is None:
        return None
    return [
        describe.DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)
        for topic, partitions in _by_topic(places).items()
    ]


def _offsets(
    group: describe.DescribeShareGroupOffsetsResponseGroup,
) -> dict[TopicPartition, ShareOffset | BrokerError | None]:
    return {
        TopicPartition(topic.topic_name, part.partition_index): outcome(
            part.error_code, part.error_message, _offset(part)
        )
        for topic in group.topics
        for part in topic.partitions
    }


def _offset(part: describe.DescribeShareGroupOffsetsResponsePartition) -> ShareOffset | None:
    if part.start_offset < 0:
        return None
    return ShareOffset(
        part.start_offset,
        part.leader_epoch if part.leader_epoch >= 0 else None,
        part.lag if part.lag >= 0 else None,
    )


async def alter_share_group_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]
) -> Outcomes[TopicPartition, None]:
    """Let the group begin at these offsets; it must have no members, and is made if it is not there.

    Leases and delivery counts of the partitions are forgotten. Raises ``BrokerError`` for the group as a whole.
    """

    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        by_topic = dict[str, list[alter.AlterShareGroupOffsetsRequestPartition]]()
        for where, offset in offsets.items():
            part = alter.AlterShareGroupOffsetsRequestPartition(
                partition_index=where.partition, start_offset=offset
            )
            by_topic.setdefault(where.topic, []).append(part)
        request = alter.AlterShareGroupOffsetsRequest(
            group_id=group_id,
            topics=[
                alter.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=parts)
                for topic, parts in by_topic.items()
            ],
        )
        answer = await cluster.request(request, alter.AlterShareGroupOffsetsResponse, node=node)
        found: Outcomes[TopicPartition, None] = {
            TopicPartition(topic.topic_name, part.partition_index): outcome(
                part.error_code, part.error_message, None
            )
            for topic in answer.responses
            for part in topic.partitions
        }
        return {group_id: outcome(answer.error_code, answer.error_message, found)}

    return _one(await ask_coordinators(cluster, [group_id], ask), group_id)


async def delete_share_group_offsets(
    cluster: Cluster, group_id: str, topics: Iterable[str]
) -> Outcomes[str, None]:
    """Forget how far the group has come in these topics; it must have no members.

    Raises ``BrokerError`` for the group as a whole.
    """
    names = list(dict.fromkeys(topics))

    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, Outcomes[str, None]]:
        request = delete.DeleteShareGroupOffsetsRequest(
            group_id=group_id,
            topics=[delete.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names],
        )
        answer = await cluster.request(request, delete.DeleteShareGroupOffsetsResponse, node=node)
        found: Outcomes[str, None] = {
            t.topic_name: outcome(t.error_code, t.error_message, None) for t in answer.responses
        }
        return {group_id: outcome(answer.error_code, answer.error_message, found)}

    return _one(await ask_coordinators(cluster, [group_id], ask), group_id)


def _one(found: Mapping[str, V | BrokerError], group_id: str) -> V:
    result = found[group_id]
    if isinstance(result, BrokerError):
        raise result
    return result


def _by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic = dict[str, list[int]]()
    for where in places:
        by_topic.setdefault(where.topic, []).append(where.partition)
    return by_topic
