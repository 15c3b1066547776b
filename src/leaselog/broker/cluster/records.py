"""The cluster's facts as the bytes of Apache Kafka's metadata records, and back.

Each is the value of one record: a frame version (1), the record's type, its version, its body.
"""

from __future__ import annotations

from uuid import UUID

from leaselog.coordination.cluster_records import (
    AclAdded,
    AclRemoved,
    ClusterRecord,
    ConfigChanged,
    FeatureLevelSet,
    PartitionCreated,
    ProducerIdsReserved,
    QuotaChanged,
    ScramCredentialRemoved,
    ScramCredentialSet,
    TopicCreated,
    TopicRemoved,
)
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    NodeId,
    PatternType,
    ProducerId,
    TopicId,
)
from leaselog.sasl.scram import Credential
from leaselog.wire.codec import decode, encode
from leaselog.wire.errors import BadValue
from leaselog.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from leaselog.wire.messages.metadata_records import EntityData as QuotaEntityData
from leaselog.wire.primitives import Buffer, encode_uvarint, read_uvarint
from leaselog.wire.schema import Message

__all__ = ["decode_cluster_record", "encode_cluster_record"]

FRAME_VERSION = 1
KINDS: tuple[type[Message], ...] = (
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    RemoveTopicRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    ClientQuotaRecord,
    UserScramCredentialRecord,
    RemoveUserScramCredentialRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
_KINDS = {kind.API_KEY: kind for kind in KINDS}
#: version 1 names the directory of each replica, 2 adds eligible leaders, which one replica has no use for
PARTITION_VERSION = 1


def encode_cluster_record(record: ClusterRecord, directory_id: UUID) -> bytes:
    """The record's value. ``directory_id`` is where partitions lie."""
    message = _message(record, directory_id)
    version = PARTITION_VERSION if isinstance(message, PartitionRecord) else 0
    head = (encode_uvarint(number) for number in (FRAME_VERSION, message.API_KEY, version))
    return b"".join((*head, encode(message, version)))


def decode_cluster_record(value: Buffer) -> ClusterRecord:
    """Raises ``DecodeError`` for anything that is not one of the facts a cluster of ours is made of."""
    frame, position = read_uvarint(value, 0)
    if frame != FRAME_VERSION:
        raise BadValue(f"metadata frame version {frame}, expected {FRAME_VERSION}")
    api_key, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    kind = _KINDS.get(api_key)
    if kind is None or version not in kind.VERSIONS:
        raise BadValue(f"metadata record of type {api_key} version {version}, which leaselog never writes")
    return _fact(decode(kind, version, value, position))


def _message(record: ClusterRecord, directory_id: UUID) -> Message:
    match record:
        case TopicCreated(name, topic_id):
            return TopicRecord(name=name, topic_id=topic_id)
        case PartitionCreated(topic_id, partition, leader):
            return PartitionRecord(
                partition_id=partition,
                topic_id=topic_id,
                replicas=[leader],
                isr=[leader],
                leader=leader,
                leader_epoch=0,
                partition_epoch=0,
                directories=[directory_id],
            )
        case TopicRemoved(topic_id):
            return RemoveTopicRecord(topic_id=topic_id)
        case ConfigChanged(resource_type, resource_name, key, value):
            return ConfigRecord(
                resource_type=resource_type, resource_name=resource_name, name=key, value=value
            )
        case FeatureLevelSet(name, level):
            return FeatureLevelRecord(name=name, feature_level=level)
        case ProducerIdsReserved(node_id, next_id):
            return ProducerIdsRecord(broker_id=node_id, next_producer_id=next_id)
        case QuotaChanged(entity, key, limit):
            return ClientQuotaRecord(
                entity=[QuotaEntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                key=key,
                value=limit or 0.0,
                remove=limit is None,
            )
        case ScramCredentialSet(user, mechanism, kept):
            return UserScramCredentialRecord(
                name=user,
                mechanism=mechanism,
                salt=kept.salt,
                stored_key=kept.stored_key,
                server_key=kept.server_key,
                iterations=kept.iterations,
            )
        case ScramCredentialRemoved(user, mechanism):
            return RemoveUserScramCredentialRecord(name=user, mechanism=mechanism)
        case AclAdded(acl_id, acl):
            return AccessControlEntryRecord(
                id=acl_id,
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
        case AclRemoved(acl_id):
            return RemoveAccessControlEntryRecord(id=acl_id)


def _fact(message: Message) -> ClusterRecord:
    match message:
        case TopicRecord():
            return TopicCreated(message.name, TopicId(message.topic_id))
        case PartitionRecord():
            return PartitionCreated(TopicId(message.topic_id), message.partition_id, NodeId(message.leader))
        case RemoveTopicRecord():
            return TopicRemoved(TopicId(message.topic_id))
        case ConfigRecord():
            return ConfigChanged(message.resource_type, message.resource_name, message.name, message.value)
        case FeatureLevelRecord():
            return FeatureLevelSet(message.name, message.feature_level)
        case ProducerIdsRecord():
            return ProducerIdsReserved(NodeId(message.broker_id), ProducerId(message.next_producer_id))
        case ClientQuotaRecord():
            parts = sorted(message.entity, key=lambda part: part.entity_type)
            named = tuple((part.entity_type, part.entity_name) for part in parts)
            return QuotaChanged(named, message.key, None if message.remove else message.value)
        case UserScramCredentialRecord():
            kept = Credential(
                bytes(message.salt), bytes(message.stored_key), bytes(message.server_key), message.iterations
            )
            return ScramCredentialSet(message.name, message.mechanism, kept)
        case RemoveUserScramCredentialRecord():
            return ScramCredentialRemoved(message.name, message.mechanism)
        case AccessControlEntryRecord():
            return AclAdded(message.id, _binding(message))
        case RemoveAccessControlEntryRecord():
            return AclRemoved(message.id)
        case _:
            raise BadValue(f"metadata record {message.NAME}, which leaselog never writes")


def _binding(message: AccessControlEntryRecord) -> AclBinding:
    acl = AclBinding(
        resource_type=AclResourceType(message.resource_type),
        resource_name=message.resource_name,
        principal=message.principal,
        operation=AclOperation(message.operation),
        permission=AclPermission(message.permission_type),
        pattern_type=PatternType(message.pattern_type),
        host=message.host,
    )
    if 0 in (acl.resource_type, acl.operation, acl.permission, acl.pattern_type):
        # It may be one that denies: to pass over it would open what it closes.
        raise BadValue(f"access control entry {message.id} is not understood: {acl}")
    return acl
