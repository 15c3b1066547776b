"""From a configuration and the command line to what one process serves: or the one line on why it may not start.

Pure. A setting that would protect or divide what is served, and cannot be kept, refuses the start: whoever wrote
`SASL_SSL` must not find the broker open to everybody. What merely protects nothing here is named in one warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from leaselog.broker.config import BrokerConfig, ConfigError

__all__ = ["Address", "Serving", "plan_serving"]

_PLAINTEXT = "PLAINTEXT"
_SECURED = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NOWHERE = ("0.0.0.0", "::")
_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]*\.")
#: what somebody sets to keep others out, or within bounds
_PROTECTS = re.compile(
    r"(ssl|sasl|security|delegation\.token)\..*|connections\.max\.reauth\.ms|principal\.builder\.class"
    r"|super\.users|allow\.everyone\.if\.no\.acl\.found"
)


class Address(NamedTuple):
    host: str
    port: int


class _Listener(NamedTuple):
    text: str
    name: str
    address: Address


@dataclass(frozen=True, slots=True)
class Serving:
    #: with what the command line and one process make of it, so that whoever asks the broker is told what holds
    config: BrokerConfig
    listen: Address
    #: None: in memory only
    data_dir: str | None
    metrics: Address | None
    #: each for one line in the log
    warnings: tuple[str, ...]


def plan_serving(
    config: BrokerConfig, *, listen: str | None, data_dir: str | None, ephemeral: bool
) -> Serving:
    """What to serve; ``listen`` and ``data_dir`` take the place of the config's. ConfigError if it cannot be served."""
    _refuse_roles(config)
    if config.authorizer_class_name:
        raise ConfigError(
            f"authorizer.class.name is {config.authorizer_class_name}: leaselog has no authorization yet, "
            "so every client may do everything; remove the key to serve all the same"
        )
    clients = _for_clients(config, "listeners", config.listeners)
    _check_advertised(config)
    directory = data_dir or _data_dir(config)
    changes = {"listeners": f"{_PLAINTEXT}://{listen}"} if listen is not None else {}
    if not ephemeral:
        changes["log.dirs"] = directory
    if config.default_replication_factor > 1:
        changes["default.replication.factor"] = "1"
    return Serving(
        config=config.overridden(changes),
        listen=_address("--listen", listen) if listen is not None else _only(clients).address,
        data_dir=None if ephemeral else directory,
        metrics=_metrics_address(config),
        warnings=tuple(_warnings(config)),
    )


def _refuse_roles(config: BrokerConfig) -> None:
    if "broker" not in config.process_roles:
        raise ConfigError(
            f"process.roles is {','.join(config.process_roles) or 'empty'}: leaselog is a broker and its own "
            "controller in one process, expected broker or broker,controller"
        )


def _for_clients(config: BrokerConfig, key: str, texts: Sequence[str]) -> list[_Listener]:
    """The listeners that clients connect to, all of them plaintext. A controller's are nobody's here."""
    controllers = {name.upper() for name in config.controller_listener_names} | {"CONTROLLER"}
    listeners = [_parse_listener(key, text) for text in texts]
    clients = [listener for listener in listeners if listener.name not in controllers]
    protocols = _protocols(config)
    for listener in clients:
        protocol = protocols.get(listener.name)
        if protocol is None:
            raise ConfigError(
                f"{key}: no security protocol is defined for listener {listener.name} "
                "in listener.security.protocol.map"
            )
        if protocol != _PLAINTEXT:
            raise ConfigError(
                f"{key}: {listener.text} asks for {protocol}, and leaselog has no TLS or SASL yet; "
                "only PLAINTEXT listeners can be served"
            )
    return clients


def _protocols(config: BrokerConfig) -> dict[str, str]:
    """The security protocol of each listener name."""
    found: dict[str, str] = {}
    for entry in filter(None, config.listener_security_protocol_map.split(",")):
        name, colon, protocol = (part.strip().upper() for part in entry.partition(":"))
        if not colon or protocol not in (_PLAINTEXT, *_SECURED):
            raise ConfigError(
                f"listener.security.protocol.map: {entry.strip()!r}, expected NAME:PROTOCOL with a protocol of "
                f"{', '.join((_PLAINTEXT, *_SECURED))}"
            )
        found[name] = protocol
    return found


def _parse_listener(key: str, text: str) -> _Listener:
    name, separator, address = text.partition("://")
    if not separator or not name:
        raise ConfigError(f"{key}: {text!r}, expected NAME://HOST:PORT")
    return _Listener(text, name.upper(), _address(key, address))


def _address(key: str, text: str) -> Address:
    """Host and port; an empty host is every address."""
    try:
        place = urlsplit(f"//{text}")
        if place.port is not None and text == place.netloc and "@" not in text:
            return Address(place.hostname or "", place.port)
    except ValueError:
        pass  # not a number, past 65535, or half a bracket
    raise ConfigError(f"{key}: address {text!r}, expected HOST:PORT with a port from 0 to 65535")


def _only(listeners: Sequence[_Listener]) -> _Listener:
    if len(listeners) != 1:
        said = ", ".join(listener.text for listener in listeners) or "none"
        raise ConfigError(f"listeners: {said} for clients, and leaselog serves exactly one for now")
    return listeners[0]


def _check_advertised(config: BrokerConfig) -> None:
    advertised = _for_clients(config, "advertised.listeners", config.advertised_listeners or ())
    if len(advertised) > 1:
        said = ", ".join(listener.text for listener in advertised)
        raise ConfigError(f"advertised.listeners: {said}, and leaselog tells clients one address for now")
    for listener in advertised:
        if listener.address.host in _NOWHERE:
            raise ConfigError(
                f"advertised.listeners cannot use the nonroutable meta-address {listener.address.host}. "
                "Use a routable IP address."
            )


def _data_dir(config: BrokerConfig) -> str:
    if len(config.data_dirs) > 1:
        raise ConfigError(
            f"log.dirs names {len(config.data_dirs)} directories ({', '.join(config.data_dirs)}): "
            "leaselog has one data directory for now"
        )
    return config.data_dirs[0]


def _metrics_address(config: BrokerConfig) -> Address | None:
    return _address("metrics.listener", config.metrics_listener) if config.metrics_listener else None


def _warnings(config: BrokerConfig) -> Iterator[str]:
    bare = [key for key in config.originals if _PROTECTS.fullmatch(_LISTENER_PREFIX.sub("", key, count=1))]
    if bare:
        yield (
            "these settings protect nothing: leaselog has no TLS, SASL or authorization yet: "
            f"{', '.join(sorted(bare))}"
        )
    if config.default_replication_factor > 1:
        yield (
            f"default.replication.factor is {config.default_replication_factor}, and there is one broker: "
            "topics whose creator does not say get one replica"
        )
    if config.unknown:
        yield f"unknown config keys are ignored: {', '.join(config.unknown)}"
