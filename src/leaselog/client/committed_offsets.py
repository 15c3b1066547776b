"""A group's offsets as its coordinator keeps them: what to ask, and what was answered. Pure.

Topics go by name and by id in the same message; the version that travels takes the one it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
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

__all__ = [
    "CommittedOffset",
    "Identity",
    "commit_errors",
    "commit_request",
    "fetch_request",
    "read_fetch",
]


class CommittedOffset(NamedTuple):
    """Where a group goes on in a partition, and what was written down with it."""

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who commits: nobody in particular, unless it is a member of the group."""

    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1


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


def read_fetch(
    answer: OffsetFetchResponse, topic_ids: Mapping[str, UUID]
) -> dict[TopicPartition, CommittedOffset]:
    """What is committed of each partition that has something. Raises ``BrokerError``."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    found = dict[TopicPartition, CommittedOffset]()
    raise_for(answer.error_code)
    for group in answer.groups:  # versions before 8 have no groups, and their topics at the top
        raise_for(group.error_code)
        for topic in group.topics:
            for part in topic.partitions:
                where = TopicPartition(topic.name or names.get(topic.topic_id, ""), part.partition_index)
                raise_for(part.error_code, str(where))
                found[where] = CommittedOffset(part.committed_offset, part.metadata or "")
    for old in answer.topics:
        for old_part in old.partitions:
            where = TopicPartition(old.name, old_part.partition_index)
            raise_for(old_part.error_code, str(where))
            found[where] = CommittedOffset(old_part.committed_offset, old_part.metadata or "")
    return {where: committed for where, committed in found.items() if committed.offset >= 0}


def commit_request(
    group_id: str,
    identity: Identity,
    offsets: Mapping[TopicPartition, CommittedOffset],
    topic_ids: Mapping[str, UUID],
) -> OffsetCommitRequest:
    by_topic = dict[str, list[OffsetCommitRequestPartition]]()
    for where, (offset, metadata) in sorted(offsets.items()):
        part = OffsetCommitRequestPartition(
            partition_index=where.partition, committed_offset=offset, committed_metadata=metadata
        )
        by_topic.setdefault(where.topic, []).append(part)
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=identity.generation,
        member_id=identity.member_id,
        group_instance_id=identity.instance_id,
        topics=[
            OffsetCommitRequestTopic(name=n, topic_id=topic_ids.get(n, ZERO_UUID), partitions=parts)
            for n, parts in by_topic.items()
        ],
    )


def commit_errors(answer: OffsetCommitResponse, topic_ids: Mapping[str, UUID]) -> dict[TopicPartition, int]:
    """The error code of each partition that has one; empty when everything is committed."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    return {
        TopicPartition(topic.name or names.get(topic.topic_id, ""), part.partition_index): part.error_code
        for topic in answer.topics
        for part in topic.partitions
        if part.error_code
    }
