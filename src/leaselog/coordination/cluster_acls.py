"""Access control lists: which entries may be written, and how many there may be (KIP-11, 290).

What follows from them `broker.security.authorizer` says. Refusals are in Kafka's words:
its tools show them to people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from leaselog.coordination.cluster_records import AclAdded, AclRemoved
from leaselog.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    ErrorCode,
    PatternType,
    Refused,
)

__all__ = [
    "MAX_ACLS",
    "MAX_ACL_TEXT_CHARS",
    "decide_new_acls",
    "decide_removed_acls",
    "refuse_acl",
]

#: in all; one more is refused. Kafka has no bound.
MAX_ACLS = 100_000
#: of a resource's name, a principal, a host
MAX_ACL_TEXT_CHARS = 2_000


def refuse_acl(acl: AclBinding) -> Refused | None:
    """Why no such entry may be made."""
    if acl.resource_type is AclResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        return _invalid("Invalid empty resource name")
    if acl.resource_type in (AclResourceType.UNKNOWN, AclResourceType.ANY):
        return _invalid(f"Invalid resourceType {acl.resource_type.name}")
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return _invalid(f"Invalid patternType {acl.pattern_type.name}")
    if acl.operation in (AclOperation.UNKNOWN, AclOperation.ANY):
        return _invalid(f"Invalid operation {acl.operation.name}")
    if acl.permission not in (AclPermission.DENY, AclPermission.ALLOW):
        return _invalid(f"Invalid permissionType {acl.permission.name}")
    if ":" not in acl.principal:
        return _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the principal type "
            "from the principal name)"
        )
    longest = max(map(len, (acl.resource_name, acl.principal, acl.host)))
    if longest > MAX_ACL_TEXT_CHARS:
        return _invalid(f"a name of {longest} characters in an ACL, expected at most {MAX_ACL_TEXT_CHARS}")
    return None


def decide_new_acls(
    present: Mapping[AclBinding, UUID], wanted: Iterable[tuple[UUID, AclBinding]]
) -> tuple[list[AclAdded], list[Refused | None]]:
    """The records that make the entries, and an answer for each. What is there already takes no record."""
    records: dict[AclBinding, AclAdded] = {}
    answers: list[Refused | None] = []
    for acl_id, acl in wanted:
        refused = refuse_acl(acl)
        if refused is None and acl not in present and acl not in records:
            if len(present) + len(records) >= MAX_ACLS:
                refused = Refused(ErrorCode.POLICY_VIOLATION, f"There are {MAX_ACLS} ACLs already.")
            else:
                records[acl] = AclAdded(acl_id, acl)
        answers.append(refused)
    return list(records.values()), answers


def decide_removed_acls(present: Mapping[UUID, AclBinding], doomed: Iterable[UUID]) -> list[AclRemoved]:
    return [AclRemoved(acl_id) for acl_id in dict.fromkeys(doomed) if acl_id in present]


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
