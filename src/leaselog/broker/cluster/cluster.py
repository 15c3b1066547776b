"""The cluster as the broker sees it: who we are, which topics there are, and the one door to change them.

The shard decides, the cluster log makes it safe, the shard replays it, and only then does the rest of the broker
act on it: logs are opened or taken away, configs take effect. One change at a time goes through all of that; it is
not given up when the client that asked for it goes away, since half of it would be on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar
from uuid import UUID

from leaselog.broker.cluster.acls import AclListener, create_acls, delete_acls
from leaselog.broker.cluster.advertised import AdvertisedAddresses
from leaselog.broker.cluster.identity import claim_directory, new_id
from leaselog.broker.cluster.log import METADATA_TOPIC_ID, ClusterLog
from leaselog.broker.cluster.topic_requests import (
    CreatedTopic,
    MorePartitions,
    NewTopic,
    topic_by_default,
)
from leaselog.broker.config import ConfigEntry, Configuration, GroupConfig
from leaselog.broker.config.pauses import with_stamps
from leaselog.broker.quotas.mutation_quotas import UNLIMITED, MutationAllowance
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.coordination.cluster_features import Feature, FeatureUpdate
from leaselog.coordination.cluster_names import (
    CLUSTER_METADATA_TOPIC,
    CONSUMER_OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    is_internal,
    refuse_topic_name,
)
from leaselog.coordination.cluster_placement import MAX_NEW_PARTITIONS
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.coordination.cluster_records import (
    ClusterRecord,
    ConfigChanged,
    FeatureLevelSet,
    QuotaEntity,
    ResourceType,
    ScramCredentialSet,
)
from leaselog.coordination.cluster_scram import ScramAlterations, ScramUsers
from leaselog.coordination.cluster_shard import (
    PRODUCER_ID_BLOCK,
    AlterQuotas,
    AlterScram,
    ChangeConfigs,
    ClusterShard,
    CreatePartitions,
    CreateTopic,
    Decision,
    DeleteTopic,
    ReserveProducerIds,
    Topic,
    UpdateFeatures,
)
from leaselog.log import UnusableLog
from leaselog.model import (
    ZERO_UUID,
    AclBinding,
    AclFilter,
    BrokenInvariant,
    ErrorCode,
    GroupId,
    NodeId,
    ProducerId,
    Refused,
    TopicId,
)
from leaselog.wire.errors import EncodeError

__all__ = [
    "CONSUMER_OFFSETS_TOPIC",
    "SHARE_STATE_TOPIC",
    "TRANSACTION_STATE_TOPIC",
    "Cluster",
    "CreatedTopic",
    "Feature",
    "FeatureUpdate",
    "MorePartitions",
    "NewTopic",
    "Topic",
    "is_internal",
    "refuse_topic_name",
]

#: partitions opened before other work gets its turn
OPEN_STEP = 32
#: topics of one request that are written down together: rehearsing, writing and replaying them is one step
TOPICS_A_WRITE = 100

T = TypeVar("T")
log = StructuredLog("cluster")


class ClusterListener(AclListener, Protocol):
    """Who is told of changes, on the loop, once they are safe."""

    def topic_deleted(self, topic: Topic) -> None: ...

    def quotas_changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """These are the limits of each entity that has any, from now on."""

    def group_config_changed(self, group_id: GroupId, before: GroupConfig) -> None: ...

    def broker_config_changed(self) -> None:
        """The defaults of topics and groups among it."""


class Cluster:
    """Owned by the event loop. Reads answer at once; changes are coroutines that end when the change is safe."""

    def __init__(self, runtime: Runtime, logs: LogStore, listener: ClusterListener) -> None:
        self._runtime = runtime
        self._logs = logs
        self._listener = listener
        config = runtime.config
        self.node_id = NodeId(config.node_id)
        self.rack = config.broker_rack
        #: where clients are told to connect; the real addresses once there are any
        self.advertised = AdvertisedAddresses(config)
        self._shard = ClusterShard(self.node_id)
        self.configuration = Configuration(config, self._shard.configs)
        data = logs.directory
        self._identity = claim_directory(data.files, data.path, self.node_id, draw=data.new_uuid)
        self._log = ClusterLog(data.files, data.path, self._identity.directory_id, now_ms=runtime.now_ms)
        self._changing = asyncio.Lock()
        #: changes whose clients may have gone
        self._tasks: set[asyncio.Task[Any]] = set()
        #: ids reserved and not handed out yet: [next, end)
        self._producer_ids = iter(range(0))

    # -- who we are -----------------------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        return self._identity.cluster_id

    @property
    def directory_id(self) -> UUID:
        return self._identity.directory_id

    def supported_features(self) -> list[Feature]:
        return list(self._shard.known_features.values())

    def finalized_features(self) -> dict[str, int]:
        """The levels in force; a feature at level 0 is not in force."""
        return {name: level for name, level in self._shard.feature_levels.items() if level > 0}

    def feature_level(self, name: str) -> int:
        """0: not in force."""
        return self._shard.feature_levels.get(name, 0)

    @property
    def features_epoch(self) -> int:
        """Rises with every change of the cluster."""
        return self._log.end_offset

    # -- what there is --------------------------------------------------------------------------------------

    def topics(self) -> Iterable[Topic]:
        return self._shard.topics.values()

    def topic(self, name: str) -> Topic | None:
        return self._shard.topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self._shard.topics_by_id.get(TopicId(topic_id))

    def topic_name_of(self, topic_id: UUID) -> str | None:
        topic = self._shard.topics_by_id.get(TopicId(topic_id))
        return None if topic is None else topic.name

    def topic_name(self, name: str, topic_id: UUID) -> str | None:
        """The topic a request means that names it in its version's way: by id, or with the zero id by name."""
        if topic_id != ZERO_UUID:
            return self.topic_name_of(topic_id)
        return name if name in self._shard.topics else None

    def name_for_metrics(self, topic: str | UUID) -> str:
        """A label that is bounded by the topics there are."""
        shard = self._shard
        known = shard.topics_by_id.get(TopicId(topic)) if isinstance(topic, UUID) else shard.topics.get(topic)
        return "unknown" if known is None else known.name

    def quotas(self) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """The limits of each entity that has any."""
        return self._shard.quotas

    def scram_users(self) -> ScramUsers:
        """The SCRAM credentials of each user who has any."""
        return self._shard.scram_users

    def acls(self) -> Mapping[UUID, AclBinding]:
        """The access control lists, by the id of each entry."""
        return self._shard.acls

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Replays the cluster's log and opens every partition, as far as the disk lets it.

        Raises ``UnusableLog`` if the cluster's own log cannot be had: without it nobody knows which topics there are.
        """
        try:
            for record in self._log.open():
                self._shard.replay(record)
        except (OSError, UnusableLog) as why:
            raise UnusableLog(
                f"the cluster's own log cannot be read, and without it nobody knows which topics there are: {why}"
            ) from why
        self.configuration = Configuration(self._runtime.config, self._shard.configs)
        if self.configuration.ignored_dynamic is not None:
            log.warning("stored broker configs are ignored", why=self.configuration.ignored_dynamic)
        self._runtime.config = self.configuration.broker
        self._listener.quotas_changed(self._shard.quotas)
        self._listener.acls_changed(list(self._shard.acls.values()), ())
        new_levels = [
            FeatureLevelSet(feature.name, feature.level)
            for feature in self.supported_features()
            if feature.level and feature.name not in self._shard.feature_levels
        ]
        if new_levels:
            await self._commit(new_levels)
        known = {name: topic.topic_id for name, topic in self._shard.topics.items()}
        self._logs.remove_strays({CLUSTER_METADATA_TOPIC: METADATA_TOPIC_ID, **known})
        for topic in self.topics():
            await self._open(topic)
        self._logs.adopt()

    async def add_users(self, users: Sequence[ScramCredentialSet]) -> None:
        """Writes down those credentials that their users do not have, whatever they have instead. Raises ``OSError``.

        A password that was changed since is not changed back by a start; a user who was removed is made again.
        """
        missing = [user for user in users if user.mechanism not in self._shard.scram_users.get(user.user, {})]
        await self._commit(missing)
        for user in missing:
            log.info("SCRAM user added", user=user.user, mechanism=user.mechanism)

    def close(self) -> None:
        # A change whose client has gone may be under way still. Every commit is safe on its own and the log is
        # always opened as after a crash, so there is nothing to wait for.
        if self._changing.locked():
            return
        try:
            self._log.close()
        except OSError as error:
            log.error("the cluster's log cannot be closed", failure=error)

    # -- changes --------------------------------------------------------------------------------------------

    async def create_topics(
        self,
        wanted: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        allowance: MutationAllowance = UNLIMITED,
    ) -> list[CreatedTopic | Refused]:
        """One answer for each wish. What was created is durable, all of it in one write; its partitions are open."""
        return await self._see_through(partial(self._create_topics, wanted, validate_only, allowance))

    async def ensure_topic(self, name: str) -> Topic | Refused:
        """The topic, made with the broker's defaults, or an internal topic's own, if it is not there."""
        return self.topic(name) or (await self.ensure_topics([name]))[name]

    async def ensure_topics(
        self, names: Sequence[str], allowance: MutationAllowance = UNLIMITED
    ) -> dict[str, Topic | Refused]:
        """The same of many, those that are not there made in one write."""
        missing = [name for name in dict.fromkeys(names) if self.topic(name) is None]
        wishes = [topic_by_default(name, self._runtime.config) for name in missing]
        made = await self.create_topics(wishes, allowance=allowance) if wishes else []
        refusals = {
            name: answer for name, answer in zip(missing, made, strict=True) if isinstance(answer, Refused)
        }
        gone = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        # Somebody else may have been quicker.
        return {name: self.topic(name) or refusals.get(name, gone) for name in names}

    async def delete_topics(
        self, topic_ids: Sequence[TopicId], allowance: MutationAllowance = UNLIMITED
    ) -> list[Topic | Refused]:
        """One answer for each id: the topic that was there, or UNKNOWN_TOPIC_ID."""
        return await self._see_through(partial(self._delete_topics, topic_ids, allowance))

    async def create_partitions(
        self,
        wanted: Sequence[MorePartitions],
        *,
        validate_only: bool = False,
        allowance: MutationAllowance = UNLIMITED,
    ) -> list[Topic | Refused]:
        """One answer for each wish; topics are named once at most."""
        return await self._see_through(partial(self._create_partitions, wanted, validate_only, allowance))

    async def alter_configs(self, decide: Callable[[], Sequence[ConfigChanged]]) -> Refused | None:
        """Makes the changes that ``decide`` approves durable and lets them take effect, all together.

        ``decide`` is asked when no other change is under way: an APPEND must not miss the one before it, nor a
        topic's values outlive the topic.
        """
        return await self._see_through(partial(self._alter_configs, decide))

    async def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> Refused | None:
        return await self._see_through(partial(self._update_features, updates, validate_only))

    async def alter_quotas(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool = False
    ) -> dict[QuotaEntity, Refused | None]:
        """One answer for each entity; changes count for every request that is answered from then on."""
        return await self._see_through(partial(self._alter_quotas, alterations, validate_only))

    async def alter_scram(self, alterations: ScramAlterations) -> dict[str, Refused | None]:
        """One answer for each user; the new credentials count for every login that begins from then on."""
        return await self._see_through(partial(self._alter_scram, alterations))

    async def create_acls(self, wanted: Sequence[AclBinding]) -> list[Refused | None]:
        """One answer for each entry: None where it is there now, and counts."""
        new_id = self._runtime.machine.new_uuid
        change = partial(create_acls, self._shard, self._try_commit, self._listener, new_id, wanted)
        return await self._see_through(change)

    async def delete_acls(self, filters: Sequence[AclFilter]) -> list[list[AclBinding] | Refused]:
        """For each filter the entries that it fits, which are gone now."""
        turns = self._runtime.turns
        change = partial(delete_acls, self._shard, self._try_commit, self._listener, turns, filters)
        return await self._see_through(change)

    async def next_producer_id(self) -> ProducerId | Refused:
        """An id no producer ever had, nor any other will."""
        return await self._see_through(self._next_producer_id)

    async def _see_through(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs the change alone and to its end, even if whoever waits for it is cancelled."""
        task = asyncio.ensure_future(self._alone(change))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _alone(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async with self._changing:
            return await change()

    async def _create_topics(
        self, wanted: Sequence[NewTopic], validate_only: bool, allowance: MutationAllowance
    ) -> list[CreatedTopic | Refused]:
        if sum(self._partitions_wanted(wish) for wish in wanted) > MAX_NEW_PARTITIONS:
            return [_too_many() for _ in wanted]
        answers: list[CreatedTopic | Refused] = []
        #: of each topic that may be made the place of its answer, and what is to be written
        decided: list[tuple[int, Sequence[ClusterRecord]]] = []
        described: dict[frozenset[tuple[str, str]], tuple[ConfigEntry, ...]] = {}
        room = self._runtime.config.max_partitions - self._shard.partition_count
        async for wish in self._runtime.turns.each(wanted):
            decision = self._decide_topic(wish)
            if isinstance(decision, Decision):
                count = 0 if is_internal(wish.name) else decision.reply.partition_count
                refused = self._refuse_partitions(count, room, validate_only, allowance)
                room -= 0 if refused else count
                decision = refused or decision
            if isinstance(decision, Refused):
                answers.append(decision)
                continue
            decided.append((len(answers), decision.records))
            changes = (record for record in decision.records if isinstance(record, ConfigChanged))
            overrides = frozenset(
                (record.key, record.value) for record in changes if record.value is not None
            )
            if overrides not in described:
                described[overrides] = tuple(self.configuration.describe_new_topic(dict(overrides)))
            answers.append(CreatedTopic(decision.reply, described[overrides]))
        if not validate_only:
            for at in range(0, len(decided), TOPICS_A_WRITE):
                await self._make_topics(decided[at : at + TOPICS_A_WRITE], answers)
        return answers

    async def _make_topics(
        self, decided: Sequence[tuple[int, Sequence[ClusterRecord]]], answers: list[CreatedTopic | Refused]
    ) -> None:
        """Writes and opens them; what cannot be written is answered so."""
        refused = await self._try_commit([record for _, records in decided for record in records])
        for at, _ in decided:
            answer = answers[at]
            if refused is not None:
                answers[at] = refused
            elif isinstance(answer, CreatedTopic):
                await self._open(answer.topic)

    def _refuse_partitions(
        self, count: int, room: int, validate_only: bool, allowance: MutationAllowance
    ) -> Refused | None:
        """What stands against making so many partitions; if nothing does, the client's tokens are taken."""
        if count > room:
            most = self._runtime.config.max_partitions
            return Refused(ErrorCode.POLICY_VIOLATION, f"There may be {most} partitions (max.partitions).")
        return None if validate_only else allowance.take(count)

    def _partitions_wanted(self, wish: NewTopic) -> int:
        if wish.assignments:
            return len(wish.assignments)
        return (
            self._runtime.config.num_partitions
            if wish.partition_count == -1
            else max(wish.partition_count, 0)
        )

    def _decide_topic(self, wish: NewTopic) -> Decision | Refused:
        """Names before configs before partitions: the order in which Kafka finds fault."""
        refused = self._shard.refuse_new_topic(wish.name)
        if refused is not None:
            return refused
        configs = self.configuration.new_topic(wish.name, wish.configs)
        if isinstance(configs, Refused):
            return configs
        command = CreateTopic(
            name=wish.name,
            topic_id=TopicId(new_id(self._runtime.machine.new_uuid)),
            partition_count=wish.partition_count,
            replication_factor=wish.replication_factor,
            assignments=wish.assignments,
            configs=tuple(configs.items()),
            default_partition_count=self._runtime.config.num_partitions,
            default_replication_factor=self._runtime.config.default_replication_factor,
        )
        return self._shard.handle(command)

    async def _delete_topics(
        self, topic_ids: Sequence[TopicId], allowance: MutationAllowance
    ) -> list[Topic | Refused]:
        decisions: list[Decision | Refused] = []
        for topic_id in dict.fromkeys(topic_ids):
            decision = self._shard.handle(DeleteTopic(topic_id))
            if isinstance(decision, Decision):
                decision = allowance.take(decision.reply.partition_count) or decision
            decisions.append(decision)
        made = [decision for decision in decisions if isinstance(decision, Decision)]
        refused = await self._try_commit([record for decision in made for record in decision.records])
        if refused is not None:
            return [refused if isinstance(d, Decision) else d for d in decisions]
        async for decision in self._runtime.turns.each(made):
            self._take_away(decision.reply)
        try:
            self._logs.purge()
        except OSError as error:
            log.error("checkpoints still name deleted topics", failure=error)
        return [d.reply if isinstance(d, Decision) else d for d in decisions]

    def _take_away(self, topic: Topic) -> None:
        self.configuration.topic_removed(topic.name)
        self._logs.delete_topic(topic.name)
        self._listener.topic_deleted(topic)
        log.info("topic deleted", topic=topic.name, id=topic.topic_id)

    async def _create_partitions(
        self, wanted: Sequence[MorePartitions], validate_only: bool, allowance: MutationAllowance
    ) -> list[Topic | Refused]:
        decisions = [
            self._shard.handle(CreatePartitions(wish.topic, wish.count, wish.assignments))
            if wish.count <= MAX_NEW_PARTITIONS + self._partition_count(wish.topic)
            else _too_many()
            for wish in wanted
        ]
        made = [decision for decision in decisions if isinstance(decision, Decision)]
        if sum(len(decision.records) for decision in made) > MAX_NEW_PARTITIONS:
            return [_too_many() if isinstance(d, Decision) else d for d in decisions]
        room = self._runtime.config.max_partitions - self._shard.partition_count
        for place, decision in enumerate(decisions):
            if isinstance(decision, Decision):
                count = len(decision.records)
                refused = self._refuse_partitions(count, room, validate_only, allowance)
                room -= 0 if refused else count
                decisions[place] = refused or decision
        made = [decision for decision in decisions if isinstance(decision, Decision)]
        refused = None
        if not validate_only:
            refused = await self._try_commit([record for d in made for record in d.records])
            for decision in made if refused is None else ():
                await self._open(decision.reply)
        return [(refused or d.reply) if isinstance(d, Decision) else d for d in decisions]

    def _partition_count(self, name: str) -> int:
        topic = self.topic(name)
        return 0 if topic is None else topic.partition_count

    async def _alter_configs(self, decide: Callable[[], Sequence[ConfigChanged]]) -> Refused | None:
        changes = with_stamps(decide(), self._shard.configs, self._runtime.now_ms())
        decision = self._shard.handle(ChangeConfigs(tuple(changes)))
        assert isinstance(decision, Decision), "approved before they came here"
        groups = {
            c.resource_name: self.configuration.group(c.resource_name)
            for c in changes
            if c.resource_type == ResourceType.GROUP
        }
        refused = await self._try_commit(decision.records)
        if refused is not None:
            return refused
        self.configuration.changed(changes)
        for group_id, before in groups.items():
            self._listener.group_config_changed(GroupId(group_id), before)
        types = {change.resource_type for change in changes}
        touched = {c.resource_name for c in changes if c.resource_type == ResourceType.TOPIC}
        if ResourceType.BROKER in types:
            self._runtime.config = self.configuration.broker
            self._listener.broker_config_changed()
            touched = set(self._shard.topics)
        for name in touched & self._shard.topics.keys():
            self._logs.update_config(name, self.configuration.topic(name))
        return None

    async def _update_features(self, updates: Sequence[FeatureUpdate], validate_only: bool) -> Refused | None:
        decision = self._shard.handle(UpdateFeatures(tuple(updates)))
        if isinstance(decision, Refused):
            return decision
        return None if validate_only else await self._try_commit(decision.records)

    async def _alter_quotas(
        self, alterations: Sequence[QuotaAlteration], validate_only: bool
    ) -> dict[QuotaEntity, Refused | None]:
        decision = self._shard.handle(AlterQuotas(tuple(alterations)))
        assert isinstance(decision, Decision), "each entity has an answer of its own"
        answers: dict[QuotaEntity, Refused | None] = decision.reply
        if validate_only:
            return answers
        refused = await self._try_commit(decision.records)
        if refused is not None:
            return {entity: answer or refused for entity, answer in answers.items()}
        self._listener.quotas_changed(self._shard.quotas)
        return answers

    async def _alter_scram(self, alterations: ScramAlterations) -> dict[str, Refused | None]:
        decision = self._shard.handle(AlterScram(alterations))
        assert isinstance(decision, Decision), "each user has an answer of its own"
        answers: dict[str, Refused | None] = decision.reply
        refused = await self._try_commit(decision.records)
        return answers if refused is None else {user: answer or refused for user, answer in answers.items()}

    async def _next_producer_id(self) -> ProducerId | Refused:
        left = next(self._producer_ids, None)
        if left is not None:
            return ProducerId(left)
        decision = self._shard.handle(ReserveProducerIds())
        if isinstance(decision, Refused):
            return decision
        refused = await self._try_commit(decision.records)
        if refused is not None:
            return refused
        self._producer_ids = iter(range(decision.reply, decision.reply + PRODUCER_ID_BLOCK))
        return ProducerId(next(self._producer_ids))

    # -- effects --------------------------------------------------------------------------------------------

    async def _try_commit(self, records: Sequence[ClusterRecord]) -> Refused | None:
        """Commits, or says that the disk would not have it, or that nothing can be written that says so."""
        try:
            await self._commit(records)
        except (EncodeError, BrokenInvariant) as error:
            log.error("a change of the cluster cannot be written down", why=error)
            return Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        except OSError as error:
            log.error("cluster log failed, the cluster cannot change until it is back", failure=error)
            self._logs.revival.failed(CLUSTER_METADATA_TOPIC, CLUSTER_METADATA_TOPIC, self._reopen_log)
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"the cluster's log failed: {error}")
        return None

    def _reopen_log(self) -> bool:
        return not self._changing.locked() and self._log.reopen()

    async def _commit(self, records: Sequence[ClusterRecord]) -> None:
        """Nothing is written that cannot be replayed: it would keep the broker from starting."""
        if not records:
            return
        self._shard.rehearse(records)
        await self._log.append(records)
        for record in records:
            self._shard.replay(record)
        if self._log.wants_snapshot(self._shard.record_count()):
            await self._snapshot()

    async def _snapshot(self) -> None:
        """A snapshot that fails costs time at the next start and nothing else: what was committed is safe."""
        try:
            await self._log.snapshot(self._shard.records())
            log.info("cluster snapshot", end_offset=self._log.end_offset)
        except (OSError, EncodeError) as error:
            log.error("cluster snapshot failed", failure=error)

    async def _open(self, topic: Topic) -> None:
        """A partition whose log cannot be opened has no leader until it can: the topic is there all the same."""
        config = self.configuration.topic(topic.name)
        for count in range(OPEN_STEP, topic.partition_count + OPEN_STEP, OPEN_STEP):
            self._logs.open_topic(topic.name, topic.topic_id, min(count, topic.partition_count), config)
            await asyncio.sleep(0)


def _too_many() -> Refused:
    return Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
