"""A group's offsets as its coordinator keeps them: what to ask, and what was answered. Pure.

Topics go by name and by id in the same message; the version that travels takes the one it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from leaselog.client.errors import raise_for
from leaselog.model import TopicPartition
from leaselog.model.ids import ZERO_UUID
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from leaselog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

__all__ = ["commit_request", "fetch_request", "read_commit", "read_fetch"]


def fetch_request(
    group_id: str, wanted: Iterable[TopicPartition], topic_ids: Mapping[str, UUID], *, require_stable: bool
) -> OffsetFetchRequest:
    by_topic = dict[str, list[int]]()
    for where in sorted(wanted):
        by_topic.setdefault(where.topic, []).append(where.partition)
    topics = [
        OffsetFetchRequestTopics(name=n, topic_id=topic_ids.get(n, ZERO_UUID), partition_indexes=parts)
        for n, parts in by_topic.items()
    ]
    return OffsetFetchRequest(
        group_id=group_id,
        topics=[OffsetFetchRequestTopic(name=n, partition_indexes=parts) for n, parts in by_topic.items()],
        groups=[OffsetFetchRequestGroup(group_id=group_id, topics=topics)],
        require_stable=require_stable,
    )


def read_fetch(answer: OffsetFetchResponse, topic_ids: Mapping[str, UUID]) -> dict[TopicPartition, int]:
    """The committed offset of each partition that has one. Raises ``BrokerError``."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    found = dict[TopicPartition, int]()
    raise_for(answer.error_code)
    for group in answer.groups:  # versions before 8 have no groups, and their topics at the top
        raise_for(group.error_code)
        for topic in group.topics:
            for part in topic.partitions:
                name = topic.name or names.get(topic.topic_id, "")
                raise_for(part.error_code, f"{name}-{part.partition_index}")
                found[TopicPartition(name, part.partition_index)] = part.committed_offset
    for old in answer.topics:
        for old_part in old.partitions:
            raise_for(old_part.error_code, f"{old.name}-{old_part.partition_index}")
            found[TopicPartition(old.name, old_part.partition_index)] = old_part.committed_offset
    return {where: offset for where, offset in found.items() if offset >= 0}


def commit_request(
    group_id: str,
    member_id: str,
    instance_id: str | None,
    generation: int,
    offsets: Mapping[TopicPartition, int],
    topic_ids: Mapping[str, UUID],
) -> OffsetCommitRequest:
    by_topic = dict[str, list[OffsetCommitRequestPartition]]()
    for where, offset in sorted(offsets.items()):
        part = OffsetCommitRequestPartition(partition_index=where.partition, committed_offset=offset)
        by_topic.setdefault(where.topic, []).append(part)
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=[
            OffsetCommitRequestTopic(name=n, topic_id=topic_ids.get(n, ZERO_UUID), partitions=parts)
            for n, parts in by_topic.items()
        ],
    )


def read_commit(answer: OffsetCommitResponse) -> set[int]:
    """The error codes of all partitions; empty when everything is committed."""
    return {part.error_code for topic in answer.topics for part in topic.partitions if part.error_code}
