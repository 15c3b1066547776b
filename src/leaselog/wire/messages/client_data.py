"""What clients put inside opaque fields, and control records. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, NEVER, Versions

__all__ = ["ConsumerProtocolAssignment", "ConsumerProtocolAssignmentTopicPartition", "ConsumerProtocolSubscription", "EndTxnMarker", "Endpoint", "KRaftVersionFeature", "KRaftVersionRecord", "LeaderChangeMessage", "SnapshotFooterRecord", "SnapshotHeaderRecord", "TopicPartition", "Voter", "VotersRecord", "VotersRecordVoter"]


class TopicPartition(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "OwnedPartitions"
    VERSIONS = Versions(0, 3)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('topic', "string", versions=Versions(1, 32767), default=""),
        Field('partitions', "int32", array=True, versions=Versions(1, 32767), default=()),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: str = topic
        self.partitions: Sequence[int] = partitions


class ConsumerProtocolSubscription(Message):
    __slots__ = ('topics', 'user_data', 'owned_partitions', 'generation_id', 'rack_id')
    NAME = "ConsumerProtocolSubscription"
    API_KEY = -1
    VERSIONS = Versions(0, 3)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('topics', "string", array=True, default=()),
        Field('user_data', "bytes", nullable=ALWAYS, default=None),
        Field('owned_partitions', TopicPartition, array=True, versions=Versions(1, 32767), default=()),
        Field('generation_id', "int32", versions=Versions(2, 32767), default=-1),
        Field('rack_id', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=None),
    )

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        user_data: Buffer | None = None,
        owned_partitions: Sequence[TopicPartition] = (),
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics: Sequence[str] = topics
        self.user_data: Buffer | None = user_data
        self.owned_partitions: Sequence[TopicPartition] = owned_partitions
        self.generation_id: int = generation_id
        self.rack_id: str | None = rack_id


class ConsumerProtocolAssignmentTopicPartition(Message):
    __slots__ = ('topic', 'partitions')
    NAME = "AssignedPartitions"
    VERSIONS = Versions(0, 3)
    FLEXIBLE = NEVER
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


class ConsumerProtocolAssignment(Message):
    __slots__ = ('assigned_partitions', 'user_data')
    NAME = "ConsumerProtocolAssignment"
    API_KEY = -1
    VERSIONS = Versions(0, 3)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('assigned_partitions', ConsumerProtocolAssignmentTopicPartition, array=True, default=()),
        Field('user_data', "bytes", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        assigned_partitions: Sequence[ConsumerProtocolAssignmentTopicPartition] = (),
        user_data: Buffer | None = None,
    ) -> None:
        self.assigned_partitions: Sequence[ConsumerProtocolAssignmentTopicPartition] = assigned_partitions
        self.user_data: Buffer | None = user_data


class Voter(Message):
    __slots__ = ('voter_id', 'voter_directory_id')
    NAME = "Voter"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('voter_id', "int32", default=0),
        Field('voter_directory_id', "uuid", versions=Versions(1, 32767), default=ZERO_UUID),
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.voter_id: int = voter_id
        self.voter_directory_id: UUID = voter_directory_id


class LeaderChangeMessage(Message):
    __slots__ = ('version', 'leader_id', 'voters', 'granting_voters')
    NAME = "LeaderChangeMessage"
    API_KEY = -1
    VERSIONS = Versions(0, 1)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('version', "int16", default=0),
        Field('leader_id', "int32", default=0),
        Field('voters', Voter, array=True, default=()),
        Field('granting_voters', Voter, array=True, default=()),
    )

    def __init__(
        self,
        *,
        version: int = 0,
        leader_id: int = 0,
        voters: Sequence[Voter] = (),
        granting_voters: Sequence[Voter] = (),
    ) -> None:
        self.version: int = version
        self.leader_id: int = leader_id
        self.voters: Sequence[Voter] = voters
        self.granting_voters: Sequence[Voter] = granting_voters


class EndTxnMarker(Message):
    __slots__ = ('coordinator_epoch',)
    NAME = "EndTxnMarker"
    API_KEY = -1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('coordinator_epoch', "int32", default=0),
    )

    def __init__(
        self,
        *,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch: int = coordinator_epoch


class SnapshotHeaderRecord(Message):
    __slots__ = ('version', 'last_contained_log_timestamp')
    NAME = "SnapshotHeaderRecord"
    API_KEY = -1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('version', "int16", default=0),
        Field('last_contained_log_timestamp', "int64", default=0),
    )

    def __init__(
        self,
        *,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
    ) -> None:
        self.version: int = version
        self.last_contained_log_timestamp: int = last_contained_log_timestamp


class SnapshotFooterRecord(Message):
    __slots__ = ('version',)
    NAME = "SnapshotFooterRecord"
    API_KEY = -1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('version', "int16", default=0),
    )

    def __init__(
        self,
        *,
        version: int = 0,
    ) -> None:
        self.version: int = version


class KRaftVersionRecord(Message):
    __slots__ = ('version', 'k_raft_version')
    NAME = "KRaftVersionRecord"
    API_KEY = -1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('version', "int16", default=0),
        Field('k_raft_version', "int16", default=0),
    )

    def __init__(
        self,
        *,
        version: int = 0,
        k_raft_version: int = 0,
    ) -> None:
        self.version: int = version
        self.k_raft_version: int = k_raft_version


class Endpoint(Message):
    __slots__ = ('name', 'host', 'port')
    NAME = "Endpoints"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('host', "string", default=""),
        Field('port', "uint16", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port


class KRaftVersionFeature(Message):
    __slots__ = ('min_supported_version', 'max_supported_version')
    NAME = "KRaftVersionFeature"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('min_supported_version', "int16", default=0),
        Field('max_supported_version', "int16", default=0),
    )

    def __init__(
        self,
        *,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version


class VotersRecordVoter(Message):
    __slots__ = ('voter_id', 'voter_directory_id', 'endpoints', 'k_raft_version_feature')
    NAME = "Voters"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('voter_id', "int32", default=0),
        Field('voter_directory_id', "uuid", default=ZERO_UUID),
        Field('endpoints', Endpoint, array=True, default=()),
        Field('k_raft_version_feature', KRaftVersionFeature, default=KRaftVersionFeature()),
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
        endpoints: Sequence[Endpoint] = (),
        k_raft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.voter_id: int = voter_id
        self.voter_directory_id: UUID = voter_directory_id
        self.endpoints: Sequence[Endpoint] = endpoints
        self.k_raft_version_feature: KRaftVersionFeature = KRaftVersionFeature() if k_raft_version_feature is None else k_raft_version_feature


class VotersRecord(Message):
    __slots__ = ('version', 'voters')
    NAME = "VotersRecord"
    API_KEY = -1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('version', "int16", default=0),
        Field('voters', VotersRecordVoter, array=True, default=()),
    )

    def __init__(
        self,
        *,
        version: int = 0,
        voters: Sequence[VotersRecordVoter] = (),
    ) -> None:
        self.version: int = version
        self.voters: Sequence[VotersRecordVoter] = voters
