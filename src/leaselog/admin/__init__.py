"""Typed administration of any Kafka-compatible cluster: ``Admin`` blocks, ``AsyncAdmin`` awaits."""

from leaselog.admin.acls import create_acls, delete_acls, describe_acls
from leaselog.admin.async_admin import AsyncAdmin
from leaselog.admin.blocking_admin import Admin
from leaselog.admin.client_quotas import (
    ANY_NAME,
    QuotaEntity,
    QuotaName,
    alter_client_quotas,
    describe_client_quotas,
)
from leaselog.admin.configs import (
    ConfigEntry,
    ConfigSource,
    Resource,
    ResourceType,
    Synonym,
    alter_configs,
    configured_names,
    describe_configs,
)
from leaselog.admin.consumer_groups import (
    CommittedOffset,
    alter_consumer_group_offsets,
    delete_consumer_group_offsets,
    list_consumer_group_offsets,
)
from leaselog.admin.dead_letters.accounts import RedriveResult
from leaselog.admin.dead_letters.claim import RedriveStopped
from leaselog.admin.dead_letters.inspect import inspect_dead_letters
from leaselog.admin.dead_letters.redrive import MAX_HOPS, redrive
from leaselog.admin.dead_letters.report import DeadLetterCause, DeadLetterReport, DeadLetterSample
from leaselog.admin.elections import ElectionType, elect_leaders
from leaselog.admin.features import (
    FeatureDescription,
    FeatureDescriptions,
    FeatureUpdateType,
    describe_features,
    update_features,
)
from leaselog.admin.groups import (
    GroupDescription,
    GroupListing,
    GroupState,
    GroupType,
    MemberDescription,
    delete_groups,
    describe_groups,
    list_groups,
)
from leaselog.admin.log_dirs import LogDirDescription, ReplicaDescription, describe_log_dirs
from leaselog.admin.nodes import ClusterDescription, describe_cluster
from leaselog.admin.outcome import Outcomes, SomeFailed, settle
from leaselog.admin.records import HIGH_WATERMARK, delete_records
from leaselog.admin.scram_credentials import (
    DEFAULT_ITERATIONS,
    ScramCredentialInfo,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from leaselog.admin.share_groups import (
    ShareOffset,
    alter_share_group_offsets,
    delete_share_group_offsets,
    list_share_group_offsets,
)
from leaselog.admin.share_partitions import Holding, SharePartitionDescription, describe_share_partitions
from leaselog.admin.share_pauses import (
    SharePause,
    list_share_pauses,
    pause_share_groups,
    resume_share_groups,
)
from leaselog.admin.topics import (
    NewPartitions,
    NewTopic,
    PartitionDescription,
    TopicDescription,
    TopicListing,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
    list_topics,
    topic_id_text,
)
from leaselog.model import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)

__all__ = [
    "ANY_NAME",
    "DEFAULT_ITERATIONS",
    "HIGH_WATERMARK",
    "MAX_HOPS",
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "Admin",
    "AsyncAdmin",
    "ClusterDescription",
    "CommittedOffset",
    "ConfigEntry",
    "ConfigSource",
    "DeadLetterCause",
    "DeadLetterReport",
    "DeadLetterSample",
    "ElectionType",
    "FeatureDescription",
    "FeatureDescriptions",
    "FeatureUpdateType",
    "GroupDescription",
    "GroupListing",
    "GroupState",
    "GroupType",
    "Holding",
    "LogDirDescription",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "Outcomes",
    "PartitionDescription",
    "PatternType",
    "QuotaEntity",
    "QuotaName",
    "RedriveResult",
    "RedriveStopped",
    "ReplicaDescription",
    "Resource",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramDeletion",
    "ScramMechanism",
    "ScramUpsertion",
    "ShareOffset",
    "SharePartitionDescription",
    "SharePause",
    "SomeFailed",
    "Synonym",
    "TopicDescription",
    "TopicListing",
    "alter_client_quotas",
    "alter_configs",
    "alter_consumer_group_offsets",
    "alter_share_group_offsets",
    "alter_user_scram_credentials",
    "configured_names",
    "create_acls",
    "create_partitions",
    "create_topics",
    "delete_acls",
    "delete_consumer_group_offsets",
    "delete_groups",
    "delete_records",
    "delete_share_group_offsets",
    "delete_topics",
    "describe_acls",
    "describe_client_quotas",
    "describe_cluster",
    "describe_configs",
    "describe_features",
    "describe_groups",
    "describe_log_dirs",
    "describe_share_partitions",
    "describe_topics",
    "describe_user_scram_credentials",
    "elect_leaders",
    "inspect_dead_letters",
    "list_consumer_group_offsets",
    "list_groups",
    "list_share_group_offsets",
    "list_share_pauses",
    "list_topics",
    "pause_share_groups",
    "redrive",
    "resume_share_groups",
    "settle",
    "topic_id_text",
    "update_features",
]
