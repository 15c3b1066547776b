"""What the three APIs of access control lists have in common: filters and entries as the wire has them."""

from __future__ import annotations

from leaselog.broker.net.api import RequestContext
from leaselog.model import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    ErrorCode,
    PatternType,
    Refused,
)
from leaselog.wire.messages.delete_acls import DeleteAclsFilter
from leaselog.wire.messages.describe_acls import DescribeAclsRequest

__all__ = ["by_pattern", "read_filter", "why_no_acls"]


def why_no_acls(context: RequestContext, operation: AclOperation, text: str) -> Refused | None:
    """Why the whole request is refused: the client may not, or there is nobody who goes by access control lists."""
    guard = context.broker.guard
    if not context.may_cluster(operation):
        return Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if guard is None or not guard.keeps_acls:
        return Refused(ErrorCode.SECURITY_DISABLED, text)
    return None


def read_filter(asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter | Refused:
    found = AclFilter(
        resource_type=AclResourceType(asked.resource_type_filter),
        resource_name=asked.resource_name_filter,
        principal=asked.principal_filter,
        operation=AclOperation(asked.operation),
        permission=AclPermission(asked.permission_type),
        pattern_type=PatternType(asked.pattern_type_filter),
        host=asked.host_filter,
    )
    if 0 in (found.resource_type, found.operation, found.permission, found.pattern_type):
        return Refused(ErrorCode.INVALID_REQUEST, "The filter contains UNKNOWN elements.")
    return found


def by_pattern(
    found: list[AclBinding],
) -> dict[tuple[AclResourceType, PatternType, str], list[AclBinding]]:
    patterns: dict[tuple[AclResourceType, PatternType, str], list[AclBinding]] = {}
    for acl in found:
        patterns.setdefault((acl.resource_type, acl.pattern_type, acl.resource_name), []).append(acl)
    return patterns
