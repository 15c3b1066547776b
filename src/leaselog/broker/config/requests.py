"""What the config handlers have in common: which resource is meant, and whether it is one of ours.

Describing and altering refuse the same things in different words, as Kafka does; tests of clients read them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence

from leaselog.broker.config.changes import check_name
from leaselog.broker.config.configuration import Configuration
from leaselog.broker.config.loggers import alter_loggers, logger_entries
from leaselog.broker.config.resources import Alteration, ConfigEntry, Resource
from leaselog.coordination.cluster_names import refuse_topic_name
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.model import ErrorCode, Refused

__all__ = ["ConfigRequests", "Outcome", "store", "store_nothing"]

_UNNAMED = {
    ResourceType.BROKER_LOGGER: "Broker id must not be empty",
    ResourceType.GROUP: "Group name must not be empty",
    ResourceType.CLIENT_METRICS: "Client metrics subscription name must not be empty",
}

#: what an alteration of one resource comes to
Outcome = tuple[ConfigChanged, ...] | Refused


#: asks what to write when nothing else is being written, and writes it
Writer = Callable[[Callable[[], Sequence[ConfigChanged]]], Awaitable[Refused | None]]


class ConfigRequests:
    """One request's view: the configuration, the topics there are, and the id this broker answers to."""

    def __init__(self, configuration: Configuration, has_topic: Callable[[str], bool]) -> None:
        self._configuration = configuration
        self._has_topic = has_topic
        self._node_id = configuration.broker.node_id

    # Describing.

    def describe(self, type_: int, name: str, keys: Sequence[str] | None) -> list[ConfigEntry] | Refused:
        """The named keys of a resource, or all of them for no names."""
        resource = _resource(type_, name)
        if resource is None:
            return Refused(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {type_} for resource {name}")
        refusal = self._refuse_description(resource)
        if refusal is not None:
            return refusal
        if resource.type is ResourceType.BROKER_LOGGER:
            entries = logger_entries()
        else:
            entries = self._configuration.describe(resource)
        return [entry for entry in entries if entry.name in keys] if keys else entries

    def _refuse_description(self, resource: Resource) -> Refused | None:
        if not resource.name and resource.type in _UNNAMED:
            return Refused(ErrorCode.INVALID_REQUEST, _UNNAMED[resource.type])
        if resource.type is ResourceType.TOPIC:
            refusal = refuse_topic_name(resource.name)
            if refusal is None and not self._has_topic(resource.name):
                return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return refusal
        if resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and resource.name:
            return self._refuse_other_broker(resource)
        return None

    def _refuse_other_broker(self, resource: Resource) -> Refused | None:
        if not _is_integer(resource.name):
            return Refused(
                ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {resource.name}"
            )
        if int(resource.name) != self._node_id:
            or_empty = " or empty string," if resource.type is ResourceType.BROKER else ""
            return Refused(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {self._node_id}{or_empty} but received {resource.name}",
            )
        return None

    # Altering.

    def alter(
        self, type_: int, name: str, alterations: Sequence[Alteration], *, validate_only: bool
    ) -> Outcome:
        """What to store so that every alteration of one resource is carried out. Levels of loggers are set at once."""
        resource = _resource(type_, name)
        if resource is None:
            return Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {type_}")
        if resource.type is ResourceType.BROKER_LOGGER:
            refusal = self._refuse_other_node(resource)
            return refusal or alter_loggers(alterations, validate_only=validate_only) or ()
        return self._judge(resource, lambda: self._configuration.alter(resource, alterations))

    def replace(self, type_: int, name: str, values: Sequence[tuple[str, str | None]]) -> Outcome:
        """What to store so that a resource has these values and no others. Loggers have no such thing."""
        resource = _resource(type_, name)
        if resource is None or resource.type is ResourceType.BROKER_LOGGER:
            return Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {type_}")
        return self._judge(resource, lambda: self._configuration.replace(resource, values))

    def _judge(self, resource: Resource, decide: Callable[[], Outcome]) -> Outcome:
        """The decision, if the resource is one that may be altered here. Kafka looks for the topic last."""
        refusal = check_name(resource)
        if refusal is None and resource.type is ResourceType.BROKER and resource.name:
            refusal = self._refuse_other_node(resource)
        if refusal is None and resource.type is ResourceType.TOPIC:
            refusal = refuse_topic_name(resource.name)
        if refusal is not None:
            return refusal
        outcome = decide()
        is_missing = resource.type is ResourceType.TOPIC and not self._has_topic(resource.name)
        if is_missing and not isinstance(outcome, Refused):
            missing = f"The topic '{resource.name}' does not exist."
            return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, missing)
        return outcome

    def _refuse_other_node(self, resource: Resource) -> Refused | None:
        if not _is_integer(resource.name):
            return Refused(
                ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {resource.name}"
            )
        if int(resource.name) != self._node_id:
            return Refused(
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {self._node_id}, but received {resource.name}",
            )
        return None

    @staticmethod
    def repeated(resources: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Refused]:
        """The refusal of every resource that a request names more than once."""
        refusal = Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        return {resource: refusal for resource, count in Counter(resources).items() if count > 1}


async def store(decide: Callable[[], list[Outcome]], write: Writer) -> list[Refused | None]:
    """Has the changes of all outcomes written at once; each one's refusal, or None where it is stored."""
    outcomes: list[Outcome] = []

    def changes() -> list[ConfigChanged]:
        outcomes.extend(decide())
        return [change for outcome in outcomes if not isinstance(outcome, Refused) for change in outcome]

    failure = await write(changes)
    return [outcome if isinstance(outcome, Refused) else failure for outcome in outcomes]


async def store_nothing(changes: Callable[[], Sequence[ConfigChanged]]) -> Refused | None:
    """The writer of a request that only wants to know."""
    changes()
    return None


def _resource(type_: int, name: str) -> Resource | None:
    try:
        return Resource(ResourceType(type_), name)
    except ValueError:
        return None


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 11
