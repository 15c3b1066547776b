"""What `security.protocol`, `ssl.*` and `sasl.*` say: Kafka's names and librdkafka's, read and checked once.

What cannot be kept is refused by name, with what to use instead: a JVM's stores and classes, and Kerberos.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from leaselog.client.config_values import ConfigValues
from leaselog.client.errors import ConfigError
from leaselog.client.security.bearer_config import BearerSettings, bearer_settings
from leaselog.client.security.names import LOGIN_HANDLER, OTHER_NAMES, REFUSED, SECURITY_CONFIGS
from leaselog.client.security.secret import Secret, revealed
from leaselog.client.security.tls import TLS_VERSIONS, KeyPair, TlsSettings, Trust, tls_context
from leaselog.sasl import jaas
from leaselog.sasl.oauthbearer import OAUTHBEARER
from leaselog.sasl.plain import PLAIN
from leaselog.sasl.scram import MECHANISMS as SCRAM_MECHANISMS

__all__ = ["PLAINTEXT", "GivenSecurity", "SaslSettings", "SecurityConfig", "security_of"]

#: by protocol: whether it is encrypted, and whether it takes SASL
_PROTOCOLS = {
    "plaintext": (False, False),
    "ssl": (True, False),
    "sasl_plaintext": (False, True),
    "sasl_ssl": (True, True),
}
#: names and values of what is about security in a configuration, secrets hidden: it can be sent to another process
GivenSecurity = tuple[tuple[str, object], ...]

_MECHANISMS = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER)
_MODULES = {
    PLAIN: jaas.PLAIN_MODULE,
    **dict.fromkeys(SCRAM_MECHANISMS, jaas.SCRAM_MODULE),
    OAUTHBEARER: jaas.OAUTHBEARER_MODULE,
}


@dataclass(frozen=True, slots=True)
class SaslSettings:
    mechanism: str
    #: None for OAUTHBEARER, whose token names the user
    username: str | None = None
    password: Secret | None = None
    bearer: BearerSettings | None = None


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """Made with `of`; a client without any is `PLAINTEXT`."""

    protocol: str = "PLAINTEXT"
    #: None where nothing is encrypted
    tls: ssl.SSLContext | None = field(default=None, compare=False, repr=False)
    #: whether there is a certificate to show to a broker that asks for one
    has_certificate: bool = False
    #: what was said, for another client of the same cluster; secrets are hidden
    given: GivenSecurity = field(default=(), compare=False, repr=False)
    #: None where nobody is asked who he is
    sasl: SaslSettings | None = None

    @classmethod
    def of(cls, values: ConfigValues) -> SecurityConfig:
        """Files are read here, so that a client that cannot be let in is not made. Raises ``ConfigError``."""
        known = _Known(values)
        for key, why in REFUSED.items():
            if key in values:
                raise ConfigError(f"{key} is not supported: {why}")
        handler = known.text("sasl.login.callback.handler.class")
        if handler is not None and handler.rpartition(".")[2] != LOGIN_HANDLER:
            raise ConfigError(
                f"sasl.login.callback.handler.class={handler} is not supported: it is a class of Java's; use oauth_cb"
            )
        is_encrypted, is_asked = values.choice("security.protocol", _PROTOCOLS, "plaintext")
        protocol = values.text("security.protocol", "PLAINTEXT").upper()
        tls = _tls(known) if is_encrypted else None
        return cls(
            protocol,
            None if tls is None else tls_context(tls),
            tls is not None and tls.key_pair is not None,
            tuple((key, value) for key, value in values.as_dict().items() if key in SECURITY_CONFIGS),
            _sasl(known) if is_asked else None,
        )

    @property
    def user(self) -> str | None:
        """Whom the client logs in as, if it knows that."""
        return None if self.sasl is None else self.sasl.username

    def __str__(self) -> str:
        if self.sasl is None:
            return self.protocol
        return f"{self.protocol} with {self.sasl.mechanism}" + (f" as {self.user}" if self.user else "")


#: nothing is encrypted, and nobody is asked who he is
PLAINTEXT = SecurityConfig()


def security_of(given: GivenSecurity) -> SecurityConfig:
    """Raises ``ConfigError``."""
    return SecurityConfig.of(ConfigValues(dict(given)))


class _Known:
    """Values by Kafka's names alone."""

    def __init__(self, values: ConfigValues) -> None:
        self.values = values
        self._others = {ours: theirs for theirs, ours in OTHER_NAMES.items()}

    def text(self, key: str) -> str | None:
        """None for what is not there, or empty."""
        return str(revealed(self.value(key)) or "") or None

    def value(self, key: str) -> object:
        return self.values.value(self.name(key), None)

    def name(self, key: str) -> str:
        """The name under which it was given."""
        other = self._others.get(key, key)
        return other if key not in self.values and other in self.values else key


