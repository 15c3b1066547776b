"""Keys and certificates as Kafka's `ssl.*` settings name them: PEM in a value or a file, or a PKCS12 store.

Everything comes out as PEM, which is what OpenSSL reads. Errors name the setting and never its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leaselog.broker.config import ConfigError
from leaselog.broker.config.security_config import SecurityConfig

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["Identity", "read_identity", "read_trust"]

_CERTIFICATES = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
#: where a value is one line, as many tools write it; the spaces inside the BEGIN line are no ends of lines
_IN_ONE_LINE = re.compile(r"(-----BEGIN [A-Z ]+-----)\s*(.*?)\s*(-----END [A-Z ]+-----)", re.DOTALL)
_JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_TYPES = ("PEM", "PKCS12", "JKS")


@dataclass(frozen=True, slots=True)
class Identity:
    """What the broker shows its clients: a chain of certificates, its own first, and the key of that."""

    key: str
    chain: str
    password: str | None


def read_identity(settings: SecurityConfig) -> Identity | None:
    """The broker's key and certificates; None if none are named. ConfigError if they cannot be used."""
    kind = _kind(settings.ssl_keystore_type, "ssl.keystore.type")
    if settings.ssl_keystore_key is not None or settings.ssl_keystore_certificate_chain is not None:
        return _identity_of_values(settings, kind)
    location = settings.ssl_keystore_location
    if not location:
        return None
    data = _read("ssl.keystore.location", location)
    if _is_pem(data, kind, "ssl.keystore", location):
        if settings.ssl_keystore_password is not None:
            raise ConfigError(
                "ssl.keystore.password is of no use to PEM: the password of its key is ssl.key.password"
            )
        text = data.decode("latin-1")
        where = f"ssl.keystore.location {location}"
        return Identity(_key(text, where), _certificates(text, where), settings.ssl_key_password)
    key, chain = _unpacked("ssl.keystore", location, data, settings.ssl_keystore_password)
    if key is None:
        raise ConfigError(f"ssl.keystore.location {location} has no private key")
    return Identity(key, chain, None)


def read_trust(settings: SecurityConfig) -> str | None:
    """The certificates that clients' are to come from; None if none are named. ConfigError if they cannot be used."""
    kind = _kind(settings.ssl_truststore_type, "ssl.truststore.type")
    if settings.ssl_truststore_certificates is not None:
        _expect_pem(kind, "ssl.truststore.certificates", "ssl.truststore.type")
        return _certificates(settings.ssl_truststore_certificates, "ssl.truststore.certificates")
    location = settings.ssl_truststore_location
    if not location:
        return None
    data = _read("ssl.truststore.location", location)
    if _is_pem(data, kind, "ssl.truststore", location):
        return _certificates(data.decode("latin-1"), f"ssl.truststore.location {location}")
    _, certificates = _unpacked("ssl.truststore", location, data, settings.ssl_truststore_password)
    return certificates


def _identity_of_values(settings: SecurityConfig, kind: str) -> Identity:
    _expect_pem(kind, "ssl.keystore.key", "ssl.keystore.type")
    if settings.ssl_keystore_location:
        raise ConfigError("ssl.keystore.key and ssl.keystore.location are both set, expected one of them")
    if not settings.ssl_keystore_key or not settings.ssl_keystore_certificate_chain:
        raise ConfigError("ssl.keystore.key and ssl.keystore.certificate.chain are only of use together")
    return Identity(
        _key(settings.ssl_keystore_key, "ssl.keystore.key"),
        _certificates(settings.ssl_keystore_certificate_chain, "ssl.keystore.certificate.chain"),
        settings.ssl_key_password,
    )


def _kind(text: str, key: str) -> str:
    if text.upper() not in _TYPES:
        raise ConfigError(f"{key} is {text}, expected one of {', '.join(_TYPES)}")
    return text.upper()


def _expect_pem(kind: str, value: str, type_key: str) -> None:
    if kind != "PEM":
        raise ConfigError(f"{value} is PEM, and {type_key} is {kind}: expected {type_key}=PEM")


def _read(key: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as failed:
        raise ConfigError(f"{key} {location} cannot be read: {failed.strerror}") from None


def _is_pem(data: bytes, kind: str, store: str, location: str) -> bool:
    """What the file is decides, not its type: Java takes PKCS12 for JKS, which is the default, too."""
    if data.startswith(_JKS_MAGIC):
        raise ConfigError(
            f"{location} is a JKS store, which only Java reads; make PKCS12 of it: keytool -importkeystore "
            f"-srckeystore {location} -destkeystore {Path(location).with_suffix('.p12')} -deststoretype PKCS12"
        )
    has_pem = b"-----BEGIN " in data
    if has_pem != (kind == "PEM"):
        what, wanted = ("PEM", "PEM") if has_pem else ("no PEM", "PKCS12")
        raise ConfigError(f"{location} is {what}: expected {store}.type={wanted}")
    return has_pem


def _key(text: str, where: str) -> str:
    found = _KEY.search(_in_lines(text))
    if found is None:
        raise ConfigError(f"{where}: no private key in PEM was found")
    return found.group()


def _certificates(text: str, where: str) -> str:
    found = _CERTIFICATES.findall(_in_lines(text))
    if not found:
        raise ConfigError(f"{where}: no certificate in PEM was found")
    return "\n".join(found) + "\n"


def _in_lines(text: str) -> str:
    def lines(block: re.Match[str]) -> str:
        begin, body, end = block.groups()
        body = body if "\n" in body or ":" in body else "\n".join(body.split())
        return f"{begin}\n{body}\n{end}"

    return _IN_ONE_LINE.sub(lines, text.replace("\\n", "\n"))


def _unpacked(store: str, location: str, data: bytes, password: str | None) -> tuple[str | None, str]:
    """The key, if it has one, and the certificates of a PKCS12 store."""
    try:
        # Here, as nobody else has a use for it, and it takes some 25 ms.
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        raise ConfigError(
            f"{store}.location {location} is PKCS12, which needs cryptography: pip install 'leaselog[server]'"
        ) from None
    try:
        found = pkcs12.load_pkcs12(data, password.encode() if password is not None else None)
    except ValueError:
        raise ConfigError(
            f"{store}.location {location} cannot be read as PKCS12 with the password of {store}.password"
        ) from None
    certificates: list[x509.Certificate] = [] if found.cert is None else [found.cert.certificate]
    certificates += [one.certificate for one in found.additional_certs]
    if not certificates:
        raise ConfigError(f"{store}.location {location} has no certificate")
    chain = "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)
    if found.key is None:
        return None, chain
    return found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(), chain
