"""What the configuration says of SASL on one listener: which mechanisms, and for each what it needs.

Pure. A key of a mechanism is `listener.name.<listener>.<mechanism>.KEY`, all in lower case; without the mechanism it is
for all of the listener's, and without both for everybody. What would leave a listener without a way in, or with an
open one, refuses the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.definitions import BROKER
from leaselog.broker.config.listeners import listener_prefix, listener_values
from leaselog.broker.config.values import Value
from leaselog.sasl import jaas
from leaselog.sasl.jaas import JaasEntry
from leaselog.sasl.oauthbearer import OAUTHBEARER
from leaselog.sasl.plain import PLAIN
from leaselog.sasl.scram import MECHANISMS as SCRAM_MECHANISMS

__all__ = ["MechanismConfig", "SaslConfig", "read_sasl"]

_MODULES = {
    PLAIN: jaas.PLAIN_MODULE,
    OAUTHBEARER: jaas.OAUTHBEARER_MODULE,
    **dict.fromkeys(SCRAM_MECHANISMS, jaas.SCRAM_MODULE),
}
_JAAS, _HANDLER = "sasl.jaas.config", "sasl.server.callback.handler.class"


@dataclass(frozen=True, slots=True)
class MechanismConfig:
    name: str
    #: for messages: how keys of this mechanism begin
    prefix: str
    jaas: JaasEntry | None
    #: a Java class or a Python path
    handler: str | None
    #: the broker's with the listener's and the mechanism's own laid over it
    broker: BrokerConfig

    @property
    def max_reauth_ms(self) -> int:
        """How long a login lasts; 0 or less: as long as the connection."""
        return self.broker.connections_max_reauth_ms


@dataclass(frozen=True, slots=True)
class SaslConfig:
    listener: str
    mechanisms: Mapping[str, MechanismConfig]
    max_receive_bytes: int
    failure_delay_ms: int
    timeout_ms: int


def read_sasl(config: BrokerConfig, listener: str) -> SaslConfig:
    """ConfigError for what cannot be served, or would keep nobody out."""
    laid = BrokerConfig(listener_values(config, listener), config.originals)
    enabled = laid.sasl_enabled_mechanisms
    unknown = [name for name in enabled if name not in _MODULES]
    if unknown or not enabled:
        said = "as by default" if "sasl.enabled.mechanisms" not in config.originals else ""
        raise ConfigError(
            f"sasl.enabled.mechanisms of listener {listener} has {', '.join(unknown) or 'nothing'}"
            f"{', ' if said else ''}{said}: expected some of {', '.join(_MODULES)}"
        )
    return SaslConfig(
        listener,
        {name: _mechanism(laid, listener, name) for name in dict.fromkeys(enabled)},
        max_receive_bytes=laid.sasl_server_max_receive_size,
        failure_delay_ms=laid.connection_failed_authentication_delay_ms,
        timeout_ms=laid.connection_authentication_timeout_ms,
    )


def _mechanism(config: BrokerConfig, listener: str, name: str) -> MechanismConfig:
    own = f"{name.lower()}."
    prefix = f"{listener_prefix(listener)}{own}"
    laid: dict[str, Value] = dict(config.values)
    for start in (own, prefix):
        for key, text in config.originals.items():
            base = key.removeprefix(start)
            if base != key and base in BROKER:
                try:
                    laid[base] = BROKER[base].parse(text)
                except ConfigError as bad:
                    raise ConfigError(f"{start}*: {bad}") from None
    # As with Apache Kafka, these two are each mechanism's own: another's would be for another mechanism.
    texts = {
        key: config.originals.get(prefix + key) or config.originals.get(own + key)
        for key in (_JAAS, _HANDLER)
    }
    found = MechanismConfig(
        name,
        prefix,
        _entry(prefix, name, texts[_JAAS]),
        texts[_HANDLER],
        BrokerConfig(laid, config.originals),
    )
    if name == PLAIN and found.handler is None and not (found.jaas and found.jaas.users()):
        raise ConfigError(
            f'nobody could log in by PLAIN on listener {listener}: expected {prefix}{_JAAS} with user_NAME="password" '
            f"options, or {prefix}{_HANDLER}"
        )
    return found


def _entry(prefix: str, mechanism: str, text: str | None) -> JaasEntry | None:
    if text is None:
        return None
    try:
        entry = jaas.read(text)
    except ValueError as bad:
        raise ConfigError(f"{prefix}{_JAAS}: {bad}") from None
    if entry.module != _MODULES[mechanism]:
        raise ConfigError(
            f"{prefix}{_JAAS}: the login module is {entry.module}, expected {_MODULES[mechanism]}"
        )
    return entry
