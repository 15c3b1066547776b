"""`configs` of users named for a SCRAM mechanism: passwords from where nobody sees them, and never told again."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
from typing import Any, TypeVar

import pytest

from leaselog.admin import (
    AsyncAdmin,
    ScramCredentialInfo,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    SomeFailed,
)
from leaselog.cli import passwords
from leaselog.cli.arguments import Parser, UsageError
from leaselog.cli.configs import _checked, add_arguments
from leaselog.client import BrokerError, UnsupportedVersion, kafka_errors
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode
from leaselog.wire.messages import alter_user_scram_credentials as alter
from leaselog.wire.messages import describe_client_quotas as quotas
from leaselog.wire.messages import describe_user_scram_credentials as describe
from leaselog.wire.schema import Message

M = TypeVar("M", bound=Message)
SECRET = "open,sesame"
USER = ("--alter", "--user", "alice")


class ScramCluster(Cluster):
    """Keeps credentials as a broker does: by user and mechanism, a salted password."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1:1", api_timeout_ms=5_000)
        self.kept = dict[tuple[str, int], alter.ScramCredentialUpsertion]()
        self.knows_scram = True

    async def request(self, message: Message, kind: type[M], *, node: Any = None) -> M:
        answer: Message
        match message:
            case alter.AlterUserScramCredentialsRequest():
                answer = self._alter(message)
            case describe.DescribeUserScramCredentialsRequest():
                if not self.knows_scram:
                    raise UnsupportedVersion("the broker does not serve DescribeUserScramCredentials")
                answer = self._describe(message)
            case quotas.DescribeClientQuotasRequest():
                answer = quotas.DescribeClientQuotasResponse(entries=[])
            case _:
                raise AssertionError(message)
        assert isinstance(answer, kind)
        return answer

    def _alter(
        self, asked: alter.AlterUserScramCredentialsRequest
    ) -> alter.AlterUserScramCredentialsResponse:
        users = [one.name for one in (*asked.deletions, *asked.upsertions)]
        codes = {
            user: ErrorCode.DUPLICATE_RESOURCE if users.count(user) > 1 else ErrorCode.NONE for user in users
        }
        for gone in asked.deletions:
            if not codes[gone.name] and self.kept.pop((gone.name, gone.mechanism), None) is None:
                codes[gone.name] = ErrorCode.RESOURCE_NOT_FOUND
        for new in asked.upsertions:
            if not codes[new.name]:
                self.kept[new.name, new.mechanism] = new
        return alter.AlterUserScramCredentialsResponse(
            results=[
                alter.AlterUserScramCredentialsResult(user=user, error_code=code, error_message=None)
                for user, code in codes.items()
            ]
        )

    def _describe(
        self, asked: describe.DescribeUserScramCredentialsRequest
    ) -> describe.DescribeUserScramCredentialsResponse:
        users = (
            sorted({user for user, _ in self.kept})
            if asked.users is None
            else [one.name for one in asked.users]
        )
        return describe.DescribeUserScramCredentialsResponse(
            results=[
                describe.DescribeUserScramCredentialsResult(
                    user=user,
                    error_code=0
                    if any(name == user for name, _ in self.kept)
                    else ErrorCode.RESOURCE_NOT_FOUND,
                    credential_infos=[
                        describe.CredentialInfo(mechanism=mechanism, iterations=one.iterations)
                        for (name, mechanism), one in sorted(self.kept.items())
                        if name == user
                    ],
                )
                for user in users
            ]
        )

    def takes(self, user: str, mechanism: ScramMechanism, password: str) -> bool:
        """Whether this is the user's password."""
        one = self.kept[user, mechanism]
        name = {1: "sha256", 2: "sha512"}[one.mechanism]
        return one.salted_password == hashlib.pbkdf2_hmac(name, password.encode(), one.salt, one.iterations)


def parsed(*words: str) -> argparse.Namespace:
    parser = Parser(prog="configs")
    add_arguments(parser)
    return parser.parse_args(["--bootstrap-server", "x:1", *words])


