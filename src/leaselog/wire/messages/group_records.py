"""The records that Kafka's group-coordinator keeps. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, NEVER, Versions

__all__ = ["ClassicMemberMetadata", "ClassicProtocol", "ConsumerGroupCurrentMemberAssignmentKey", "ConsumerGroupCurrentMemberAssignmentValue", "ConsumerGroupMemberMetadataKey", "ConsumerGroupMemberMetadataValue", "ConsumerGroupMetadataKey", "ConsumerGroupMetadataValue", "ConsumerGroupPartitionMetadataKey", "ConsumerGroupPartitionMetadataValue", "ConsumerGroupRegularExpressionKey", "ConsumerGroupRegularExpressionValue", "ConsumerGroupTargetAssignmentMemberKey", "ConsumerGroupTargetAssignmentMemberValue", "ConsumerGroupTargetAssignmentMetadataKey", "ConsumerGroupTargetAssignmentMetadataValue", "CopartitionGroup", "Endpoint", "GroupMetadataKey", "GroupMetadataValue", "KeyValue", "LastAssignmentConfig", "LegacyOffsetCommitKey", "LegacyOffsetCommitValue", "MemberMetadata", "OffsetCommitKey", "OffsetCommitValue", "PartitionMetadata", "ShareGroupCurrentMemberAssignmentKey", "ShareGroupCurrentMemberAssignmentValue", "ShareGroupCurrentMemberAssignmentValueTopicPartitions", "ShareGroupMemberMetadataKey", "ShareGroupMemberMetadataValue", "ShareGroupMetadataKey", "ShareGroupMetadataValue", "ShareGroupStatePartitionMetadataKey", "ShareGroupStatePartitionMetadataValue", "ShareGroupTargetAssignmentMemberKey", "ShareGroupTargetAssignmentMemberValue", "ShareGroupTargetAssignmentMetadataKey", "ShareGroupTargetAssignmentMetadataValue", "StreamsGroupCurrentMemberAssignmentKey", "StreamsGroupCurrentMemberAssignmentValue", "StreamsGroupMemberMetadataKey", "StreamsGroupMemberMetadataValue", "StreamsGroupMetadataKey", "StreamsGroupMetadataValue", "StreamsGroupTargetAssignmentMemberKey", "StreamsGroupTargetAssignmentMemberValue", "StreamsGroupTargetAssignmentMemberValueTaskIds", "StreamsGroupTargetAssignmentMetadataKey", "StreamsGroupTargetAssignmentMetadataValue", "StreamsGroupTopologyKey", "StreamsGroupTopologyValue", "StreamsGroupTopologyValueTopicInfo", "Subtopology", "TaskIds", "TopicConfig", "TopicInfo", "TopicMetadata", "TopicPartition", "TopicPartitions", "TopicPartitionsInfo"]


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "ConsumerGroupCurrentMemberAssignmentKey"
    API_KEY = 8
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class TopicPartitions(Message):
    __slots__ = ('topic_id', 'partitions', 'assignment_epochs')
    NAME = "TopicPartitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', "int32", array=True, default=()),
        Field('assignment_epochs', "int32", array=True, nullable=ALWAYS, tag=0, tagged=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[int] = (),
        assignment_epochs: Sequence[int] | None = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[int] = partitions
        self.assignment_epochs: Sequence[int] | None = assignment_epochs


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    __slots__ = ('member_epoch', 'previous_member_epoch', 'state', 'assigned_partitions', 'partitions_pending_revocation')
    NAME = "ConsumerGroupCurrentMemberAssignmentValue"
    API_KEY = 8
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('member_epoch', "int32", default=0),
        Field('previous_member_epoch', "int32", default=0),
        Field('state', "int8", default=0),
        Field('assigned_partitions', TopicPartitions, array=True, default=()),
        Field('partitions_pending_revocation', TopicPartitions, array=True, default=()),
    )

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: Sequence[TopicPartitions] = (),
        partitions_pending_revocation: Sequence[TopicPartitions] = (),
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.assigned_partitions: Sequence[TopicPartitions] = assigned_partitions
        self.partitions_pending_revocation: Sequence[TopicPartitions] = partitions_pending_revocation


class ConsumerGroupMemberMetadataKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "ConsumerGroupMemberMetadataKey"
    API_KEY = 5
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class ClassicProtocol(Message):
    __slots__ = ('name', 'metadata')
    NAME = "SupportedProtocols"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('metadata', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        metadata: Buffer = b"",
    ) -> None:
        self.name: str = name
        self.metadata: Buffer = metadata


class ClassicMemberMetadata(Message):
    __slots__ = ('session_timeout_ms', 'supported_protocols')
    NAME = "ClassicMemberMetadata"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('session_timeout_ms', "int32", default=0),
        Field('supported_protocols', ClassicProtocol, array=True, default=()),
    )

    def __init__(
        self,
        *,
        session_timeout_ms: int = 0,
        supported_protocols: Sequence[ClassicProtocol] = (),
    ) -> None:
        self.session_timeout_ms: int = session_timeout_ms
        self.supported_protocols: Sequence[ClassicProtocol] = supported_protocols


class ConsumerGroupMemberMetadataValue(Message):
    __slots__ = ('instance_id', 'rack_id', 'client_id', 'client_host', 'subscribed_topic_names', 'subscribed_topic_regex', 'rebalance_timeout_ms', 'server_assignor', 'classic_member_metadata')
    NAME = "ConsumerGroupMemberMetadataValue"
    API_KEY = 5
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('instance_id', "string", nullable=ALWAYS, default=""),
        Field('rack_id', "string", nullable=ALWAYS, default=""),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('subscribed_topic_names', "string", array=True, default=()),
        Field('subscribed_topic_regex', "string", nullable=ALWAYS, default=""),
        Field('rebalance_timeout_ms', "int32", default=-1),
        Field('server_assignor', "string", nullable=ALWAYS, default=""),
        Field('classic_member_metadata', ClassicMemberMetadata, nullable=ALWAYS, tag=0, tagged=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = None,
    ) -> None:
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: Sequence[str] = subscribed_topic_names
        self.subscribed_topic_regex: str | None = subscribed_topic_regex
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.server_assignor: str | None = server_assignor
        self.classic_member_metadata: ClassicMemberMetadata | None = classic_member_metadata


class ConsumerGroupMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "ConsumerGroupMetadataKey"
    API_KEY = 3
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class ConsumerGroupMetadataValue(Message):
    __slots__ = ('epoch', 'metadata_hash')
    NAME = "ConsumerGroupMetadataValue"
    API_KEY = 3
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('epoch', "int32", default=0),
        Field('metadata_hash', "int64", tag=0, tagged=ALWAYS, default=0),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch: int = epoch
        self.metadata_hash: int = metadata_hash


class ConsumerGroupPartitionMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "ConsumerGroupPartitionMetadataKey"
    API_KEY = 4
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class PartitionMetadata(Message):
    __slots__ = ('partition', 'racks')
    NAME = "PartitionMetadata"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition', "int32", default=0),
        Field('racks', "string", array=True, default=()),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        racks: Sequence[str] = (),
    ) -> None:
        self.partition: int = partition
        self.racks: Sequence[str] = racks


class TopicMetadata(Message):
    __slots__ = ('topic_id', 'topic_name', 'num_partitions', 'partition_metadata')
    NAME = "Topics"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('topic_name', "string", default=""),
        Field('num_partitions', "int32", default=0),
        Field('partition_metadata', PartitionMetadata, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: Sequence[PartitionMetadata] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.topic_name: str = topic_name
        self.num_partitions: int = num_partitions
        self.partition_metadata: Sequence[PartitionMetadata] = partition_metadata


class ConsumerGroupPartitionMetadataValue(Message):
    __slots__ = ('topics',)
    NAME = "ConsumerGroupPartitionMetadataValue"
    API_KEY = 4
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topics', TopicMetadata, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topics: Sequence[TopicMetadata] = (),
    ) -> None:
        self.topics: Sequence[TopicMetadata] = topics


class ConsumerGroupRegularExpressionKey(Message):
    __slots__ = ('group_id', 'regular_expression')
    NAME = "ConsumerGroupRegularExpressionKey"
    API_KEY = 16
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('regular_expression', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.regular_expression: str = regular_expression


class ConsumerGroupRegularExpressionValue(Message):
    __slots__ = ('topics', 'version', 'timestamp')
    NAME = "ConsumerGroupRegularExpressionValue"
    API_KEY = 16
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topics', "string", array=True, default=()),
        Field('version', "int64", default=0),
        Field('timestamp', "int64", default=0),
    )

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics: Sequence[str] = topics
        self.version: int = version
        self.timestamp: int = timestamp


class ConsumerGroupTargetAssignmentMemberKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "ConsumerGroupTargetAssignmentMemberKey"
    API_KEY = 7
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class TopicPartition(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "TopicPartitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[int] = partitions


class ConsumerGroupTargetAssignmentMemberValue(Message):
    __slots__ = ('topic_partitions',)
    NAME = "ConsumerGroupTargetAssignmentMemberValue"
    API_KEY = 7
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_partitions', TopicPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.topic_partitions: Sequence[TopicPartition] = topic_partitions


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "ConsumerGroupTargetAssignmentMetadataKey"
    API_KEY = 6
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ('assignment_epoch', 'assignment_timestamp')
    NAME = "ConsumerGroupTargetAssignmentMetadataValue"
    API_KEY = 6
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('assignment_epoch', "int32", default=0),
        Field('assignment_timestamp', "int64", tag=0, tagged=ALWAYS, default=0),
    )

    def __init__(
        self,
        *,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch: int = assignment_epoch
        self.assignment_timestamp: int = assignment_timestamp


class GroupMetadataKey(Message):
    __slots__ = ('group',)
    NAME = "GroupMetadataKey"
    API_KEY = 2
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group: str = "",
    ) -> None:
        self.group: str = group


class MemberMetadata(Message):
    __slots__ = ('member_id', 'group_instance_id', 'client_id', 'client_host', 'rebalance_timeout', 'session_timeout', 'subscription', 'assignment')
    NAME = "MemberMetadata"
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('member_id', "string", default=""),
        Field('group_instance_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('rebalance_timeout', "int32", versions=Versions(1, 32767), default=-1),
        Field('session_timeout', "int32", default=0),
        Field('subscription', "bytes", default=b""),
        Field('assignment', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: Buffer = b"",
        assignment: Buffer = b"",
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.rebalance_timeout: int = rebalance_timeout
        self.session_timeout: int = session_timeout
        self.subscription: Buffer = subscription
        self.assignment: Buffer = assignment


class GroupMetadataValue(Message):
    __slots__ = ('protocol_type', 'generation', 'protocol', 'leader', 'current_state_timestamp', 'members')
    NAME = "GroupMetadataValue"
    API_KEY = 2
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('protocol_type', "string", default=""),
        Field('generation', "int32", default=0),
        Field('protocol', "string", nullable=ALWAYS, default=""),
        Field('leader', "string", nullable=ALWAYS, default=""),
        Field('current_state_timestamp', "int64", versions=Versions(2, 32767), default=-1),
        Field('members', MemberMetadata, array=True, default=()),
    )

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: Sequence[MemberMetadata] = (),
    ) -> None:
        self.protocol_type: str = protocol_type
        self.generation: int = generation
        self.protocol: str | None = protocol
        self.leader: str | None = leader
        self.current_state_timestamp: int = current_state_timestamp
        self.members: Sequence[MemberMetadata] = members


class LegacyOffsetCommitKey(Message):
    __slots__ = ('group', 'topic', 'partition')
    NAME = "LegacyOffsetCommitKey"
    API_KEY = 0
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group', "string", versions=Versions(0, 0), default=""),
        Field('topic', "string", versions=Versions(0, 0), default=""),
        Field('partition', "int32", versions=Versions(0, 0), default=0),
    )

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group: str = group
        self.topic: str = topic
        self.partition: int = partition


class LegacyOffsetCommitValue(Message):
    __slots__ = ('offset', 'metadata', 'commit_timestamp')
    NAME = "LegacyOffsetCommitValue"
    API_KEY = 0
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('offset', "int64", versions=Versions(0, 0), default=0),
        Field('metadata', "string", versions=Versions(0, 0), default=""),
        Field('commit_timestamp', "int64", versions=Versions(0, 0), default=0),
    )

    def __init__(
        self,
        *,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset: int = offset
        self.metadata: str = metadata
        self.commit_timestamp: int = commit_timestamp


class OffsetCommitKey(Message):
    __slots__ = ('group', 'topic', 'partition')
    NAME = "OffsetCommitKey"
    API_KEY = 1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group', "string", versions=Versions(0, 0), default=""),
        Field('topic', "string", versions=Versions(0, 0), default=""),
        Field('partition', "int32", versions=Versions(0, 0), default=0),
    )

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group: str = group
        self.topic: str = topic
        self.partition: int = partition


class OffsetCommitValue(Message):
    __slots__ = ('offset', 'leader_epoch', 'metadata', 'commit_timestamp', 'expire_timestamp', 'topic_id')
    NAME = "OffsetCommitValue"
    API_KEY = 1
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(4, 32767)
    FIELDS = (
        Field('offset', "int64", default=0),
        Field('leader_epoch', "int32", versions=Versions(3, 32767), default=-1),
        Field('metadata', "string", default=""),
        Field('commit_timestamp', "int64", default=0),
        Field('expire_timestamp', "int64", versions=Versions(1, 1), default=-1),
        Field('topic_id', "uuid", versions=Versions(4, 32767), tag=0, tagged=Versions(4, 32767), default=ZERO_UUID),
    )

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.offset: int = offset
        self.leader_epoch: int = leader_epoch
        self.metadata: str = metadata
        self.commit_timestamp: int = commit_timestamp
        self.expire_timestamp: int = expire_timestamp
        self.topic_id: UUID = topic_id


class ShareGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "ShareGroupCurrentMemberAssignmentKey"
    API_KEY = 14
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class ShareGroupCurrentMemberAssignmentValueTopicPartitions(Message):
    __slots__ = ('topic_id', 'partitions')
    NAME = "TopicPartitions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.partitions: Sequence[int] = partitions


class ShareGroupCurrentMemberAssignmentValue(Message):
    __slots__ = ('member_epoch', 'previous_member_epoch', 'state', 'assigned_partitions')
    NAME = "ShareGroupCurrentMemberAssignmentValue"
    API_KEY = 14
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('member_epoch', "int32", default=0),
        Field('previous_member_epoch', "int32", default=0),
        Field('state', "int8", default=0),
        Field('assigned_partitions', ShareGroupCurrentMemberAssignmentValueTopicPartitions, array=True, default=()),
    )

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: Sequence[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = (),
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.assigned_partitions: Sequence[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = assigned_partitions


class ShareGroupMemberMetadataKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "ShareGroupMemberMetadataKey"
    API_KEY = 10
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class ShareGroupMemberMetadataValue(Message):
    __slots__ = ('rack_id', 'client_id', 'client_host', 'subscribed_topic_names')
    NAME = "ShareGroupMemberMetadataValue"
    API_KEY = 10
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('rack_id', "string", nullable=ALWAYS, default=""),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('subscribed_topic_names', "string", array=True, default=()),
    )

    def __init__(
        self,
        *,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
    ) -> None:
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.subscribed_topic_names: Sequence[str] = subscribed_topic_names


class ShareGroupMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "ShareGroupMetadataKey"
    API_KEY = 11
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class ShareGroupMetadataValue(Message):
    __slots__ = ('epoch', 'metadata_hash')
    NAME = "ShareGroupMetadataValue"
    API_KEY = 11
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('epoch', "int32", default=0),
        Field('metadata_hash', "int64", default=0),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch: int = epoch
        self.metadata_hash: int = metadata_hash


class ShareGroupStatePartitionMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "ShareGroupStatePartitionMetadataKey"
    API_KEY = 15
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class TopicPartitionsInfo(Message):
    __slots__ = ('topic_id', 'topic_name', 'partitions')
    NAME = "TopicPartitionsInfo"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('topic_name', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: UUID = topic_id
        self.topic_name: str = topic_name
        self.partitions: Sequence[int] = partitions


class TopicInfo(Message):
    __slots__ = ('topic_id', 'topic_name')
    NAME = "TopicInfo"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('topic_name', "string", default=""),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
        topic_name: str = "",
    ) -> None:
        self.topic_id: UUID = topic_id
        self.topic_name: str = topic_name


class ShareGroupStatePartitionMetadataValue(Message):
    __slots__ = ('initializing_topics', 'initialized_topics', 'deleting_topics')
    NAME = "ShareGroupStatePartitionMetadataValue"
    API_KEY = 15
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('initializing_topics', TopicPartitionsInfo, array=True, default=()),
        Field('initialized_topics', TopicPartitionsInfo, array=True, default=()),
        Field('deleting_topics', TopicInfo, array=True, default=()),
    )

    def __init__(
        self,
        *,
        initializing_topics: Sequence[TopicPartitionsInfo] = (),
        initialized_topics: Sequence[TopicPartitionsInfo] = (),
        deleting_topics: Sequence[TopicInfo] = (),
    ) -> None:
        self.initializing_topics: Sequence[TopicPartitionsInfo] = initializing_topics
        self.initialized_topics: Sequence[TopicPartitionsInfo] = initialized_topics
        self.deleting_topics: Sequence[TopicInfo] = deleting_topics


class ShareGroupTargetAssignmentMemberKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "ShareGroupTargetAssignmentMemberKey"
    API_KEY = 13
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class ShareGroupTargetAssignmentMemberValue(Message):
    __slots__ = ('topic_partitions',)
    NAME = "ShareGroupTargetAssignmentMemberValue"
    API_KEY = 13
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_partitions', TopicPartition, array=True, default=()),
    )

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.topic_partitions: Sequence[TopicPartition] = topic_partitions


class ShareGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "ShareGroupTargetAssignmentMetadataKey"
    API_KEY = 12
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class ShareGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ('assignment_epoch', 'assignment_timestamp')
    NAME = "ShareGroupTargetAssignmentMetadataValue"
    API_KEY = 12
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('assignment_epoch', "int32", default=0),
        Field('assignment_timestamp', "int64", tag=0, tagged=ALWAYS, default=0),
    )

    def __init__(
        self,
        *,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch: int = assignment_epoch
        self.assignment_timestamp: int = assignment_timestamp


class StreamsGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "StreamsGroupCurrentMemberAssignmentKey"
    API_KEY = 22
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class TaskIds(Message):
    __slots__ = ('subtopology_id', 'partitions', 'assignment_epochs')
    NAME = "TaskIds"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('partitions', "int32", array=True, default=()),
        Field('assignment_epochs', "int32", array=True, nullable=ALWAYS, tag=0, tagged=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: Sequence[int] = (),
        assignment_epochs: Sequence[int] | None = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.partitions: Sequence[int] = partitions
        self.assignment_epochs: Sequence[int] | None = assignment_epochs


class StreamsGroupCurrentMemberAssignmentValue(Message):
    __slots__ = ('member_epoch', 'previous_member_epoch', 'state', 'active_tasks', 'standby_tasks', 'warmup_tasks', 'active_tasks_pending_revocation', 'standby_tasks_pending_revocation', 'warmup_tasks_pending_revocation')
    NAME = "StreamsGroupCurrentMemberAssignmentValue"
    API_KEY = 22
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('member_epoch', "int32", default=0),
        Field('previous_member_epoch', "int32", default=0),
        Field('state', "int8", default=0),
        Field('active_tasks', TaskIds, array=True, default=()),
        Field('standby_tasks', TaskIds, array=True, default=()),
        Field('warmup_tasks', TaskIds, array=True, default=()),
        Field('active_tasks_pending_revocation', TaskIds, array=True, default=()),
        Field('standby_tasks_pending_revocation', TaskIds, array=True, default=()),
        Field('warmup_tasks_pending_revocation', TaskIds, array=True, default=()),
    )

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: Sequence[TaskIds] = (),
        standby_tasks: Sequence[TaskIds] = (),
        warmup_tasks: Sequence[TaskIds] = (),
        active_tasks_pending_revocation: Sequence[TaskIds] = (),
        standby_tasks_pending_revocation: Sequence[TaskIds] = (),
        warmup_tasks_pending_revocation: Sequence[TaskIds] = (),
    ) -> None:
        self.member_epoch: int = member_epoch
        self.previous_member_epoch: int = previous_member_epoch
        self.state: int = state
        self.active_tasks: Sequence[TaskIds] = active_tasks
        self.standby_tasks: Sequence[TaskIds] = standby_tasks
        self.warmup_tasks: Sequence[TaskIds] = warmup_tasks
        self.active_tasks_pending_revocation: Sequence[TaskIds] = active_tasks_pending_revocation
        self.standby_tasks_pending_revocation: Sequence[TaskIds] = standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation: Sequence[TaskIds] = warmup_tasks_pending_revocation


class StreamsGroupMemberMetadataKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "StreamsGroupMemberMetadataKey"
    API_KEY = 19
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class Endpoint(Message):
    __slots__ = ('host', 'port')
    NAME = "Endpoint"
    VERSIONS = Versions(0, 0)
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


class KeyValue(Message):
    __slots__ = ('key', 'value')
    NAME = "KeyValue"
    VERSIONS = Versions(0, 0)
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


class StreamsGroupMemberMetadataValue(Message):
    __slots__ = ('instance_id', 'rack_id', 'client_id', 'client_host', 'rebalance_timeout_ms', 'topology_epoch', 'process_id', 'user_endpoint', 'client_tags')
    NAME = "StreamsGroupMemberMetadataValue"
    API_KEY = 19
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('instance_id', "string", nullable=ALWAYS, default=""),
        Field('rack_id', "string", nullable=ALWAYS, default=""),
        Field('client_id', "string", default=""),
        Field('client_host', "string", default=""),
        Field('rebalance_timeout_ms', "int32", default=-1),
        Field('topology_epoch', "int32", default=0),
        Field('process_id', "string", default=""),
        Field('user_endpoint', Endpoint, nullable=ALWAYS, default=None),
        Field('client_tags', KeyValue, array=True, default=()),
    )

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] = (),
    ) -> None:
        self.instance_id: str | None = instance_id
        self.rack_id: str | None = rack_id
        self.client_id: str = client_id
        self.client_host: str = client_host
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.topology_epoch: int = topology_epoch
        self.process_id: str = process_id
        self.user_endpoint: Endpoint | None = user_endpoint
        self.client_tags: Sequence[KeyValue] = client_tags


class StreamsGroupMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "StreamsGroupMetadataKey"
    API_KEY = 17
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class LastAssignmentConfig(Message):
    __slots__ = ('key', 'value')
    NAME = "LastAssignmentConfig"
    VERSIONS = Versions(0, 0)
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


class StreamsGroupMetadataValue(Message):
    __slots__ = ('epoch', 'metadata_hash', 'validated_topology_epoch', 'last_assignment_configs', 'stored_description_topology_epoch', 'failed_description_topology_epoch')
    NAME = "StreamsGroupMetadataValue"
    API_KEY = 17
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('epoch', "int32", default=0),
        Field('metadata_hash', "int64", default=0),
        Field('validated_topology_epoch', "int32", tag=0, tagged=ALWAYS, default=-1),
        Field('last_assignment_configs', LastAssignmentConfig, array=True, nullable=ALWAYS, tag=1, tagged=ALWAYS, default=()),
        Field('stored_description_topology_epoch', "int32", tag=2, tagged=ALWAYS, default=-1),
        Field('failed_description_topology_epoch', "int32", tag=3, tagged=ALWAYS, default=-1),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: Sequence[LastAssignmentConfig] | None = (),
        stored_description_topology_epoch: int = -1,
        failed_description_topology_epoch: int = -1,
    ) -> None:
        self.epoch: int = epoch
        self.metadata_hash: int = metadata_hash
        self.validated_topology_epoch: int = validated_topology_epoch
        self.last_assignment_configs: Sequence[LastAssignmentConfig] | None = last_assignment_configs
        self.stored_description_topology_epoch: int = stored_description_topology_epoch
        self.failed_description_topology_epoch: int = failed_description_topology_epoch


class StreamsGroupTargetAssignmentMemberKey(Message):
    __slots__ = ('group_id', 'member_id')
    NAME = "StreamsGroupTargetAssignmentMemberKey"
    API_KEY = 21
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('member_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id


class StreamsGroupTargetAssignmentMemberValueTaskIds(Message):
    __slots__ = ('subtopology_id', 'partitions')
    NAME = "TaskIds"
    VERSIONS = Versions(0, 0)
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


class StreamsGroupTargetAssignmentMemberValue(Message):
    __slots__ = ('active_tasks', 'standby_tasks', 'warmup_tasks')
    NAME = "StreamsGroupTargetAssignmentMemberValue"
    API_KEY = 21
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('active_tasks', StreamsGroupTargetAssignmentMemberValueTaskIds, array=True, default=()),
        Field('standby_tasks', StreamsGroupTargetAssignmentMemberValueTaskIds, array=True, default=()),
        Field('warmup_tasks', StreamsGroupTargetAssignmentMemberValueTaskIds, array=True, default=()),
    )

    def __init__(
        self,
        *,
        active_tasks: Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds] = (),
        standby_tasks: Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds] = (),
        warmup_tasks: Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds] = (),
    ) -> None:
        self.active_tasks: Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds] = active_tasks
        self.standby_tasks: Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds] = standby_tasks
        self.warmup_tasks: Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds] = warmup_tasks


class StreamsGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ('group_id',)
    NAME = "StreamsGroupTargetAssignmentMetadataKey"
    API_KEY = 20
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class StreamsGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ('assignment_epoch', 'assignment_timestamp')
    NAME = "StreamsGroupTargetAssignmentMetadataValue"
    API_KEY = 20
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('assignment_epoch', "int32", default=0),
        Field('assignment_timestamp', "int64", tag=0, tagged=ALWAYS, default=0),
    )

    def __init__(
        self,
        *,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch: int = assignment_epoch
        self.assignment_timestamp: int = assignment_timestamp


class StreamsGroupTopologyKey(Message):
    __slots__ = ('group_id',)
    NAME = "StreamsGroupTopologyKey"
    API_KEY = 23
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id: str = group_id


class TopicConfig(Message):
    __slots__ = ('key', 'value')
    NAME = "TopicConfig"
    VERSIONS = Versions(0, 0)
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


class StreamsGroupTopologyValueTopicInfo(Message):
    __slots__ = ('name', 'partitions', 'replication_factor', 'topic_configs')
    NAME = "TopicInfo"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', "int32", default=0),
        Field('replication_factor', "int16", default=0),
        Field('topic_configs', TopicConfig, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: Sequence[TopicConfig] = (),
    ) -> None:
        self.name: str = name
        self.partitions: int = partitions
        self.replication_factor: int = replication_factor
        self.topic_configs: Sequence[TopicConfig] = topic_configs


class CopartitionGroup(Message):
    __slots__ = ('source_topics', 'source_topic_regex', 'repartition_source_topics')
    NAME = "CopartitionGroups"
    VERSIONS = Versions(0, 0)
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
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('source_topics', "string", array=True, default=()),
        Field('source_topic_regex', "string", array=True, default=()),
        Field('state_changelog_topics', StreamsGroupTopologyValueTopicInfo, array=True, default=()),
        Field('repartition_sink_topics', "string", array=True, default=()),
        Field('repartition_source_topics', StreamsGroupTopologyValueTopicInfo, array=True, default=()),
        Field('copartition_groups', CopartitionGroup, array=True, default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        source_topic_regex: Sequence[str] = (),
        state_changelog_topics: Sequence[StreamsGroupTopologyValueTopicInfo] = (),
        repartition_sink_topics: Sequence[str] = (),
        repartition_source_topics: Sequence[StreamsGroupTopologyValueTopicInfo] = (),
        copartition_groups: Sequence[CopartitionGroup] = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.source_topics: Sequence[str] = source_topics
        self.source_topic_regex: Sequence[str] = source_topic_regex
        self.state_changelog_topics: Sequence[StreamsGroupTopologyValueTopicInfo] = state_changelog_topics
        self.repartition_sink_topics: Sequence[str] = repartition_sink_topics
        self.repartition_source_topics: Sequence[StreamsGroupTopologyValueTopicInfo] = repartition_source_topics
        self.copartition_groups: Sequence[CopartitionGroup] = copartition_groups


class StreamsGroupTopologyValue(Message):
    __slots__ = ('epoch', 'subtopologies')
    NAME = "StreamsGroupTopologyValue"
    API_KEY = 23
    VERSIONS = Versions(0, 0)
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
