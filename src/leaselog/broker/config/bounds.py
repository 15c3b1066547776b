"""What a value may be: the validators of Kafka's keys, read from the text Kafka prints for them.

The table of keys carries each bound as Kafka's own short text (``[1,...]``, ``[compact, delete]``), which the
reference page shows too. Reading that text is what keeps the check and the page from drifting apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.values import ConfigType, Value

__all__ = ["Check", "read_bounds"]

#: raises ConfigError if the named key may not have the value
Check = Callable[[str, Value], None]

_RANGE = re.compile(r"\[([-0-9.]+),\.\.\.(?:,([-0-9.]+))?\](?: or ([-0-9]+))?")
_CHOICE = re.compile(r"(\(case insensitive\) )?\[(.+)\]")
_THROTTLED_REPLICAS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
_RESET = "[latest, earliest, by_duration:PnDTnHnMn.nS]"
# The days of an ISO-8601 duration, then at least one part of a time if there is a T, as java.time reads it.
_DURATION = re.compile(
    r"P(?=.)([0-9]+D)?(T(?=.)([0-9]+H)?([0-9]+M)?([0-9]+([.,][0-9]{0,9})?S)?)?", re.IGNORECASE
)


def read_bounds(text: str, type_: ConfigType, *, nullable: bool) -> Check:
    """The check behind a bound's text. A text nobody has taught this function is an error at import."""
    check = _read_special(text) or _read_range(text) or _read_choice(text, type_)
    if check is None:
        raise ValueError(f"bounds {text!r} have no meaning here")

    def checked(name: str, value: Value) -> None:
        if value is None:
            if not nullable:
                raise ConfigError.of_value(name, "null", "Value must be non-null")
            return
        if type_ is ConfigType.LIST:
            _check_list(name, value)
        check(name, value)

    return checked


def _check_list(name: str, value: Value) -> None:
    """Kafka 4 takes no empty entries in a list, and drops repeated ones (KIP-1161): parsing has done that."""
    assert isinstance(value, tuple)
    if any(not entry for entry in value):
        raise ConfigError(f"Configuration '{name}' values must not be empty.")


def _anything(name: str, value: Value) -> None:
    return None


def _read_special(text: str) -> Check | None:
    match text:
        case "" | "non-null string" | "non-empty list":
            # The lists are the voters of a KRaft quorum, which is not ours to judge.
            return _anything
        case "non-empty string":
            return _check_non_empty
        case t if t == _THROTTLED_REPLICAS:
            return _check_throttled_replicas
        case t if t == _RESET:
            return _check_offset_reset
        case _:
            return None


def _check_non_empty(name: str, value: Value) -> None:
    if value == "":
        raise ConfigError.of_value(name, "", "String must be non-empty")


def _check_throttled_replicas(name: str, value: Value) -> None:
    assert isinstance(value, tuple)
    if value != ("*",) and not all(re.fullmatch(r"[0-9]+:[0-9]+", entry) for entry in value):
        rule = f"{name} must be the literal '*' or a list of replicas in the following format: {_THROTTLED_REPLICAS}"
        raise ConfigError.of_value(name, f"[{', '.join(value)}]", rule)


def _check_offset_reset(name: str, value: Value) -> None:
    strategy, colon, duration = str(value).partition(":")
    if value in ("latest", "earliest"):
        return
    if strategy != "by_duration" or not colon or not _DURATION.fullmatch(duration):
        # Kafka says it twice: one exception wraps another.
        rule = (
            f"Invalid value `{value}` for configuration {name}. "
            "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
        raise ConfigError.of_value(name, value, rule)


def _read_range(text: str) -> Check | None:
    found = _RANGE.fullmatch(text)
    if not found:
        return None
    low_text, high_text, exception_text = found.groups()
    low = float(low_text)
    high = float(high_text) if high_text else None
    exception = float(exception_text) if exception_text else None

    def check(name: str, value: Value) -> None:
        assert isinstance(value, int | float)
        if exception is not None:
            if value != exception and not (low <= value and (high is None or value <= high)):
                rule = f"Value must be between {low_text} and {high_text} or equal to {exception_text}"
                raise ConfigError.of_value(name, value, rule)
            return
        if value < low:
            raise ConfigError.of_value(name, value, f"Value must be at least {low_text}")
        if high is not None and value > high:
            raise ConfigError.of_value(name, value, f"Value must be no more than {high_text}")

    return check


def _read_choice(text: str, type_: ConfigType) -> Check | None:
    found = _CHOICE.fullmatch(text)
    if not found:
        return None
    any_case, choices = found.group(1) is not None, found.group(2).split(", ")

    def check(name: str, value: Value) -> None:
        for entry in value if isinstance(value, tuple) else (value,):
            if entry not in choices and not (any_case and str(entry).upper() in choices):
                rule = "String must be one of (case insensitive)" if any_case else "String must be one of"
                raise ConfigError.of_value(name, entry, f"{rule}: {', '.join(choices)}")

    return check
