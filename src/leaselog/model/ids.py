"""Names and numbers that must not be mixed up, each with a type of its own."""

from __future__ import annotations

from typing import NamedTuple, NewType
from uuid import UUID

__all__ = [
    "ZERO_UUID",
    "GroupId",
    "MemberId",
    "NodeId",
    "ProducerId",
    "TopicId",
    "TopicIdPartition",
    "TopicPartition",
    "TransactionalId",
]

TopicId = NewType("TopicId", UUID)
GroupId = NewType("GroupId", str)
MemberId = NewType("MemberId", str)
NodeId = NewType("NodeId", int)
ProducerId = NewType("ProducerId", int)
TransactionalId = NewType("TransactionalId", str)

ZERO_UUID = UUID(int=0)


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TopicIdPartition(NamedTuple):
    """A partition for ever: a topic that is made again under its name is another one."""

    topic_id: TopicId
    partition: int
