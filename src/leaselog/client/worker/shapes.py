"""From JSON, as Python has it, to what a type annotation says. Pure, and nothing is guessed: 1 is no str, "1" no int.

An annotation becomes a function once; a type that JSON cannot become is refused there, before any record has come.
Fields that a dataclass does not know are passed over: whoever produces may be newer than whoever works.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

__all__ = ["Misfit", "Shape", "is_model", "shape_of", "type_name"]

#: a value and where it is in the payload, to what the annotation says; raises `Misfit`
Shape = Callable[[Any, str], Any]

_LISTS: Mapping[Any, Callable[[list[Any]], Any]] = {
    list: list, Sequence: list, set: set, frozenset: frozenset
}  # fmt: skip
_FROM_TEXT: Mapping[Any, Callable[[str], Any]] = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    uuid.UUID: uuid.UUID,
}


class Misfit(ValueError):
    """The payload is not what the handler expects: where, what was expected, what there is."""


def is_model(kind: object) -> bool:
    """Whether it is a model of pydantic's, or of whoever else has its methods."""
    return isinstance(kind, type) and hasattr(kind, "model_validate") and hasattr(kind, "model_validate_json")


def type_name(kind: object) -> str:
    if get_origin(kind) in (Union, types.UnionType):
        return " | ".join(map(type_name, get_args(kind)))
    return (
        kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind).replace("typing.", "")
    )


def shape_of(kind: Any) -> Shape:
    """Raises ``TypeError`` for an annotation that no JSON can become."""
    return _Shapes().of(kind)


class _Shapes:
    """Those of one annotation. A dataclass may have fields of its own kind: it is entered before it is looked into."""

    def __init__(self) -> None:
        self._made = dict[Any, Shape]()

    def of(self, kind: Any) -> Shape:
        kind = _plain(kind)
        if kind is Any or kind is object:
            return _anything
        if kind is None or kind is type(None):
            return _null
        if (origin := get_origin(kind)) is not None:
            return self._generic(kind, origin, get_args(kind))
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind in _FROM_TEXT:
            return _from_text(kind, _FROM_TEXT[kind])
        if not isinstance(kind, type):
            raise _refused(kind)
        return self._class(kind)

    def _generic(self, kind: Any, origin: Any, args: tuple[Any, ...]) -> Shape:
        if origin in (Union, types.UnionType):
            return _union(kind, [self.of(arg) for arg in args])
        if origin is Literal:
            return _one_of(args)
        if origin is tuple:
            if len(args) == 2 and args[1] is Ellipsis:
                return _items(self.of(args[0]), tuple)
            return _tuple([self.of(arg) for arg in args])
        if origin in _LISTS:
            return _items(self.of(args[0]), _LISTS[origin])
        if origin in (dict, Mapping) and args[0] in (str, Any):
            return _mapping(self.of(args[1]))
        raise _refused(kind)

    def _class(self, kind: type) -> Shape:
        if kind in (dict, Mapping):
            return _mapping(_anything)
        if kind is tuple or kind in _LISTS:
            return _items(_anything, _LISTS.get(kind, tuple))
        if is_model(kind):
            return lambda value, path: kind.model_validate(value)  # type: ignore[attr-defined]
        if issubclass(kind, enum.Enum):
            return _from_value(kind)
        if kind in self._made:
            return self._made[kind]
        self._made[kind] = lambda value, path: made(value, path)
        if dataclasses.is_dataclass(kind):
            made = self._dataclass(kind)
        elif is_typeddict(kind):
            made = self._typed_dict(kind)
        else:
            raise _refused(kind)
        self._made[kind] = made
        return made

    def _dataclass(self, kind: Any) -> Shape:
        hints = get_type_hints(kind)
        fields = {one.name: self.of(hints[one.name]) for one in dataclasses.fields(kind) if one.init}
        needed = [
            one.name
            for one in dataclasses.fields(kind)
            if one.init and one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        ]
        shape = _fields(fields, needed, kind.__name__)
        return lambda value, path: kind(**shape(value, path))

    def _typed_dict(self, kind: Any) -> Shape:
        # What is written as text is not required for all that `__required_keys__` knows.
        hints = get_type_hints(kind, include_extras=True)
        needed = [
            name
            for name, hint in hints.items()
            if get_origin(hint) is typing.Required
            or (name not in kind.__optional_keys__ and get_origin(hint) is not typing.NotRequired)
        ]
        return _fields({name: self.of(hint) for name, hint in hints.items()}, needed, kind.__name__)


