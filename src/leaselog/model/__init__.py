"""The vocabulary every room shares: ids, spans, record states, error codes. Pure, and knows no other room."""

from leaselog.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)
from leaselog.model.errors import BrokenInvariant, ErrorCode, Refused
from leaselog.model.ids import (
    ZERO_UUID,
    GroupId,
    MemberId,
    NodeId,
    ProducerId,
    TopicId,
    TopicIdPartition,
    TopicPartition,
    TransactionalId,
)
from leaselog.model.principal import ANONYMOUS, Principal
from leaselog.model.record_state import RecordState
from leaselog.model.span import Span
from leaselog.model.topic_names import why_illegal_topic

__all__ = [
    "ANONYMOUS",
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "BrokenInvariant",
    "CLUSTER_NAME",
    "ErrorCode",
    "GroupId",
    "MemberId",
    "NodeId",
    "PatternType",
    "Principal",
    "ProducerId",
    "RecordState",
    "Refused",
    "SUPPORTED_OPERATIONS",
    "Span",
    "TopicId",
    "TopicIdPartition",
    "TopicPartition",
    "TransactionalId",
    "WILDCARD",
    "ZERO_UUID",
    "why_illegal_topic",
]
