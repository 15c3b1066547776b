"""Our clients on a broker that asks who they are: each mechanism, TLS both ways, and every way of not being let in."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator

import pytest

from interop.broker_process import CHECKOUT
from interop.locked_broker import MECHANISMS, PASSWORDS, SHORT_MS, LockedBroker
from leaselog.admin import Admin, NewTopic
from leaselog.client import (
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    AuthenticationFailed,
    ConfigError,
    ConnectionLost,
    Consumer,
    Producer,
    ShareConsumer,
)

pytestmark = [
    pytest.mark.all_on_kafka,
]
WAIT_S = 30.0


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LockedBroker]:
    broker = LockedBroker(tmp_path_factory.mktemp("locked"))
    broker.process.start()
    yield broker
    broker.process.stop()


Fresh = Callable[[str], str]


def round_trip(config: dict[str, str], topic: str, group: str) -> bytes:
    """What a consumer, without a group, reads of what a producer wrote."""
    with Producer(config) as producer:
        producer.send(topic, b"hello").result(WAIT_S)
    with Consumer(config, group_id=group, auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            for record in consumer.poll(1.0):
                return record.value
    raise AssertionError("nothing came")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism_lets_a_client_in(
    locked: LockedBroker, fresh: Fresh, mechanism: str, tls: bool
) -> None:
    listener = "SASL_SSL" if tls else "SASL_PLAINTEXT"
    config = {"bootstrap.servers": locked.address(listener), **locked.sasl(mechanism, tls=tls)}
    assert round_trip(config, fresh("topic"), fresh("group")) == b"hello"


def failure(config: dict[str, str]) -> AuthenticationFailed:
    begun = time.monotonic()
    with Admin(config) as admin, pytest.raises(AuthenticationFailed) as failed:
        admin.list_topics()
    assert time.monotonic() - begun < 10, "it is not tried again for a minute"
    assert "\n" not in str(failed.value)
    return failed.value


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("user", ["alice", "mallory"])
def test_a_wrong_password_and_an_unknown_user_fail_at_once(
    locked: LockedBroker, mechanism: str, user: str
) -> None:
    config = {**locked.sasl(mechanism), "sasl.username": user, "sasl.password": "guessed"}
    failed = failure({"bootstrap.servers": locked.address("SASL_PLAINTEXT"), **config})
    assert f"{mechanism} as {user} is refused (an unknown user, or a wrong password)" in str(failed)


REFUSALS = {
    "a mechanism that is not enabled": (
        *("SCRAM_ONLY", lambda locked: locked.sasl("PLAIN")),
        "PLAIN is not enabled there; sasl.mechanism can be SCRAM-SHA-256",
    ),
    "the system's authorities alone": (
        *("SSL", lambda locked: {"security.protocol": "SSL"}),
        "is signed by nobody who is trusted here .*: give its authority with ssl.truststore.location",
    ),
    "another authority": (
        *("SSL", lambda locked: locked.tls(ssl_truststore_location=str(locked.stranger.certificate))),
        "is signed by nobody who is trusted here .*: give its authority with ssl.truststore.location",
    ),
    "another name": (
        *("ELSEWHERE", lambda locked: locked.tls()),
        "the broker's certificate is not for the name 127.0.0.1: connect by a name that is in it",
    ),
    "an expired certificate": (
        *("EXPIRED", lambda locked: locked.tls()),
        "the broker's certificate, .*, has expired",
    ),
    "no certificate of the client's": (
        *("CERTIFIED", lambda locked: locked.tls()),
        "asks for the client's certificate, and there is none: give it with ssl.keystore.location",
    ),
    "no certificate of the client's, TLS 1.2": (
        *("CERTIFIED", lambda locked: locked.tls(ssl_enabled_protocols="TLSv1.2")),
        "asks for the client's certificate, and there is none: give it with ssl.keystore.location",
    ),
    "a client's certificate by another authority": (
        *("CERTIFIED", lambda locked: locked.tls(ssl_keystore_location=str(locked.stranger.issue("eve")))),
        r"the broker does not accept the client's certificate \(ssl.keystore.location\)",
    ),
    "no TLS where TLS is spoken": (
        *("SSL", lambda locked: {}),
        "it expects TLS: security.protocol is SSL or SASL_SSL for this port",
    ),
    "SASL without TLS where TLS is spoken": (
        *("SASL_SSL", lambda locked: locked.sasl("PLAIN")),
        "it expects TLS: security.protocol is SSL or SASL_SSL for this port",
    ),
    "TLS where none is spoken": (
        *("PLAINTEXT", lambda locked: locked.tls()),
        "it speaks Kafka without TLS: security.protocol is PLAINTEXT or SASL_PLAINTEXT for this port",
    ),
    "SASL where nobody is asked": (
        *("PLAINTEXT", lambda locked: locked.sasl("PLAIN")),
        "it takes no SASL: security.protocol is PLAINTEXT or SSL for this listener",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_who_is_not_let_in_is_told_why_in_one_line(locked: LockedBroker, what: str) -> None:
    listener, config, words = REFUSALS[what]
    failed = failure({"bootstrap.servers": locked.address(listener), **config(locked)})
    assert re.search(words, str(failed))


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_who_does_not_say_who_it_is_where_that_is_asked_is_told_so(
    locked: LockedBroker, listener: str
) -> None:
    config = locked.tls() if listener == "SASL_SSL" else {}
    with (
        Admin(config, bootstrap_servers=locked.address(listener), default_api_timeout_ms=1000) as admin,
        pytest.raises(ConnectionLost, match=r"does it ask for SASL \(security.protocol\)\?"),
    ):
        admin.list_topics()


def test_a_wrong_password_fails_at_once_for_every_kind_of_client(locked: LockedBroker) -> None:
    config = {
        **locked.sasl("PLAIN"),
        "sasl.password": "guessed",
        "bootstrap.servers": locked.address("SASL_PLAINTEXT"),
    }
    begun = time.monotonic()
    with Producer(config) as producer:
        receipt = producer.send("t", b"x")
        with pytest.raises(AuthenticationFailed, match="PLAIN as alice is refused"):
            receipt.result(WAIT_S)
    for kind in (Consumer, ShareConsumer):
        with kind(config, group_id="g") as consumer:
            consumer.subscribe(["t"])
            with pytest.raises(AuthenticationFailed, match="PLAIN as alice is refused"):
                consumer.poll(10)
    assert time.monotonic() - begun < 20


def test_a_wrong_password_fails_at_once_with_asyncio(locked: LockedBroker) -> None:
    config = {
        **locked.sasl("PLAIN"),
        "sasl.password": "guessed",
        "bootstrap.servers": locked.address("SASL_PLAINTEXT"),
    }

    async def everybody() -> None:
        async with AsyncProducer(config) as producer:
            with pytest.raises(AuthenticationFailed):
                await (await producer.send("t", b"x"))
        for kind in (AsyncConsumer, AsyncShareConsumer):
            async with kind(config, group_id="g") as consumer:
                consumer.subscribe(["t"])
                with pytest.raises(AuthenticationFailed):
                    await consumer.poll(10)

    asyncio.run(asyncio.wait_for(everybody(), 20))


@pytest.mark.parametrize("how", ["files", "texts", "encrypted", "librdkafka"])
def test_a_clients_certificate_is_taken_from_files_and_from_texts(
    locked: LockedBroker, fresh: Fresh, how: str
) -> None:
    path = locked.certificate
    if how == "encrypted":
        path = locked.authority.issue("alice-encrypted", password="of the key")
    text = path.read_text()
    begin = text.index("-----BEGIN CERTIFICATE")
    key, chain = text[:begin], text[begin:]
    given = {
        "files": {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)},
        "encrypted": {"ssl.keystore.location": str(path), "ssl.key.password": "of the key"},
        "texts": {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain},
        "librdkafka": {"ssl.key.pem": key, "ssl.certificate.pem": chain},
    }[how]
    authority = locked.authority.certificate
    trust = {"ssl.truststore.location": str(authority)}
    if how in ("texts", "librdkafka"):
        trust = {"ssl.truststore.certificates" if how == "texts" else "ssl.ca.pem": authority.read_text()}
    config = {"security.protocol": "SSL", **trust, **given, "bootstrap.servers": locked.address("CERTIFIED")}
    if how == "encrypted":  # whoever is not alice has no rights
        with Admin(config) as admin:
            assert admin.describe_cluster().nodes
        return
    assert round_trip(config, fresh("topic"), fresh("group")) == b"hello"


def test_a_wrong_password_of_a_key_is_told_before_anybody_connects(locked: LockedBroker) -> None:
    path = locked.authority.issue("alice-locked", password="of the key")
    with pytest.raises(ConfigError, match="the private key cannot be read with this"):
        Producer(
            locked.tls(ssl_keystore_location=str(path), ssl_key_password="guessed"), bootstrap_servers="h:1"
        )
    with pytest.raises(ConfigError, match="the private key is encrypted, and"):
        Producer(locked.tls(ssl_keystore_location=str(path)), bootstrap_servers="h:1")


def test_the_check_of_names_can_be_switched_off(locked: LockedBroker) -> None:
    config = locked.tls(ssl_endpoint_identification_algorithm="")
    with Admin(config, bootstrap_servers=locked.address("ELSEWHERE")) as admin:
        assert admin.describe_cluster().nodes


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sessions_are_renewed_under_load_without_a_lost_record(
    locked: LockedBroker, fresh: Fresh, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Sessions live for two seconds there: seven of them."""
    topic, group = fresh("topic"), fresh("group")
    config = {**locked.sasl(mechanism), "bootstrap.servers": locked.address("SHORT")}
    with Admin(locked.address("PLAINTEXT")) as admin:
        admin.create_topics([NewTopic(topic)])  # a consumer is to find it there, however the two begin
    sent, got = 0, list[int]()
    ends = time.monotonic() + 3.5 * SHORT_MS / 1000
    with (
        Producer(config) as producer,
        Consumer(config, group_id=group, auto_offset_reset="earliest") as consumer,
    ):
        consumer.subscribe([topic])
        while time.monotonic() < ends:
            receipts = [producer.send(topic, str(sent + i).encode()) for i in range(20)]
            sent += len(receipts)
            got += [int(record.value) for record in consumer.poll(0.05)]
            for receipt in receipts:
                receipt.result(WAIT_S)
        deadline = time.monotonic() + WAIT_S
        while len(got) < sent and time.monotonic() < deadline:
            got += [int(record.value) for record in consumer.poll(0.5)]
    assert sorted(got) == list(range(sent))
    assert sent > 100
    lost = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert not lost, "no connection ended"


def test_the_blocks_of_the_guide_work(locked: LockedBroker) -> None:
    path = CHECKOUT / "docs" / "guides" / "secured-clusters.md"
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        for told, here in {
            "kafka.example.com:9094": locked.address("SASL_SSL"),
            "kafka.example.com:9093": locked.address("CERTIFIED"),
            "/etc/kafka/ca.pem": str(locked.authority.certificate),
            "/etc/kafka/client.pem": str(locked.certificate),
            "alice-secret": PASSWORDS["alice"],
        }.items():
            block = block.replace(told, here)
        exec(compile(block, str(path), "exec"), {})
