"""A table as it would be: what a decision changes lies beside the table, which stays what it is until the decision
is carried out. Whoever throws the layer away has changed nothing.

It costs what is changed, not what there is. Nobody may change the table below as long as the layer is used.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from enum import Enum
from typing import TypeVar

__all__ = ["Layer"]

K = TypeVar("K")
V = TypeVar("V")


class _Gone(Enum):
    GONE = 0


_GONE = _Gone.GONE


class Layer(MutableMapping[K, V]):
    __slots__ = ("_below", "_changed", "_size")

    def __init__(self, below: MutableMapping[K, V]) -> None:
        self._below = below
        self._changed: dict[K, V | _Gone] = {}
        self._size = len(below)

    def __getitem__(self, key: K) -> V:
        value = self._changed[key] if key in self._changed else self._below[key]
        if value is _GONE:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self._size += key not in self
        self._changed[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._size -= 1
        self._changed[key] = _GONE

    def __contains__(self, key: object) -> bool:
        if key in self._changed:
            return self._changed[key] is not _GONE
        return key in self._below

    def __iter__(self) -> Iterator[K]:
        """The keys that were there in their order, then those that are new. May not be changed meanwhile."""
        changed = self._changed
        if not changed:
            yield from self._below
            return
        for key in self._below:
            if changed.get(key) is not _GONE:
                yield key
        for key, value in changed.items():
            if value is not _GONE and key not in self._below:
                yield key

    def __len__(self) -> int:
        return self._size

    def merge_into(self, table: MutableMapping[K, V]) -> None:
        """Makes of a table like the one below what this one is."""
        for key, value in self._changed.items():
            if value is _GONE:
                table.pop(key, None)
            else:
                table[key] = value
