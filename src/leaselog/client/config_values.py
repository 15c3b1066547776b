"""Kafka's configuration as users spell it: dots or underscores, text or values; each read and checked by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from leaselog.client.errors import ConfigError
from leaselog.client.security.names import SECURITY_CONFIGS
from leaselog.client.security.secret import hidden
from leaselog.client.topology import parse_bootstrap

__all__ = ["INT_MAX", "LONG_MAX", "ConfigValues", "Given"]

T = TypeVar("T")

#: a configuration as applications give it: names and values, or ``bootstrap.servers`` alone
Given = Mapping[str, object] | str | None

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
#: librdkafka's other names of the same: a configuration made for confluent-kafka is one of ours
_LIBRDKAFKA = {
    "metadata.broker.list": "bootstrap.servers",
    "compression.codec": "compression.type",
    "queue.buffering.max.ms": "linger.ms",
    "message.timeout.ms": "delivery.timeout.ms",
    "message.send.max.retries": "retries",
    "request.required.acks": "acks",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
}


class ConfigValues:
    """What was given, by Kafka's names; later mappings win, and None is as not given. All raise ``ConfigError``."""

    def __init__(self, *given: Given) -> None:
        self._values = dict[str, object]()
        for some in given:
            for name, value in _named(some).items():
                if value is not None:
                    dotted = name.replace("_", ".")
                    key = _LIBRDKAFKA.get(dotted, dotted)
                    self._values[key] = hidden(key, value)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def as_dict(self) -> dict[str, object]:
        return dict(self._values)

    def refuse_unknown(self, known: Iterable[str], whose: str) -> None:
        """A name that nobody knows is a mistyped one."""
        names = SECURITY_CONFIGS.union(known)
        for key in self._values:
            if key not in names:
                near = get_close_matches(key, names, 1)
                raise ConfigError(f"{key} is not a {whose} configuration" + (f"; {near[0]}?" if near else ""))

    def value(self, key: str, default: object) -> object:
        return self._values.get(key, default)

    def text(self, key: str, default: str = "") -> str:
        return str(self._values.get(key) or default)

    def bootstrap_servers(self) -> str:
        given = self._values.get("bootstrap.servers", "")
        text = ",".join(map(str, given)) if isinstance(given, (list, tuple)) else str(given)
        try:
            parse_bootstrap(text)
        except ValueError as wrong:
            raise ConfigError(f"bootstrap.servers={text}: {wrong}") from None
        return text

    def choice(self, key: str, choices: Mapping[str, T], default: str) -> T:
        text = str(self._values.get(key, default))
        if text.lower() not in choices:
            raise ConfigError(f"{key}={text}: expected one of {', '.join(choices)}")
        return choices[text.lower()]

    def number(self, key: str, default: int, least: int = 0, most: int = INT_MAX) -> int:
        given: Any = self._values.get(key, default)
        try:
            if isinstance(given, (bool, float)):
                raise ValueError
            number = int(str(given))
        except ValueError:
            raise ConfigError(f"{key}={given}: expected a whole number") from None
        if not least <= number <= most:
            raise ConfigError(f"{key}={number}: expected {least} to {most}")
        return number

    def truth(self, key: str, default: bool) -> bool:
        text = str(self._values.get(key, default)).lower()
        if text not in ("true", "false"):
            raise ConfigError(f"{key}={self._values[key]}: expected true or false")
        return text == "true"


def _named(given: Given) -> Mapping[str, object]:
    if given is None:
        return {}
    if isinstance(given, str):
        return {"bootstrap.servers": given}
    if not isinstance(given, Mapping):
        raise ConfigError(f"a configuration is a mapping, or the text HOST:PORT, not {given!r}")
    return given
