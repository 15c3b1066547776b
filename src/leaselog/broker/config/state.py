"""Every dynamic value there is. Changes only by replaying a ConfigChange, so recovery is the code that runs all day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from leaselog.broker.config.resources import ConfigChange, Resource

__all__ = ["ConfigState"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


class ConfigState:
    """Texts by resource and key. Holds no empty resource, so a listing names only what is configured."""

    def __init__(self) -> None:
        self._values: dict[Resource, dict[str, str]] = {}

    def of(self, resource: Resource) -> Mapping[str, str]:
        """The dynamic values of one resource: a live view, for reading at once."""
        return self._values.get(resource, _NOTHING)

    def resources(self) -> Iterator[Resource]:
        yield from self._values

    def changes(self) -> Iterator[ConfigChange]:
        """The records that rebuild this state in an empty one: the body of a snapshot."""
        for resource, values in self._values.items():
            for key, value in values.items():
                yield ConfigChange(resource, key, value)

    def replay(self, change: ConfigChange) -> None:
        """Applies one stored change. Removing what is not there is no news, as in Kafka."""
        values = self._values.setdefault(change.resource, {})
        if change.value is None:
            values.pop(change.key, None)
        else:
            values[change.key] = change.value
        if not values:
            del self._values[change.resource]

    def forget(self, resource: Resource) -> None:
        """Drops everything of a resource that is gone. A deleted topic's record implies it."""
        self._values.pop(resource, None)