def do(cluster: Cluster, *words: str) -> int:
    return asyncio.run(_checked(parsed(*words))(cluster))  # type: ignore[arg-type]


def refused(*words: str) -> str:
    with pytest.raises(UsageError) as wrong:
        _checked(parsed(*words))
    return str(wrong.value)


@pytest.fixture
def cluster() -> ScramCluster:
    return ScramCluster()


@pytest.mark.parametrize(
    ("said", "iterations", "password"),
    [
        (f"SCRAM-SHA-256=[iterations=5000,password={SECRET}]", 5000, SECRET),
        (f"SCRAM-SHA-256=[password={SECRET},iterations=5000]", 5000, SECRET),
        (f"SCRAM-SHA-256=[password={SECRET}]", 8192, SECRET),
        ("SCRAM-SHA-256=[password=a=b]", 8192, "a=b"),
    ],
)
def test_a_password_is_told_as_apaches_tool_takes_it(cluster, capsys, said, iterations, password) -> None:
    assert do(cluster, *USER, "--add-config", said) == 0
    assert capsys.readouterr().out == "Completed updating config for user alice.\n"
    assert cluster.takes("alice", ScramMechanism.SCRAM_SHA_256, password)
    assert cluster.kept["alice", 1].iterations == iterations


def test_a_password_comes_from_a_file_or_the_environment(cluster, monkeypatch, tmp_path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\r\nand a remark\n")
    both = ("--add-config", "SCRAM-SHA-256=[iterations=4096],SCRAM-SHA-512=[]")
    do(cluster, *USER, *both, "--password-file", str(file))
    assert cluster.takes("alice", ScramMechanism.SCRAM_SHA_256, SECRET)
    assert cluster.takes("alice", ScramMechanism.SCRAM_SHA_512, SECRET)
    assert cluster.kept["alice", 1].salt != cluster.kept["alice", 2].salt
    monkeypatch.setenv("ALICES", "another")
    do(cluster, *USER, *both, "--password-env", "ALICES")
    assert cluster.takes("alice", ScramMechanism.SCRAM_SHA_512, "another")


def test_a_password_is_asked_for_twice_where_somebody_can_answer(cluster, monkeypatch) -> None:
    answers = ["one", "other", SECRET, SECRET, ""]
    monkeypatch.setattr(passwords.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(passwords.getpass, "getpass", lambda prompt: answers.pop(0))
    words = (*USER, "--add-config", "SCRAM-SHA-512=[]")
    assert refused(*words) == "the two passwords are not the same"
    do(cluster, *words)
    assert cluster.takes("alice", ScramMechanism.SCRAM_SHA_512, SECRET)
    assert refused(*words) == "a password has at least one character"


def test_credentials_are_described_and_deleted(cluster, capsys) -> None:
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        do(cluster, *USER, "--add-config", f"{mechanism}=[iterations=4096,password={SECRET}]")
    capsys.readouterr()
    do(cluster, "--describe", "--entity-type", "users")
    shown = "SCRAM credential configs for user-principal 'alice' are "
    assert capsys.readouterr().out == f"{shown}SCRAM-SHA-256=iterations=4096, SCRAM-SHA-512=iterations=4096\n"
    do(cluster, *USER, "--delete-config", "SCRAM-SHA-512")
    capsys.readouterr()
    do(cluster, "--describe", "--user", "alice")
    assert capsys.readouterr().out == f"{shown}SCRAM-SHA-256=iterations=4096\n"
    do(cluster, "--describe", "--user", "nobody")
    assert capsys.readouterr().out == ""
    with pytest.raises(kafka_errors.ResourceNotFoundException):
        do(cluster, *USER, "--delete-config", "SCRAM-SHA-512")


def test_a_cluster_without_scram_still_tells_its_quotas(cluster, capsys) -> None:
    cluster.knows_scram = False
    assert do(cluster, "--describe", "--entity-type", "users") == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--add-config", f"SCRAM-SHA-256=[iterations=1,password={SECRET}]"), "iterations are 4096 to 16384"),
        (("--add-config", f"SCRAM-SHA-256=[iterations=x,password={SECRET}]"), "iterations are 4096 to 16384"),
        (("--add-config", f"SCRAM-SHA-256=[{SECRET}]"), "expected [iterations=N,password=TEXT]"),
        (("--add-config", f"SCRAM-SHA-256=password={SECRET}]"), "--add-config: expected KEY=VALUE"),
        (("--add-config", "SCRAM-SHA-256=[password=]"), "the password is empty"),
        (("--add-config", f"SCRAM-SHA-256=[password={SECRET}],consumer_byte_rate=1"), "one after the other"),
        (
            ("--add-config", f"SCRAM-SHA-256=[password={SECRET}]", "--password-env", "X"),
            "has a password already",
        ),
        (("--add-config", "SCRAM-SHA-256=[]", "--password-env", "NOBODY_SET"), "there is no password in it"),
        (("--add-config", "SCRAM-SHA-256=[]", "--password-file", "/nowhere"), "No such file"),
        (
            ("--add-config", "SCRAM-SHA-256=[]", "--password-file", "x", "--password-env", "X"),
            "exclude each other",
        ),
        (("--add-config", "SCRAM-SHA-256=[]"), "--password-file FILE or --password-env NAME"),
        (("--add-config", "SCRAM-SHA-256=[]", "--delete-config", "SCRAM-SHA-256"), "set and deleted at once"),
        (("--delete-config", "SCRAM-SHA-256", "--password-env", "X"), "go with --add-config SCRAM-"),
        (("--add-config", "consumer_byte_rate=1", "--password-env", "X"), "go with --add-config SCRAM-"),
    ],
)
def test_what_makes_no_sense_is_said_without_the_password(words, says, monkeypatch) -> None:
    monkeypatch.setattr(passwords.sys.stdin, "isatty", lambda: False, raising=False)
    said = refused(*USER, *words)
    assert says in said
    assert SECRET not in said
    assert "sesame" not in said


