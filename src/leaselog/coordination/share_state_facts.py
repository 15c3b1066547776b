"""What a share-state shard writes down, and about what: the only things that change it.

One fact is one record of ``__share_group_state``; ``broker.share_state.records`` knows the bytes. A snapshot says all
there is to say about its key, an update what has changed since the last snapshot, so the topic is not compacted: what
lies before the oldest snapshot that still counts is cut off.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import NamedTuple

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch
from leaselog.model import GroupId, TopicId

__all__ = [
    "NO_COUNT",
    "ShareDropped",
    "ShareFact",
    "SharePartitionKey",
    "ShareSnapshot",
    "ShareUpdate",
]

#: the writer does not count deliveries that are done
NO_COUNT = -1


class SharePartitionKey(NamedTuple):
    """One partition as one share group consumes it."""

    group_id: GroupId
    topic_id: TopicId
    partition: int

    def __str__(self) -> str:
        """What Kafka calls it, and hashes to find its coordinator."""
        topic = urlsafe_b64encode(self.topic_id.bytes).rstrip(b"=").decode()
        return f"{self.group_id}:{topic}:{self.partition}"


@dataclass(frozen=True, slots=True)
class ShareSnapshot:
    """The whole state of a share partition."""

    key: SharePartitionKey
    #: counts the snapshots of this key
    snapshot_epoch: int
    #: rises when the group's offsets are set anew; who writes with an older one is fenced
    state_epoch: int
    #: the newest leader that has read this state; who writes with an older one is fenced
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int
    #: later than ``created_ms`` if this only repeats an older one, to let the log's beginning go
    written_ms: int
    batches: tuple[StateBatch, ...] = ()


class ShareUpdate(NamedTuple):
    """What has changed."""

    key: SharePartitionKey
    #: of the snapshot it belongs to
    snapshot_epoch: int
    leader_epoch: int
    #: NO_OFFSET leaves it as it is
    start_offset: int = NO_OFFSET
    delivery_complete_count: int = NO_COUNT
    batches: tuple[StateBatch, ...] = ()


@dataclass(frozen=True, slots=True)
class ShareDropped:
    """Nothing is known of the key any more."""

    key: SharePartitionKey


ShareFact = ShareSnapshot | ShareUpdate | ShareDropped
