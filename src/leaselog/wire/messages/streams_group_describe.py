"""StreamsGroupDescribe, key 89. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["Assignment", "DescribedGroup", "Endpoint", "KeyValue", "Member", "StreamsGroupDescribeRequest", "StreamsGroupDescribeResponse", "Subtopology", "TaskIds", "TaskOffset", "TopicInfo", "Topology", "TopologyDescription", "TopologyDescriptionGlobalStore", "TopologyDescriptionNode", "TopologyDescriptionSubtopology"]


class StreamsGroupDescribeRequest(Message):
    __slots__ = ('group_ids', 'include_authorized_operations', 'include_topology_description')
    NAME = "StreamsGroupDescribeRequest"
    API_KEY = 89
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_ids', "string", array=True, default=()),
        Field('include_authorized_operations', "bool", default=False),
        Field('include_topology_description', "bool", versions=Versions(1, 32767), default=False),
    )

    def __init__(
        self,
        *,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
    ) -> None:
        self.group_ids: Sequence[str] = group_ids
        self.include_authorized_operations: bool = include_authorized_operations
        self.include_topology_description: bool = include_topology_description


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


class Subtopology(Message):
    __slots__ = ('subtopology_id', 'source_topics', 'repartition_sink_topics', 'state_changelog_topics', 'repartition_source_topics')
    NAME = "Subtopologies"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('source_topics', "string", array=True, default=()),
        Field('repartition_sink_topics', "string", array=True, default=()),
        Field('state_changelog_topics', TopicInfo, array=True, default=()),
        Field('repartition_source_topics', TopicInfo, array=True, default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        repartition_sink_topics: Sequence[str] = (),
        state_changelog_topics: Sequence[TopicInfo] = (),
        repartition_source_topics: Sequence[TopicInfo] = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.source_topics: Sequence[str] = source_topics
        self.repartition_sink_topics: Sequence[str] = repartition_sink_topics
        self.state_changelog_topics: Sequence[TopicInfo] = state_changelog_topics
        self.repartition_source_topics: Sequence[TopicInfo] = repartition_source_topics


class Topology(Message):
    __slots__ = ('epoch', 'subtopologies')
    NAME = "Topology"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('epoch', "int32", default=0),
        Field('subtopologies', Subtopology, array=True, nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        subtopologies: Sequence[Subtopology] | None = None,
    ) -> None:
        self.epoch: int = epoch
        self.subtopologies: Sequence[Subtopology] | None = subtopologies


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


class Assignment(Message):
    __slots__ = ('active_tasks', 'standby_tasks', 'warmup_tasks')
    NAME = "Assignment"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('active_tasks', TaskIds, array=True, default=()),
        Field('standby_tasks', TaskIds, array=True, default=()),
        Field('warmup_tasks', TaskIds, array=True, default=()),
    )

    def __init__(
        self,
        *,
        active_tasks: Sequence[TaskIds] = (),
        standby_tasks: Sequence[TaskIds] = (),
        warmup_tasks: Sequence[TaskIds] = (),
    ) -> None:
        self.active_tasks: Sequence[TaskIds] = active_tasks
        self.standby_tasks: Sequence[TaskIds] = standby_tasks
        self.warmup_tasks: Sequence[TaskIds] = warmup_tasks


class Member(Message):
    __slots__ = ('member_id', 'member_epoch', 'instance_id', 'rack_id', 'client_id', 'client_host', 'topology_epoch', 'process_id', 'user_endpoint', 'client_tags', 'task_offsets', 'task_end_offsets', 'assignment', 'target_assignment', 'is_classic')
    NAME = "Members"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('member_id', "string", default=""),
        Field('member_epoch', "int32", default=0),
        Field('instance_id', "string", nullable=ALWAYS, default=None),
        Field('rack_id', "string", nullable=ALWAYS, default=None),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('topology_epoch', "int32", default=0),
        Field('process_id', "string", default=""),
        Field('user_endpoint', Endpoint, nullable=ALWAYS, default=None),
        Field('client_tags', KeyValue, array=True, default=()),
        Field('task_offsets', TaskOffset, array=True, default=()),
        Field('task_end_offsets', TaskOffset, array=True, default=()),
        Field('assignment', Assignment, default=Assignment()),
        Field('target_assignment', Assignment, default=Assignment()),
        Field('is_classic', "bool", default=False),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] = (),
        task_offsets: Sequence[TaskOffset] = (),
        task_end_offsets: Sequence[TaskOffset] = (),
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        is_classic: bool = False,
    ) -> None:
        self.member_id: str = member_id
        self.member_epoch: int = member_epoch
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.topology_epoch: int = topology_epoch
        self.process_id: str = process_id
        self.user_endpoint: Endpoint | None = user_endpoint
        self.client_tags: Sequence[KeyValue] = client_tags
        self.task_offsets: Sequence[TaskOffset] = task_offsets
        self.task_end_offsets: Sequence[TaskOffset] = task_end_offsets
        self.assignment: Assignment = Assignment() if assignment is None else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is None else target_assignment
        self.is_classic: bool = is_classic


class TopologyDescriptionNode(Message):
    __slots__ = ('name', 'node_type', 'source_topics', 'sink_topic', 'stores', 'successors')
    NAME = "TopologyDescriptionNode"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", versions=Versions(1, 32767), default=""),
        Field('node_type', "int8", versions=Versions(1, 32767), default=0),
        Field('source_topics', "string", array=True, versions=Versions(1, 32767), default=()),
        Field('sink_topic', "string", versions=Versions(1, 32767), nullable=Versions(1, 32767), default=None),
        Field('stores', "string", array=True, versions=Versions(1, 32767), default=()),
        Field('successors', "string", array=True, versions=Versions(1, 32767), default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        node_type: int = 0,
        source_topics: Sequence[str] = (),
        sink_topic: str | None = None,
        stores: Sequence[str] = (),
        successors: Sequence[str] = (),
    ) -> None:
        self.name: str = name
        self.node_type: int = node_type
        self.source_topics: Sequence[str] = source_topics
        self.sink_topic: str | None = sink_topic
        self.stores: Sequence[str] = stores
        self.successors: Sequence[str] = successors


class TopologyDescriptionSubtopology(Message):
    __slots__ = ('subtopology_id', 'nodes')
    NAME = "TopologyDescriptionSubtopology"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", versions=Versions(1, 32767), default=""),
        Field('nodes', TopologyDescriptionNode, array=True, versions=Versions(1, 32767), default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        nodes: Sequence[TopologyDescriptionNode] = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.nodes: Sequence[TopologyDescriptionNode] = nodes


class TopologyDescriptionGlobalStore(Message):
    __slots__ = ('source', 'processor')
    NAME = "TopologyDescriptionGlobalStore"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('source', TopologyDescriptionNode, versions=Versions(1, 32767), default=TopologyDescriptionNode()),
        Field('processor', TopologyDescriptionNode, versions=Versions(1, 32767), default=TopologyDescriptionNode()),
    )

    def __init__(
        self,
        *,
        source: TopologyDescriptionNode | None = None,
        processor: TopologyDescriptionNode | None = None,
    ) -> None:
        self.source: TopologyDescriptionNode = TopologyDescriptionNode() if source is None else source
        self.processor: TopologyDescriptionNode = TopologyDescriptionNode() if processor is None else processor


class TopologyDescription(Message):
    __slots__ = ('subtopologies', 'global_stores')
    NAME = "TopologyDescription"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopologies', TopologyDescriptionSubtopology, array=True, versions=Versions(1, 32767), default=()),
        Field('global_stores', TopologyDescriptionGlobalStore, array=True, versions=Versions(1, 32767), default=()),
    )

    def __init__(
        self,
        *,
        subtopologies: Sequence[TopologyDescriptionSubtopology] = (),
        global_stores: Sequence[TopologyDescriptionGlobalStore] = (),
    ) -> None:
        self.subtopologies: Sequence[TopologyDescriptionSubtopology] = subtopologies
        self.global_stores: Sequence[TopologyDescriptionGlobalStore] = global_stores


class DescribedGroup(Message):
    __slots__ = ('error_code', 'error_message', 'group_id', 'group_state', 'group_epoch', 'assignment_epoch', 'topology', 'members', 'authorized_operations', 'topology_description', 'topology_description_status', 'assignor_name')
    NAME = "Groups"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('group_id', "string", default=""),
        Field('group_state', "string", default=""),
        Field('group_epoch', "int32", default=0),
        Field('assignment_epoch', "int32", default=0),
        Field('topology', Topology, nullable=ALWAYS, default=None),
        Field('members', Member, array=True, default=()),
        Field('authorized_operations', "int32", default=-2147483648),
        Field('topology_description', TopologyDescription, versions=Versions(1, 32767), nullable=Versions(1, 32767), default=None),
        Field('topology_description_status', "int8", versions=Versions(1, 32767), default=0),
        Field('assignor_name', "string", versions=Versions(1, 32767), nullable=Versions(1, 32767), default=None),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
        topology_description: TopologyDescription | None = None,
        topology_description_status: int = 0,
        assignor_name: str | None = None,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.group_id: str = group_id
        self.group_state: str = group_state
        self.group_epoch: int = group_epoch
        self.assignment_epoch: int = assignment_epoch
        self.topology: Topology | None = topology
        self.members: Sequence[Member] = members
        self.authorized_operations: int = authorized_operations
        self.topology_description: TopologyDescription | None = topology_description
        self.topology_description_status: int = topology_description_status
        self.assignor_name: str | None = assignor_name


class StreamsGroupDescribeResponse(Message):
    __slots__ = ('throttle_time_ms', 'groups')
    NAME = "StreamsGroupDescribeResponse"
    API_KEY = 89
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('groups', DescribedGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.groups: Sequence[DescribedGroup] = groups
