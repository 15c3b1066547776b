"""StreamsGroupHeartbeat, key 88. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["CopartitionGroup", "Endpoint", "EndpointToPartitions", "KeyValue", "Status", "StreamsGroupHeartbeatRequest", "StreamsGroupHeartbeatResponse", "Subtopology", "TaskIds", "TaskOffset", "TopicInfo", "TopicPartition", "Topology"]


class KeyValue(Message):
    __slots__ = ('key', 'value')
    NAME = "KeyValue"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('key', "string", default=""),
        Field('value', "string", default=""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key: str = key
        self.value: str = value


class TopicInfo(Message):
    __slots__ = ('name', 'partitions', 'replication_factor', 'topic_configs')
    NAME = "TopicInfo"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', "int32", default=0),
        Field('replication_factor', "int16", default=0),
        Field('topic_configs', KeyValue, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: Sequence[KeyValue] = (),
    ) -> None:
        self.name: str = name
        self.partitions: int = partitions
        self.replication_factor: int = replication_factor
        self.topic_configs: Sequence[KeyValue] = topic_configs


class CopartitionGroup(Message):
    __slots__ = ('source_topics', 'source_topic_regex', 'repartition_source_topics')
    NAME = "CopartitionGroups"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('source_topics', "int16", array=True, default=()),
        Field('source_topic_regex', "int16", array=True, default=()),
        Field('repartition_source_topics', "int16", array=True, default=()),
    )

    def __init__(
        self,
        *,
        source_topics: Sequence[int] = (),
        source_topic_regex: Sequence[int] = (),
        repartition_source_topics: Sequence[int] = (),
    ) -> None:
        self.source_topics: Sequence[int] = source_topics
        self.source_topic_regex: Sequence[int] = source_topic_regex
        self.repartition_source_topics: Sequence[int] = repartition_source_topics


class Subtopology(Message):
    __slots__ = ('subtopology_id', 'source_topics', 'source_topic_regex', 'state_changelog_topics', 'repartition_sink_topics', 'repartition_source_topics', 'copartition_groups')
    NAME = "Subtopologies"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('source_topics', "string", array=True, default=()),
        Field('source_topic_regex', "string", array=True, default=()),
        Field('state_changelog_topics', TopicInfo, array=True, default=()),
        Field('repartition_sink_topics', "string", array=True, default=()),
        Field('repartition_source_topics', TopicInfo, array=True, default=()),
        Field('copartition_groups', CopartitionGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        source_topic_regex: Sequence[str] = (),
        state_changelog_topics: Sequence[TopicInfo] = (),
        repartition_sink_topics: Sequence[str] = (),
        repartition_source_topics: Sequence[TopicInfo] = (),
        copartition_groups: Sequence[CopartitionGroup] = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.source_topics: Sequence[str] = source_topics
        self.source_topic_regex: Sequence[str] = source_topic_regex
        self.state_changelog_topics: Sequence[TopicInfo] = state_changelog_topics
        self.repartition_sink_topics: Sequence[str] = repartition_sink_topics
        self.repartition_source_topics: Sequence[TopicInfo] = repartition_source_topics
        self.copartition_groups: Sequence[CopartitionGroup] = copartition_groups


class Topology(Message):
    __slots__ = ('epoch', 'subtopologies')
    NAME = "Topology"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('epoch', "int32", default=0),
        Field('subtopologies', Subtopology, array=True, default=()),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        subtopologies: Sequence[Subtopology] = (),
    ) -> None:
        self.epoch: int = epoch
        self.subtopologies: Sequence[Subtopology] = subtopologies


class TaskIds(Message):
    __slots__ = ('subtopology_id', 'partitions')
    NAME = "TaskIds"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.partitions: Sequence[int] = partitions


class Endpoint(Message):
    __slots__ = ('host', 'port')
    NAME = "Endpoint"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('host', "string", default=""),
        Field('port', "uint16", default=0),
    )

    def __init__(
        self,
        *,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host: str = host
        self.port: int = port


class TaskOffset(Message):
    __slots__ = ('subtopology_id', 'partition', 'offset')
    NAME = "TaskOffset"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('partition', "int32", default=0),
        Field('offset', "int64", default=0),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.partition: int = partition
        self.offset: int = offset


class StreamsGroupHeartbeatRequest(Message):
    __slots__ = ('group_id', 'member_id', 'member_epoch', 'endpoint_information_epoch', 'instance_id', 'rack_id', 'rebalance_timeout_ms', 'topology', 'active_tasks', 'standby_tasks', 'warmup_tasks', 'process_id', 'user_endpoint', 'client_tags', 'task_offsets', 'task_end_offsets', 'shutdown_application')
    NAME = "StreamsGroupHeartbeatRequest"
    API_KEY = 88
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('member_id', "string", default=""),
        Field('member_epoch', "int32", default=0),
        Field('endpoint_information_epoch', "int32", default=0),
        Field('instance_id', "string", nullable=ALWAYS, default=None),
        Field('rack_id', "string", nullable=ALWAYS, default=None),
        Field('rebalance_timeout_ms', "int32", default=-1),
        Field('topology', Topology, nullable=ALWAYS, default=None),
        Field('active_tasks', TaskIds, array=True, nullable=ALWAYS, default=None),
        Field('standby_tasks', TaskIds, array=True, nullable=ALWAYS, default=None),
        Field('warmup_tasks', TaskIds, array=True, nullable=ALWAYS, default=None),
        Field('process_id', "string", nullable=ALWAYS, default=None),
        Field('user_endpoint', Endpoint, nullable=ALWAYS, default=None),
        Field('client_tags', KeyValue, array=True, nullable=ALWAYS, default=None),
        Field('task_offsets', TaskOffset, array=True, nullable=ALWAYS, default=None),
        Field('task_end_offsets', TaskOffset, array=True, nullable=ALWAYS, default=None),
        Field('shutdown_application', "bool", default=False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: Sequence[TaskIds] | None = None,
        standby_tasks: Sequence[TaskIds] | None = None,
        warmup_tasks: Sequence[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] | None = None,
        task_offsets: Sequence[TaskOffset] | None = None,
        task_end_offsets: Sequence[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.endpoint_information_epoch: int = endpoint_information_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.topology: Topology | None = topology
        self.active_tasks: Sequence[TaskIds] | None = active_tasks
        self.standby_tasks: Sequence[TaskIds] | None = standby_tasks
        self.warmup_tasks: Sequence[TaskIds] | None = warmup_tasks
        self.process_id: str | None = process_id
        self.user_endpoint: Endpoint | None = user_endpoint
        self.client_tags: Sequence[KeyValue] | None = client_tags
        self.task_offsets: Sequence[TaskOffset] | None = task_offsets
        self.task_end_offsets: Sequence[TaskOffset] | None = task_end_offsets
        self.shutdown_application: bool = shutdown_application


class Status(Message):
    __slots__ = ('status_code', 'status_detail')
    NAME = "Status"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('status_code', "int8", default=0),
        Field('status_detail', "string", default=""),
    )

    def __init__(
        self,
        *,
        status_code: int = 0,
        status_detail: str = "",
    ) -> None:
        self.status_code: int = status_code
        self.status_detail: str = status_detail


class TopicPartition(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "TopicPartition"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: Sequence[int] = partitions


class EndpointToPartitions(Message):
    __slots__ = ('user_endpoint', 'active_partitions', 'standby_partitions')
    NAME = "PartitionsByUserEndpoint"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('user_endpoint', Endpoint, default=Endpoint()),
        Field('active_partitions', TopicPartition, array=True, default=()),
        Field('standby_partitions', TopicPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        user_endpoint: Endpoint | None = None,
        active_partitions: Sequence[TopicPartition] = (),
        standby_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.user_endpoint: Endpoint = Endpoint() if user_endpoint is None else user_endpoint
        self.active_partitions: Sequence[TopicPartition] = active_partitions
        self.standby_partitions: Sequence[TopicPartition] = standby_partitions


class StreamsGroupHeartbeatResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'member_id', 'member_epoch', 'heartbeat_interval_ms', 'acceptable_recovery_lag_legacy', 'task_offset_interval_ms', 'acceptable_recovery_lag', 'status', 'active_tasks', 'standby_tasks', 'warmup_tasks', 'topology_description_required', 'endpoint_information_epoch', 'partitions_by_user_endpoint')
    NAME = "StreamsGroupHeartbeatResponse"
    API_KEY = 88
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('member_id', "string", default=""),
        Field('member_epoch', "int32", default=0),
        Field('heartbeat_interval_ms', "int32", default=0),
        Field('acceptable_recovery_lag_legacy', "int32", versions=Versions(0, 0), default=0),
        Field('task_offset_interval_ms', "int32", default=0),
        Field('acceptable_recovery_lag', "int64", versions=Versions(1, 32767), default=-1),
        Field('status', Status, array=True, nullable=ALWAYS, default=()),
        Field('active_tasks', TaskIds, array=True, nullable=ALWAYS, default=None),
        Field('standby_tasks', TaskIds, array=True, nullable=ALWAYS, default=None),
        Field('warmup_tasks', TaskIds, array=True, nullable=ALWAYS, default=None),
        Field('topology_description_required', "bool", versions=Versions(1, 32767), default=False),
        Field('endpoint_information_epoch', "int32", default=0),
        Field('partitions_by_user_endpoint', EndpointToPartitions, array=True, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag_legacy: int = 0,
        task_offset_interval_ms: int = 0,
        acceptable_recovery_lag: int = -1,
        status: Sequence[Status] | None = (),
        active_tasks: Sequence[TaskIds] | None = None,
        standby_tasks: Sequence[TaskIds] | None = None,
        warmup_tasks: Sequence[TaskIds] | None = None,
        topology_description_required: bool = False,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: Sequence[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.heartbeat_interval_ms: int = heartbeat_interval_ms
        self.acceptable_recovery_lag_legacy: int = acceptable_recovery_lag_legacy
        self.task_offset_interval_ms: int = task_offset_interval_ms
        self.acceptable_recovery_lag: int = acceptable_recovery_lag
        self.status: Sequence[Status] | None = status
        self.active_tasks: Sequence[TaskIds] | None = active_tasks
        self.standby_tasks: Sequence[TaskIds] | None = standby_tasks
        self.warmup_tasks: Sequence[TaskIds] | None = warmup_tasks
        self.topology_description_required: bool = topology_description_required
        self.endpoint_information_epoch: int = endpoint_information_epoch
        self.partitions_by_user_endpoint: Sequence[EndpointToPartitions] | None = partitions_by_user_endpoint
