"""What a group shard may look up outside itself: the cluster's topics and the groups' settings, as they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from leaselog.model import GroupId, TopicId

__all__ = [
    "EMPTY_CLUSTER",
    "ClusterView",
    "ConsumerSettings",
    "EmptyCluster",
    "ShareSettings",
    "TopicShape",
]


@dataclass(frozen=True, slots=True)
class TopicShape:
    topic_id: TopicId
    partition_count: int


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Kafka's settings of the same names, the group's own where it has them."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 200
    initialize_retry_interval_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Kafka's settings of the same names for groups of KIP-848, the group's own where it has them."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2**31 - 1
    #: that members may choose; the first is the group's if they do not
    assignors: tuple[str, ...] = ("uniform", "range")


class ClusterView(Protocol):
    def topics_version(self) -> int:
        """Differs whenever some topic has changed since."""

    def topic(self, name: str) -> TopicShape | None: ...

    def topics_matching(self, pattern: str) -> frozenset[str]:
        """The names that the regular expression (RE2) matches as a whole."""

    def share_settings(self, group_id: GroupId) -> ShareSettings: ...

    def consumer_settings(self, group_id: GroupId) -> ConsumerSettings: ...


class EmptyCluster:
    """A cluster without topics, where every group has the defaults."""

    def topics_version(self) -> int:
        return 0

    def topic(self, name: str) -> TopicShape | None:
        return None

    def topics_matching(self, pattern: str) -> frozenset[str]:
        return frozenset()

    def share_settings(self, group_id: GroupId) -> ShareSettings:
        return ShareSettings()

    def consumer_settings(self, group_id: GroupId) -> ConsumerSettings:
        return ConsumerSettings()


EMPTY_CLUSTER: ClusterView = EmptyCluster()
