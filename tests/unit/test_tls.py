"""From Kafka's `ssl.*` settings to OpenSSL: stores, versions, suites, trust, and what cannot be had."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.certificates import Authority, Owned

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.listeners import read_listeners, settings_of
from leaselog.broker.net.serving import plan_serving
from leaselog.broker.security.principals import make_principal_builder
from leaselog.broker.security.tls import TlsListeners

AUTHORITY = Authority()
BROKER = AUTHORITY.signs(("O", "Acme"), ("CN", "broker"), names=("localhost", "broker.example"))
Settings = dict[str, str]


def pem(owned: Owned = BROKER, password: str = "") -> Settings:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": owned.key(password),
        "ssl.keystore.certificate.chain": owned.pem,
    }


def config_of(settings: Settings, listener: str = "SSL") -> BrokerConfig:
    return BrokerConfig.from_originals({"listeners": f"{listener}://:1", **settings})


def listeners(settings: Settings, listener: str = "SSL") -> TlsListeners:
    config = config_of(settings, listener)
    return TlsListeners(config, read_listeners(config))


def context(settings: Settings, listener: str = "SSL") -> ssl.SSLContext:
    config = config_of(settings, listener)
    (only,) = read_listeners(config)
    return TlsListeners(config, [only]).context(only)


def shown_to_a_client(server: ssl.SSLContext, client: ssl.SSLContext | None = None) -> ssl.SSLObject:
    """Shakes hands in memory; what the client has then. Raises what either side does not like."""
    if client is None:
        client = ssl.create_default_context(cadata=AUTHORITY.pem)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    there = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    here = server.wrap_bio(to_server, to_client, server_side=True)
    unfinished = [there, here]
    for _ in range(8):
        for side in list(unfinished):
            try:
                side.do_handshake()
                unfinished.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not unfinished
    return there


def in_file(folder: Path, name: str, data: str | bytes) -> str:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


STORES: dict[str, Callable[[Path], Settings]] = {
    "PEM in values": lambda folder: pem(),
    "PEM in a value of one line": lambda folder: {
        **pem(),
        "ssl.keystore.key": " ".join(BROKER.key().split("\n")),
        "ssl.keystore.certificate.chain": BROKER.pem.replace("\n", " "),
    },
    "PEM with n for the end of a line": lambda folder: {
        **pem(),
        "ssl.keystore.certificate.chain": BROKER.pem.replace("\n", "\\n"),
    },
    "PEM whose key has a password": lambda folder: {**pem(password="of key"), "ssl.key.password": "of key"},
    "PEM in a file": lambda folder: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": in_file(folder, "b.pem", BROKER.key() + BROKER.pem + AUTHORITY.pem),
    },
    "PKCS12": lambda folder: {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": in_file(folder, "b.p12", BROKER.pkcs12("of store")),
        "ssl.keystore.password": "of store",
    },
    "PKCS12 that nobody calls so": lambda folder: {
        "ssl.keystore.location": in_file(folder, "b.p12", BROKER.pkcs12("of store")),
        "ssl.keystore.password": "of store",
    },
}


@pytest.mark.parametrize("store", STORES)
def test_a_key_is_found_wherever_kafka_finds_it(tmp_path: Path, store: str) -> None:
    shown = shown_to_a_client(context(STORES[store](tmp_path)))
    assert shown.getpeercert(binary_form=True) == BROKER.der


TRUST: dict[str, Callable[[Path], Settings]] = {
    "PEM in a value": lambda folder: {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": AUTHORITY.pem,
    },
    "PEM in a file": lambda folder: {
        "ssl.truststore.type": "pem",
        "ssl.truststore.location": in_file(folder, "t.pem", AUTHORITY.pem),
    },
    "PKCS12 of Java": lambda folder: {
        "ssl.truststore.location": in_file(folder, "t.p12", AUTHORITY.trust_pkcs12("of trust")),
        "ssl.truststore.password": "of trust",
    },
}


def client_of(owned: Owned | None, folder: Path) -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=AUTHORITY.pem)
    made.maximum_version = (
        ssl.TLSVersion.TLSv1_2
    )  # where a client hears of a refusal before it is done itself
    if owned is not None:
        made.load_cert_chain(in_file(folder, "c.pem", owned.key() + owned.pem))
    return made


@pytest.mark.parametrize("store", TRUST)
def test_a_client_is_served_if_its_certificate_is_trusted_and_only_then(tmp_path: Path, store: str) -> None:
    server = context(pem() | TRUST[store](tmp_path) | {"ssl.client.auth": "required"})
    assert shown_to_a_client(server, client_of(AUTHORITY.signs(("CN", "alice")), tmp_path))
    with pytest.raises(ssl.SSLError, match="VERIFY_FAILED"):
        shown_to_a_client(server, client_of(Authority("other").signs(("CN", "alice")), tmp_path))
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN"):
        shown_to_a_client(server, client_of(None, tmp_path))


def test_who_is_only_requested_to_show_one_need_not_but_may_not_show_a_wrong_one(tmp_path: Path) -> None:
    server = context(pem() | TRUST["PEM in a value"](tmp_path) | {"ssl.client.auth": "requested"})
    assert shown_to_a_client(server, client_of(None, tmp_path))
    with pytest.raises(ssl.SSLError, match="VERIFY_FAILED"):
        shown_to_a_client(server, client_of(Authority("other").signs(("CN", "alice")), tmp_path))


def test_a_listener_with_sasl_asks_for_certificates_only_if_that_is_said_of_it_by_name() -> None:
    asked = pem() | TRUST["PEM in a value"](Path()) | {"ssl.client.auth": "required"}
    assert context(asked, "SASL_SSL").verify_mode == ssl.CERT_NONE
    named = asked | {"listener.name.sasl_ssl.ssl.client.auth": "required"}
    assert context(named, "SASL_SSL").verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("settings", "spoken"),
    [
        ({}, ["TLSv1.3", "TLSv1.2"]),
        ({"ssl.enabled.protocols": "TLSv1.2"}, [None, "TLSv1.2"]),
        ({"ssl.enabled.protocols": "TLSv1.3"}, ["TLSv1.3", None]),
        ({"ssl.protocol": "TLSv1.2"}, [None, "TLSv1.2"]),
        ({"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}, [None, "TLSv1.2"]),
        (
            {
                "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256"
            },
            ["TLSv1.3", None],
        ),
    ],
)
def test_the_versions_that_are_spoken_are_those_that_are_named(
    settings: Settings, spoken: list[str | None]
) -> None:
    server = context(pem() | settings)

    def version(wanted: ssl.TLSVersion) -> str | None:
        client = ssl.create_default_context(cadata=AUTHORITY.pem)
        client.minimum_version = client.maximum_version = wanted
        try:
            return shown_to_a_client(server, client).version()
        except ssl.SSLError:
            return None

    assert [version(ssl.TLSVersion.TLSv1_3), version(ssl.TLSVersion.TLSv1_2)] == spoken


def test_no_other_suite_is_taken_than_those_that_are_named() -> None:
    suites = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
    server = context(pem() | {"ssl.cipher.suites": suites})
    shown = shown_to_a_client(server).cipher()
    assert shown is not None
    assert shown[0] == "ECDHE-ECDSA-CHACHA20-POLY1305"


WRONG: dict[str, tuple[Callable[[Path], Settings], str]] = {
    "no key": (lambda folder: {}, "a listener with TLS needs a key"),
    "JKS": (
        lambda folder: {"ssl.keystore.location": in_file(folder, "b.jks", b"\xfe\xed\xfe\xed\0\0\0\2")},
        r"keytool -importkeystore -srckeystore \S*b.jks -destkeystore \S*b.p12 -deststoretype PKCS12",
    ),
    "no file": (
        lambda folder: {"ssl.keystore.location": "/nowhere"},
        "/nowhere cannot be read: No such file",
    ),
    "a wrong password of a store": (
        lambda folder: STORES["PKCS12"](folder) | {"ssl.keystore.password": "wrong-secret"},
        "cannot be read as PKCS12 with the password of ssl.keystore.password",
    ),
    "a wrong password of a key": (
        lambda folder: pem(password="right") | {"ssl.key.password": "wrong-secret"},
        r"is ssl\.key\.password right\?",
    ),
    "no password of a key": (lambda folder: pem(password="right"), r"is ssl\.key\.password right\?"),
    "somebody else's key": (
        lambda folder: pem() | {"ssl.keystore.key": AUTHORITY.key()},
        "not that of the first certificate",
    ),
    "PEM without its type": (
        lambda folder: {
            key: text for key, text in STORES["PEM in a file"](folder).items() if "type" not in key
        },
        "is PEM: expected ssl.keystore.type=PEM",
    ),
    "a key in a store of trust": (
        lambda folder: pem() | {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": BROKER.key()},
        "ssl.truststore.certificates: no certificate in PEM was found",
    ),
    "nobody to trust": (lambda folder: pem() | {"ssl.client.auth": "required"}, "nothing says whom to trust"),
    "an old version": (
        lambda folder: pem() | {"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"},
        "expected TLSv1.2, TLSv1.3",
    ),
    "one suite of TLS 1.3": (
        lambda folder: pem() | {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"},
        "all of TLS 1.3 or none",
    ),
    "an unknown suite": (
        lambda folder: pem() | {"ssl.cipher.suites": "TLS_RSA_WITH_ROT_13"},
        "has no suite TLS_RSA_WITH_ROT_13",
    ),
    "half of PEM": (
        lambda folder: {"ssl.keystore.type": "PEM", "ssl.keystore.key": BROKER.key()},
        "only of use together",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_had_is_refused_in_one_line_without_secrets(tmp_path: Path, case: str) -> None:
    settings, said = WRONG[case]
    with pytest.raises(ConfigError, match=said) as raised:
        listeners(settings(tmp_path))
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_new_key_of_the_same_owner_is_taken_and_the_old_one_stays_if_it_is_no_key() -> None:
    first = config_of(pem())
    (listener,) = read_listeners(first)
    tls = TlsListeners(first, [listener])
    newer = AUTHORITY.signs(
        ("O", "Acme"), ("CN", "broker"), names=("localhost", "broker.example", "more.example")
    )
    assert tls.reload(config_of(pem())) == []
    with pytest.raises(ConfigError, match="not that of the first"):
        tls.reload(config_of(pem(newer) | {"ssl.keystore.key": BROKER.key()}))
    assert shown_to_a_client(tls.context(listener)).getpeercert(binary_form=True) == BROKER.der
    assert tls.reload(config_of(pem(newer))) == ["SSL"]
    assert shown_to_a_client(tls.context(listener)).getpeercert(binary_form=True) == newer.der


@pytest.mark.parametrize(
    ("owned", "said", "unless"),
    [
        (AUTHORITY.signs(("CN", "else"), names=("localhost", "broker.example")), "is of CN=else", "dn"),
        (AUTHORITY.signs(("O", "Acme"), ("CN", "broker")), "lacks alternative names", "san"),
    ],
)
def test_a_broker_goes_on_as_the_same_one_unless_its_config_lets_it_change(
    owned: Owned, said: str, unless: str
) -> None:
    tls = listeners(pem())
    with pytest.raises(ConfigError, match=said):
        tls.check(config_of(pem(owned)))
    tls.check(config_of(pem(owned) | {f"ssl.allow.{unless}.changes": "true"}))


def test_a_file_that_was_renewed_is_read_again(tmp_path: Path) -> None:
    settings = STORES["PEM in a file"](tmp_path)
    tls = listeners(settings)
    newer = AUTHORITY.signs(("O", "Acme"), ("CN", "broker"), names=("localhost", "broker.example"))
    in_file(tmp_path, "b.pem", newer.key() + newer.pem)
    assert tls.reload(config_of(settings)) == ["SSL"]


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "locked-broker.md"
BLOCKS = re.findall(r"```properties\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if "listeners=" in block or "client.auth" in block]
)
def test_what_the_guide_says_is_understood_and_protects(tmp_path: Path, block: str) -> None:
    files = {"broker.pem": BROKER.key() + BROKER.pem, "clients-ca.pem": AUTHORITY.pem}
    first = BLOCKS[0] if "listeners=" not in block else ""
    keys = "ssl.keystore.type=PEM\nssl.keystore.location=/etc/leaselog/broker.pem\n"
    trust = "ssl.truststore.type=PEM\nssl.truststore.location=/etc/leaselog/clients-ca.pem\n"
    text = (keys + trust + first + block).replace("/etc/leaselog", str(tmp_path))
    for name, data in files.items():
        in_file(tmp_path, name, data)
    serving = plan_serving(BrokerConfig.from_properties(text), listen=[], data_dir=None, ephemeral=True)
    assert serving.warnings == ()
    secured = TlsListeners(serving.config, serving.listeners)
    asks = "client.auth=required" in block
    for listener in serving.listeners:
        if listener.protocol.has_tls:
            assert (secured.context(listener).verify_mode == ssl.CERT_REQUIRED) == asks
            make_principal_builder(settings_of(serving.config, listener))