def _plain(kind: Any) -> Any:
    """Without what means nothing to a value: NewType, Annotated, Final."""
    while True:
        if isinstance(kind, typing.NewType):
            kind = kind.__supertype__
        elif hasattr(kind, "__metadata__"):
            kind = kind.__origin__
        elif get_origin(kind) in (typing.Required, typing.NotRequired):
            (kind,) = get_args(kind)
        else:
            return kind


def _refused(kind: Any) -> TypeError:
    return TypeError(
        f"a payload cannot become {type_name(kind)}: annotate bytes, str, dict, list, a dataclass, a pydantic model or"
        " ShareRecord, or say decode=, a function of bytes"
    )


def _misfit(path: str, expected: str, value: object) -> Misfit:
    told = "null" if value is None else repr(value)
    return Misfit(f"{path}: expected {expected}, not {told if len(told) <= 80 else told[:79] + '…'}")


def _anything(value: Any, path: str) -> Any:
    return value


def _null(value: Any, path: str) -> None:
    if value is not None:
        raise _misfit(path, "null", value)


def _of_kinds(expected: str, *kinds: type) -> Shape:
    def shape(value: Any, path: str) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise _misfit(path, expected, value)
        return value

    return shape


def _float(value: Any, path: str) -> float:
    return float(_NUMBER(value, path))


def _decimal(value: Any, path: str) -> Decimal:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return Decimal(str(value))
        except ArithmeticError:
            pass
    raise _misfit(path, "a number", value)


_NUMBER = _of_kinds("a number", int, float)
_SIMPLE: Mapping[Any, Shape] = {
    str: _of_kinds("a text", str),
    int: _of_kinds("a whole number", int),
    bool: _of_kinds("true or false", bool),
    float: _float,
    Decimal: _decimal,
}


def _from_text(kind: type, make: Callable[[str], Any]) -> Shape:
    def shape(value: Any, path: str) -> Any:
        if isinstance(value, str):
            try:
                return make(value)
            except ValueError:
                pass
        raise _misfit(path, f"a {kind.__name__} as text", value)

    return shape


def _from_value(kind: type[enum.Enum]) -> Shape:
    def shape(value: Any, path: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise _misfit(path, f"one of {', '.join(repr(one.value) for one in kind)}", value) from None

    return shape


def _one_of(choices: tuple[Any, ...]) -> Shape:
    def shape(value: Any, path: str) -> Any:
        for choice in choices:
            if value == choice and type(value) is type(choice):
                return choice
        raise _misfit(path, f"one of {', '.join(map(repr, choices))}", value)

    return shape


def _union(kind: Any, shapes: Sequence[Shape]) -> Shape:
    def shape(value: Any, path: str) -> Any:
        wrong: ValueError | None = None
        for one in shapes:
            try:
                return one(value, path)
            except ValueError as misfit:  # and that of a model
                # Of an optional thing the reason is what is wrong with the thing.
                wrong = misfit if one is not _null else wrong
        if wrong is not None and len(shapes) == 2 and _null in shapes:
            raise wrong
        raise _misfit(path, type_name(kind), value)

    return shape


def _items(item: Shape, make: Callable[[list[Any]], Any]) -> Shape:
    def shape(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _misfit(path, "a list", value)
        return make([item(one, f"{path}[{index}]") for index, one in enumerate(value)])

    return shape


def _tuple(items: Sequence[Shape]) -> Shape:
    def shape(value: Any, path: str) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise _misfit(path, f"a list of {len(items)}", value)
        return tuple(
            item(one, f"{path}[{index}]") for index, (item, one) in enumerate(zip(items, value, strict=True))
        )

    return shape


def _mapping(item: Shape) -> Shape:
    def shape(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _misfit(path, "an object", value)
        if item is _anything:
            return value
        return {name: item(one, f"{path}.{name}") for name, one in value.items()}

    return shape


def _fields(fields: Mapping[str, Shape], needed: Sequence[str], name: str) -> Shape:
    def shape(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _misfit(path, f"an object ({name})", value)
        if missing := [one for one in needed if one not in value]:
            raise Misfit(f"{path}: {', '.join(missing)} missing ({name})")
        return {one: fields[one](value[one], f"{path}.{one}") for one in fields if one in value}

    return shape
