"""Which broker keys may change while it runs, and the refusals Kafka answers with when they may not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from leaselog.broker.config.definitions import BROKER, Definition, UpdateMode
from leaselog.broker.config.errors import ConfigError

__all__ = ["base_definition", "check_dynamic_broker"]

_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")
#: set for a listener, but the same for all of them
_CLUSTER_LEVEL = ("max.connections", "max.connection.creation.rate", "num.network.threads")


def base_definition(name: str) -> Definition | None:
    """The key behind ``name``, which may carry a listener prefix. None if Kafka has no such key either."""
    return BROKER.get(_base_name(name))


def _base_name(name: str) -> str:
    found = _LISTENER_KEY.fullmatch(name)
    return found.group(1) if found else name


def check_dynamic_broker(values: Mapping[str, str], *, per_broker: bool) -> None:
    """ConfigError, in Kafka's words, if these may not be the dynamic values of a broker or of all brokers.

    Names Kafka does not know pass: a plugin might.
    """
    _refuse_any(
        "Cannot update these configs dynamically",
        [name for name in values if _is_fixed(name)],
    )
    _refuse_any(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        [name for name in values if _is_key_store(name)],
    )
    for name, text in values.items():
        definition = base_definition(name)
        if definition is not None:
            definition.parse(text)
    if not per_broker:
        _refuse_any(
            "Cannot update these configs at default cluster level, broker id must be specified",
            [name for name in values if _is_per_broker(name)],
        )


def _refuse_any(why: str, names: Collection[str]) -> None:
    if names:
        raise ConfigError(f"{why}: [{', '.join(sorted(names))}]")


def _is_fixed(name: str) -> bool:
    """Read at start only: of what is set for a listener by name all but its keys and its bounds."""
    definition = base_definition(name)
    if definition is None or (definition.name != name and _is_of_a_running_listener(definition.name)):
        return False
    return definition.mode is UpdateMode.READ_ONLY or definition.name != name


def _is_of_a_running_listener(base: str) -> bool:
    return _is_key_store(base) or base in ("max.connections", "max.connection.creation.rate")


def _is_key_store(name: str) -> bool:
    """Kafka's SslConfigs.RECONFIGURABLE_CONFIGS: what can be reloaded when a certificate is renewed."""
    return bool(re.fullmatch(r"ssl\.((keystore|truststore)\..*|key\.password)", name))


def _is_per_broker(name: str) -> bool:
    base = _base_name(name)
    if base != name:
        return base not in _CLUSTER_LEVEL
    return name in BROKER and BROKER[name].mode is UpdateMode.PER_BROKER
