"""Which letters are meant: conditions on what their headers say, all of which have to hold. Pure.

A condition is a field, an operator and a value: ``delivery.count>3``, ``topic=orders``, ``message~timeout``,
``time<2026-11-22T08:00``. Numbers and times are compared, texts are equal (``=``), not (``!=``), or contain the value
(``~``) or not (``!~``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from leaselog.admin.dead_letters.letter import Letter

__all__ = ["EVERYTHING", "Selection"]

_CONDITION = re.compile(r"\s*([a-z.]+)\s*(!=|!~|<=|>=|=|~|<|>)\s*(.*?)\s*", re.DOTALL)

_TEXTS: dict[str, Callable[[Letter], str]] = {
    "message": lambda letter: letter.cause,
    "topic": lambda letter: letter.source.topic,
}
_NUMBERS: dict[str, Callable[[Letter], int]] = {
    "delivery.count": lambda letter: letter.delivery_count,
    "partition": lambda letter: letter.source.partition,
    "offset": lambda letter: letter.source_offset,
    "time": lambda letter: letter.time_ms,
}
#: other names for the same
_ALSO = {"cause": "message"}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_MATCHED: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "~": lambda a, b: b in a,
    "!~": lambda a, b: b not in a,
}


@dataclass(frozen=True, slots=True, order=True)
class _Condition:
    field: str
    operator: str
    #: of a number or a time, its decimal digits: one way of writing each thing
    value: str

    def holds_of(self, letter: Letter) -> bool:
        if self.field in _TEXTS:
            return _MATCHED[self.operator](_TEXTS[self.field](letter), self.value)
        return _COMPARED[self.operator](_NUMBERS[self.field](letter), int(self.value))


@dataclass(frozen=True, slots=True)
class Selection:
    """Two that mean the same conditions are equal, in whatever order and spelling they were given."""

    conditions: tuple[_Condition, ...] = ()

    @classmethod
    def of(cls, where: Iterable[str]) -> Selection:
        """Raises ``ValueError``, in words for a user."""
        return cls(tuple(sorted({_condition(text) for text in where})))

    def holds_of(self, letter: Letter) -> bool:
        return all(condition.holds_of(letter) for condition in self.conditions)

    @property
    def texts(self) -> list[str]:
        """What `of` makes the same selection of."""
        return [f"{one.field}{one.operator}{one.value}" for one in self.conditions]


EVERYTHING = Selection()


def _condition(text: str) -> _Condition:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: expected FIELD, an operator and a value, as in delivery.count>3")
    field, operator, value = found.groups()
    field = _ALSO.get(field, field)
    if field in _TEXTS:
        if operator not in _MATCHED:
            raise ValueError(f"{text!r}: {field} is a text, which takes {', '.join(_MATCHED)}")
        return _Condition(field, operator, _unquoted(value))
    if field not in _NUMBERS:
        raise ValueError(f"{text!r}: expected one of {', '.join((*_NUMBERS, *_TEXTS))}")
    if operator not in _COMPARED:
        raise ValueError(f"{text!r}: {field} is compared with {', '.join(_COMPARED)}")
    number = (
        _time_ms(value) if field == "time" else int(value) if re.fullmatch("[0-9]{1,18}", value) else None
    )
    if number is None:
        wanted = "a time as YYYY-MM-DDTHH:mm:SS, or ms since 1970" if field == "time" else "a whole number"
        raise ValueError(f"{text!r}: expected {wanted}")
    return _Condition(field, operator, str(number))


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def _time_ms(value: str) -> int | None:
    """UTC without a zone, as in Apache's tools."""
    if re.fullmatch("[0-9]{9,15}", value):
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
