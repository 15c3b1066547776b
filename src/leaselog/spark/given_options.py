"""Options as Spark hands them over, read by name and checked. Pure.

What nobody knows is refused, since that is a mistyped name. So are names that are familiar from Spark's own Kafka
source and could not keep their promise, each with what to use instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from enum import Enum
from typing import TypeVar

from leaselog.client import ConfigError
from leaselog.client.security.config import GivenSecurity, security_of
from leaselog.client.security.names import SECURITY_CONFIGS
from leaselog.client.security.secret import hidden

__all__ = ["INT_MAX", "MAX_TASKS", "SPARKS_OWN", "GivenOptions"]

INT_MAX = 2**31 - 1
MAX_TASKS = 100_000
#: Spark adds these to a sink's options
SPARKS_OWN = ("checkpointLocation", "path", "queryName")

#: before the names of Kafka's clients
_CLIENTS = "kafka."

E = TypeVar("E", bound=Enum)
D = TypeVar("D")


class GivenOptions:
    """Spark's options: names in any case, values as text."""

    def __init__(self, given: Mapping[str, str], format_name: str, refused: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in given.items()}
        self._format = format_name
        #: by lower-case name: familiar, and not to be had here; what to use instead
        self._refused = refused

    def refuse_others(self, known: tuple[str, ...], *, allow_client: bool = False) -> None:
        names = {name.lower(): name for name in known}
        for name in self._values:
            if name in self._refused:
                raise ConfigError(f"{name} is not an option of {self._format}: {self._refused[name]}")
            is_clients = allow_client and name.startswith("kafka.")
            if name not in names and not is_clients and not _is_security(name):
                near = get_close_matches(name, names, 1)
                hint = f"; {names[near[0]]}?" if near else ""
                raise ConfigError(f"{name} is not an option of {self._format}{hint}")

    def text(self, name: str) -> str | None:
        value = (self._values.get(name.lower()) or "").strip()
        return value or None

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise ConfigError(f"the option {name} is missing")
        return value

    def only(self, name: str, allowed: tuple[str, ...], why: str) -> None:
        """Refuses any other value, if one is given."""
        value = self.text(name)
        if value is not None and value.lower() not in allowed:
            raise ConfigError(f"{name}={value}: {why}")

    def security(self) -> GivenSecurity:
        """How a client is let in, for whoever makes one. Raises ``ConfigError`` where it could not be made."""
        given = tuple(
            (key, hidden(key, value))
            for name, value in sorted(self._values.items())
            if _is_security(name) and (key := name.removeprefix(_CLIENTS))
        )
        security_of(given)
        return given

    def topics(self) -> tuple[str, ...]:
        names = [name.strip() for name in self.needed("subscribe").split(",")]
        topics = tuple(sorted({name for name in names if name}))
        if not topics:
            raise ConfigError("the option subscribe names no topic")
        return topics

    def client(self, known: tuple[str, ...]) -> GivenSecurity:
        """Kafka's own configs, but for those in ``known``."""
        own = {name.lower() for name in known}
        return tuple(
            (key, hidden(key, value))
            for name, value in sorted(self._values.items())
            if name.startswith(_CLIENTS) and name not in own and (key := name.removeprefix(_CLIENTS))
        )

    def number(self, name: str, default: int | None, most: int = INT_MAX) -> int | None:
        text = self.text(name)
        if text is None:
            return default
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise ConfigError(f"{name}={text}: expected a number from 1 to {most}")
        return int(text)

    def whole(self, name: str, default: int) -> int:
        """A number that there always is."""
        return self.number(name, default) or default

    def truth(self, name: str, default: bool) -> bool:
        text = (self.text(name) or str(default)).lower()
        if text not in ("true", "false"):
            raise ConfigError(f"{name}={text}: expected true or false")
        return text == "true"

    def choice(self, name: str, kind: type[E], default: D) -> E | D:
        text = self.text(name)
        if text is None:
            return default
        for option in kind:
            if option.value == text.lower():
                return option
        raise ConfigError(f"{name}={text}: expected one of {', '.join(str(o.value) for o in kind)}")


def _is_security(name: str) -> bool:
    return name.startswith(_CLIENTS) and name.removeprefix(_CLIENTS).replace("_", ".") in SECURITY_CONFIGS
