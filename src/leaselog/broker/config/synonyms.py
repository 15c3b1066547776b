"""Which keys say the same thing: one duration in ms, minutes or hours, and one rule of a broker and its topics.

A synonym nearer the front wins. A topic or group key's default is a broker key's value, and that broker key may
itself have synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from leaselog.broker.config.values import Value

__all__ = ["broker_synonyms", "first_synonym"]

_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_BY_NAME = {name: family for family in _FAMILIES for name in family} | {
    # The scheduler's interval is the default of the flush interval, and not the other way round.
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}
_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")
_MS = {"minutes": 60_000, "hours": 3_600_000}


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The broker keys that can answer for ``name``, itself among them, nearest first."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    listener_key = _LISTENER_KEY.fullmatch(name)
    return (name, listener_key.group(1)) if listener_key else (name,)


def first_synonym(names: tuple[str, ...], values: Mapping[str, Value]) -> Value:
    """The first of ``names`` that has a value, in the unit of the first name. None if none has."""
    for name in names:
        value = values.get(name)
        if value is None:
            continue
        factor = _MS.get(name.rpartition(".")[2])
        return value * factor if factor and isinstance(value, int) else value
    return None
