"""From a configuration and the command line to what one process serves: or the one line on why it may not start.

Pure. A setting that would protect or divide what is served, and cannot be kept, refuses the start: whoever wrote
`SASL_SSL` must not find the broker open to everybody. What merely protects nothing here is named in one warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leaselog.broker.config import AUTHORIZER_KEYS, BrokerConfig, ConfigError
from leaselog.broker.config.listeners import (
    Address,
    Listener,
    SecurityProtocol,
    listener_prefix,
    named_listeners,
    parse_address,
    read_listeners,
)
from leaselog.broker.security.sasl_config import read_sasl

__all__ = ["Serving", "plan_serving"]

_PLAINTEXT = SecurityProtocol.PLAINTEXT
_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]*\.")
#: what somebody sets to keep others out, or within bounds
_PROTECTS = re.compile(
    r"(ssl|sasl|security|delegation\.token)\..*|connections\.max\.reauth\.ms|principal\.builder\.class"
)


_OF_LOGINS = re.compile(r"(.*\.)?sasl\..*|(.*\.)?connections\.max\.reauth\.ms")


@dataclass(frozen=True, slots=True)
class Serving:
    #: with what the command line and one process make of it, so that whoever asks the broker is told what holds
    config: BrokerConfig
    listeners: tuple[Listener, ...]
    #: None: in memory only
    data_dir: str | None
    metrics: Address | None
    #: each for one line in the log
    warnings: tuple[str, ...]


def plan_serving(
    config: BrokerConfig, *, listen: Sequence[str], data_dir: str | None, ephemeral: bool
) -> Serving:
    """What to serve; ``listen`` and ``data_dir`` take the place of the config's. ConfigError if it cannot be served."""
    _refuse_roles(config)
    directory = data_dir or _data_dir(config)
    changes = {"listeners": _listeners_of_arguments(config, listen)} if listen else {}
    if not ephemeral:
        changes["log.dirs"] = directory
    if config.default_replication_factor > 1:
        changes["default.replication.factor"] = "1"
    serving = config.overridden(changes)
    listeners = read_listeners(serving)
    for listener in listeners:
        if listener.protocol.needs_sasl:
            read_sasl(serving, listener.name)
    return Serving(
        config=serving,
        listeners=listeners,
        data_dir=None if ephemeral else directory,
        metrics=_metrics_address(config),
        warnings=tuple(_warnings(config, listeners)),
    )


def _refuse_roles(config: BrokerConfig) -> None:
    if "broker" not in config.process_roles:
        raise ConfigError(
            f"process.roles is {','.join(config.process_roles) or 'empty'}: leaselog is a broker and its own "
            "controller in one process, expected broker or broker,controller"
        )


def _listeners_of_arguments(config: BrokerConfig, listen: Sequence[str]) -> str:
    """Each ``HOST:PORT`` or ``NAME://HOST:PORT`` as a listener. Without a name it is plaintext, if the config is."""
    told = []
    secured = [listener for listener in named_listeners(config) if listener.protocol != _PLAINTEXT]
    for text in listen:
        if "://" not in text:
            address = parse_address("--listen", text)
            if secured:
                raise ConfigError(
                    f"--listen {text} would be PLAINTEXT, and the config has {secured[0]}: "
                    f"say which is meant, as in --listen {secured[0].name}://{address}"
                )
            text = f"{_PLAINTEXT}://{text}"
        told.append(text)
    return ",".join(told)


def _data_dir(config: BrokerConfig) -> str:
    if len(config.data_dirs) > 1:
        raise ConfigError(
            f"log.dirs names {len(config.data_dirs)} directories ({', '.join(config.data_dirs)}): "
            "leaselog has one data directory for now"
        )
    return config.data_dirs[0]


def _metrics_address(config: BrokerConfig) -> Address | None:
    return parse_address("metrics.listener", config.metrics_listener) if config.metrics_listener else None


def _is_kept(key: str, listeners: Sequence[Listener]) -> bool:
    """Whether a setting that protects has a listener that it protects."""
    base = _LISTENER_PREFIX.sub("", key, count=1)
    concerned = [one for one in listeners if base == key or key.startswith(listener_prefix(one.name))]
    if base == "principal.builder.class":
        return bool(concerned)
    if _OF_LOGINS.fullmatch(base):
        return any(listener.protocol.needs_sasl for listener in concerned)
    return base.startswith("ssl.") and any(listener.protocol.has_tls for listener in concerned)


def _warnings(config: BrokerConfig, listeners: Sequence[Listener]) -> Iterator[str]:
    bare = [
        key
        for key in config.originals
        if _PROTECTS.fullmatch(_LISTENER_PREFIX.sub("", key, count=1)) and not _is_kept(key, listeners)
    ]
    idle = [key for key in AUTHORIZER_KEYS if key in config.originals]
    if idle and not config.authorizer_class_name:
        yield f"without authorizer.class.name these settings protect nothing: {', '.join(idle)}"
    if bare:
        yield (
            "these settings protect nothing: no listener that they are for has TLS or asks for a login, or leaselog "
            f"has no such protection yet: {', '.join(sorted(bare))}"
        )
    if config.default_replication_factor > 1:
        yield (
            f"default.replication.factor is {config.default_replication_factor}, and there is one broker: "
            "topics whose creator does not say get one replica"
        )
    if config.unknown:
        yield f"unknown config keys are ignored: {', '.join(config.unknown)}"
