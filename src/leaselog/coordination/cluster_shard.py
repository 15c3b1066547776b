"""What survives of the cluster: topics and partitions, dynamic configs, features, producer ids, quotas, SCRAM
credentials, access control lists.

`handle` decides and changes nothing: it gives records and a reply, or a refusal. `replay` alone changes state,
one record at a time, so that recovery from the log is the code that runs all day. `records` writes the state
down as the shortest log that would give it again: what a snapshot holds.

Whether a config's value is a good one is not known here; `broker.cluster.cluster` asks the config room first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, assert_never
from uuid import UUID

from leaselog.coordination.cluster_acls import decide_new_acls, decide_removed_acls
from leaselog.coordination.cluster_features import FEATURES, Feature, FeatureUpdate, refuse_update
from leaselog.coordination.cluster_names import CLUSTER_METADATA_TOPIC, collision_key, refuse_topic_name
from leaselog.coordination.cluster_placement import Assignments, NewPartitions, place, refuse_more_partitions
from leaselog.coordination.cluster_quotas import QuotaAlteration, decide_quotas
from leaselog.coordination.cluster_records import (
    AclAdded,
    AclRemoved,
    ClusterRecord,
    ConfigChanged,
    FeatureLevelSet,
    PartitionCreated,
    ProducerIdsReserved,
    QuotaChanged,
    QuotaEntity,
    ResourceType,
    ScramCredentialRemoved,
    ScramCredentialSet,
    TopicCreated,
    TopicRemoved,
)
from leaselog.coordination.cluster_scram import ScramAlterations, decide_scram
from leaselog.coordination.layer import Layer
from leaselog.model import AclBinding, BrokenInvariant, ErrorCode, NodeId, ProducerId, Refused, TopicId
from leaselog.sasl.scram import Credential

__all__ = [
    "PRODUCER_ID_BLOCK",
    "AlterQuotas",
    "AlterScram",
    "ChangeConfigs",
    "ClusterCommand",
    "ClusterShard",
    "CreateAcls",
    "CreatePartitions",
    "CreateTopic",
    "Decision",
    "DeleteAcls",
    "DeleteTopic",
    "ReserveProducerIds",
    "Topic",
    "UpdateFeatures",
]

#: producer ids reserved at a time; as many are lost by a crash, at most
PRODUCER_ID_BLOCK = 1000
_LAST_PRODUCER_ID = 2**63 - 1

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: TopicId
    partition_count: int


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """``topic_id`` is drawn by who asks: chance has no place here. -1 counts mean the default."""

    name: str
    topic_id: TopicId
    partition_count: int = -1
    replication_factor: int = -1
    assignments: Assignments = ()
    configs: tuple[tuple[str, str], ...] = ()
    default_partition_count: int = 1
    default_replication_factor: int = 1


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    topic_id: TopicId


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """``count`` is the new total; ``assignments`` one replica list for each partition that is added, or None."""

    topic: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True, slots=True)
class ChangeConfigs:
    changes: tuple[ConfigChanged, ...]


@dataclass(frozen=True, slots=True)
class UpdateFeatures:
    """All or nothing: one level that may not be set refuses the rest."""

    updates: tuple[FeatureUpdate, ...]


@dataclass(frozen=True, slots=True)
class ReserveProducerIds:
    """The reply is the first id of a block of ``PRODUCER_ID_BLOCK``."""


@dataclass(frozen=True, slots=True)
class AlterQuotas:
    """The reply is a dict: for each entity None, or why it keeps what it has."""

    alterations: tuple[QuotaAlteration, ...]


@dataclass(frozen=True, slots=True)
class AlterScram:
    """The reply is a dict: for each user None, or why it keeps what it has."""

    alterations: ScramAlterations


@dataclass(frozen=True, slots=True)
class CreateAcls:
    """With the id that each is to have, drawn by who asks. The reply is a list: None, or why one is not made."""

    wanted: tuple[tuple[UUID, AclBinding], ...]


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    """What is not there is gone already."""

    acl_ids: tuple[UUID, ...]


ClusterCommand = (
    CreateTopic
    | DeleteTopic
    | CreatePartitions
    | ChangeConfigs
    | UpdateFeatures
    | ReserveProducerIds
    | AlterQuotas
    | AlterScram
    | CreateAcls
    | DeleteAcls
)


@dataclass(frozen=True, slots=True)
class Decision:
    records: tuple[ClusterRecord, ...]
    #: a `Topic` for topics and partitions, a `ProducerId` for reserved ids, a dict for quotas and users, a list for
    #: new ACLs, else None
    reply: Any = None


class ClusterShard:
    """One owner, `broker.cluster.cluster`. Reading its fields is fine; only `replay` may change them."""

    def __init__(self, node_id: NodeId, features: Sequence[Feature] = FEATURES) -> None:
        self.node_id = node_id
        self.known_features = {feature.name: feature for feature in features}
        self.topics: MutableMapping[str, Topic] = {}
        self.topics_by_id: MutableMapping[TopicId, Topic] = {}
        #: (resource type, name) to its overrides, in the order they were first set; never an empty one
        self.configs: MutableMapping[tuple[int, str], Mapping[str, str]] = {}
        #: levels that were ever set, 0 included: an operator's 0 must outlive an upgrade of leaselog
        self.feature_levels: MutableMapping[str, int] = {}
        self.next_producer_id = ProducerId(0)
        #: the limits of each entity, by key; never an empty one
        self.quotas: MutableMapping[QuotaEntity, Mapping[str, float]] = {}
        #: the credentials of each user, by Kafka's number of the mechanism; never an empty mapping
        self.scram_users: MutableMapping[str, Mapping[int, Credential]] = {}
        self.acls: MutableMapping[UUID, AclBinding] = {}
        #: the same, the other way round: no two say the same
        self.acl_ids: MutableMapping[AclBinding, UUID] = {}
        self.partition_count = 0
        self._collisions: MutableMapping[str, frozenset[str]] = {}

    def rehearse(self, records: Sequence[ClusterRecord]) -> None:
        """Raises what replaying them would raise, and changes nothing: what cannot be replayed must not be written."""
        draft = object.__new__(ClusterShard)
        draft.__dict__ |= self.__dict__
        draft.topics, draft.topics_by_id = Layer(self.topics), Layer(self.topics_by_id)
        draft.configs, draft.quotas = Layer(self.configs), Layer(self.quotas)
        draft.scram_users = Layer(self.scram_users)
        draft.acls, draft.acl_ids = Layer(self.acls), Layer(self.acl_ids)
        draft.feature_levels, draft._collisions = Layer(self.feature_levels), Layer(self._collisions)
        for record in records:
            draft.replay(record)

    # -- decisions

    def handle(self, command: ClusterCommand) -> Decision | Refused:
        """Records to write and the answer once they are safe. Several decisions may wait for one write as long
        as each is about another topic."""
        match command:
            case CreateTopic():
                return self._create_topic(command)
            case DeleteTopic():
                return self._delete_topic(command)
            case CreatePartitions():
                return self._create_partitions(command)
            case ChangeConfigs():
                return Decision(command.changes)
            case UpdateFeatures():
                return self._update_features(command)
            case ReserveProducerIds():
                return self._reserve_producer_ids()
            case AlterQuotas():
                quotas, answers = decide_quotas(self.quotas, command.alterations)
                return Decision(tuple(quotas), answers)
            case AlterScram():
                credentials, refusals = decide_scram(self.scram_users, command.alterations)
                return Decision(tuple(credentials), refusals)
            case CreateAcls():
                added, outcomes = decide_new_acls(self.acl_ids, command.wanted)
                return Decision(tuple(added), outcomes)
            case DeleteAcls():
                return Decision(tuple(decide_removed_acls(self.acls, command.acl_ids)))
            case _:
                assert_never(command)

    def refuse_new_topic(self, name: str) -> Refused | None:
        """Why no topic of this name may be made now. Asked before the topic's configs are looked at, as Kafka does."""
        if name == CLUSTER_METADATA_TOPIC:
            return Refused(
                ErrorCode.INVALID_REQUEST,
                f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited.",
            )
        refused = refuse_topic_name(name)
        if refused is not None:
            return refused
        if name in self.topics:
            return Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        colliding = self._collisions.get(collision_key(name))
        if colliding:
            return Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {min(colliding)}",
            )
        return None

    def _create_topic(self, command: CreateTopic) -> Decision | Refused:
        refused = self.refuse_new_topic(command.name)
        if refused is not None:
            return refused
        count = place(
            NewPartitions(
                command.partition_count,
                command.replication_factor,
                command.assignments,
                command.default_partition_count,
                command.default_replication_factor,
            ),
            self.node_id,
        )
        if isinstance(count, Refused):
            return count
        topic = Topic(command.name, command.topic_id, count)
        # Configs go first behind the topic, partitions last: the order Kafka writes them in.
        configs = (
            ConfigChanged(ResourceType.TOPIC, topic.name, key, value) for key, value in command.configs
        )
        created = TopicCreated(topic.name, topic.topic_id)
        return Decision((created, *configs, *self._partitions(topic.topic_id, 0, count)), topic)

    def _partitions(self, topic_id: TopicId, start: int, end: int) -> Iterator[PartitionCreated]:
        return (PartitionCreated(topic_id, index, self.node_id) for index in range(start, end))

    def _delete_topic(self, command: DeleteTopic) -> Decision | Refused:
        topic = self.topics_by_id.get(command.topic_id)
        if topic is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        return Decision((TopicRemoved(topic.topic_id),), topic)

    def _create_partitions(self, command: CreatePartitions) -> Decision | Refused:
        topic = self.topics.get(command.topic)
        if topic is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        refused = refuse_more_partitions(
            topic.name, topic.partition_count, command.count, command.assignments, self.node_id
        )
        if refused is not None:
            return refused
        records = self._partitions(topic.topic_id, topic.partition_count, command.count)
        return Decision(tuple(records), Topic(topic.name, topic.topic_id, command.count))

    def _update_features(self, command: UpdateFeatures) -> Decision | Refused:
        records = []
        for update in command.updates:
            refused = refuse_update(update, self.feature_levels, self.known_features, self.node_id)
            if refused is not None:
                return refused
            if self.feature_levels.get(update.name) != update.level:
                records.append(FeatureLevelSet(update.name, update.level))
        return Decision(tuple(records))

    def _reserve_producer_ids(self) -> Decision | Refused:
        first = self.next_producer_id
        if first > _LAST_PRODUCER_ID - PRODUCER_ID_BLOCK:
            return Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "Exhausted all producer ids")
        end = ProducerId(first + PRODUCER_ID_BLOCK)
        return Decision((ProducerIdsReserved(self.node_id, end),), first)

    # -- state

    def replay(self, record: ClusterRecord) -> None:
        """Raises `BrokenInvariant` for a record that cannot follow what was replayed before."""
        match record:
            case TopicCreated():
                self._add_topic(record)
            case PartitionCreated():
                self._add_partition(record)
            case TopicRemoved():
                self._remove_topic(record)
            case ConfigChanged():
                self._change_config(record)
            case FeatureLevelSet():
                self.feature_levels[record.name] = record.level
            case ProducerIdsReserved():
                self.next_producer_id = record.next_id
            case QuotaChanged():
                self._change_quota(record)
            case ScramCredentialSet():
                self._change_scram(record.user, record.mechanism, record.credential)
            case ScramCredentialRemoved():
                self._change_scram(record.user, record.mechanism, None)
            case AclAdded():
                self._add_acl(record)
            case AclRemoved():
                self._remove_acl(record)
            case _:
                assert_never(record)

    def _add_topic(self, record: TopicCreated) -> None:
        if record.name in self.topics or record.topic_id in self.topics_by_id:
            raise BrokenInvariant(f"{record} while there is {self.topics.get(record.name)}")
        self._put(Topic(record.name, record.topic_id, 0))
        key = collision_key(record.name)
        self._collisions[key] = self._collisions.get(key, frozenset()) | {record.name}

    def _add_partition(self, record: PartitionCreated) -> None:
        topic = self.topics_by_id.get(record.topic_id)
        if topic is None or record.partition != topic.partition_count:
            raise BrokenInvariant(f"{record} while there is {topic}")
        self._put(Topic(topic.name, topic.topic_id, topic.partition_count + 1))
        self.partition_count += 1

    def _put(self, topic: Topic) -> None:
        self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic

    def _remove_topic(self, record: TopicRemoved) -> None:
        topic = self.topics_by_id.pop(record.topic_id, None)
        if topic is None:
            raise BrokenInvariant(f"{record} of a topic that is not there")
        del self.topics[topic.name]
        self.configs.pop((ResourceType.TOPIC, topic.name), None)
        self.partition_count -= topic.partition_count
        key = collision_key(topic.name)
        alike = self._collisions[key] - {topic.name}
        if alike:
            self._collisions[key] = alike
        else:
            del self._collisions[key]

    def _change_config(self, record: ConfigChanged) -> None:
        resource = (record.resource_type, record.resource_name)
        overrides = _with(self.configs.get(resource, {}), record.key, record.value)
        if overrides:
            self.configs[resource] = overrides
        else:
            self.configs.pop(resource, None)

    def _change_quota(self, record: QuotaChanged) -> None:
        limits = _with(self.quotas.get(record.entity, {}), record.key, record.value)
        if limits:
            self.quotas[record.entity] = limits
        else:
            self.quotas.pop(record.entity, None)

    def _change_scram(self, user: str, mechanism: int, credential: Credential | None) -> None:
        credentials = _with(self.scram_users.get(user, {}), mechanism, credential)
        if credentials:
            self.scram_users[user] = credentials
        else:
            self.scram_users.pop(user, None)

    def _add_acl(self, record: AclAdded) -> None:
        if record.acl_id in self.acls or record.acl in self.acl_ids:
            raise BrokenInvariant(f"{record} while there is {self.acls.get(record.acl_id)}")
        self.acls[record.acl_id] = record.acl
        self.acl_ids[record.acl] = record.acl_id

    def _remove_acl(self, record: AclRemoved) -> None:
        acl = self.acls.pop(record.acl_id, None)
        if acl is None:
            raise BrokenInvariant(f"{record} of an access control entry that is not there")
        del self.acl_ids[acl]

    def records(self) -> Iterator[ClusterRecord]:
        """The state as a log, in an order that `replay` accepts."""
        for name, level in self.feature_levels.items():
            yield FeatureLevelSet(name, level)
        for topic in self.topics.values():
            yield TopicCreated(topic.name, topic.topic_id)
            yield from self._partitions(topic.topic_id, 0, topic.partition_count)
        for (resource_type, resource_name), overrides in self.configs.items():
            for key, value in overrides.items():
                yield ConfigChanged(resource_type, resource_name, key, value)
        for entity, limits in self.quotas.items():
            for key, limit in limits.items():
                yield QuotaChanged(entity, key, limit)
        for user, credentials in self.scram_users.items():
            for mechanism, credential in credentials.items():
                yield ScramCredentialSet(user, mechanism, credential)
        for acl_id, acl in self.acls.items():
            yield AclAdded(acl_id, acl)
        if self.next_producer_id:
            yield ProducerIdsReserved(self.node_id, self.next_producer_id)

    def record_count(self) -> int:
        """How many `records` gives, without making them."""
        configs = sum(len(overrides) for overrides in self.configs.values())
        quotas = sum(map(len, self.quotas.values()))
        credentials = sum(map(len, self.scram_users.values()))
        topics = len(self.topics) + self.partition_count
        return len(self.feature_levels) + topics + configs + quotas + credentials + len(self.acls) + 1


def _with(table: Mapping[_Key, _Value], key: _Key, value: _Value | None) -> Mapping[_Key, _Value]:
    """Another table, without the key if there is no value: drafts share the tables they do not change."""
    others = {**table}
    if value is None:
        others.pop(key, None)
    else:
        others[key] = value
    return others
