"""Texts to values and back, for the nine types a Kafka configuration key can have.

Java's parsers decide what is a number: ``1_000`` and ``0x10`` are none, ``+5`` is one, and an INT has 32 bits.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import IntEnum
from typing import assert_never

from leaselog.broker.config.errors import ConfigError

__all__ = ["ConfigType", "Value", "format_value", "parse_value"]

Value = bool | int | float | str | tuple[str, ...] | None


class ConfigType(IntEnum):
    """A key's type; the number is the one DescribeConfigs answers with."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_COMMA = re.compile(r"\s*,\s*")


def parse_value(name: str, type_: ConfigType, text: str) -> Value:
    """The value of ``text``, or ConfigError naming ``name`` if the text is none of that type."""
    trimmed = text.strip()
    match type_:
        case ConfigType.BOOLEAN:
            return _parse_boolean(name, trimmed)
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            return _parse_integer(name, type_, trimmed)
        case ConfigType.DOUBLE:
            if not _DECIMAL.fullmatch(trimmed):
                raise ConfigError.of_value(name, trimmed, "Not a number of type DOUBLE")
            return float(trimmed)
        case ConfigType.LIST:
            # A repeated entry counts once (KIP-1161).
            return tuple(dict.fromkeys(_COMMA.split(trimmed))) if trimmed else ()
        case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD | ConfigType.UNKNOWN:
            return trimmed
        case _:
            assert_never(type_)


def _parse_boolean(name: str, text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ConfigError.of_value(name, text, "Expected value to be either true or false")
    return lowered == "true"


def _parse_integer(name: str, type_: ConfigType, text: str) -> int:
    limit = 1 << (_BITS[type_] - 1)
    # The length comes first: a text of a million digits must not cost a conversion.
    if len(text) <= 20 and _INTEGER.fullmatch(text) and -limit <= int(text) < limit:
        return int(text)
    raise ConfigError.of_value(name, text, f"Not a number of type {type_.name}")


def format_value(value: Value) -> str | None:
    """The text Kafka shows for a value: what DescribeConfigs and CreateTopics answer with."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case int() | str():
            return str(value)
        case float():
            return _format_double(value)
        case tuple():
            return ",".join(value)
        case _:
            assert_never(value)


def _format_double(value: float) -> str:
    """As Java prints a double: plain between 10^-3 and 10^7, else ``d.dddE±n``."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "infinities and NaN do not parse, so nobody formats them"
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{exponent + len(digits) - 1}"
