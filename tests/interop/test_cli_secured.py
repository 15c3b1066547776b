"""Commands on a broker that asks who they are: let in by a properties file, or told in one line why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest

from interop.locked_broker import PASSWORDS, LockedBroker
from leaselog.cli.main import main
from leaselog.cli.secure_files import properties_text

pytestmark = pytest.mark.all_on_kafka
USER = "nobody-1"
ONE_RECORD = ("--num-records", "1", "--record-size", "1", "--throughput", "-1")
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LockedBroker]:
    broker = LockedBroker(tmp_path_factory.mktemp("locked"))
    broker.process.start()
    yield broker
    broker.process.stop()


@pytest.fixture
def say(locked: LockedBroker, tmp_path: Path) -> Say:
    """A command on one of the listeners, with these properties in a file: its exit code and what it prints."""

    def run(listener: str, properties: dict[str, str], command: str, *words: str) -> tuple[int, str, str]:
        file = tmp_path / "client.properties"
        file.write_text(properties_text("of a test", properties))
        where = ("--bootstrap-server", locked.address(listener), "--command-config", str(file))
        bytes_out, err = BytesIO(), StringIO()  # records are written as bytes
        with redirect_stdout(TextIOWrapper(bytes_out)) as out, redirect_stderr(err):
            code = main([command, *where, *words])
            out.flush()
        return code, bytes_out.getvalue().decode(), err.getvalue()

    return run


def failed(ended: tuple[int, str, str]) -> str:
    """The one line of a command that failed; a console also counts what it has shown."""
    code, out, err = ended
    assert (code, out) == (1, "")
    err = err.removeprefix("Processed a total of 0 messages\n")
    assert err.count("\n") == 1, err
    assert not any(password in err for password in PASSWORDS.values())
    return err


def test_every_kind_of_command_is_let_in_by_a_properties_file(locked, say, fresh) -> None:
    topic, alice = fresh("topic"), locked.sasl("SCRAM-SHA-512", tls=True)
    for command, *words in (
        ("topics", "--create", "--topic", topic),
        (
            "producer-perf-test",
            "--topic",
            topic,
            "--num-records",
            "3",
            "--record-size",
            "5",
            "--throughput",
            "-1",
        ),
        ("get-offsets", "--topic", topic),
        ("configs", "--describe", "--topic", topic),
        ("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "3"),
        ("console-share-consumer", "--topic", topic, "--group", fresh("group"), "--timeout-ms", "500"),
        ("consumer-groups", "--list"),
        ("share-groups", "--list"),
        ("groups", "--list"),
        ("log-dirs", "--describe", "--topic-list", topic),
        ("features", "describe"),
        ("broker-api-versions",),
        ("cluster", "cluster-id"),
        ("acls", "--list"),
        ("top", "--iterations", "1", "--json"),
    ):
        code, _, err = say("SASL_SSL", alice, command, *words)
        assert code == 0, (command, err)
    assert (
        say("CERTIFIED", locked.tls(ssl_keystore_location=str(locked.certificate)), "topics", "--list")[0]
        == 0
    )


def test_a_wrong_password_is_told_in_one_line(locked, say) -> None:
    wrong = {**locked.sasl("SCRAM-SHA-512", tls=True), "sasl.password": "not hers"}
    line = failed(say("SASL_SSL", wrong, "topics", "--list"))
    assert "SCRAM-SHA-512 as alice is refused (an unknown user, or a wrong password)" in line
    assert "not hers" not in line


def test_a_broker_that_cannot_be_believed_is_told_in_one_line(locked, say) -> None:
    stranger = locked.tls(ssl_truststore_location=str(locked.stranger.certificate))
    assert "signed by nobody who is trusted here" in failed(say("SSL", stranger, "topics", "--list"))
    assert "not for the name 127.0.0.1" in failed(say("ELSEWHERE", locked.tls(), "topics", "--list"))
    assert "has expired" in failed(say("EXPIRED", locked.tls(), "topics", "--list"))


def test_a_client_that_says_too_little_is_told_what_is_missing(locked, say) -> None:
    assert "asks for the client's certificate" in failed(say("CERTIFIED", locked.tls(), "topics", "--list"))
    assert "it expects TLS" in failed(say("SSL", {}, "topics", "--list"))
    code, _, err = say("SASL_SSL", {"security.protocol": "SASL_SSL"}, "topics", "--list")
    assert (code, "sasl.mechanism is missing" in err) == (2, True), "nobody was asked yet"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("topics", "--create", "--topic", "t"), "topic"),
        (("acls", "--list"), "cluster"),
        (("share-groups", "--describe", "--group", "g"), "group"),
        (("console-share-consumer", "--topic", "t", "--group", "g", "--timeout-ms", "9000"), "group"),
        (("producer-perf-test", "--topic", "t", *ONE_RECORD), "topic"),
        (("configs", "--alter", "--topic", "t", "--add-config", "retention.ms=1"), "topic"),
    ],
)  # fmt: skip
def test_who_has_no_right_is_told_who_he_is_and_who_can_look(locked, say, words, what) -> None:
    line = failed(say("SASL_PLAINTEXT", locked.sasl("PLAIN", USER), *words))
    assert f"{what.upper()}_AUTHORIZATION_FAILED" in line
    assert f"User:{USER} has no right" in line or f"User:{USER} may not " in line
    assert f"an administrator sees the rights with leaselog acls --list --principal User:{USER}" in line


@pytest.mark.parametrize("role", ["--share-consumer", "--worker"])
def test_the_rights_of_a_role_are_enough_for_it(locked, say, fresh, role) -> None:
    topic, group = fresh("topic"), fresh("group")
    admin, client = locked.sasl("PLAIN"), locked.sasl("PLAIN", "nobody-2")
    assert say("SASL_PLAINTEXT", admin, "topics", "--create", "--topic", topic)[0] == 0
    earliest = ("--add-config", "share.auto.offset.reset=earliest")
    assert say("SASL_PLAINTEXT", admin, "configs", "--alter", "--group", group, *earliest)[0] == 0
    produced = ("--topic", topic, "--num-records", "3", "--record-size", "5", "--throughput", "-1")
    assert say("SASL_PLAINTEXT", admin, "producer-perf-test", *produced)[0] == 0
    reading = ("console-share-consumer", "--topic", topic, "--group", group, "--max-messages", "3")
    assert "sees the rights" in failed(say("SASL_PLAINTEXT", client, *reading, "--timeout-ms", "9000"))
    whose = ("--allow-principal", "User:nobody-2")
    given = ("acls", "--add", role, "--topic", topic, "--group", group, *whose)
    assert say("SASL_PLAINTEXT", admin, *given)[0] == 0
    code, out, err = say("SASL_PLAINTEXT", client, *reading, "--timeout-ms", "20000")
    assert (code, len(out.splitlines())) == (0, 3), err
