"""TLS of a real broker process: who gets in, as whom, and what strangers cost."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tests.certificates import Authority, Owned

from interop.broker_process import BrokerProcess

pytestmark = pytest.mark.only_leaselog("its ports and its log are read")

LISTENERS = "SSL://127.0.0.1:0,MUTUAL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def alice(authority: Authority) -> Owned:
    return authority.signs(("O", "Acme"), ("CN", "alice"))


def in_a_line(pem: str) -> str:
    return pem.replace("\n", "\\n")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[BrokerProcess]:
    """One listener that shows a certificate, and one that asks for one, too."""
    home = tmp_path_factory.mktemp("tls")
    own = authority.signs(("CN", "broker"))
    (home / "broker.p12").write_bytes(own.pkcs12("broker-secret"))
    broker = BrokerProcess(
        home,
        {
            "listeners": LISTENERS,
            "listener.security.protocol.map": "SSL:SSL,MUTUAL:SSL,PLAINTEXT:PLAINTEXT",
            "connection.authentication.timeout.ms": "1000",
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(home / "broker.p12"),
            "ssl.keystore.password": "broker-secret",
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.truststore.type": "PEM",
            "listener.name.mutual.ssl.truststore.certificates": in_a_line(authority.pem),
            "listener.name.mutual.ssl.keystore.type": "PEM",
            "listener.name.mutual.ssl.keystore.location": "",
            "listener.name.mutual.ssl.keystore.key": in_a_line(own.key("key-secret")),
            "listener.name.mutual.ssl.key.password": "key-secret",
            "listener.name.mutual.ssl.keystore.certificate.chain": in_a_line(own.pem),
        },
    )
    broker.start()
    yield broker
    broker.stop()


def librdkafka(address: str, authority: Authority, owned: Owned | None = None) -> dict[str, str]:
    settings = {"bootstrap.servers": address, "security.protocol": "SSL", "ssl.ca.pem": authority.pem}
    if owned is not None:
        settings |= {"ssl.certificate.pem": owned.pem, "ssl.key.pem": owned.key()}
    return settings


def context(authority: Authority, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=authority.pem)
    made.minimum_version = made.maximum_version = version
    return made


@pytest.mark.parametrize("listener", [0, 1], ids=["one shows a certificate", "both show one"])
def test_librdkafka_produces_and_consumes_over_tls(
    broker: BrokerProcess, authority: Authority, alice: Owned, listener: int
) -> None:
    settings = librdkafka(broker.addresses[listener], authority, alice if listener else None)
    topic = f"over-tls-{listener}"
    values = [b"%d" % number + b"x" * 200_000 for number in range(20)]
    producer = Producer(settings)
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    consumer = Consumer(settings | {"group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    got = [message.value() for _ in values if (message := consumer.poll(20)) is not None]
    consumer.close()
    assert got == values


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_both_versions_of_tls_are_spoken(
    broker: BrokerProcess, authority: Authority, version: ssl.TLSVersion
) -> None:
    with tls_socket(broker.addresses[0], context(authority, version)) as connected:
        assert connected.version() == version.name.replace("_", ".")
        connected.sendall(API_VERSIONS)
        assert answer(connected)[4:8] == b"\0\0\0\7"


#: version 0, correlation 7, client "x"
API_VERSIONS = bytes.fromhex("0000000b 0012 0000 00000007 0001 78")


def tls_socket(address: str, made: ssl.SSLContext) -> ssl.SSLSocket:
    host, _, port = address.rpartition(":")
    return made.wrap_socket(
        socket.create_connection((host, int(port)), timeout=10), server_hostname="localhost"
    )


def answer(connected: socket.socket) -> bytes:
    data = connected.recv(65536)
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        more = connected.recv(65536)
        assert more, "the broker hung up"
        data += more
    return data


def test_a_client_without_a_certificate_is_told_that_one_is_required(
    broker: BrokerProcess, authority: Authority
) -> None:
    with (
        pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
        tls_socket(broker.addresses[1], context(authority)) as connected,
    ):
        connected.recv(1)


def test_a_client_that_a_stranger_vouches_for_is_not_served(
    broker: BrokerProcess, authority: Authority, tmp_path: Path
) -> None:
    mallory = Authority("somebody else").signs(("CN", "alice"))
    made = context(authority)
    certificate, key = tmp_path / "mallory.pem", tmp_path / "mallory.key"
    certificate.write_text(mallory.pem)
    key.write_text(mallory.key())
    made.load_cert_chain(certificate, key)
    with (
        pytest.raises(ssl.SSLError, match="UNKNOWN_CA"),
        tls_socket(broker.addresses[1], made) as connected,
    ):
        connected.recv(1)


def test_a_client_that_says_nothing_or_something_else_is_not_kept(
    broker: BrokerProcess, authority: Authority
) -> None:
    host, _, port = broker.addresses[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as silent:
        for garbage in (API_VERSIONS, b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("1603010200") + b"\xff" * 600):
            with socket.create_connection((host, int(port)), timeout=10) as rude:
                rude.sendall(garbage)
                while rude.recv(100):
                    pass  # an alert
        assert silent.recv(1) == b""
    with tls_socket(broker.addresses[0], context(authority)) as connected:
        connected.sendall(API_VERSIONS)
        assert answer(connected)


def renew(broker: BrokerProcess, authority: Authority, values: dict[str, str]) -> None:
    """As an administrator does, over the listener that is not in question."""
    admin = AdminClient({"bootstrap.servers": broker.addresses[2]})
    entries = [
        ConfigEntry(f"listener.name.mutual.{key}", value, incremental_operation=AlterConfigOpType.SET)
        for key, value in values.items()
    ]
    resource = ConfigResource(ResourceType.BROKER, "0", incremental_configs=entries)
    (done,) = admin.incremental_alter_configs([resource]).values()
    done.result(20)


def test_a_key_is_renewed_while_the_broker_runs_and_a_bad_one_changes_nothing(
    broker: BrokerProcess, authority: Authority, alice: Owned, tmp_path: Path
) -> None:
    with_alice = context(authority)
    (tmp_path / "alice.pem").write_text(alice.key() + alice.pem)
    with_alice.load_cert_chain(tmp_path / "alice.pem")

    def shown() -> bytes | None:
        with tls_socket(broker.addresses[1], with_alice) as connected:
            return connected.getpeercert(binary_form=True)

    newer = authority.signs(("CN", "broker"))
    with tls_socket(broker.addresses[1], with_alice) as before:
        first = shown()
        for key, chain in (("no key", newer.pem), (newer.key("key-secret"), authority.pem)):
            with pytest.raises(KafkaException) as refused:
                renew(broker, authority, {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain})
            assert refused.value.args[0].code() == KafkaError.INVALID_REQUEST
            assert "key-secret" not in refused.value.args[0].str()
            assert shown() == first
        renew(
            broker,
            authority,
            {"ssl.keystore.key": newer.key("key-secret"), "ssl.keystore.certificate.chain": newer.pem},
        )
        assert shown() == newer.der != first
        before.sendall(API_VERSIONS)
        assert answer(before)  # on the key that it began with
    admin = AdminClient({"bootstrap.servers": broker.addresses[2]})
    (described,) = admin.describe_configs([ConfigResource(ResourceType.BROKER, "0")]).values()
    told = described.result(20)
    assert told["listener.name.mutual.ssl.keystore.key"].value is None
    secrets = [
        name for name, entry in told.items() if "secret" in str(entry.value) or "PRIVATE" in str(entry.value)
    ]
    assert secrets == []
    # and from its own log, when it comes back
    broker.stop()
    broker.start()
    assert shown() == newer.der
