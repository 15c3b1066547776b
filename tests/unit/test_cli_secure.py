"""`secure`: what it writes is private, fits together, and is not overwritten; TLS between what it made, in memory."""

from __future__ import annotations

import json
import re
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leaselog.broker.config import parse_properties
from leaselog.cli import secure
from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.own_authority import Authority, expiry_of, names_of
from leaselog.cli.secure_files import Layout, properties_files
from leaselog.sasl.jaas import read

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def made(directory: Path, *words: str) -> int:
    parser = Parser(prog="secure")
    secure.add_arguments(parser)
    return secure.run(parser.parse_args([str(directory), *words]))


def users(directory: Path) -> dict[str, str]:
    """The passwords of the first users."""
    said = (directory / "first-users.txt").read_text()
    return dict(re.findall(r"SCRAM-SHA-512=\[name=(\w+),password=(.*)\]", said))


def server_context(directory: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "broker.pem")
    return context


def handshake(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """The server's side, after both have said all they have to say. Raises what a client would."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server, server_hostname=name)
    answers = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (asks, answers):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    answers.do_handshake()
    return answers


def test_who_trusts_the_authority_finds_the_broker_under_each_of_its_names(tmp_path) -> None:
    assert made(tmp_path / "s", "--name", "broker.example", "--name", "10.1.2.3") == 0
    client = ssl.create_default_context(cafile=tmp_path / "s" / "ca.pem")
    for name in ("broker.example", "10.1.2.3", "localhost", "127.0.0.1", "::1"):
        handshake(client, server_context(tmp_path / "s"), name)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(client, server_context(tmp_path / "s"), "elsewhere.example")
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        handshake(ssl.create_default_context(), server_context(tmp_path / "s"), "localhost")


def test_the_broker_learns_the_client_from_its_certificate(tmp_path) -> None:
    made(tmp_path)
    client = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    client.load_cert_chain(tmp_path / "client.pem")
    server = server_context(tmp_path)
    server.load_verify_locations(tmp_path / "ca.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    told = handshake(client, server, "localhost").getpeercert()
    assert told is not None
    assert told["subject"] == ((("commonName", "client"),),)


def test_a_clients_certificate_is_no_brokers(tmp_path) -> None:
    made(tmp_path)
    pretender = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pretender.load_cert_chain(tmp_path / "client.pem")
    client = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client, pretender, "client")


def test_nobody_else_can_read_what_is_written(tmp_path) -> None:
    directory = tmp_path / "deep" / "s"
    made(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()} == {0o600}


def test_the_files_say_the_same_passwords_and_each_run_others(tmp_path) -> None:
    for name in ("a", "b"):
        made(tmp_path / name)
    passwords = {
        (name, user): password for name in ("a", "b") for user, password in users(tmp_path / name).items()
    }
    assert len(set(passwords.values())) == 4
    assert all(len(password) == 32 for password in passwords.values())
    for (name, user), password in passwords.items():
        told = parse_properties((tmp_path / name / f"{user}.properties").read_text())
        assert read(told["sasl.jaas.config"]).options == {"username": user, "password": password}
    told = parse_properties((tmp_path / "a" / "client-librdkafka.properties").read_text())
    assert (told["sasl.username"], told["sasl.password"]) == ("client", passwords["a", "client"])


def test_the_passwords_are_not_printed(tmp_path, capsys) -> None:
    made(tmp_path)
    out = capsys.readouterr().out
    assert users(tmp_path)["admin"] not in out
    assert "leaselog serve --config" in out
    assert "--command-config" in out


def test_nothing_is_overwritten_unasked(tmp_path) -> None:
    (tmp_path / "ca.key").write_text("mine")
    with pytest.raises(CommandFailed, match=r"has ca\.key already"):
        made(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["ca.key"]
    assert made(tmp_path, "--force") == 0
    assert (tmp_path / "ca.key").read_text() != "mine"
    assert stat.S_IMODE((tmp_path / "ca.key").stat().st_mode) == 0o600


def test_renewed_certificates_are_trusted_by_who_trusted_the_old_ones(tmp_path, capsys) -> None:
    made(tmp_path, "--name", "broker.example", "--days", "30")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    capsys.readouterr()
    assert made(tmp_path, "--renew", "--json") == 0
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"broker.pem", "client.pem"}
    told = json.loads(capsys.readouterr().out)
    assert datetime.fromisoformat(told["certificatesEnd"]) - datetime.now(UTC) > timedelta(days=364)
    assert "broker.example" in names_of(after["broker.pem"]), "the names stay"
    handshake(
        ssl.create_default_context(cafile=tmp_path / "ca.pem"), server_context(tmp_path), "broker.example"
    )


def test_there_is_nothing_to_renew_without_an_authority(tmp_path) -> None:
    with pytest.raises(CommandFailed, match=r"ca\.key: No such file"):
        made(tmp_path, "--renew")
    made(tmp_path)
    made(tmp_path / "other")
    (tmp_path / "ca.key").write_bytes((tmp_path / "other" / "ca.key").read_bytes())
    with pytest.raises(CommandFailed, match="the key is not that of the certificate"):
        made(tmp_path, "--renew")


def test_an_expired_certificate_is_refused_and_no_certificate_outlives_its_authority() -> None:
    authority = Authority.new("test", now=NOW)
    assert expiry_of(authority.client("client", now=NOW, days=30)) == NOW + timedelta(days=30)
    assert expiry_of(authority.client("client", now=NOW, days=9999)) == expiry_of(authority.certificate_pem)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--name", "a:9092"), "without a port"),
        (("--name", "größe"), "in ASCII"),
        (("--name", ""), "expected a host name"),
        (("--renew", "--force"), "expected one of them"),
        (("--port", "65535"), "two ports are needed"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(tmp_path, words, says) -> None:
    with pytest.raises(UsageError, match=says):
        made(tmp_path / "s", *words)
    assert not (tmp_path / "s").exists()


def test_java_reads_what_is_not_ascii_in_its_escapes_and_librdkafka_as_it_is() -> None:
    layout = Layout(Path("/home/jörg/a\\b"), "127.0.0.1", "::1", 9092)
    files = properties_files(layout, {"admin": "a", "client": "c"})
    assert all(text.isascii() for name, text in files.items() if "librdkafka" not in name)
    told = parse_properties(files["client.properties"])
    assert told["ssl.truststore.location"] == "/home/jörg/a\\b/ca.pem"
    assert told["bootstrap.servers"] == "[::1]:9092"
    assert "ssl.ca.location=/home/jörg/a\\b/ca.pem\n" in files["client-librdkafka.properties"]


def test_the_broker_listens_beyond_this_machine_only_if_it_has_another_name(tmp_path) -> None:
    made(tmp_path / "here")
    made(tmp_path / "there", "--name", "broker.example", "--port", "19092")
    here, there = (
        parse_properties((tmp_path / d / "broker.properties").read_text()) for d in ("here", "there")
    )
    assert here["listeners"] == "SASL_SSL://127.0.0.1:9092,SSL://127.0.0.1:9093"
    assert there["listeners"] == "SASL_SSL://0.0.0.0:19092,SSL://0.0.0.0:19093"
    assert there["advertised.listeners"] == "SASL_SSL://broker.example:19092,SSL://broker.example:19093"
