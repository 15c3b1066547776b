"""TLS of listeners: from Kafka's settings to OpenSSL's, and again from new settings while the broker runs.

A context that cannot be made refuses the start, or the change of a setting; it never becomes one that protects less.
New connections get the newest context; those that are open keep theirs.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.listeners import Listener, listener_prefix, settings_of
from leaselog.broker.config.security_config import SecurityConfig
from leaselog.broker.security.certificates import alternative_names, subject_name
from leaselog.broker.security.ciphers import set_ciphers
from leaselog.broker.security.key_stores import Identity, read_identity, read_trust

__all__ = ["TlsListeners"]

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


@dataclass(frozen=True, slots=True)
class _Material:
    """All that a context is made of, so that two of them can be compared."""

    settings: tuple[object, ...]
    identity: Identity
    trust: str | None


class TlsListeners:
    """The context of each listener that has TLS."""

    def __init__(self, config: BrokerConfig, listeners: Sequence[Listener]) -> None:
        """ConfigError if one of them cannot be had."""
        self._listeners = [listener for listener in listeners if listener.protocol.has_tls]
        self._made = self._make(config, {})

    def context(self, listener: Listener) -> ssl.SSLContext:
        """For the next connection."""
        return self._made[listener.name][1]

    def check(self, config: BrokerConfig) -> None:
        """ConfigError if the listeners could not go on with these values."""
        self._make(config, self._made)

    def reload(self, config: BrokerConfig) -> list[str]:
        """The listeners whose new connections get another context from now on. ConfigError changes nothing."""
        before, self._made = self._made, self._make(config, self._made)
        return [name for name, made in self._made.items() if made is not before[name]]

    def _make(
        self, config: BrokerConfig, before: Mapping[str, tuple[_Material, ssl.SSLContext]]
    ) -> dict[str, tuple[_Material, ssl.SSLContext]]:
        made = {}
        for listener in self._listeners:
            settings = settings_of(config, listener)
            try:
                material = _gather(settings)
                old = before.get(listener.name)
                if old is not None and old[0] == material:
                    made[listener.name] = old
                    continue
                if old is not None:
                    _check_compatible(old[0].identity, material.identity, settings)
                made[listener.name] = material, _context(settings, material)
            except ConfigError as wrong:
                prefix = listener_prefix(listener.name)
                is_its_own = any(key.startswith(f"{prefix}ssl.") for key in config.originals)
                raise ConfigError(f"{f'{prefix}*' if is_its_own else listener.name}: {wrong}") from None
        return made


def _gather(settings: SecurityConfig) -> _Material:
    identity = read_identity(settings)
    if identity is None:
        raise ConfigError(
            "a listener with TLS needs a key: set ssl.keystore.location, or ssl.keystore.key in PEM"
        )
    trust = read_trust(settings)
    if trust is None and settings.ssl_client_auth != "none":
        raise ConfigError(
            f"ssl.client.auth is {settings.ssl_client_auth}, and nothing says whom to trust: "
            "set ssl.truststore.location, or ssl.truststore.certificates in PEM"
        )
    told = (
        settings.ssl_client_auth,
        settings.ssl_enabled_protocols,
        settings.ssl_protocol,
        settings.ssl_cipher_suites,
    )
    return _Material(told, identity, trust)


def _context(settings: SecurityConfig, material: _Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _versions(settings)
    context.options |= (
        ssl.OP_NO_RENEGOTIATION
    )  # of TLS 1.2: a client could have the broker begin again for ever
    if settings.ssl_cipher_suites:
        set_ciphers(context, settings.ssl_cipher_suites)
    _load_identity(context, material.identity)
    context.verify_mode = _CLIENT_AUTH[settings.ssl_client_auth]
    if material.trust is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Java: what is trusted need not be a root
        try:
            context.load_verify_locations(cadata=material.trust)
        except ssl.SSLError as wrong:
            raise ConfigError(f"ssl.truststore: a certificate cannot be read: {_said(wrong)}") from None
    return context


def _versions(settings: SecurityConfig) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    names = settings.ssl_enabled_protocols
    newest = settings.ssl_protocol
    unknown = [name for name in names if name not in _VERSIONS]
    if unknown or not names:
        raise ConfigError(
            f"ssl.enabled.protocols is {', '.join(names) or 'empty'}, expected {', '.join(_VERSIONS)} or one of them"
        )
    if newest not in (*_VERSIONS, "TLS"):
        raise ConfigError(f"ssl.protocol is {newest}, expected TLS, {' or '.join(_VERSIONS)}")
    wanted = [_VERSIONS[name] for name in names if newest == "TLS" or _VERSIONS[name] <= _VERSIONS[newest]]
    if not wanted:
        raise ConfigError(
            f"ssl.protocol is {newest}, and ssl.enabled.protocols {', '.join(names)}: none is left"
        )
    return min(wanted), max(wanted)


def _load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    password = identity.password or ""
    with _as_file(f"{identity.key}\n{identity.chain}".encode()) as path:
        try:
            # A password, even an empty one: without it OpenSSL asks at the terminal.
            context.load_cert_chain(path, password=lambda: password)
        except ssl.SSLError as wrong:
            if wrong.reason == "KEY_VALUES_MISMATCH":
                raise ConfigError("ssl.keystore: the key is not that of the first certificate") from None
            why = "is ssl.key.password right?" if "ENCRYPTED" in identity.key else _said(wrong)
            raise ConfigError(f"ssl.keystore: the key and the certificates cannot be read: {why}") from None
        except OSError as failed:
            raise ConfigError(f"ssl.keystore: the key cannot be read: {failed.strerror}") from None


def _said(wrong: ssl.SSLError) -> str:
    return (wrong.reason or "not as OpenSSL expects it").lower().replace("_", " ")


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """A path where ``data`` can be read, as OpenSSL takes a key from nowhere else; on no disk where that can be."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("leaselog")
        try:
            os.write(number, data)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
    else:
        with tempfile.NamedTemporaryFile() as file:  # for its owner alone
            file.write(data)
            file.flush()
            yield file.name


def _check_compatible(old: Identity, new: Identity, settings: SecurityConfig) -> None:
    """A broker that runs goes on as the same one, as with Apache Kafka, unless its config says that it need not."""
    before, after = (ssl.PEM_cert_to_DER_cert(_first(identity.chain)) for identity in (old, new))
    if not settings.ssl_allow_dn_changes and subject_name(before) != subject_name(after):
        raise ConfigError(
            f"ssl.keystore: the new certificate is of {subject_name(after)}, and the one in use of "
            f"{subject_name(before)}: expected the same, or ssl.allow.dn.changes=true"
        )
    if not settings.ssl_allow_san_changes and not alternative_names(before) <= alternative_names(after):
        raise ConfigError(
            "ssl.keystore: the new certificate lacks alternative names of the one in use: expected all of them, "
            "or ssl.allow.san.changes=true"
        )


def _first(chain: str) -> str:
    end = "-----END CERTIFICATE-----"
    return chain[: chain.index(end) + len(end)]
