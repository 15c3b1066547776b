"""TLS as a client is told to speak it: PEM files and texts made into an `ssl.SSLContext`, once for each configuration.

Stores of the JVM (JKS) cannot be read with the standard library, nor can PKCS #12: each is refused with the command
that makes PEM of it.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leaselog.client.errors import ConfigError
from leaselog.client.security.secret import Secret

__all__ = ["TLS_VERSIONS", "KeyPair", "TlsSettings", "Trust", "tls_context"]

_log = logging.getLogger("leaselog.client")

TLS_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PEM = b"-----BEGIN "
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_NOT_PEM = (
    "expected PEM. PEM is made of a JVM's store with:"
    " keytool -importkeystore -srckeystore STORE -destkeystore s.p12 -deststoretype PKCS12;"
    " openssl pkcs12 -in s.p12 -nodes -out store.pem"
)


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose certificates are believed; neither of the two: those that the system trusts."""

    #: a file, or a folder as OpenSSL's `c_rehash` makes it
    location: str | None = None
    certificates: str | None = None
    #: the configuration that says so, for an error
    key: str = "ssl.truststore.location"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The client's own certificate with its key: files, or texts."""

    #: of the certificate and those that lead from it to the authority; without `key_location` also of the key
    location: str | None = None
    key_location: str | None = None
    certificates: str | None = None
    private_key: Secret | None = None
    password: Secret | None = None
    #: the configuration that says so, for an error
    key: str = "ssl.keystore.location"


@dataclass(frozen=True, slots=True)
class TlsSettings:
    trust: Trust = Trust()
    key_pair: KeyPair | None = None
    checks_hostname: bool = True
    checks_certificate: bool = True
    versions: tuple[str, ...] = tuple(TLS_VERSIONS)
    #: in OpenSSL's names; TLS 1.3 has its own, which are always there
    ciphers: str | None = None


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """Raises ``ConfigError``, which names the configuration and shows no secret."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    versions = [TLS_VERSIONS[name] for name in settings.versions]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.check_hostname = settings.checks_hostname and settings.checks_certificate
    if not settings.checks_certificate:
        context.verify_mode = ssl.CERT_NONE
        _log.warning("enable.ssl.certificate.verification=false: anybody on the way can pass for the broker")
    if settings.ciphers is not None:
        try:
            context.set_ciphers(settings.ciphers)
        except ssl.SSLError:
            raise ConfigError(
                f"ssl.cipher.suites={settings.ciphers}: expected names as `openssl ciphers` prints them"
            ) from None
    _load_trust(context, settings.trust)
    if settings.key_pair is not None:
        _load_key_pair(context, settings.key_pair)
    return context


def _load_trust(context: ssl.SSLContext, trust: Trust) -> None:
    if trust.location is None and trust.certificates is None:
        context.load_default_certs()
        return
    # As for a JVM, whatever is in the store is trusted: also a certificate that signed itself, or one in the middle.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if trust.location is not None and os.path.isdir(trust.location):
        context.load_verify_locations(capath=trust.location)
        return
    text = trust.certificates or _pem(trust.key, trust.location or "")
    try:
        # what stands around certificates, in any language, OpenSSL's reader of texts refuses
        context.load_verify_locations(cadata="\n".join(_CERTIFICATE.findall(text)))
    except (ssl.SSLError, ValueError):
        where = "" if trust.location is None else f"={trust.location}"
        raise ConfigError(f"{trust.key}{where}: there is no certificate in it that can be read") from None


def _load_key_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    # Without a password to give, OpenSSL would ask for one at the terminal.
    password = pair.password.reveal() if pair.password is not None else ""
    try:
        with _files(pair) as (certificates, key):
            context.load_cert_chain(certificates, key, password=lambda: password)
    except ssl.SSLError as bad:
        raise ConfigError(f"{pair.key}: {_why_not(bad, pair)}") from None


def _why_not(bad: ssl.SSLError, pair: KeyPair) -> str:
    reason = _reason(bad)
    if "KEY_VALUES_MISMATCH" in reason.upper().replace(" ", "_"):
        return "key and certificate do not belong together"
    # OpenSSL has many words for a key that a wrong password makes noise of
    is_encrypted = "ENCRYPTED" in _text_of_key(pair)
    if is_encrypted and pair.password is None:
        return "the private key is encrypted, and ssl.key.password is missing"
    if is_encrypted:
        return "the private key cannot be read with this ssl.key.password"
    return f"no certificate with its private key can be read: {reason}"


def _text_of_key(pair: KeyPair) -> str:
    if pair.private_key is not None:
        return pair.private_key.reveal()
    return _pem(pair.key, pair.key_location or pair.location or "")


@contextmanager
def _files(pair: KeyPair) -> Iterator[tuple[str, str | None]]:
    """What OpenSSL reads takes the way of files."""
    if pair.certificates is None or pair.private_key is None:
        location = pair.location or ""
        for named in filter(None, (location, pair.key_location)):
            _pem(pair.key, named)
        yield location, pair.key_location
        return
    with _nameless_file(f"{pair.private_key.reveal()}\n{pair.certificates}\n") as path:
        yield path, None


@contextmanager
def _nameless_file(text: str) -> Iterator[str]:
    """A path to it: in memory where that is possible, so that a key that was given as a text is on no disk."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("leaselog-pem", os.MFD_CLOEXEC)
        try:
            os.write(file, text.encode())
            yield f"/proc/self/fd/{file}"
        finally:
            os.close(file)
        return
    file, path = tempfile.mkstemp(prefix="leaselog-")  # nobody else's to read
    try:
        os.write(file, text.encode())
        os.close(file)
        yield path
    finally:
        os.unlink(path)


def _pem(key: str, location: str) -> str:
    try:
        data = Path(location).read_bytes()
    except OSError as failed:
        raise ConfigError(f"{key}={location}: {failed.strerror or failed}") from None
    if _PEM not in data:
        raise ConfigError(f"{key}={location}: {_NOT_PEM}")
    return data.decode("latin-1")


def _reason(bad: ssl.SSLError) -> str:
    return (bad.reason or str(bad)).replace("_", " ").lower()
