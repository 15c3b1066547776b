"""The records that Kafka's metadata keeps. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AbortTransactionRecord", "AccessControlEntryRecord", "BeginTransactionRecord", "BrokerEndpoint", "BrokerFeature", "BrokerRegistrationChangeRecord", "ClearElrRecord", "ClientQuotaRecord", "ConfigRecord", "ControllerEndpoint", "ControllerFeature", "DelegationTokenRecord", "EndTransactionRecord", "EntityData", "FeatureLevelRecord", "FenceBrokerRecord", "NoOpRecord", "PartitionChangeRecord", "PartitionRecord", "ProducerIdsRecord", "RegisterBrokerRecord", "RegisterControllerRecord", "RemoveAccessControlEntryRecord", "RemoveDelegationTokenRecord", "RemoveTopicRecord", "RemoveUserScramCredentialRecord", "TopicRecord", "UnfenceBrokerRecord", "UnregisterBrokerRecord", "UnregisterControllerRecord", "UserScramCredentialRecord", "ZkMigrationStateRecord"]


class AbortTransactionRecord(Message):
    __slots__ = ('reason',)
    NAME = "AbortTransactionRecord"
    API_KEY = 25
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('reason', "string", nullable=ALWAYS, tag=0, tagged=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        reason: str | None = None,
    ) -> None:
        self.reason: str | None = reason


class AccessControlEntryRecord(Message):
    __slots__ = ('id', 'resource_type', 'resource_name', 'pattern_type', 'principal', 'host', 'operation', 'permission_type')
    NAME = "AccessControlEntryRecord"
    API_KEY = 18
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('id', "uuid", default=ZERO_UUID),
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('pattern_type', "int8", default=0),
        Field('principal', "string", default=""),
        Field('host', "string", default=""),
        Field('operation', "int8", default=0),
        Field('permission_type', "int8", default=0),
    )

    def __init__(
        self,
        *,
        id: UUID = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id: UUID = id
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type


class BeginTransactionRecord(Message):
    __slots__ = ('name',)
    NAME = "BeginTransactionRecord"
    API_KEY = 23
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", nullable=ALWAYS, tag=0, tagged=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name: str | None = name


class BrokerRegistrationChangeRecord(Message):
    __slots__ = ('broker_id', 'broker_epoch', 'fenced', 'in_controlled_shutdown', 'log_dirs', 'cordoned_log_dirs')
    NAME = "BrokerRegistrationChangeRecord"
    API_KEY = 17
    VERSIONS = Versions(0, 3)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('broker_id', "int32", default=0),
        Field('broker_epoch', "int64", default=0),
        Field('fenced', "int8", tag=0, tagged=ALWAYS, default=0),
        Field('in_controlled_shutdown', "int8", versions=Versions(1, 32767), tag=1, tagged=Versions(1, 32767), default=0),
        Field('log_dirs', "uuid", array=True, versions=Versions(2, 32767), tag=2, tagged=Versions(2, 32767), default=()),
        Field('cordoned_log_dirs', "uuid", array=True, versions=Versions(3, 32767), nullable=Versions(3, 32767), tag=3, tagged=Versions(3, 32767), default=None),
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: Sequence[UUID] = (),
        cordoned_log_dirs: Sequence[UUID] | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.fenced: int = fenced
        self.in_controlled_shutdown: int = in_controlled_shutdown
        self.log_dirs: Sequence[UUID] = log_dirs
        self.cordoned_log_dirs: Sequence[UUID] | None = cordoned_log_dirs


class ClearElrRecord(Message):
    __slots__ = ('topic_name',)
    NAME = "ClearElrRecord"
    API_KEY = 28
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_name', "string", default=""),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
    ) -> None:
        self.topic_name: str = topic_name


class EntityData(Message):
    __slots__ = ('entity_type', 'entity_name')
    NAME = "Entity"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('entity_type', "string", default=""),
        Field('entity_name', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type: str = entity_type
        self.entity_name: str | None = entity_name


class ClientQuotaRecord(Message):
    __slots__ = ('entity', 'key', 'value', 'remove')
    NAME = "ClientQuotaRecord"
    API_KEY = 14
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('entity', EntityData, array=True, default=()),
        Field('key', "string", default=""),
        Field('value', "float64", default=0.0),
        Field('remove', "bool", default=False),
    )

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity: Sequence[EntityData] = entity
        self.key: str = key
        self.value: float = value
        self.remove: bool = remove


class ConfigRecord(Message):
    __slots__ = ('resource_type', 'resource_name', 'name', 'value')
    NAME = "ConfigRecord"
    API_KEY = 4
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('resource_type', "int8", default=0),
        Field('resource_name', "string", default=""),
        Field('name', "string", default=""),
        Field('value', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.name: str = name
        self.value: str | None = value


class DelegationTokenRecord(Message):
    __slots__ = ('owner', 'requester', 'renewers', 'issue_timestamp', 'max_timestamp', 'expiration_timestamp', 'token_id')
    NAME = "DelegationTokenRecord"
    API_KEY = 10
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('owner', "string", default=""),
        Field('requester', "string", default=""),
        Field('renewers', "string", array=True, default=()),
        Field('issue_timestamp', "int64", default=0),
        Field('max_timestamp', "int64", default=0),
        Field('expiration_timestamp', "int64", default=0),
        Field('token_id', "string", default=""),
    )

    def __init__(
        self,
        *,
        owner: str = "",
        requester: str = "",
        renewers: Sequence[str] = (),
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner: str = owner
        self.requester: str = requester
        self.renewers: Sequence[str] = renewers
        self.issue_timestamp: int = issue_timestamp
        self.max_timestamp: int = max_timestamp
        self.expiration_timestamp: int = expiration_timestamp
        self.token_id: str = token_id


class EndTransactionRecord(Message):
    __slots__ = ()
    NAME = "EndTransactionRecord"
    API_KEY = 24
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = ()


class FeatureLevelRecord(Message):
    __slots__ = ('name', 'feature_level')
    NAME = "FeatureLevelRecord"
    API_KEY = 12
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('feature_level', "int16", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        feature_level: int = 0,
    ) -> None:
        self.name: str = name
        self.feature_level: int = feature_level


class FenceBrokerRecord(Message):
    __slots__ = ('id', 'epoch')
    NAME = "FenceBrokerRecord"
    API_KEY = 7
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('id', "int32", default=0),
        Field('epoch', "int64", default=0),
    )

    def __init__(
        self,
        *,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id: int = id
        self.epoch: int = epoch


class NoOpRecord(Message):
    __slots__ = ()
    NAME = "NoOpRecord"
    API_KEY = 20
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = ()


class PartitionChangeRecord(Message):
    __slots__ = ('partition_id', 'topic_id', 'isr', 'leader', 'replicas', 'removing_replicas', 'adding_replicas', 'leader_recovery_state', 'directories', 'eligible_leader_replicas', 'last_known_elr')
    NAME = "PartitionChangeRecord"
    API_KEY = 5
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_id', "int32", default=-1),
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('isr', "int32", array=True, nullable=ALWAYS, tag=0, tagged=ALWAYS, default=None),
        Field('leader', "int32", tag=1, tagged=ALWAYS, default=-2),
        Field('replicas', "int32", array=True, nullable=ALWAYS, tag=2, tagged=ALWAYS, default=None),
        Field('removing_replicas', "int32", array=True, nullable=ALWAYS, tag=3, tagged=ALWAYS, default=None),
        Field('adding_replicas', "int32", array=True, nullable=ALWAYS, tag=4, tagged=ALWAYS, default=None),
        Field('leader_recovery_state', "int8", tag=5, tagged=ALWAYS, default=-1),
        Field('directories', "uuid", array=True, versions=Versions(1, 32767), nullable=Versions(1, 32767), tag=8, tagged=Versions(1, 32767), default=None),
        Field('eligible_leader_replicas', "int32", array=True, versions=Versions(2, 32767), nullable=Versions(2, 32767), tag=6, tagged=Versions(2, 32767), default=None),
        Field('last_known_elr', "int32", array=True, versions=Versions(2, 32767), nullable=Versions(2, 32767), tag=7, tagged=Versions(2, 32767), default=None),
    )

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: UUID = ZERO_UUID,
        isr: Sequence[int] | None = None,
        leader: int = -2,
        replicas: Sequence[int] | None = None,
        removing_replicas: Sequence[int] | None = None,
        adding_replicas: Sequence[int] | None = None,
        leader_recovery_state: int = -1,
        directories: Sequence[UUID] | None = None,
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
    ) -> None:
        self.partition_id: int = partition_id
        self.topic_id: UUID = topic_id
        self.isr: Sequence[int] | None = isr
        self.leader: int = leader
        self.replicas: Sequence[int] | None = replicas
        self.removing_replicas: Sequence[int] | None = removing_replicas
        self.adding_replicas: Sequence[int] | None = adding_replicas
        self.leader_recovery_state: int = leader_recovery_state
        self.directories: Sequence[UUID] | None = directories
        self.eligible_leader_replicas: Sequence[int] | None = eligible_leader_replicas
        self.last_known_elr: Sequence[int] | None = last_known_elr


class PartitionRecord(Message):
    __slots__ = ('partition_id', 'topic_id', 'replicas', 'isr', 'removing_replicas', 'adding_replicas', 'leader', 'leader_recovery_state', 'leader_epoch', 'partition_epoch', 'directories', 'eligible_leader_replicas', 'last_known_elr')
    NAME = "PartitionRecord"
    API_KEY = 3
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('partition_id', "int32", default=-1),
        Field('topic_id', "uuid", default=ZERO_UUID),
        Field('replicas', "int32", array=True, default=()),
        Field('isr', "int32", array=True, default=()),
        Field('removing_replicas', "int32", array=True, default=()),
        Field('adding_replicas', "int32", array=True, default=()),
        Field('leader', "int32", default=-1),
        Field('leader_recovery_state', "int8", tag=0, tagged=ALWAYS, default=0),
        Field('leader_epoch', "int32", default=-1),
        Field('partition_epoch', "int32", default=-1),
        Field('directories', "uuid", array=True, versions=Versions(1, 32767), default=()),
        Field('eligible_leader_replicas', "int32", array=True, versions=Versions(2, 32767), nullable=Versions(2, 32767), tag=1, tagged=Versions(2, 32767), default=None),
        Field('last_known_elr', "int32", array=True, versions=Versions(2, 32767), nullable=Versions(2, 32767), tag=2, tagged=Versions(2, 32767), default=None),
    )

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: UUID = ZERO_UUID,
        replicas: Sequence[int] = (),
        isr: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: Sequence[UUID] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
    ) -> None:
        self.partition_id: int = partition_id
        self.topic_id: UUID = topic_id
        self.replicas: Sequence[int] = replicas
        self.isr: Sequence[int] = isr
        self.removing_replicas: Sequence[int] = removing_replicas
        self.adding_replicas: Sequence[int] = adding_replicas
        self.leader: int = leader
        self.leader_recovery_state: int = leader_recovery_state
        self.leader_epoch: int = leader_epoch
        self.partition_epoch: int = partition_epoch
        self.directories: Sequence[UUID] = directories
        self.eligible_leader_replicas: Sequence[int] | None = eligible_leader_replicas
        self.last_known_elr: Sequence[int] | None = last_known_elr


class ProducerIdsRecord(Message):
    __slots__ = ('broker_id', 'broker_epoch', 'next_producer_id')
    NAME = "ProducerIdsRecord"
    API_KEY = 15
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('broker_id', "int32", default=0),
        Field('broker_epoch', "int64", default=-1),
        Field('next_producer_id', "int64", default=0),
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        next_producer_id: int = 0,
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.next_producer_id: int = next_producer_id


class BrokerEndpoint(Message):
    __slots__ = ('name', 'host', 'port', 'security_protocol')
    NAME = "EndPoints"
    VERSIONS = Versions(0, 4)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('host', "string", default=""),
        Field('port', "uint16", default=0),
        Field('security_protocol', "int16", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.security_protocol: int = security_protocol


class BrokerFeature(Message):
    __slots__ = ('name', 'min_supported_version', 'max_supported_version')
    NAME = "Features"
    VERSIONS = Versions(0, 4)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('min_supported_version', "int16", default=0),
        Field('max_supported_version', "int16", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name: str = name
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version


class RegisterBrokerRecord(Message):
    __slots__ = ('broker_id', 'is_migrating_zk_broker', 'incarnation_id', 'broker_epoch', 'end_points', 'features', 'rack', 'fenced', 'in_controlled_shutdown', 'log_dirs', 'cordoned_log_dirs')
    NAME = "RegisterBrokerRecord"
    API_KEY = 0
    VERSIONS = Versions(0, 4)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('broker_id', "int32", default=0),
        Field('is_migrating_zk_broker', "bool", versions=Versions(2, 32767), default=False),
        Field('incarnation_id', "uuid", default=ZERO_UUID),
        Field('broker_epoch', "int64", default=0),
        Field('end_points', BrokerEndpoint, array=True, default=()),
        Field('features', BrokerFeature, array=True, default=()),
        Field('rack', "string", nullable=ALWAYS, default=""),
        Field('fenced', "bool", default=True),
        Field('in_controlled_shutdown', "bool", versions=Versions(1, 32767), default=False),
        Field('log_dirs', "uuid", array=True, versions=Versions(3, 32767), tag=0, tagged=Versions(3, 32767), default=()),
        Field('cordoned_log_dirs', "uuid", array=True, versions=Versions(4, 32767), nullable=Versions(4, 32767), tag=1, tagged=Versions(4, 32767), default=None),
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: UUID = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: Sequence[BrokerEndpoint] = (),
        features: Sequence[BrokerFeature] = (),
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: Sequence[UUID] = (),
        cordoned_log_dirs: Sequence[UUID] | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.is_migrating_zk_broker: bool = is_migrating_zk_broker
        self.incarnation_id: UUID = incarnation_id
        self.broker_epoch: int = broker_epoch
        self.end_points: Sequence[BrokerEndpoint] = end_points
        self.features: Sequence[BrokerFeature] = features
        self.rack: str | None = rack
        self.fenced: bool = fenced
        self.in_controlled_shutdown: bool = in_controlled_shutdown
        self.log_dirs: Sequence[UUID] = log_dirs
        self.cordoned_log_dirs: Sequence[UUID] | None = cordoned_log_dirs


class ControllerEndpoint(Message):
    __slots__ = ('name', 'host', 'port', 'security_protocol')
    NAME = "EndPoints"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('host', "string", default=""),
        Field('port', "uint16", default=0),
        Field('security_protocol', "int16", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.security_protocol: int = security_protocol


class ControllerFeature(Message):
    __slots__ = ('name', 'min_supported_version', 'max_supported_version')
    NAME = "Features"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('min_supported_version', "int16", default=0),
        Field('max_supported_version', "int16", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name: str = name
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version


class RegisterControllerRecord(Message):
    __slots__ = ('controller_id', 'incarnation_id', 'zk_migration_ready', 'end_points', 'features')
    NAME = "RegisterControllerRecord"
    API_KEY = 27
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('controller_id', "int32", default=0),
        Field('incarnation_id', "uuid", default=ZERO_UUID),
        Field('zk_migration_ready', "bool", default=False),
        Field('end_points', ControllerEndpoint, array=True, default=()),
        Field('features', ControllerFeature, array=True, default=()),
    )

    def __init__(
        self,
        *,
        controller_id: int = 0,
        incarnation_id: UUID = ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: Sequence[ControllerEndpoint] = (),
        features: Sequence[ControllerFeature] = (),
    ) -> None:
        self.controller_id: int = controller_id
        self.incarnation_id: UUID = incarnation_id
        self.zk_migration_ready: bool = zk_migration_ready
        self.end_points: Sequence[ControllerEndpoint] = end_points
        self.features: Sequence[ControllerFeature] = features


class RemoveAccessControlEntryRecord(Message):
    __slots__ = ('id',)
    NAME = "RemoveAccessControlEntryRecord"
    API_KEY = 19
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('id', "uuid", default=ZERO_UUID),
    )

    def __init__(
        self,
        *,
        id: UUID = ZERO_UUID,
    ) -> None:
        self.id: UUID = id


class RemoveDelegationTokenRecord(Message):
    __slots__ = ('token_id',)
    NAME = "RemoveDelegationTokenRecord"
    API_KEY = 26
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('token_id', "string", default=""),
    )

    def __init__(
        self,
        *,
        token_id: str = "",
    ) -> None:
        self.token_id: str = token_id


class RemoveTopicRecord(Message):
    __slots__ = ('topic_id',)
    NAME = "RemoveTopicRecord"
    API_KEY = 9
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('topic_id', "uuid", default=ZERO_UUID),
    )

    def __init__(
        self,
        *,
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.topic_id: UUID = topic_id


class RemoveUserScramCredentialRecord(Message):
    __slots__ = ('name', 'mechanism')
    NAME = "RemoveUserScramCredentialRecord"
    API_KEY = 22
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('mechanism', "int8", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism


class TopicRecord(Message):
    __slots__ = ('name', 'topic_id')
    NAME = "TopicRecord"
    API_KEY = 2
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('topic_id', "uuid", default=ZERO_UUID),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: UUID = ZERO_UUID,
    ) -> None:
        self.name: str = name
        self.topic_id: UUID = topic_id


class UnfenceBrokerRecord(Message):
    __slots__ = ('id', 'epoch')
    NAME = "UnfenceBrokerRecord"
    API_KEY = 8
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('id', "int32", default=0),
        Field('epoch', "int64", default=0),
    )

    def __init__(
        self,
        *,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id: int = id
        self.epoch: int = epoch


class UnregisterBrokerRecord(Message):
    __slots__ = ('broker_id', 'broker_epoch')
    NAME = "UnregisterBrokerRecord"
    API_KEY = 1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('broker_id', "int32", default=0),
        Field('broker_epoch', "int64", default=0),
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch


class UnregisterControllerRecord(Message):
    __slots__ = ('controller_id',)
    NAME = "UnregisterControllerRecord"
    API_KEY = 29
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('controller_id', "int32", default=0),
    )

    def __init__(
        self,
        *,
        controller_id: int = 0,
    ) -> None:
        self.controller_id: int = controller_id


class UserScramCredentialRecord(Message):
    __slots__ = ('name', 'mechanism', 'salt', 'stored_key', 'server_key', 'iterations')
    NAME = "UserScramCredentialRecord"
    API_KEY = 11
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('mechanism', "int8", default=0),
        Field('salt', "bytes", default=b""),
        Field('stored_key', "bytes", default=b""),
        Field('server_key', "bytes", default=b""),
        Field('iterations', "int32", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        salt: Buffer = b"",
        stored_key: Buffer = b"",
        server_key: Buffer = b"",
        iterations: int = 0,
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.salt: Buffer = salt
        self.stored_key: Buffer = stored_key
        self.server_key: Buffer = server_key
        self.iterations: int = iterations


class ZkMigrationStateRecord(Message):
    __slots__ = ('zk_migration_state',)
    NAME = "ZkMigrationStateRecord"
    API_KEY = 21
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('zk_migration_state', "int8", default=0),
    )

    def __init__(
        self,
        *,
        zk_migration_state: int = 0,
    ) -> None:
        self.zk_migration_state: int = zk_migration_state
