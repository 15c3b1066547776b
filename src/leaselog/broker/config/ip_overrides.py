"""`max.connections.per.ip.overrides`: how many connections some addresses may have, as ``ADDRESS:COUNT,…``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from types import MappingProxyType

from leaselog.broker.config.errors import ConfigError

__all__ = ["connections_by_address"]

_KEY = "max.connections.per.ip.overrides"


@lru_cache(maxsize=8)
def connections_by_address(text: str) -> Mapping[str, int]:
    """By address. ConfigError for what is none: Apache Kafka looks names up, which here would stop the loop."""
    found: dict[str, int] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        address, _, count = entry.rpartition(":")
        try:
            found[str(ip_address(address.strip().strip("[]")))] = _count(count)
        except ValueError as wrong:
            raise ConfigError(f"{_KEY}: {entry!r}, expected ADDRESS:COUNT") from wrong
    return MappingProxyType(found)


def _count(text: str) -> int:
    count = int(text)
    if count < 0:
        raise ValueError(text)
    return count
