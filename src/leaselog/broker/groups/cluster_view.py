"""The cluster as group shards see it."""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.groups.patterns import matching
from leaselog.broker.runtime.runtime import Runtime
from leaselog.coordination.cluster_view import ConsumerSettings, ShareSettings, TopicShape
from leaselog.model import GroupId

__all__ = ["CurrentClusterView"]


class CurrentClusterView:
    def __init__(self, runtime: Runtime, cluster: Cluster) -> None:
        self._runtime = runtime
        self._cluster = cluster
        #: what patterns match at this version of the topics: many groups have the same
        self._matched: dict[str, frozenset[str]] = {}
        self._matched_version = -1

    def topics_version(self) -> int:
        return self._cluster.features_epoch

    def topic(self, name: str) -> TopicShape | None:
        topic = self._cluster.topic(name)
        return None if topic is None else TopicShape(topic.topic_id, topic.partition_count)

    def topics_matching(self, pattern: str) -> frozenset[str]:
        if self._matched_version != self.topics_version():
            self._matched, self._matched_version = {}, self.topics_version()
        if pattern not in self._matched:
            self._matched[pattern] = matching(pattern, (topic.name for topic in self._cluster.topics()))
        return self._matched[pattern]

    def consumer_settings(self, group_id: GroupId) -> ConsumerSettings:
        """Read anew each time, as those of share groups."""
        group, broker = self._cluster.configuration.group(group_id), self._runtime.config
        return ConsumerSettings(
            session_timeout_ms=group.consumer_session_timeout_ms,
            heartbeat_interval_ms=group.consumer_heartbeat_interval_ms,
            assignment_interval_ms=group.consumer_assignment_interval_ms,
            max_size=broker.group_consumer_max_size,
            assignors=broker.group_consumer_assignors,
        )

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
