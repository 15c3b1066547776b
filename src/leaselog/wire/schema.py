"""What a message looks like in each of its versions: the data that `codec` compiles and `messages` is made of.

One class serves all versions of a message: a field that a version lacks keeps its default when decoding and
is left out when encoding. So a handler is written once, against the newest shape, and reads what is there.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

__all__ = ["ALWAYS", "NEVER", "Field", "Message", "Versions"]


class Versions(NamedTuple):
    """An inclusive range of message versions, as Kafka's definitions write it; empty when ``first > last``."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


ALWAYS = Versions(0, 32767)
NEVER = Versions(0, -1)


class Field(NamedTuple):
    """One field: its attribute, its wire type, and in which versions it is there, nullable or tagged."""

    name: str
    #: a primitive's name ("int32", "string", "records", …) or the Message class of a struct
    kind: Any
    array: bool = False
    versions: Versions = ALWAYS
    nullable: Versions = NEVER
    tag: int = -1
    tagged: Versions = NEVER
    default: Any = None


class Message:
    """Base of all generated messages and of the structs inside them."""

    __slots__ = ()
    NAME: ClassVar[str] = ""
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[Versions] = ALWAYS
    FLEXIBLE: ClassVar[Versions] = NEVER
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in self.FIELDS)
        return f"{type(self).__name__}({inside})"


def _same(one: object, other: object) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
