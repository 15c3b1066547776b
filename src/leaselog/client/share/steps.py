"""What a consumer wants to have sent, and what it has to tell its application. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.client.errors import ClientError
from leaselog.client.share.acknowledgements import TopicIdPartition
from leaselog.client.share.node_session import NodeAsk
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

__all__ = ["Acknowledged", "CoordinatorAsk", "MetadataAsk", "Step"]


@dataclass(slots=True, eq=False)
class CoordinatorAsk:
    request: ShareGroupHeartbeatRequest
    #: the last one was told to the wrong node
    find_again: bool = False


@dataclass(slots=True, eq=False)
class MetadataAsk:
    topics: tuple[str, ...]


Step = CoordinatorAsk | MetadataAsk | NodeAsk


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What became of acknowledgements, for the application's callback."""

    where: TopicIdPartition
    offsets: frozenset[int]
    error: ClientError | None
