"""A cluster that keeps rules of access and nothing else, for who asks it through Kafka's protocol."""

from __future__ import annotations

from typing import Any, TypeVar

from leaselog.client.cluster import Cluster
from leaselog.model import (
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    ErrorCode,
    PatternType,
)
from leaselog.wire.messages import create_acls as create
from leaselog.wire.messages import delete_acls as delete
from leaselog.wire.messages import describe_acls as describe
from leaselog.wire.schema import Message

M = TypeVar("M", bound=Message)


class AclCluster(Cluster):
    """``refuses`` are principals whose rules it neither adds nor removes."""

    def __init__(
        self, *rules: AclBinding, refuses: tuple[str, ...] = (), code: ErrorCode = ErrorCode.NONE
    ) -> None:
        super().__init__("127.0.0.1:1", api_timeout_ms=5_000)
        self.rules = set(rules)
        self.refuses = refuses
        #: of every answer that has an error of its own
        self.code = code
        self.asked = list[Message]()

    async def request(self, message: Message, kind: type[M], *, node: Any = None) -> M:
        self.asked.append(message)
        answer: Message
        match message:
            case create.CreateAclsRequest():
                answer = create.CreateAclsResponse(results=[self._create(one) for one in message.creations])
            case describe.DescribeAclsRequest():
                answer = self._describe(message)
            case delete.DeleteAclsRequest():
                answer = delete.DeleteAclsResponse(
                    filter_results=[self._delete(one) for one in message.filters]
                )
            case _:
                raise AssertionError(message)
        assert isinstance(answer, kind)
        return answer

    def _create(self, one: create.AclCreation) -> create.AclCreationResult:
        if one.principal in self.refuses:
            return create.AclCreationResult(
                error_code=ErrorCode.INVALID_REQUEST, error_message="not this one"
            )
        self.rules.add(
            AclBinding(
                AclResourceType(one.resource_type),
                one.resource_name,
                one.principal,
                AclOperation(one.operation),
                AclPermission(one.permission_type),
                PatternType(one.resource_pattern_type),
                one.host,
            )
        )
        return create.AclCreationResult(error_message=None)

    def _describe(self, asked: describe.DescribeAclsRequest) -> describe.DescribeAclsResponse:
        which = AclFilter(
            AclResourceType(asked.resource_type_filter),
            asked.resource_name_filter,
            asked.principal_filter,
            AclOperation(asked.operation),
            AclPermission(asked.permission_type),
            PatternType(asked.pattern_type_filter),
            asked.host_filter,
        )
        return describe.DescribeAclsResponse(
            error_code=self.code,
            error_message="because" if self.code else None,
            resources=[
                describe.DescribeAclsResource(
                    resource_type=rule.resource_type,
                    resource_name=rule.resource_name,
                    pattern_type=rule.pattern_type,
                    acls=[
                        describe.AclDescription(
                            principal=rule.principal,
                            host=rule.host,
                            operation=rule.operation,
                            permission_type=rule.permission,
                        )
                    ],
                )
                for rule in self.rules
                if which.matches(rule)
            ],
        )

    def _delete(self, asked: delete.DeleteAclsFilter) -> delete.DeleteAclsFilterResult:
        which = AclFilter(
            AclResourceType(asked.resource_type_filter),
            asked.resource_name_filter,
            asked.principal_filter,
            AclOperation(asked.operation),
            AclPermission(asked.permission_type),
            PatternType(asked.pattern_type_filter),
            asked.host_filter,
        )
        if self.code:
            return delete.DeleteAclsFilterResult(error_code=self.code, error_message="because")
        matching = {rule for rule in self.rules if which.matches(rule)}
        self.rules -= {rule for rule in matching if rule.principal not in self.refuses}
        return delete.DeleteAclsFilterResult(
            error_message=None,
            matching_acls=[
                delete.DeleteAclsMatchingAcl(
                    error_code=ErrorCode.UNKNOWN_SERVER_ERROR if rule.principal in self.refuses else 0,
                    error_message=None,
                    resource_type=rule.resource_type,
                    resource_name=rule.resource_name,
                    pattern_type=rule.pattern_type,
                    principal=rule.principal,
                    host=rule.host,
                    operation=rule.operation,
                    permission_type=rule.permission,
                )
                for rule in matching
            ],
        )
