"""Clients nobody here wrote log in to a broker that asks for it, by each mechanism, and are refused if they may not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.asymmetric import rsa
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from interop.broker_process import BrokerProcess

pytestmark = pytest.mark.only_leaselog("its first users come by the environment")

SIGNING_KEY = rsa.generate_private_key(65537, 2048)
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
SECRETS = {"PLAIN": "p-secret", "SCRAM-SHA-256": "s-secret", "SCRAM-SHA-512": "t-secret"}
FIRST_USERS = "\n".join(f"{name}=[name=alice,password={SECRETS[name]}]" for name in MECHANISMS[1:])
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
CONFIG = {
    "listener.security.protocol.map": "ADMIN:PLAINTEXT,IN:SASL_PLAINTEXT",
    "listeners": "ADMIN://127.0.0.1:0,IN://127.0.0.1:0",
    "sasl.enabled.mechanisms": ",".join([*MECHANISMS, "OAUTHBEARER"]),
    "sasl.oauthbearer.expected.issuer": "https://issuer.example",
    "sasl.oauthbearer.expected.audience": "queues",
    "listener.name.in.plain.sasl.jaas.config": f'{JAAS} user_alice="{SECRETS["PLAIN"]}";',
    # librdkafka logs in again at nine tenths of this
    "connections.max.reauth.ms": "3000",
}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    home = Path(tmp_path_factory.mktemp("locked"))
    key = jwt.algorithms.RSAAlgorithm.to_jwk(SIGNING_KEY.public_key(), as_dict=True)
    (home / "keys.json").write_text(json.dumps({"keys": [key | {"kid": "k"}]}))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LEASELOG_ADD_SCRAM", FIRST_USERS)
        keys = {"sasl.oauthbearer.jwks.endpoint.url": (home / "keys.json").as_uri()}
        broker = BrokerProcess(home, CONFIG | keys)
        broker.start()
    yield broker
    broker.stop()
    told = broker.log_path.read_text()
    assert [secret for secret in SECRETS.values() if secret in told] == []


def settings(broker: BrokerProcess, mechanism: str, password: str, user: str = "alice") -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.addresses[1],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in_and_goes_on_when_it_has_to_log_in_again(
    locked: BrokerProcess, mechanism: str
) -> None:
    topic = f"of-{mechanism}"
    config = settings(locked, mechanism, SECRETS[mechanism])
    failures: list[object] = []
    producer = Producer(config | {"error_cb": failures.append})
    reader = Consumer(
        config | {"group.id": topic, "auto.offset.reset": "earliest", "error_cb": failures.append}
    )
    reader.subscribe([topic])
    read = []
    for count in range(5):  # for longer than a login lasts
        producer.produce(topic, str(count))
        assert producer.flush(20) == 0
        while len(read) <= count:
            message = reader.poll(20)
            assert message is not None
            if message.error() is None:
                read.append(message.value())
        reader.poll(0.8)
    reader.close()
    assert read == [b"%d" % count for count in range(5)]
    assert failures == []


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", ["alice", "nobody"])
def test_librdkafka_is_told_that_its_password_is_wrong(
    locked: BrokerProcess, mechanism: str, user: str
) -> None:
    failures: list[Any] = []
    config = settings(locked, mechanism, "wrong", user) | {"error_cb": failures.append}
    client = AdminClient(config)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=2)
    client.poll(1)
    assert any("authentication" in str(failure).lower() for failure in failures), failures


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in(locked: BrokerProcess, mechanism: str) -> None:
    config = {
        "bootstrap_servers": locked.addresses[1],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
    }
    client = KafkaAdminClient(**config, sasl_plain_password=SECRETS[mechanism])
    assert client.list_topics() is not None
    client.close()
    with pytest.raises(KafkaError):
        KafkaAdminClient(**config, sasl_plain_password="wrong", bootstrap_timeout_ms=3000)


@pytest.mark.parametrize("audience", ["queues", "others"])
def test_librdkafka_logs_in_with_a_token_that_is_for_the_broker_and_with_no_other(
    locked: BrokerProcess, audience: str
) -> None:
    def a_token(_: object) -> tuple[str, float]:
        now = int(time.time())
        claims = {
            "sub": "alice",
            "iss": "https://issuer.example",
            "aud": audience,
            "iat": now,
            "exp": now + 300,
        }
        return jwt.encode(claims, SIGNING_KEY, "RS256", headers={"kid": "k"}), now + 300.0

    failures: list[Any] = []
    config = {
        "bootstrap.servers": locked.addresses[1],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": a_token,
        "error_cb": failures.append,
    }
    producer = Producer(config)
    producer.poll(1)  # where the token is asked for
    if audience == "queues":
        assert producer.list_topics(timeout=20).brokers
    else:
        with pytest.raises(KafkaException):
            producer.list_topics(timeout=2)
        producer.poll(1)
        assert any("invalid_token" in str(failure) for failure in failures), failures


def test_users_that_an_admin_makes_and_removes_may_and_may_not_log_in(locked: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": locked.addresses[0]})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)

    def alter(change: Any) -> None:
        for answer in admin.alter_user_scram_credentials([change]).values():
            answer.result(20)

    alter(UserScramCredentialUpsertion("bob", info, b"b-secret"))
    (described,) = admin.describe_user_scram_credentials(["bob"]).values()
    told = described.result(20).scram_credential_infos
    assert [(one.mechanism, one.iterations) for one in told] == [(ScramMechanism.SCRAM_SHA_256, 8192)]
    bob = settings(locked, "SCRAM-SHA-256", "b-secret", "bob")
    assert AdminClient(bob).list_topics(timeout=20).brokers
    alter(UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256))
    with pytest.raises(KafkaException):
        AdminClient(bob).list_topics(timeout=2)
