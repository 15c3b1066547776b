"""Typed attributes over a table of values: ``config.num_partitions`` is an int and mypy knows it.

An attribute's name is its key with underscores for dots, and its text says what the key does here. Declaring the
attribute is what marks the key as one that leaselog acts on; the reference page and DescribeConfigs read it. A
``planned`` one is there for code that is on its way, and a test finds out when that code has come.

A view never changes, so what was asked for once stands in its ``__dict__`` and is found there from then on: every
request asks for some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar, cast, overload

from leaselog.broker.config.definitions import Definition
from leaselog.broker.config.values import ConfigType, Value

__all__ = [
    "ClassName",
    "Flag",
    "Int",
    "Number",
    "OptionalInt",
    "OptionalSecret",
    "OptionalText",
    "OptionalTexts",
    "Text",
    "Texts",
    "View",
]

T = TypeVar("T")


class View:
    """Values of one scope, all keys present. A subclass declares the attributes it gives types to."""

    table: ClassVar[Mapping[str, Definition]]
    #: what each key that has an attribute does, by key
    documents: ClassVar[dict[str, str]]
    #: keys whose attribute nothing reads yet
    planned: ClassVar[set[str]]

    __slots__ = ("__dict__", "values")

    def __init__(self, values: Mapping[str, Value]) -> None:
        #: every key of the table, the ones without an attribute too
        self.values = values


class _Key(Generic[T]):
    types: ClassVar[tuple[ConfigType, ...]]
    nullable: ClassVar[bool] = False

    def __init__(self, document: str, *, planned: bool = False) -> None:
        self.document = document
        self.is_planned = planned
        self.name = ""
        self.attribute = ""

    def __set_name__(self, owner: type[View], attribute: str) -> None:
        self.attribute = attribute
        self.name = attribute.replace("_", ".")
        definition = owner.table[self.name]
        if definition.type not in self.types or (definition.default is None) != self.nullable:
            raise TypeError(f"{owner.__name__}.{attribute} cannot hold a {definition.type.name}")
        owner.documents[self.name] = self.document
        if self.is_planned:
            owner.planned.add(self.name)

    @overload
    def __get__(self, view: None, owner: type[View]) -> _Key[T]: ...
    @overload
    def __get__(self, view: View, owner: type[View]) -> T: ...
    def __get__(self, view: View | None, owner: type[View]) -> _Key[T] | T:
        if view is None:
            return self
        value = view.__dict__[self.attribute] = cast(T, view.values[self.name])
        return value


class Int(_Key[int]):
    types = (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT)


class OptionalInt(_Key[int | None]):
    types = (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT)
    nullable = True


class Number(_Key[float]):
    types = (ConfigType.DOUBLE,)


class Flag(_Key[bool]):
    types = (ConfigType.BOOLEAN,)


class Text(_Key[str]):
    types = (ConfigType.STRING,)


class OptionalText(_Key[str | None]):
    types = (ConfigType.STRING,)
    nullable = True


class ClassName(_Key[str]):
    types = (ConfigType.CLASS,)


class OptionalSecret(_Key[str | None]):
    types = (ConfigType.PASSWORD,)
    nullable = True


class Texts(_Key[tuple[str, ...]]):
    types = (ConfigType.LIST,)


class OptionalTexts(_Key[tuple[str, ...] | None]):
    types = (ConfigType.LIST,)
    nullable = True
