"""Listeners: where clients connect, what protects each of them, and which address its clients are told.

Pure. Names are upper case, as Kafka has them; the keys of one are `listener.name.<lower case>.`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from leaselog.broker.config.broker_config import BrokerConfig
from leaselog.broker.config.definitions import BROKER
from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.security_config import SecurityConfig
from leaselog.broker.config.values import Value

__all__ = [
    "EVERY_ADDRESS",
    "Address",
    "Listener",
    "ListenerBounds",
    "SecurityProtocol",
    "advertised_addresses",
    "bounds_of_listener",
    "listener_prefix",
    "listener_values",
    "named_listeners",
    "parse_address",
    "read_listeners",
    "settings_of",
]

#: what a listener may listen on, and no client can connect to
EVERY_ADDRESS = ("", "0.0.0.0", "::")


class SecurityProtocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def needs_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Address(NamedTuple):
    #: without brackets; empty: every address
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    protocol: SecurityProtocol
    address: Address

    @classmethod
    def plaintext(cls, host: str, port: int) -> Listener:
        return cls(SecurityProtocol.PLAINTEXT, SecurityProtocol.PLAINTEXT, Address(host, port))

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"


def read_listeners(config: BrokerConfig) -> tuple[Listener, ...]:
    """The listeners for clients; a controller's are nobody's here. ConfigError if Kafka would not open them either."""
    listeners = named_listeners(config)
    if not listeners:
        said = ", ".join(config.listeners)
        raise ConfigError(f"listeners: {said} are for controllers, and none is for clients")
    _refuse_repeats(listeners)
    _check_inter_broker(config, [listener.name for listener in listeners])
    advertised_addresses(config)
    for listener in listeners:
        listener_values(config, listener.name)
    return listeners


def named_listeners(config: BrokerConfig) -> tuple[Listener, ...]:
    """The listeners for clients, whether they can be opened together or not."""
    return _for_clients(config, "listeners", config.listeners)


def advertised_addresses(config: BrokerConfig) -> Mapping[str, Address]:
    """What `advertised.listeners` says clients of each listener are told; port 0 is the one that it listens on."""
    told = _for_clients(config, "advertised.listeners", config.advertised_listeners or ())
    names = [listener.name for listener in named_listeners(config)]
    strangers = [listener.name for listener in told if listener.name not in names]
    if strangers:
        raise ConfigError(
            f"advertised.listeners names {', '.join(strangers)}, and listeners only {', '.join(names)}: "
            "expected names of listeners"
        )
    for listener in told:
        if listener.address.host in EVERY_ADDRESS:
            raise ConfigError(
                f"advertised.listeners cannot use the nonroutable meta-address {listener.address.host or listener}. "
                "Use a routable IP address."
            )
    _refuse_repeated_names("advertised.listeners", told)
    return {listener.name: listener.address for listener in told}


def listener_prefix(name: str) -> str:
    return f"listener.name.{name.lower()}."


def listener_values(config: BrokerConfig, name: str) -> dict[str, Value]:
    """The broker's values with what is set for this listener laid over them."""
    prefix = listener_prefix(name)
    values = dict(config.values)
    for key, text in config.originals.items():
        if key.startswith(prefix) and (base := key.removeprefix(prefix)) in BROKER:
            try:
                values[base] = BROKER[base].parse(text)
            except ConfigError as bad:
                raise ConfigError(f"{prefix}*: {bad}") from None
    return values


class ListenerBounds(NamedTuple):
    """What is set for one listener by its name; None: only the bounds of the whole broker hold."""

    connections: int | None
    rate: int | None


def bounds_of_listener(config: BrokerConfig, name: str) -> ListenerBounds:
    prefix = listener_prefix(name)

    def bound(key: str) -> int | None:
        text = config.originals.get(prefix + key)
        value = None if text is None else BROKER[key].parse(text)
        return value if isinstance(value, int) else None

    return ListenerBounds(bound("max.connections"), bound("max.connection.creation.rate"))


def settings_of(config: BrokerConfig, listener: Listener) -> SecurityConfig:
    """What holds for this listener."""
    values = listener_values(config, listener.name)
    if (
        listener.protocol.needs_sasl
        and f"{listener_prefix(listener.name)}ssl.client.auth" not in config.originals
    ):
        values["ssl.client.auth"] = "none"  # as with Apache Kafka: its clients say who they are by SASL
    return SecurityConfig(values)


def parse_address(key: str, text: str) -> Address:
    """Host and port; an empty host is every address."""
    try:
        place = urlsplit(f"//{text}")
        if place.port is not None and text == place.netloc and "@" not in text:
            return Address(place.hostname or "", place.port)
    except ValueError:
        pass  # not a number, past 65535, or half a bracket
    raise ConfigError(f"{key}: address {text!r}, expected HOST:PORT with a port from 0 to 65535")


def _for_clients(config: BrokerConfig, key: str, texts: Sequence[str]) -> tuple[Listener, ...]:
    controllers = {name.upper() for name in config.controller_listener_names} | {"CONTROLLER"}
    protocols = _protocols(config)
    found = []
    for text in texts:
        name, separator, address = text.partition("://")
        if not separator or not name:
            raise ConfigError(f"{key}: {text!r}, expected NAME://HOST:PORT")
        name = name.upper()
        place = parse_address(key, address)
        if name in controllers:
            continue
        if name not in protocols:
            raise ConfigError(
                f"{key}: no security protocol is defined for listener {name} in listener.security.protocol.map"
            )
        found.append(Listener(name, protocols[name], place))
    return tuple(found)


def _protocols(config: BrokerConfig) -> dict[str, SecurityProtocol]:
    """The security protocol of each listener name."""
    found: dict[str, SecurityProtocol] = {}
    for entry in filter(None, config.listener_security_protocol_map.split(",")):
        name, _, protocol = (part.strip().upper() for part in entry.partition(":"))
        try:
            found[name] = SecurityProtocol(protocol)
        except ValueError:
            raise ConfigError(
                f"listener.security.protocol.map: {entry.strip()!r}, expected NAME:PROTOCOL with a protocol of "
                f"{', '.join(SecurityProtocol)}"
            ) from None
    return found


def _refuse_repeats(listeners: Sequence[Listener]) -> None:
    _refuse_repeated_names("listeners", listeners)
    ports = [listener.address for listener in listeners if listener.address.port]
    for place in ports:
        # one of IPv4 and one of IPv6 may share a port, as with Apache Kafka
        same = [other for other in ports if other.port == place.port]
        if len(same) > 2 or (len(same) == 2 and (":" in same[0].host) == (":" in same[1].host)):
            raise ConfigError(
                f"listeners: port {place.port} is named {len(same)} times, expected one port each"
            )


def _refuse_repeated_names(key: str, listeners: Iterable[Listener]) -> None:
    names = [listener.name for listener in listeners]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ConfigError(
            f"{key}: {', '.join(repeated)} comes twice, expected a name of its own for each listener"
        )


def _check_inter_broker(config: BrokerConfig, names: Sequence[str]) -> None:
    """There is no other broker to talk to; whoever names a listener for it is to have named one that is there."""
    listener = config.inter_broker_listener_name
    if listener is None:
        return
    if "security.inter.broker.protocol" in config.originals:
        raise ConfigError(
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."
        )
    if listener.upper() not in names:
        raise ConfigError(
            f"inter.broker.listener.name is {listener}, and listeners names {', '.join(names)}: expected one of them"
        )
