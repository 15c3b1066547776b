"""Administration of a cluster, blocking: ``AsyncAdmin`` on a loop of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType

from leaselog.admin.async_admin import AsyncAdmin
from leaselog.admin.client_quotas import QuotaEntity, QuotaName
from leaselog.admin.configs import ConfigEntry, Resource, ResourceType
from leaselog.admin.consumer_groups import CommittedOffset
from leaselog.admin.dead_letters.accounts import RedriveResult
from leaselog.admin.dead_letters.redrive import MAX_HOPS
from leaselog.admin.dead_letters.report import DeadLetterReport
from leaselog.admin.elections import ElectionType
from leaselog.admin.features import FeatureDescriptions, FeatureUpdateType
from leaselog.admin.groups import GroupDescription, GroupListing, GroupState, GroupType
from leaselog.admin.log_dirs import LogDirDescription
from leaselog.admin.nodes import ClusterDescription
from leaselog.admin.scram_credentials import ScramCredentialInfo, ScramDeletion, ScramUpsertion
from leaselog.admin.share_groups import ShareOffset
from leaselog.admin.share_partitions import SharePartitionDescription
from leaselog.admin.share_pauses import SharePause
from leaselog.admin.topics import NewPartitions, NewTopic, TopicDescription, TopicListing
from leaselog.client import BrokerError
from leaselog.client.cluster import READY_TIMEOUT_S
from leaselog.client.config_values import Given
from leaselog.client.loop_thread import LoopThread
from leaselog.model import AclBinding, AclFilter, TopicPartition

__all__ = ["Admin"]


class Admin:
    """Use as ``with Admin("host:9092") as admin``, from any thread. The methods are those of ``AsyncAdmin``."""

    def __init__(self, config: Given = None, **more: object) -> None:
        self._admin = AsyncAdmin(config, **more)
        self._loop = LoopThread("leaselog-admin")

    def __enter__(self) -> Admin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if not self._loop.is_closed:
            self._loop.run(self._admin.close())
            self._loop.close()

    # the cluster

    def wait_until_ready(self, timeout: float | None = READY_TIMEOUT_S, topics: Iterable[str] = ()) -> None:
        self._loop.run(self._admin.wait_until_ready(timeout, topics))

    def describe_cluster(self) -> ClusterDescription:
        return self._loop.run(self._admin.describe_cluster())

    def describe_log_dirs(self, node_ids: Iterable[int] | None = None) -> dict[int, list[LogDirDescription]]:
        return self._loop.run(self._admin.describe_log_dirs(node_ids))

    def describe_features(self) -> FeatureDescriptions:
        return self._loop.run(self._admin.describe_features())

    def update_features(
        self,
        levels: Mapping[str, int],
        *,
        type: FeatureUpdateType = FeatureUpdateType.UPGRADE,
        validate_only: bool = False,
    ) -> None:
        self._loop.run(self._admin.update_features(levels, type=type, validate_only=validate_only))

    def elect_leaders(
        self, places: Iterable[TopicPartition] | None = None, *, type: ElectionType = ElectionType.PREFERRED
    ) -> list[TopicPartition]:
        return self._loop.run(self._admin.elect_leaders(places, type=type))

    # topics

    def list_topics(self, *, internal: bool = False) -> list[TopicListing]:
        return self._loop.run(self._admin.list_topics(internal=internal))

    def create_topics(self, new: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        self._loop.run(self._admin.create_topics(new, validate_only=validate_only))

    def create_partitions(self, new: Mapping[str, NewPartitions]) -> None:
        self._loop.run(self._admin.create_partitions(new))

    def delete_topics(self, names: Iterable[str]) -> None:
        self._loop.run(self._admin.delete_topics(names))

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription]:
        return self._loop.run(self._admin.describe_topics(names))

    # configs

    def describe_configs(
        self, resources: Sequence[Resource], *, synonyms: bool = False
    ) -> dict[Resource, list[ConfigEntry]]:
        return self._loop.run(self._admin.describe_configs(resources, synonyms=synonyms))

    def alter_configs(
        self, resource: Resource, *, put: Mapping[str, str] | None = None, delete: Iterable[str] = ()
    ) -> None:
        self._loop.run(self._admin.alter_configs(resource, put=put, delete=delete))

    def list_config_resources(self, type: ResourceType) -> list[str]:
        return self._loop.run(self._admin.list_config_resources(type))

    # quotas

    def describe_client_quotas(
        self, parts: Mapping[str, QuotaName] | None = None, *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        return self._loop.run(self._admin.describe_client_quotas(parts, strict=strict))

    def alter_client_quotas(
        self,
        entity: QuotaEntity,
        *,
        put: Mapping[str, float] | None = None,
        delete: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        self._loop.run(
            self._admin.alter_client_quotas(entity, put=put, delete=delete, validate_only=validate_only)
        )

    # who may do what, and who is who

    def create_acls(self, bindings: Iterable[AclBinding]) -> None:
        self._loop.run(self._admin.create_acls(bindings))

    def describe_acls(self, which: AclFilter | None = None) -> list[AclBinding]:
        return self._loop.run(self._admin.describe_acls(which))

    def delete_acls(self, filters: Iterable[AclFilter]) -> dict[AclFilter, list[AclBinding]]:
        return self._loop.run(self._admin.delete_acls(filters))

    def alter_user_scram_credentials(self, alterations: Iterable[ScramUpsertion | ScramDeletion]) -> None:
        self._loop.run(self._admin.alter_user_scram_credentials(alterations))

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, tuple[ScramCredentialInfo, ...]]:
        return self._loop.run(self._admin.describe_user_scram_credentials(users))

    # groups of every kind

    def list_groups(
        self, *, states: Iterable[GroupState] = (), types: Iterable[GroupType] = ()
    ) -> list[GroupListing]:
        return self._loop.run(self._admin.list_groups(states=states, types=types))

    def describe_groups(
        self, group_ids: Iterable[str], *, type: GroupType | None = None
    ) -> dict[str, GroupDescription]:
        return self._loop.run(self._admin.describe_groups(group_ids, type=type))

    def delete_groups(self, group_ids: Iterable[str]) -> None:
        self._loop.run(self._admin.delete_groups(group_ids))

    # offsets of consumer groups

    def list_consumer_group_offsets(
        self, groups: Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, CommittedOffset | BrokerError | None]]:
        return self._loop.run(self._admin.list_consumer_group_offsets(groups))

    def alter_consumer_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        self._loop.run(self._admin.alter_consumer_group_offsets(group_id, offsets))

    def delete_consumer_group_offsets(self, group_id: str, places: Iterable[TopicPartition]) -> None:
        self._loop.run(self._admin.delete_consumer_group_offsets(group_id, places))

    # offsets of share groups

    def list_share_group_offsets(
        self, groups: Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, dict[TopicPartition, ShareOffset | BrokerError | None]]:
        return self._loop.run(self._admin.list_share_group_offsets(groups))

    def alter_share_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        self._loop.run(self._admin.alter_share_group_offsets(group_id, offsets))

    def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> None:
        self._loop.run(self._admin.delete_share_group_offsets(group_id, topics))

    def describe_share_partitions(
        self, group_id: str, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, SharePartitionDescription]:
        return self._loop.run(self._admin.describe_share_partitions(group_id, places))

    # dead letters of share groups

    def inspect_dead_letters(
        self, group_id: str, *, topic: str | None = None, samples: int = 1
    ) -> DeadLetterReport:
        return self._loop.run(self._admin.inspect_dead_letters(group_id, topic=topic, samples=samples))

    def redrive(
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
        """``on_progress`` is called on the admin's own thread."""
        return self._loop.run(
            self._admin.redrive(
                group_id,
                to=to,
                where=where,
                rate=rate,
                max_hops=max_hops,
                topic=topic,
                dry_run=dry_run,
                on_progress=on_progress,
            )
        )

    def pause_share_groups(self, group_ids: Iterable[str], *, reason: str | None = None) -> None:
        self._loop.run(self._admin.pause_share_groups(group_ids, reason=reason))

    def resume_share_groups(self, group_ids: Iterable[str]) -> None:
        self._loop.run(self._admin.resume_share_groups(group_ids))

    def list_share_pauses(self, group_ids: Iterable[str]) -> dict[str, SharePause | None]:
        return self._loop.run(self._admin.list_share_pauses(group_ids))

    # records

    def list_offsets(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return self._loop.run(self._admin.list_offsets(timestamps))

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return self._loop.run(self._admin.delete_records(before))
