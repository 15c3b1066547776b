"""What a client is told of TLS and SASL: by Kafka's names and librdkafka's; refused in a line that names it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from leaselog.admin.admin_config import AdminConfig
from leaselog.client import ConfigError
from leaselog.client.config_values import ConfigValues
from leaselog.client.consumer.config import ConsumerConfig
from leaselog.client.producer_config import ProducerConfig
from leaselog.client.security.config import SecurityConfig
from leaselog.client.security.secret import HIDDEN, Secret, hidden
from leaselog.client.share.config import ShareConsumerConfig

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
PASSWORD = "pa;ss'w=rd"
WITH_PLAIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
WITH_BEARER = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}


def security(**given: Any) -> SecurityConfig:
    return SecurityConfig.of(ConfigValues(given))


def of(given: dict[str, Any]) -> SecurityConfig:
    return SecurityConfig.of(ConfigValues(given))


@pytest.mark.parametrize(
    "given",
    [
        {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": PASSWORD},
        {"sasl.mechanisms": "SCRAM-SHA-512", "sasl_username": "alice", "sasl_password": PASSWORD},
        {
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SCRAM} required username="alice" password="{PASSWORD}";',
        },
    ],
    ids=["kafka", "librdkafka", "jaas"],
)
def test_user_and_password_are_taken_by_each_of_their_names(given: dict[str, Any]) -> None:
    sasl = of({"security.protocol": "sasl_plaintext", **given}).sasl
    assert sasl is not None
    assert (sasl.mechanism, sasl.username, sasl.password) == ("SCRAM-SHA-512", "alice", Secret(PASSWORD))


def test_without_anything_a_client_is_plain() -> None:
    found = security()
    assert (found.protocol, found.tls, found.sasl) == ("PLAINTEXT", None, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"security.protocol": "TLS"},
            "security.protocol=TLS: expected one of plaintext, ssl, sasl_plaintext",
        ),
        ({"security.protocol": "SASL_PLAINTEXT"}, "sasl.mechanism is missing: one of PLAIN, SCRAM-SHA-256"),
        ({**WITH_PLAIN, "sasl.mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI is not supported, only PLAIN"),
        ({**WITH_PLAIN, "sasl.username": "a"}, "sasl.password is missing"),
        ({**WITH_PLAIN, "sasl.password": PASSWORD}, "sasl.username is missing"),
        ({**WITH_PLAIN, "sasl.jaas.config": f"nonsense {PASSWORD}"}, "sasl.jaas.config: "),
        (
            {**WITH_PLAIN, "sasl.jaas.config": f'{SCRAM} required username="a" password="{PASSWORD}";'},
            "sasl.jaas.config is for .*ScramLoginModule, and sasl.mechanism=PLAIN needs .*PlainLoginModule",
        ),
        (
            WITH_BEARER,
            "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url, oauth_cb or sasl.oauthbearer.token",
        ),
        (
            {**WITH_BEARER, "sasl.oauthbearer.token": PASSWORD, "oauth_cb": print},
            "OAUTHBEARER takes its tokens from sasl.oauthbearer.token and oauth_cb: give one of them",
        ),
        (
            {
                **WITH_BEARER,
                "sasl.oauthbearer.token.endpoint.url": "https://here",
                "sasl.oauthbearer.client.id": "a",
            },
            "sasl.oauthbearer.client.credentials.client.secret is missing",
        ),
        (
            {**WITH_BEARER, "sasl.oauthbearer.token.endpoint.url": "ftp://here"},
            "expected https://, http:// or file:",
        ),
        ({**WITH_BEARER, "oauth_cb": "no_such_module:token"}, "expected a function, or MODULE:FUNCTION"),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "JKS"},
            "ssl.truststore.type=JKS is not supported, only PEM",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/no/such"},
            "ssl.truststore.location=/no/such: No such",
        ),
        ({"security.protocol": "SSL", "ssl.ca.location": __file__}, "ssl.ca.location=.*: expected PEM"),
        (
            {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1"},
            "ssl.enabled.protocols=TLSv1 is not supported",
        ),
        (
            {"security.protocol": "SSL", "ssl.cipher.suites": "NONSENSE"},
            "ssl.cipher.suites=NONSENSE: expected names",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.key": PASSWORD},
            "a certificate and its key are given together",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.key": PASSWORD, "ssl.keystore.certificate.chain": "x"},
            "ssl.keystore.certificate.chain: no certificate with its private key can be read",
        ),
        ({"sasl.login.class": "x.Y"}, "sasl.login.class is not supported: it is a class of Java's"),
        (
            {"sasl.login.callback.handler.class": "x.Y"},
            "sasl.login.callback.handler.class=x.Y is not supported",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_that_shows_no_secret(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        of(given)
    assert PASSWORD not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", [ProducerConfig, ConsumerConfig, ShareConsumerConfig, AdminConfig])
def test_every_client_takes_them_and_shows_no_secret(kind: Any) -> None:
    known = {"bootstrap.servers": "h:1", "sasl.username": "alice", "sasl.password": PASSWORD, **WITH_PLAIN}
    group = {"group.id": "g"} if kind in (ConsumerConfig, ShareConsumerConfig) else {}
    config = kind.of(known, group)
    assert config.security.user == "alice"
    assert PASSWORD not in f"{config!r} {config} {config.security.given}"


@pytest.mark.parametrize("kind", [ProducerConfig, AdminConfig])
def test_a_mistyped_name_of_them_is_refused(kind: Any) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.pasword is not a .* configuration; sasl\.password\?"):
        kind.of({"bootstrap.servers": "h:1", "sasl.pasword": PASSWORD})


@pytest.mark.parametrize(
    "key",
    ["sasl.password", "ssl.key.password", "sasl.jaas.config", "ssl.keystore.key", "ssl.key.pem",
     "listener.name.x.plain.sasl.jaas.config", "kafka.sasl.password", "sasl_password", "my.own.secret"],
)  # fmt: skip
def test_values_of_secret_names_are_hidden(key: str) -> None:
    value = hidden(key, PASSWORD)
    assert f"{value} {value!r}" == f"{HIDDEN} {HIDDEN}"
    assert isinstance(value, Secret)
    assert pickle.loads(pickle.dumps(value)).reveal() == PASSWORD


def test_names_that_are_no_secret_are_shown() -> None:
    assert [hidden(key, "x") for key in ("sasl.username", "ssl.truststore.location", "acks")] == ["x"] * 3


def test_claims_of_a_token_without_a_signature_come_from_jaas_or_librdkafkas_text() -> None:
    by_jaas = of({**WITH_BEARER, "sasl.jaas.config": f'{BEARER} required unsecuredLoginStringClaim_sub="a";'})
    by_text = of(
        {
            **WITH_BEARER,
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": "principal=a",
        }
    )
    for found in (by_jaas, by_text):
        assert found.sasl is not None
        assert found.sasl.bearer is not None
        assert found.sasl.bearer.unsecured == {"sub": "a"}


def token_for_tests(config: str) -> tuple[str, float]:
    return config, 0.0


def test_a_function_of_tokens_can_be_named_where_only_texts_can_be_given() -> None:
    sasl = of({**WITH_BEARER, "oauth_cb": f"{__name__}:token_for_tests"}).sasl
    assert sasl is not None
    assert sasl.bearer is not None
    assert sasl.bearer.function is token_for_tests
