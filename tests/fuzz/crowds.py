"""For every API that is served, requests with very many elements in one of their arrays, whatever the arrays are.

Made from the messages' definitions, so an API that is new has its crowds, too. Names and ids count up; the first of
each is one that exists, so what is done for a stranger and what is done for somebody known are both among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from leaselog.broker.net.api import Api
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Field, Message

__all__ = ["GROUP", "TOPIC", "Crowd", "crowded", "crowds"]

TOPIC, GROUP = "t0", "g0"

Path = tuple[str, ...]


class Crowd(NamedTuple):
    """An array of an API's request: the fields that lead there."""

    api: Api
    path: Path

    def __str__(self) -> str:
        return f"{self.api.name} {'.'.join(self.path)}"


def crowds(api: Api) -> Iterator[Crowd]:
    for path in _paths(api.request, api.versions.last):
        yield Crowd(api, path)


def _paths(kind: Any, version: int) -> Iterator[Path]:
    if isinstance(kind, str):
        return
    for field in kind.FIELDS:
        if version not in field.versions:
            continue
        if field.array:
            yield (field.name,)
        for path in _paths(field.kind, version):
            yield (field.name, *path)


def crowded(crowd: Crowd, count: int, topic_id: UUID) -> Message:
    """The request with so many elements in the array, and one in each other."""
    return _struct(crowd.api.request, crowd.api.versions.last, crowd.path, count, 0, topic_id)


def _struct(
    kind: type[Message], version: int, path: Path | None, count: int, at: int, topic_id: UUID
) -> Message:
    message = kind()
    for field in kind.FIELDS:
        if version not in field.versions or version in field.tagged:
            continue
        is_on_the_way = path is not None and path[0] == field.name
        inner = path[1:] if is_on_the_way and path else None
        if field.array:
            size = count if is_on_the_way and not inner else 1
            # the crowd is behind the first of the others
            value: Any = [_value(field, version, inner or None, count, at + i, topic_id) for i in range(size)]
        else:
            value = _value(field, version, inner, count, at, topic_id)
        setattr(message, field.name, value)
    return message


def _value(field: Field, version: int, path: Path | None, count: int, at: int, topic_id: UUID) -> Any:
    if not isinstance(field.kind, str):
        return _struct(field.kind, version, path, count, at, topic_id)
    match field.kind:
        case "string":
            return f"{'g' if 'group' in field.name else 't'}{at}"
        case "bytes":
            return b"x"
        case "records":
            return build_batch([Record(None, b"v")])
        case "uuid":
            return topic_id if not at else UUID(int=at)
        case "bool":
            return field.default if isinstance(field.default, bool) else False
        case "float64":
            return 1.0 + at
        case _ if field.array:
            return at % 100 if field.kind in ("int8", "int16") else at
        case _ if field.name in ("partition_index", "partition", "index"):
            return at
        case _:
            return field.default if isinstance(field.default, int) else 0
