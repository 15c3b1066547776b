"""CreateAcls, DescribeAcls, DeleteAcls: what is refused, what is found, and what outlives the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.broker_in_a_box import SOMEBODY, Box, in_a_box, run

from leaselog.broker.cluster import acls as cluster_acls
from leaselog.broker.runtime.client import Client
from leaselog.broker.security.authorizer_choice import STANDARD_AUTHORIZER
from leaselog.coordination import cluster_acls as acl_rules
from leaselog.coordination.cluster_acls import decide_new_acls
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    ErrorCode,
    PatternType,
    Principal,
)
from leaselog.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from leaselog.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from leaselog.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
READ = AclOperation.READ
ROOT = Client(1, "127.0.0.1", 5555, "PLAINTEXT", Principal("User", "root"))
LOCKED = {"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:root"}
#: of DescribeAcls: everything
ALL = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)


def wish(
    name: str = "jobs",
    type_: int = TOPIC,
    *,
    operation: int = READ,
    pattern: int = PatternType.LITERAL,
    principal: str = "User:alice",
    permission: int = AclPermission.ALLOW,
) -> AclCreation:
    return AclCreation(
        resource_type=type_,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=permission,
    )


async def create(box: Box, *wishes: AclCreation, by: Client = ROOT) -> list[tuple[int, str | None]]:
    answer = await box.ask(CreateAclsRequest(creations=wishes), CreateAclsResponse, 3, by)
    return [(result.error_code, result.error_message) for result in answer.results]


async def names(box: Box, asked: DescribeAclsRequest = ALL) -> list[str]:
    answer = await box.ask(asked, DescribeAclsResponse, 3, ROOT)
    assert not answer.error_code
    return sorted(resource.resource_name for resource in answer.resources for _ in resource.acls)


async def delete(box: Box, *filters: DeleteAclsFilter, by: Client = ROOT) -> DeleteAclsResponse:
    return await box.ask(DeleteAclsRequest(filters=filters), DeleteAclsResponse, 3, by)


def named(name: str | None, pattern: int = PatternType.ANY) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=TOPIC,
        resource_name_filter=name,
        pattern_type_filter=pattern,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermission.ANY,
    )


def test_entries_are_made_described_and_deleted_and_count_at_once() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            alice = Client(2, "127.0.0.1", 1, "PLAINTEXT", Principal("User", "alice"))
            guard = box.broker.guard
            assert guard is not None
            assert not guard.allows(alice, "Fetch", READ, TOPIC, "jobs")
            assert await create(box, wish(), wish("jo", pattern=PatternType.PREFIXED)) == [(0, None)] * 2
            assert guard.allows(alice, "Fetch", READ, TOPIC, "jobs")
            assert await names(box) == ["jo", "jobs"]
            answer = await delete(box, named("jobs", PatternType.MATCH), named("other"))
            assert [len(found.matching_acls) for found in answer.filter_results] == [2, 0]
            assert not guard.allows(alice, "Fetch", READ, TOPIC, "jobs")
            assert await names(box) == []

    run(scenario())


def test_an_entry_that_is_there_already_is_made_without_a_record() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            await create(box, wish())
            before = box.broker.cluster.features_epoch
            assert await create(box, wish(), wish()) == [(0, None)] * 2
            assert box.broker.cluster.features_epoch == before

    run(scenario())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (wish("other", CLUSTER), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (wish(""), "Invalid empty resource name"),
        (wish(type_=AclResourceType.ANY), "Invalid resourceType ANY"),
        (wish(type_=99), "Invalid resourceType UNKNOWN"),
        (wish(pattern=PatternType.MATCH), "Invalid patternType MATCH"),
        (wish(operation=AclOperation.ANY), "Invalid operation ANY"),
        (wish(permission=AclPermission.ANY), "Invalid permissionType ANY"),
        (
            wish(principal="alice"),
            "Could not parse principal from `alice` (no colon is present separating the principal type from the "
            "principal name)",
        ),
        (wish("x" * 2_001), "a name of 2001 characters in an ACL, expected at most 2000"),
    ],
)
def test_an_entry_that_says_nothing_is_refused_and_its_neighbour_is_made(
    bad: AclCreation, message: str
) -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            refused, made = await create(box, bad, wish("good"))
            assert refused == (ErrorCode.INVALID_REQUEST, message)
            assert made == (0, None)
            assert await names(box) == ["good"]

    run(scenario())


def test_without_an_authorizer_there_are_no_access_control_lists() -> None:
    async def scenario() -> None:
        async with in_a_box() as box:
            assert await create(box, wish()) == [
                (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
            ]
            answer = await delete(box, named(None))
            assert answer.filter_results[0].error_code == ErrorCode.SECURITY_DISABLED
            described = await box.ask(ALL, DescribeAclsResponse, 3, ROOT)
            assert described.error_code == ErrorCode.SECURITY_DISABLED
            assert described.error_message == "No Authorizer is configured on the broker"

    run(scenario())


def test_whoever_may_not_alter_the_cluster_changes_nothing() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            await create(box, wish("kept"))
            (refused,) = await create(box, wish(), by=SOMEBODY)
            assert refused[0] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            answer = await delete(box, named(None), by=SOMEBODY)
            assert answer.filter_results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            described = await box.ask(ALL, DescribeAclsResponse, 3, SOMEBODY)
            assert described.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            assert not described.resources
            assert await names(box) == ["kept"]

    run(scenario())


def test_a_filter_that_is_not_understood_deletes_nothing() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            await create(box, wish())
            answer = await delete(box, named(None, pattern=77), named("other"))
            assert [found.error_code for found in answer.filter_results] == [ErrorCode.INVALID_REQUEST, 0]
            assert await names(box) == ["jobs"]

    run(scenario())


def test_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from leaselog.broker.handlers.security import create_acls, delete_acls

    monkeypatch.setattr(create_acls, "MAX_NEW_ACLS", 2)
    monkeypatch.setattr(delete_acls, "MAX_FILTERS", 1)

    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            answers = await create(box, wish("a"), wish("b"), wish("c"))
            assert {code for code, _ in answers} == {ErrorCode.INVALID_REQUEST}
            assert await names(box) == []
            answer = await delete(box, named("a"), named("b"))
            assert [found.error_code for found in answer.filter_results] == [ErrorCode.INVALID_REQUEST] * 2

    run(scenario())


def test_there_is_a_bound_to_all_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_rules, "MAX_ACLS", 2)
    acls = [
        AclBinding(TOPIC, name, "User:a", READ, AclPermission.ALLOW, PatternType.LITERAL, "*")
        for name in "abc"
    ]
    records, answers = decide_new_acls({acls[0]: UUID(int=9)}, [(UUID(int=i), acls[i]) for i in range(3)])
    assert [record.acl for record in records] == [acls[1]]
    assert answers[:2] == [None, None]
    assert answers[2] is not None
    assert answers[2].code is ErrorCode.POLICY_VIOLATION


def test_many_entries_are_written_in_several_steps_and_all_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster_acls, "ACLS_A_WRITE", 7)

    async def made() -> Sequence[str]:
        async with in_a_box(str(tmp_path), **LOCKED) as box:
            assert await create(box, *(wish(f"t{i:02}") for i in range(20))) == [(0, None)] * 20
            await delete(box, *(named(f"t{i:02}") for i in range(10)))
            return await names(box)

    async def found_again() -> Sequence[str]:
        async with in_a_box(str(tmp_path), **LOCKED) as box:
            guard = box.broker.guard
            assert guard is not None
            alice = Client(2, "127.0.0.1", 1, "PLAINTEXT", Principal("User", "alice"))
            assert guard.allows(alice, "Fetch", READ, TOPIC, "t15")
            assert not guard.allows(alice, "Fetch", READ, TOPIC, "t05")
            return await names(box)

    left = run(made())
    assert left == [f"t{i}" for i in range(10, 20)]
    assert run(found_again()) == left