def test_a_mechanism_that_nobody_knows_is_said_without_the_password(cluster) -> None:
    with pytest.raises(UsageError) as wrong:
        do(cluster, *USER, "--add-config", f"SCRAM-SHA-1=[password={SECRET}]")
    assert "sesame" not in str(wrong.value)


def test_a_credential_is_of_one_user() -> None:
    said = ("--alter", "--add-config", f"SCRAM-SHA-256=[password={SECRET}]", "--entity-type", "users")
    assert "one user's" in refused(*said, "--entity-default")
    assert "one user's" in refused(
        *said, "--entity-name", "a", "--entity-type", "clients", "--entity-name", "c"
    )


# the administration from Python


def test_each_user_has_an_outcome_of_its_own(cluster) -> None:
    async def main() -> None:
        admin = AsyncAdmin.over(cluster)
        mechanism = ScramMechanism.SCRAM_SHA_512
        await admin.alter_user_scram_credentials([ScramUpsertion("alice", mechanism, SECRET)])
        described = await admin.describe_user_scram_credentials()
        assert described == {"alice": (ScramCredentialInfo(mechanism, 8192),)}
        with pytest.raises(SomeFailed) as some:
            await admin.alter_user_scram_credentials(
                [ScramDeletion("nobody", mechanism), ScramDeletion("alice", mechanism)]
            )
        assert set(some.value.errors) == {"nobody"}
        assert set(some.value.results) == {"alice"}
        with pytest.raises(BrokerError) as missing:
            await admin.describe_user_scram_credentials(["alice"])
        assert missing.value.code is ErrorCode.RESOURCE_NOT_FOUND

    asyncio.run(main())


def test_a_password_is_no_part_of_what_python_shows() -> None:
    assert SECRET not in repr(ScramUpsertion("alice", ScramMechanism.SCRAM_SHA_512, SECRET))
