"""Whether a shard has changed: everything that can be reached from it, as a value that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from uuid import UUID

from leaselog.coordination.group_deadlines import Deadlines

__all__ = ["fingerprint", "unchanged"]

_ATOMS = (str, bytes, int, float, bool, type(None), Enum, UUID)


@contextmanager
def unchanged(*things: object) -> Iterator[None]:
    """What is done within changes nothing of them."""
    before = fingerprint(things)
    yield
    after = fingerprint(things)
    assert before == after, f"changed before it was carried out:\n{before}\n{after}"


def fingerprint(thing: object) -> object:
    if isinstance(thing, _ATOMS):
        return thing
    if isinstance(thing, Deadlines):  # how it keeps them is its own affair
        return fingerprint(thing._due_ms)
    if isinstance(thing, Mapping):
        return (type(thing).__name__, tuple((fingerprint(k), fingerprint(v)) for k, v in thing.items()))
    if isinstance(thing, Set):
        return (type(thing).__name__, frozenset(map(fingerprint, thing)))
    if isinstance(thing, (tuple, list)):
        return (type(thing).__name__, tuple(map(fingerprint, thing)))
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {field.name: getattr(thing, field.name) for field in fields(thing)}
    else:
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = {name: getattr(thing, name) for name in slots} | getattr(thing, "__dict__", {})
    return (type(thing).__name__, tuple((name, fingerprint(part)) for name, part in parts.items()))
