"""How far consumer groups have come: committed offsets listed, set and deleted, all at the group's coordinator.

Of groups of the classic and of the consumer protocol alike. Topics go by name, so that what is left of a topic that is
gone is seen and can be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from leaselog.admin.coordinated import ask_coordinators
from leaselog.admin.outcome import COORDINATOR_TROUBLE, Outcomes, outcome
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.topology import Node
from leaselog.model import TopicPartition
from leaselog.wire.messages import offset_commit as commit
from leaselog.wire.messages import offset_delete as delete
from leaselog.wire.messages import offset_fetch as fetch
from leaselog.wire.schema import Versions

__all__ = [
    "CommittedOffset",
    "alter_consumer_group_offsets",
    "delete_consumer_group_offsets",
    "list_consumer_group_offsets",
]

#: a commit of nobody's: it is taken while the group has no members
_NO_GENERATION = -1


class _NamedFetch(fetch.OffsetFetchRequest):
    """In a version with several groups, and with topics by name."""

    __slots__ = ()
    VERSIONS = Versions(8, 9)


class _NamedCommit(commit.OffsetCommitRequest):
    """In a version with topics by name."""

    __slots__ = ()
    VERSIONS = Versions(2, 9)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a consumer group goes on in a partition."""

    offset: int
    #: of the last record that was read; None if whoever committed did not say
    leader_epoch: int | None = None
    #: whatever the member that committed has added
    metadata: str = ""


async def list_consumer_group_offsets(
    cluster: Cluster, groups: Mapping[str, Iterable[TopicPartition] | None]
) -> Outcomes[str, dict[TopicPartition, CommittedOffset | BrokerError | None]]:
    """The committed offsets of each group at these partitions, or (None) wherever it has any.

    A partition that was asked for and has no offset is None. A group that is not there has none.
    """
    wanted = {group_id: None if places is None else list(places) for group_id, places in groups.items()}

    async def ask(
        node: Node, ids: Sequence[str]
    ) -> Outcomes[str, dict[TopicPartition, CommittedOffset | BrokerError | None]]:
        request = _NamedFetch(
            groups=[fetch.OffsetFetchRequestGroup(group_id=i, topics=_asked(wanted[i])) for i in ids]
        )
        answer = await cluster.request(request, fetch.OffsetFetchResponse, node=node)
        return {
            group.group_id: outcome(group.error_code, f"Group {group.group_id}", _offsets(group, wanted))
            for group in answer.groups
        }

    return await ask_coordinators(cluster, groups, ask)


def _asked(places: Iterable[TopicPartition] | None) -> list[fetch.OffsetFetchRequestTopics] | None:
    if places is None:
        return None
    return [
        fetch.OffsetFetchRequestTopics(name=topic, partition_indexes=partitions)
        for topic, partitions in _by_topic(places).items()
    ]


def _offsets(
    group: fetch.OffsetFetchResponseGroup, wanted: Mapping[str, object]
) -> dict[TopicPartition, CommittedOffset | BrokerError | None]:
    found = {
        TopicPartition(topic.name, part.partition_index): outcome(part.error_code, None, _offset(part))
        for topic in group.topics
        for part in topic.partitions
    }
    ordered = {where: found[where] for where in sorted(found)}
    if wanted[group.group_id] is None:
        return {where: offset for where, offset in ordered.items() if offset is not None}
    return ordered


def _offset(part: fetch.OffsetFetchResponsePartitions) -> CommittedOffset | None:
    if part.committed_offset < 0:
        return None
    epoch = part.committed_leader_epoch
    return CommittedOffset(part.committed_offset, epoch if epoch >= 0 else None, part.metadata or "")


async def alter_consumer_group_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]
) -> Outcomes[TopicPartition, None]:
    """Let the group go on from these offsets; it must have no members, and is made if it is not there."""
    by_topic = dict[str, list[commit.OffsetCommitRequestPartition]]()
    for where, offset in offsets.items():
        part = commit.OffsetCommitRequestPartition(
            partition_index=where.partition, committed_offset=offset, committed_metadata=""
        )
        by_topic.setdefault(where.topic, []).append(part)
    request = _NamedCommit(
        group_id=group_id,
        generation_id_or_member_epoch=_NO_GENERATION,
        topics=[commit.OffsetCommitRequestTopic(name=t, partitions=parts) for t, parts in by_topic.items()],
    )

    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        answer = await cluster.request(request, commit.OffsetCommitResponse, node=node)
        found: Outcomes[TopicPartition, None] = {
            (where := TopicPartition(topic.name, part.partition_index)): outcome(
                part.error_code, str(where), None
            )
            for topic in answer.topics
            for part in topic.partitions
        }
        for error in found.values():
            if error is not None and error.code in COORDINATOR_TROUBLE:
                return {group_id: error}  # told of each partition, and meant of the group
        return {group_id: found}

    return _one(await ask_coordinators(cluster, [group_id], ask), group_id)


async def delete_consumer_group_offsets(
    cluster: Cluster, group_id: str, places: Iterable[TopicPartition]
) -> Outcomes[TopicPartition, None]:
    """Forget how far the group has come in these partitions; no member may be subscribed to their topics.

    Raises ``BrokerError`` for the group as a whole.
    """
    request = delete.OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            delete.OffsetDeleteRequestTopic(
                name=topic, partitions=[delete.OffsetDeleteRequestPartition(partition_index=p) for p in parts]
            )
            for topic, parts in _by_topic(places).items()
        ],
    )

    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, Outcomes[TopicPartition, None]]:
        answer = await cluster.request(request, delete.OffsetDeleteResponse, node=node)
        found: Outcomes[TopicPartition, None] = {
            (where := TopicPartition(topic.name, part.partition_index)): outcome(
                part.error_code, str(where), None
            )
            for topic in answer.topics
            for part in topic.partitions
        }
        return {group_id: outcome(answer.error_code, f"Group {group_id}", found)}

    return _one(await ask_coordinators(cluster, [group_id], ask), group_id)


def _one(
    found: Outcomes[str, Outcomes[TopicPartition, None]], group_id: str
) -> Outcomes[TopicPartition, None]:
    result = found[group_id]
    if isinstance(result, BrokerError):
        raise result
    return result


def _by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic = dict[str, list[int]]()
    for where in places:
        by_topic.setdefault(where.topic, []).append(where.partition)
    return by_topic
