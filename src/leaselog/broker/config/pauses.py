"""A share group's pause as its configs keep it: who set it and since when is written by the broker itself. Pure.

A pause is a group config, so any admin client can set it, and it is as durable as configs are. Whichever way it is set,
the stamps come with it and go with it, as they are added where all changes pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leaselog.broker.config.definitions import GROUP, UpdateMode
from leaselog.broker.config.resources import Resource
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType

__all__ = ["BREAKER", "OPERATOR", "is_kept", "pause", "with_stamps"]

PAUSED = "share.delivery.paused"
REASON, BY, SINCE = f"{PAUSED}.reason", f"{PAUSED}.by", f"{PAUSED}.since.ms"
OPERATOR, BREAKER = "operator", "breaker"

#: (resource type, name) to texts by key
Stored = Mapping[tuple[int, str], Mapping[str, str]]


def is_kept(resource: Resource, key: str) -> bool:
    """Is the value the broker's own, and nobody else may change it?"""
    definition = GROUP.get(key) if resource.type is ResourceType.GROUP else None
    return definition is not None and definition.mode is UpdateMode.READ_ONLY


def pause(group_id: str, *, by: str, reason: str) -> tuple[ConfigChanged, ...]:
    """The changes that pause a group."""
    values = {PAUSED: "true", REASON: reason, BY: by}
    return tuple(ConfigChanged(ResourceType.GROUP, group_id, key, text) for key, text in values.items())


def with_stamps(changes: Sequence[ConfigChanged], stored: Stored, now_ms: int) -> list[ConfigChanged]:
    """The changes, and with each pause that begins its stamps; with each that ends, the end of all that it left."""
    complete = list(changes)
    for change in changes:
        if change.resource_type != ResourceType.GROUP or change.key != PAUSED:
            continue
        group = (change.resource_type, change.resource_name)
        before = stored.get(group, {})
        is_paused = _is_true(change.value)
        if is_paused == _is_true(before.get(PAUSED)):
            continue
        said = {c.key: c.value for c in changes if (c.resource_type, c.resource_name) == group}
        stamps: dict[str, str | None] = {BY: None, SINCE: None, REASON: None}
        if is_paused:
            stamps = {BY: said.get(BY) or OPERATOR, SINCE: str(now_ms)}
        complete = [c for c in complete if (c.resource_type, c.resource_name) != group or c.key not in stamps]
        complete += [
            ConfigChanged(*group, key, text)
            for key, text in stamps.items()
            if text is not None or key in before
        ]
    return complete


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() == "true"
