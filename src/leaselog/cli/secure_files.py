"""The texts that `leaselog secure` writes beside keys and certificates: properties of a broker and its clients. Pure.

Apache's names throughout, so that the same files serve Apache's broker and Java's clients. librdkafka has other names
for files and passwords, refuses Java's, and so gets a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leaselog.sasl.jaas import SCRAM_MODULE, entry

__all__ = ["ADMIN", "CLIENT", "FIRST_USERS", "MECHANISM", "Layout", "properties_files", "properties_text"]

MECHANISM = "SCRAM-SHA-512"
#: for the broker's first start: `leaselog serve --add-scram @FILE`, a line a user as Kafka's own tool takes them
FIRST_USERS = "first-users.txt"
#: the users: who may do everything, and who may do what rules say
ADMIN, CLIENT = "admin", "client"
#: of a certificate's name, CN=alice,… is User:alice
_MAPPING = "RULE:^CN=([^,]+).*$/$1/,DEFAULT"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files lie, and where the broker listens and is found."""

    directory: Path
    bind: str
    #: the name that clients are told
    name: str
    port: int

    def file(self, name: str) -> str:
        return str(self.directory / name)

    @property
    def sasl_address(self) -> str:
        return f"{_bracketed(self.name)}:{self.port}"

    @property
    def tls_address(self) -> str:
        return f"{_bracketed(self.name)}:{self.port + 1}"


def properties_files(layout: Layout, passwords: Mapping[str, str]) -> dict[str, str]:
    """By file name; ``passwords`` by user."""
    return {
        "broker.properties": _broker(layout),
        f"{ADMIN}.properties": _user(layout, ADMIN, passwords[ADMIN]),
        f"{CLIENT}.properties": _user(layout, CLIENT, passwords[CLIENT]),
        f"{CLIENT}-certificate.properties": _certificate(layout),
        f"{CLIENT}-librdkafka.properties": _librdkafka(layout, passwords[CLIENT]),
        FIRST_USERS: "".join(
            f"{MECHANISM}=[name={user},password={password}]\n" for user, password in passwords.items()
        ),
    }


def _broker(layout: Layout) -> str:
    bind, port = _bracketed(layout.bind), layout.port
    return properties_text(
        "A broker that lets in who has a password (SASL_SSL) or a certificate (SSL), to do what rules allow.",
        {
            "listeners": f"SASL_SSL://{bind}:{port},SSL://{bind}:{port + 1}",
            "advertised.listeners": f"SASL_SSL://{layout.sasl_address},SSL://{layout.tls_address}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": layout.file("broker.pem"),
            **_trust(layout),
            "listener.name.ssl.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": _MAPPING,
            "sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN}",
        },
    )


def _user(layout: Layout, user: str, password: str) -> str:
    return properties_text(
        f"{user}, by password: for leaselog and for Java.",
        {
            "bootstrap.servers": layout.sasl_address,
            "security.protocol": "SASL_SSL",
            **_trust(layout),
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": entry(SCRAM_MODULE, {"username": user, "password": password}),
        },
    )


def _certificate(layout: Layout) -> str:
    return properties_text(
        f"{CLIENT}, by certificate: for leaselog and for Java.",
        {
            "bootstrap.servers": layout.tls_address,
            "security.protocol": "SSL",
            **_trust(layout),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": layout.file("client.pem"),
        },
    )


def _librdkafka(layout: Layout, password: str) -> str:
    return properties_text(
        f"{CLIENT}, by password: for librdkafka (confluent-kafka, kcat) and for leaselog.",
        {
            "bootstrap.servers": layout.sasl_address,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": layout.file("ca.pem"),
            "sasl.mechanism": MECHANISM,
            "sasl.username": CLIENT,
            "sasl.password": password,
        },
        is_java=False,
    )


def _trust(layout: Layout) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": layout.file("ca.pem")}


def properties_text(remark: str, values: Mapping[str, str], *, is_java: bool = True) -> str:
    """Java reads what is not ASCII, and backslashes, in escapes of its own; librdkafka knows none."""
    told = {key: _escaped(value) if is_java else value for key, value in values.items()}
    return "".join([f"# {remark}\n", *(f"{key}={value}\n" for key, value in told.items())])


def _escaped(value: str) -> str:
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(
        "\\\\" if code == ord("\\") else chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}"
        for code in codes
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
