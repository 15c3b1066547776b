"""Access control lists: rules created, described and deleted (KIP-4, KIP-290)."""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.admin.outcome import Outcomes, outcome
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.model import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)
from leaselog.wire.messages import create_acls as create
from leaselog.wire.messages import delete_acls as delete
from leaselog.wire.messages import describe_acls as describe

__all__ = ["create_acls", "delete_acls", "describe_acls"]


async def create_acls(cluster: Cluster, bindings: Iterable[AclBinding]) -> Outcomes[AclBinding, None]:
    """Add rules; one that is there already is no error."""
    wanted = list(dict.fromkeys(bindings))
    request = create.CreateAclsRequest(
        creations=[
            create.AclCreation(
                resource_type=rule.resource_type,
                resource_name=rule.resource_name,
                resource_pattern_type=rule.pattern_type,
                principal=rule.principal,
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            for rule in wanted
        ]
    )
    answer = await cluster.retrying(lambda: cluster.request(request, create.CreateAclsResponse))
    return {
        rule: outcome(result.error_code, result.error_message, None)
        for rule, result in zip(wanted, answer.results, strict=True)
    }


async def describe_acls(cluster: Cluster, which: AclFilter) -> list[AclBinding]:
    """The rules that the filter takes, sorted. Raises ``BrokerError``."""
    request = describe.DescribeAclsRequest(
        resource_type_filter=which.resource_type,
        resource_name_filter=which.resource_name,
        pattern_type_filter=which.pattern_type,
        principal_filter=which.principal,
        host_filter=which.host,
        operation=which.operation,
        permission_type=which.permission,
    )

    async def attempt() -> list[AclBinding]:
        answer = await cluster.request(request, describe.DescribeAclsResponse)
        raise_for(answer.error_code, answer.error_message)
        return sorted(_binding(resource, acl) for resource in answer.resources for acl in resource.acls)

    return await cluster.retrying(attempt)


async def delete_acls(
    cluster: Cluster, filters: Iterable[AclFilter]
) -> Outcomes[AclFilter, Outcomes[AclBinding, None]]:
    """For each filter the rules that it took, and of each whether it is gone."""
    wanted = list(dict.fromkeys(filters))
    request = delete.DeleteAclsRequest(
        filters=[
            delete.DeleteAclsFilter(
                resource_type_filter=which.resource_type,
                resource_name_filter=which.resource_name,
                pattern_type_filter=which.pattern_type,
                principal_filter=which.principal,
                host_filter=which.host,
                operation=which.operation,
                permission_type=which.permission,
            )
            for which in wanted
        ]
    )
    answer = await cluster.retrying(lambda: cluster.request(request, delete.DeleteAclsResponse))
    return {
        which: outcome(result.error_code, result.error_message, _each(result.matching_acls))
        for which, result in zip(wanted, answer.filter_results, strict=True)
    }


def _each(matching: Iterable[delete.DeleteAclsMatchingAcl]) -> Outcomes[AclBinding, None]:
    return {_binding(acl, acl): outcome(acl.error_code, acl.error_message, None) for acl in matching}


def _binding(
    resource: describe.DescribeAclsResource | delete.DeleteAclsMatchingAcl,
    acl: describe.AclDescription | delete.DeleteAclsMatchingAcl,
) -> AclBinding:
    return AclBinding(
        AclResourceType(resource.resource_type),
        resource.resource_name,
        acl.principal,
        AclOperation(acl.operation),
        AclPermission(acl.permission_type),
        PatternType(resource.pattern_type),
        acl.host,
    )
