"""The cluster as group shards see it."""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.runtime.runtime import Runtime
from leaselog.coordination.cluster_view import ShareSettings, TopicShape
from leaselog.model import GroupId

__all__ = ["CurrentClusterView"]


class CurrentClusterView:
    def __init__(self, runtime: Runtime, cluster: Cluster) -> None:
        self._runtime = runtime
        self._cluster = cluster

    def topics_version(self) -> int:
        return self._cluster.features_epoch

    def topic(self, name: str) -> TopicShape | None:
        topic = self._cluster.topic(name)
        return None if topic is None else TopicShape(topic.topic_id, topic.partition_count)

    def share_settings(self, group_id: GroupId) -> ShareSettings:
        """Read anew each time: a setting takes effect with the next heartbeat."""
        group, broker = self._cluster.configuration.group(group_id), self._runtime.config
        return ShareSettings(
            session_timeout_ms=group.share_session_timeout_ms,
            heartbeat_interval_ms=group.share_heartbeat_interval_ms,
            assignment_interval_ms=group.share_assignment_interval_ms,
            max_size=broker.group_share_max_size,
            initialize_retry_interval_ms=broker.group_share_initialize_retry_interval_ms,
        )
