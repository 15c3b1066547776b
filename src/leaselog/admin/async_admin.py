"""Administration of a cluster with asyncio: every call of this room as a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType

from leaselog.admin import (
    acls,
    client_quotas,
    configs,
    consumer_groups,
    elections,
    features,
    groups,
    log_dirs,
    nodes,
    records,
    scram_credentials,
    share_groups,
    share_partitions,
    share_pauses,
    topics,
)
from leaselog.admin.admin_config import AdminConfig
from leaselog.admin.client_quotas import QuotaEntity, QuotaName
from leaselog.admin.configs import ConfigEntry, Resource, ResourceType
from leaselog.admin.consumer_groups import CommittedOffset
from leaselog.admin.dead_letters.accounts import RedriveResult
from leaselog.admin.dead_letters.inspect import inspect_dead_letters
from leaselog.admin.dead_letters.redrive import MAX_HOPS, redrive
from leaselog.admin.dead_letters.report import DeadLetterReport
from leaselog.admin.elections import ElectionType
from leaselog.admin.features import FeatureDescriptions, FeatureUpdateType
from leaselog.admin.groups import GroupDescription, GroupListing, GroupState, GroupType
from leaselog.admin.log_dirs import LogDirDescription
from leaselog.admin.nodes import ClusterDescription
from leaselog.admin.outcome import settle
from leaselog.admin.scram_credentials import ScramCredentialInfo, ScramDeletion, ScramUpsertion
from leaselog.admin.share_groups import ShareOffset
from leaselog.admin.share_partitions import SharePartitionDescription
from leaselog.admin.share_pauses import SharePause
from leaselog.admin.topics import NewPartitions, NewTopic, TopicDescription, TopicListing
from leaselog.client import BrokerError
from leaselog.client.cluster import READY_TIMEOUT_S, Cluster
from leaselog.client.config_values import Given
from leaselog.client.fetcher import list_offsets
from leaselog.model import AclBinding, AclFilter, TopicPartition

__all__ = ["AsyncAdmin"]


class AsyncAdmin:
    """Use as ``async with AsyncAdmin("host:9092") as admin``. ``Admin`` has the same methods and blocks.

    Configuration is Kafka's, as a mapping, as keywords, or both. A text in place of the mapping is
    ``bootstrap.servers``.

    Errors are exceptions named as Kafka's, in ``leaselog.client.kafka_errors``: ``GroupNotEmptyException``, …
    A call about one thing raises that thing's error, a call about several raises ``SomeFailed``. What may pass
    by itself (a coordinator that loads or moves, a broker that restarts) is tried again for ``default.api.timeout.ms``;
    a request that was tried again because its connection was lost may find its own work done.
    """

    def __init__(self, config: Given = None, **more: object) -> None:
        self.config = AdminConfig.of(config, **more)
        self._cluster = Cluster(
            self.config.bootstrap_servers,
            security=self.config.security,
            client_id=self.config.client_id,
            request_timeout_ms=self.config.request_timeout_ms,
            api_timeout_ms=self.config.default_api_timeout_ms,
        )

    @classmethod
    def over(cls, cluster: Cluster) -> AsyncAdmin:
        """One that shares a cluster's connections, and closes them."""
        made = cls.__new__(cls)
        made._cluster = cluster
        return made

    async def __aenter__(self) -> AsyncAdmin:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._cluster.close()

    # the cluster

    async def wait_until_ready(
        self, timeout: float | None = READY_TIMEOUT_S, topics: Iterable[str] = ()
    ) -> None:
        """Returns when the cluster answers, and has these topics with a leader for each partition.

        Raises the reason why not after ``timeout`` seconds, or at once if waiting cannot help.
        """
        await self._cluster.wait_until_ready(timeout, list(topics))

    async def describe_cluster(self) -> ClusterDescription:
        return await nodes.describe_cluster(self._cluster)

    async def describe_log_dirs(
        self, node_ids: Iterable[int] | None = None
    ) -> dict[int, list[LogDirDescription]]:
        """Where each of these nodes, or (None) of all, keeps partitions, and how much room they take."""
        return await log_dirs.describe_log_dirs(self._cluster, node_ids)

    async def describe_features(self) -> FeatureDescriptions:
        """Which levels of features the brokers could have, and which the cluster has."""
        return await features.describe_features(self._cluster)

    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        type: FeatureUpdateType = FeatureUpdateType.UPGRADE,
        validate_only: bool = False,
    ) -> None:
        """Set levels of features, all of them or none; level 0 turns a feature off."""
        await features.update_features(self._cluster, levels, type, validate_only=validate_only)

    async def elect_leaders(
        self, places: Iterable[TopicPartition] | None = None, *, type: ElectionType = ElectionType.PREFERRED
    ) -> list[TopicPartition]:
        """Let leaders be elected anew for these partitions, or (None) for all; those that have another leader now.

        A partition that needs no election is none of them, and no error.
        """
        outcomes = await elections.elect_leaders(self._cluster, type, places)
        return sorted(settle(elections.without_unneeded(outcomes)))

    # topics

    async def list_topics(self, *, internal: bool = False) -> list[TopicListing]:
        """The topics by name, without the broker's own unless ``internal``."""
        return await topics.list_topics(self._cluster, internal=internal)

    async def create_topics(self, new: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        settle(await topics.create_topics(self._cluster, new, validate_only=validate_only))

    async def create_partitions(self, new: Mapping[str, NewPartitions]) -> None:
        settle(await topics.create_partitions(self._cluster, new))

    async def delete_topics(self, names: Iterable[str]) -> None:
        settle(await topics.delete_topics(self._cluster, names))

    async def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription]:
        """Those of the topics that exist, with their partitions."""
        found = await self._cluster.retrying(lambda: topics.describe_topics(self._cluster, names))
        return {topic.name: topic for topic in found}

    # configs

    async def describe_configs(
        self, resources: Sequence[Resource], *, synonyms: bool = False
    ) -> dict[Resource, list[ConfigEntry]]:
        """Every config of topics, brokers, groups, …; where its value comes from too, with ``synonyms``."""
        return await self._cluster.retrying(
            lambda: configs.describe_configs(self._cluster, resources, synonyms=synonyms)
        )

    async def alter_configs(
        self, resource: Resource, *, put: Mapping[str, str] | None = None, delete: Iterable[str] = ()
    ) -> None:
        """Set and unset configs of one resource, all of them or none; the others stay as they are."""
        unset = list(delete)
        await self._cluster.retrying(
            lambda: configs.alter_configs(self._cluster, resource, put=put or {}, delete=unset)
        )

    async def list_config_resources(self, type: ResourceType) -> list[str]:
        """The names of the resources of a type that have configs, sorted."""
        return await self._cluster.retrying(lambda: configs.configured_names(self._cluster, type))

    # quotas

    async def describe_client_quotas(
        self, parts: Mapping[str, QuotaName] | None = None, *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of each entity that has some: all, or those with ``parts``; with ``strict`` only of these parts.

        Parts are names by kind ("user", "client-id", "ip"): None is the default, ``ANY_NAME`` any.
        """
        return await self._cluster.retrying(
            lambda: client_quotas.describe_client_quotas(self._cluster, parts or {}, strict=strict)
        )

    async def alter_client_quotas(
        self,
        entity: QuotaEntity,
        *,
        put: Mapping[str, float] | None = None,
        delete: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Set and unset quotas of one entity, all of them or none; the others stay as they are."""
        unset = list(delete)
        await self._cluster.retrying(
            lambda: client_quotas.alter_client_quotas(
                self._cluster, entity, put=put or {}, delete=unset, validate_only=validate_only
            )
        )

    # who may do what, and who is who

    async def create_acls(self, bindings: Iterable[AclBinding]) -> None:
        """Add rules of access; one that is there already is no error."""
        settle(await acls.create_acls(self._cluster, bindings))

    async def describe_acls(self, which: AclFilter | None = None) -> list[AclBinding]:
        """The rules of access that the filter takes, or all, sorted."""
        return await acls.describe_acls(self._cluster, AclFilter() if which is None else which)

    async def delete_acls(self, filters: Iterable[AclFilter]) -> dict[AclFilter, list[AclBinding]]:
        """Delete the rules that the filters take; for each filter those that it took."""
        found = settle(await acls.delete_acls(self._cluster, filters))
        return {which: sorted(settle(rules)) for which, rules in found.items()}

    async def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion]
    ) -> None:
        """Set and delete passwords of users who log in with SCRAM, each user once; no broker hears a password."""
        settle(await scram_credentials.alter_user_scram_credentials(self._cluster, alterations))

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, tuple[ScramCredentialInfo, ...]]:
        """With which SCRAM mechanisms each of these users, or (None) every user who has some, can log in."""
        return settle(await scram_credentials.describe_user_scram_credentials(self._cluster, users))

    # groups of every kind

    async def list_groups(
        self, *, states: Iterable[GroupState] = (), types: Iterable[GroupType] = ()
    ) -> list[GroupListing]:
        """The groups of all nodes, sorted by id; all states and types unless some are named."""
        return await groups.list_groups(self._cluster, states=states, types=types)

    async def describe_groups(
        self, group_ids: Iterable[str], *, type: GroupType | None = None
    ) -> dict[str, GroupDescription]:
        """State, members and assignments. A group of another ``type`` than the one asked for is not found."""
        return settle(await groups.describe_groups(self._cluster, group_ids, type=type))

    async def delete_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups of any kind that have no members."""
        settle(await groups.delete_groups(self._cluster, group_ids))

    # offsets of consumer groups

    async def list_consumer_group_offsets(
        self, groups: Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, CommittedOffset | BrokerError | None]]:
        """The committed offsets of each group at these partitions, or (None) wherever it has any.

        A partition that was asked for and has no offset is None. A group that is not there has none.
        """
        return settle(await consumer_groups.list_consumer_group_offsets(self._cluster, groups))

    async def alter_consumer_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> None:
        """Let a group without members go on from these offsets; it is made if it is not there."""
        settle(await consumer_groups.alter_consumer_group_offsets(self._cluster, group_id, offsets))

    async def delete_consumer_group_offsets(self, group_id: str, places: Iterable[TopicPartition]) -> None:
        """Forget how far a group has come in these partitions; no member may be subscribed to their topics."""
        settle(await consumer_groups.delete_consumer_group_offsets(self._cluster, group_id, places))

    # offsets of share groups

    async def list_share_group_offsets(
        self, groups: Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, ShareOffset | BrokerError | None]]:
        """The offsets of each group at these partitions, or (None) wherever it has any.

        A partition that was asked for and has no state is None, one that cannot be told now is its error.
        """
        return settle(await share_groups.list_share_group_offsets(self._cluster, groups))

    async def alter_share_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Let a group without members begin at these offsets; it is made if it is not there."""
        settle(await share_groups.alter_share_group_offsets(self._cluster, group_id, offsets))

    async def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> None:
        """Forget how far a group without members has come in these topics."""
        settle(await share_groups.delete_share_group_offsets(self._cluster, group_id, topics))

    async def describe_share_partitions(
        self, group_id: str, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, SharePartitionDescription]:
        """What the group has in flight: an extension of leaselog brokers, ``UnsupportedVersion`` from others."""
        return settle(await share_partitions.describe_share_partitions(self._cluster, group_id, places))

    # dead letters of share groups

    async def inspect_dead_letters(
        self, group_id: str, *, topic: str | None = None, samples: int = 1
    ) -> DeadLetterReport:
        """The group's dead letters by cause, with counts, first and last time, and a few ``samples`` of each.

        ``topic`` is where they lie, if not in the topic that the group's config names: ``LookupError`` without.
        """
        return await inspect_dead_letters(self._cluster, group_id, topic=topic, samples=samples)

    async def redrive(
        self,
        group_id: str,
        *,
        to: str | None = None,
        where: Sequence[str] = (),
        rate: float | None = None,
        max_hops: int | None = MAX_HOPS,
        topic: str | None = None,
        dry_run: bool = False,
        on_progress: Callable[[RedriveResult], None] | None = None,
    ) -> RedriveResult:
        """Put the group's dead letters back to where their records lay, or into the topic ``to``, each of them once.

        ``where`` are conditions that all have to hold, such as ``delivery.count>3``; ``rate`` is letters a second.
        What was put back ``max_hops`` times stays. What was put back is remembered in the offsets of the consumer
        group ``GROUP-redrive``: a redrive that was interrupted, even killed, is finished by the next one.
        ``dry_run`` tells what would become of each letter. Raises ``ValueError`` for a condition that makes no sense,
        ``LookupError`` if there is no dead-letter topic, ``RedriveStopped`` if another redrive is at work.
        """
        return await redrive(
            self._cluster,
            group_id,
            topic=topic,
            to=to,
            where=where,
            rate=rate,
            max_hops=max_hops,
            dry_run=dry_run,
            on_progress=on_progress,
        )

    async def pause_share_groups(self, group_ids: Iterable[str], *, reason: str | None = None) -> None:
        """Hand out no records of these groups until they are resumed: leaselog brokers can, others refuse.

        What is acquired already may be finished; members stay members. A group need not exist yet.
        """
        settle(await share_pauses.pause_share_groups(self._cluster, group_ids, reason=reason))

    async def resume_share_groups(self, group_ids: Iterable[str]) -> None:
        """Hand out records again, whether an operator paused the groups or their breaker did."""
        settle(await share_pauses.resume_share_groups(self._cluster, group_ids))

    async def list_share_pauses(self, group_ids: Iterable[str]) -> dict[str, SharePause | None]:
        """Who paused each group, since when and why; None for one that is not paused."""
        wanted = list(group_ids)
        return await self._cluster.retrying(lambda: share_pauses.list_share_pauses(self._cluster, wanted))

    # records

    async def list_offsets(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The first offset of each partition at or after a timestamp (``EARLIEST`` and ``LATEST`` are some too)."""
        return await list_offsets(self._cluster, timestamps)

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete what lies before these offsets (-1: everything); the offsets that partitions begin at now."""
        return settle(await records.delete_records(self._cluster, before))
