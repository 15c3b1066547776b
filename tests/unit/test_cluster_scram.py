"""SCRAM credentials of the cluster: which changes are made, in Kafka 4.3.1's words, and that they survive."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.records import decode_cluster_record, encode_cluster_record
from leaselog.coordination import cluster_scram
from leaselog.coordination.cluster_records import ClusterRecord, ScramCredentialRemoved, ScramCredentialSet
from leaselog.coordination.cluster_scram import ScramAlterations, ScramDeletion, ScramUpsertion, decide_scram
from leaselog.coordination.cluster_shard import AlterScram, ClusterShard, Decision
from leaselog.model import ZERO_UUID, ErrorCode, NodeId, Refused
from leaselog.sasl.scram import SCRAM_SHA_256, SCRAM_SHA_512, credential, salted_password
from leaselog.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from leaselog.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

KEPT = credential(SCRAM_SHA_256, "secret", b"salt", 4096)
ALICE = {"alice": {1: KEPT}}
Change = ScramDeletion | ScramUpsertion


def upsertion(user: str = "alice", mechanism: int = 1, iterations: int = 4096) -> ScramUpsertion:
    kind = {2: SCRAM_SHA_512}.get(mechanism, SCRAM_SHA_256)
    return ScramUpsertion(
        user, mechanism, iterations, b"salt", salted_password(kind, "secret", b"salt", 4096)
    )


def decide(
    current: cluster_scram.ScramUsers, *changes: Change
) -> tuple[list[ClusterRecord], dict[str, Refused | None]]:
    return decide_scram(
        current,
        ScramAlterations(
            [change for change in changes if isinstance(change, ScramDeletion)],
            [change for change in changes if isinstance(change, ScramUpsertion)],
        ),
    )


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (ScramDeletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (ScramDeletion("alice", -1), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (
            ScramDeletion("alice", 2),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
        (
            ScramUpsertion("alice", 1, 4096, b"salt", b""),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Salt and salted password must not be empty",
        ),
        (
            ScramUpsertion("alice", 1, 4096, bytes(1025), b"x"),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Username, salt and salted password may have 1024 bytes each",
        ),
    ],
)
def test_a_change_that_may_not_be_made_is_refused_in_kafkas_words(
    change: Change, code: ErrorCode, message: str
) -> None:
    assert decide(ALICE, change) == ([], {change.user: Refused(code, message)})


@pytest.mark.parametrize(
    "changes",
    [
        (upsertion(), upsertion()),
        (upsertion(), upsertion(mechanism=2)),
        (ScramDeletion("alice", 1), upsertion(mechanism=2)),
        (ScramDeletion("alice", 1), ScramDeletion("alice", 1), upsertion()),
    ],
)
def test_a_user_is_changed_once_in_a_request_whatever_the_mechanism(changes: tuple[Change, ...]) -> None:
    records, answers = decide(ALICE, *changes, upsertion("bob"))
    assert [record.user for record in records if isinstance(record, ScramCredentialSet)] == ["bob"]
    assert len(records) == 1
    why = "A user credential cannot be altered twice in the same request"
    assert answers == {"alice": Refused(ErrorCode.DUPLICATE_RESOURCE, why), "bob": None}


@pytest.mark.parametrize("iterations", [4096, 16384])
def test_the_bounds_of_iterations_are_within_them(iterations: int) -> None:
    assert decide({}, upsertion(iterations=iterations))[1] == {"alice": None}


def test_one_user_too_many_is_refused_and_those_there_are_may_be_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_scram, "MAX_SCRAM_USERS", 2)
    _, answers = decide(ALICE, *map(upsertion, ("alice", "bob", "carol")))
    assert [refused and refused.code for refused in answers.values()] == [
        None,
        None,
        ErrorCode.POLICY_VIOLATION,
    ]


def test_what_is_kept_is_what_the_password_gives() -> None:
    (record,), _ = decide({}, upsertion())
    assert record == ScramCredentialSet("alice", 1, KEPT)


@pytest.mark.parametrize(
    "record",
    [ScramCredentialSet("älice", 1, KEPT), ScramCredentialRemoved("alice", 2)],
    ids=["set", "removed"],
)
def test_a_credential_is_written_as_kafkas_record_and_read_back(record: ClusterRecord) -> None:
    value = encode_cluster_record(record, ZERO_UUID)
    assert value[1] == (11 if isinstance(record, ScramCredentialSet) else 22)
    assert decode_cluster_record(value) == record


def test_a_user_without_credentials_is_no_user() -> None:
    shard = ClusterShard(NodeId(0))
    made = shard.handle(AlterScram(ScramAlterations([], [upsertion()])))
    assert isinstance(made, Decision)
    for record in made.records:
        shard.replay(record)
    assert list(shard.records()) == [ScramCredentialSet("alice", 1, KEPT)]
    assert shard.record_count() == 2
    shard.replay(ScramCredentialRemoved("alice", 1))
    assert shard.scram_users == {}


async def alter(
    box: Box, *changes: ScramCredentialDeletion | ScramCredentialUpsertion
) -> list[tuple[str, int]]:
    request = AlterUserScramCredentialsRequest(
        deletions=[one for one in changes if isinstance(one, ScramCredentialDeletion)],
        upsertions=[one for one in changes if isinstance(one, ScramCredentialUpsertion)],
    )
    answer = await box.ask(request, AlterUserScramCredentialsResponse, 0)
    return [(one.user, one.error_code) for one in answer.results]


async def describe(box: Box, *users: str) -> dict[str, list[tuple[int, int]] | int]:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users])
    answer = await box.ask(request, DescribeUserScramCredentialsResponse, 0)
    return {
        one.user: one.error_code or [(info.mechanism, info.iterations) for info in one.credential_infos]
        for one in answer.results
    }


def test_credentials_are_told_without_keys_and_survive_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        made = [
            ScramCredentialUpsertion(
                name=name, mechanism=mechanism, iterations=8192, salt=b"s", salted_password=b"p"
            )
            for name, mechanism in (("alice", 2), ("bob", 1))
        ]
        async with in_a_box(str(tmp_path)) as box:
            assert await alter(box, *made) == [("alice", 0), ("bob", 0)]
        async with in_a_box(str(tmp_path)) as box:
            assert await describe(box) == {"alice": [(2, 8192)], "bob": [(1, 8192)]}
            gone = ScramCredentialDeletion(name="bob", mechanism=1)
            assert await alter(box, gone) == [("bob", 0)]
            assert await alter(box, gone) == [("bob", ErrorCode.RESOURCE_NOT_FOUND)]
        async with in_a_box(str(tmp_path)) as box:
            assert await describe(box, "alice", "bob", "carol", "carol") == {
                "alice": [(2, 8192)],
                "bob": ErrorCode.RESOURCE_NOT_FOUND,
                "carol": ErrorCode.DUPLICATE_RESOURCE,
            }

    run(story())