def _tls(known: _Known) -> TlsSettings:
    values = known.values
    for store in ("ssl.keystore", "ssl.truststore"):
        kind = known.text(f"{store}.type")
        # Kafka's default is JKS, and the file itself tells
        if kind is not None and kind.upper() != "PEM":
            raise ConfigError(f"{store}.type={kind} is not supported, only PEM")
    versions = tuple(
        name.strip()
        for name in (known.text("ssl.enabled.protocols") or "TLSv1.2,TLSv1.3").split(",")
        if name.strip()
    )
    for name in versions:
        if name not in TLS_VERSIONS:
            raise ConfigError(
                f"ssl.enabled.protocols={name} is not supported, only {', '.join(TLS_VERSIONS)}"
            )
    suites = known.text("ssl.cipher.suites")
    return TlsSettings(
        trust=_trust(known),
        key_pair=_key_pair(known),
        checks_hostname=_checks_hostname(values),
        checks_certificate=values.truth("enable.ssl.certificate.verification", True),
        versions=versions or tuple(TLS_VERSIONS),
        ciphers=None
        if suites is None
        else ":".join(part.strip() for part in suites.replace(":", ",").split(",")),
    )


def _checks_hostname(values: ConfigValues) -> bool:
    # an empty text switches it off, in Kafka; `none` does in librdkafka
    given = str(values.value("ssl.endpoint.identification.algorithm", "https")).strip().lower()
    if given not in ("https", "none", ""):
        raise ConfigError(f"ssl.endpoint.identification.algorithm={given}: expected https, or nothing")
    return given == "https"


def _trust(known: _Known) -> Trust:
    location, text = known.text("ssl.truststore.location"), known.text("ssl.truststore.certificates")
    where, what = known.name("ssl.truststore.location"), known.name("ssl.truststore.certificates")
    if location is not None and text is not None:
        raise ConfigError(f"{where} and {what} both say whom to trust: give one of them")
    return Trust(location, text, where if text is None else what)


def _key_pair(known: _Known) -> KeyPair | None:
    password = known.text("ssl.key.password")
    secret = None if password is None else Secret(password)
    location, chain = known.text("ssl.keystore.location"), known.text("ssl.keystore.certificate.chain")
    key = known.text("ssl.keystore.key")
    theirs, their_chain = known.text("ssl.certificate.location"), known.text("ssl.certificate.pem")
    their_key_location, their_key = known.text("ssl.key.location"), known.text("ssl.key.pem")
    given = [
        one for one in (location, chain or key, theirs or their_key_location, their_chain or their_key) if one
    ]
    if not given:
        return None
    if len(given) > 1:
        raise ConfigError(
            "the client's certificate is given in two ways: files or texts, by one set of names"
        )
    if location is not None:
        return KeyPair(location, password=secret)
    if theirs is not None or their_key_location is not None:
        if theirs is None:
            raise ConfigError(
                "ssl.key.location without ssl.certificate.location: a key needs its certificate"
            )
        return KeyPair(theirs, their_key_location, password=secret, key="ssl.certificate.location")
    certificates, private_key = chain or their_chain, key or their_key
    if certificates is None or private_key is None:
        raise ConfigError(
            "a certificate and its key are given together:"
            " ssl.keystore.certificate.chain with ssl.keystore.key, ssl.certificate.pem with ssl.key.pem"
        )
    name = "ssl.keystore.certificate.chain" if chain else "ssl.certificate.pem"
    return KeyPair(certificates=certificates, private_key=Secret(private_key), password=secret, key=name)


def _sasl(known: _Known) -> SaslSettings:
    mechanism = known.text("sasl.mechanism")
    name = known.name("sasl.mechanism")
    if mechanism is None:
        raise ConfigError(f"sasl.mechanism is missing: one of {', '.join(_MECHANISMS)}")
    if mechanism not in _MECHANISMS:
        raise ConfigError(f"{name}={mechanism} is not supported, only {', '.join(_MECHANISMS)}")
    options = _jaas_options(known, mechanism)
    if mechanism == OAUTHBEARER:
        return SaslSettings(mechanism, bearer=bearer_settings(known.values, options))
    if options.get("tokenauth", "").lower() == "true":
        raise ConfigError("sasl.jaas.config: tokenauth is not supported, as there are no delegation tokens")
    username = known.text("sasl.username") or options.get("username")
    password = known.text("sasl.password") or options.get("password")
    if not username or not password:
        lacks = "username" if not username else "password"
        raise ConfigError(f"sasl.{lacks} is missing, as is {lacks} in sasl.jaas.config: {mechanism} needs it")
    if "\0" in username + password:
        raise ConfigError("neither sasl.username nor sasl.password has a zero byte in it")
    return SaslSettings(mechanism, username, Secret(password))


def _jaas_options(known: _Known, mechanism: str) -> dict[str, str]:
    text = known.text("sasl.jaas.config")
    if text is None:
        return {}
    try:
        entry = jaas.read(text)
    except ValueError as wrong:
        raise ConfigError(f"sasl.jaas.config: {wrong}") from None
    if entry.module.rpartition(".")[2] != _MODULES[mechanism].rpartition(".")[2]:
        raise ConfigError(
            f"sasl.jaas.config is for {entry.module}, and sasl.mechanism={mechanism} needs {_MODULES[mechanism]}"
        )
    return entry.options
