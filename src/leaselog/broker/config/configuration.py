"""The one door to configuration while the broker runs: what holds now, what may change, what to tell who asks.

The values themselves are the cluster shard's, which changes only by replaying stored records; this reads them.
``alter`` and ``replace`` decide and change nothing: what they return is stored and replayed there, and then told here
with ``changed``. Views are made on first use after a change and shared by everybody until the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from leaselog.broker.config.broker_config import BrokerConfig
from leaselog.broker.config.changes import altered, check_shape, replaced
from leaselog.broker.config.client_metrics import check_client_metrics
from leaselog.broker.config.describe import (
    Places,
    broker_entries,
    client_metrics_entries,
    cluster_entries,
    group_entries,
    topic_entries,
)
from leaselog.broker.config.dynamic_broker import check_dynamic_broker
from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.group_config import GroupConfig, check_group
from leaselog.broker.config.pauses import is_kept
from leaselog.broker.config.resources import Alteration, ConfigEntry, Resource
from leaselog.broker.config.topic_config import TopicConfig, check_topic
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.model import ErrorCode, Refused

__all__ = ["Configuration"]

#: (resource type, name) to texts by key: the cluster shard's ``configs``, read live
Stored = Mapping[tuple[int, str], Mapping[str, str]]

_NOTHING: Mapping[str, str] = MappingProxyType({})
#: KRaft stores a value's length in 16 bits
_MAX_VALUE_CHARS = 32767


class Configuration:
    """Static and dynamic configuration of one broker, its topics and its groups.

    ``broker``, ``topic`` and ``group`` answer with frozen views: read what you need from one of them, and ask again
    next time.
    """

    def __init__(self, static: BrokerConfig, stored: Stored) -> None:
        self._static = static
        self._stored = stored
        self._this_broker = Resource(ResourceType.BROKER, str(static.node_id))
        self._all_brokers = Resource(ResourceType.BROKER, "")
        self._broker = static
        self._topics: dict[str, TopicConfig] = {}
        self._groups: dict[str, GroupConfig] = {}
        self._default_topic: TopicConfig | None = None
        self._default_group: GroupConfig | None = None
        #: why stored broker values are ignored: the properties file has changed since, and they contradict it
        self.ignored_dynamic: str | None = None
        #: raises ConfigError for values that whoever uses them cannot go on with
        self.further_check: Callable[[BrokerConfig], None] = lambda _: None
        self._lay_over_broker()

    # What holds.

    @property
    def broker(self) -> BrokerConfig:
        """The broker's values now, dynamic ones included."""
        return self._broker

    def topic(self, name: str) -> TopicConfig:
        """A topic's values now. A topic that sets nothing, or does not exist, has the broker's."""
        overrides = self.overrides(Resource(ResourceType.TOPIC, name))
        if not overrides:
            if self._default_topic is None:
                self._default_topic = TopicConfig.resolve(self._broker, {})
            return self._default_topic
        if name not in self._topics:
            self._topics[name] = TopicConfig.resolve(self._broker, overrides)
        return self._topics[name]

    def group(self, group_id: str) -> GroupConfig:
        """A group's values now. A group that sets nothing, or does not exist, has the broker's."""
        known = self._groups.get(group_id)
        if known is not None:
            return known
        # as directly as can be: it is asked several times a job
        overrides = self._stored.get((ResourceType.GROUP, group_id))
        if not overrides:
            if self._default_group is None:
                self._default_group = GroupConfig.resolve(self._broker, {})
            return self._default_group
        known = self._groups[group_id] = GroupConfig.resolve(self._broker, overrides)
        return known

    def overrides(self, resource: Resource) -> Mapping[str, str]:
        """What is set on the resource itself, as texts: a live view, for reading at once."""
        return self._stored.get(resource, _NOTHING)

    def resources(self) -> list[Resource]:
        """Every resource with a dynamic value."""
        return [Resource(ResourceType(type_), name) for type_, name in self._stored]

    # What may change.

    def alter(
        self, resource: Resource, alterations: Sequence[Alteration]
    ) -> tuple[ConfigChanged, ...] | Refused:
        """The changes that carry out all the alterations, or one refusal for all of them.

        Asks for nothing but the keys: whether a topic exists is the caller's to know.
        """
        refusal = check_shape(resource, alterations)
        if refusal is not None:
            return refusal
        current = self.overrides(resource)
        wanted = altered(resource, current, alterations)
        if isinstance(wanted, Refused):
            return wanted
        return _refuse_kept(resource, current, wanted) or self._changes(resource, current, wanted)

    def replace(
        self, resource: Resource, values: Sequence[tuple[str, str | None]]
    ) -> tuple[ConfigChanged, ...] | Refused:
        """The changes that leave the resource with exactly these values: the old AlterConfigs."""
        current = self.overrides(resource)
        wanted = replaced(resource, current, values)
        if isinstance(wanted, Refused):
            return wanted
        # What the broker keeps stays: of everything else, what is not named goes.
        wanted = {key: text for key, text in wanted.items() if text is not None or not is_kept(resource, key)}
        return _refuse_kept(resource, current, wanted) or self._changes(resource, current, wanted)

    def new_topic(self, name: str, values: Sequence[tuple[str, str | None]]) -> dict[str, str] | Refused:
        """The values a topic about to be created would have, or why it may not have them."""
        missing = [key for key, text in values if text is None]
        if missing:
            return Refused(
                ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(missing)}"
            )
        # Of a key that comes twice the last one counts: CreateTopics does not refuse it.
        wanted = {key: text for key, text in values if text is not None}
        return self._check(Resource(ResourceType.TOPIC, name), wanted) or wanted

    def describe_new_topic(self, values: Mapping[str, str]) -> list[ConfigEntry]:
        """What CreateTopics answers: the topic's keys as they will be, before anything is stored."""
        return topic_entries(TopicConfig.resolve(self._broker, values), values, self._places())

    def _changes(
        self, resource: Resource, current: Mapping[str, str], wanted: Mapping[str, str | None]
    ) -> tuple[ConfigChanged, ...] | Refused:
        after = {key: text for key, text in {**current, **wanted}.items() if text is not None}
        refusal = self._check(resource, after)
        if refusal is not None:
            return refusal
        return tuple(
            ConfigChanged(*resource, key, text) for key, text in wanted.items() if current.get(key) != text
        )

    def _check(self, resource: Resource, values: Mapping[str, str]) -> Refused | None:
        """A refusal, or None if the resource may have exactly these values."""
        if any(len(text) > _MAX_VALUE_CHARS for text in values.values()):
            return Refused(
                ErrorCode.INVALID_CONFIG,
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{_MAX_VALUE_CHARS} bytes.",
            )
        try:
            match resource.type:
                case ResourceType.BROKER:
                    return self._check_broker(resource, values)
                case ResourceType.TOPIC:
                    check_topic(self._broker, values)
                case ResourceType.GROUP:
                    check_group(self._broker, values)
                case ResourceType.CLIENT_METRICS:
                    return check_client_metrics(values)
                case ResourceType.BROKER_LOGGER:
                    return Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type.value}")
        except ConfigError as bad:
            return Refused(ErrorCode.INVALID_CONFIG, str(bad))
        return None

    def _check_broker(self, resource: Resource, values: Mapping[str, str]) -> Refused | None:
        """Kafka answers INVALID_REQUEST for a broker where it says INVALID_CONFIG for a topic (KAFKA-13609)."""
        try:
            check_dynamic_broker(values, per_broker=bool(resource.name))
            layers = [self.overrides(self._all_brokers), self.overrides(self._this_broker)]
            layers[1 if resource.name else 0] = values
            self.further_check(self._static.overridden(*layers))
        except ConfigError as bad:
            return Refused(ErrorCode.INVALID_REQUEST, str(bad))
        return None

    # What happened.

    def changed(self, changes: Iterable[ConfigChanged]) -> None:
        """The shard has replayed these changes: views of what they touch are made anew."""
        is_broker_changed = False
        for change in changes:
            is_broker_changed |= change.resource_type == ResourceType.BROKER
            self._topics.pop(change.resource_name, None)
            self._groups.pop(change.resource_name, None)
        if is_broker_changed:
            self._lay_over_broker()

    def topic_removed(self, name: str) -> None:
        """The shard has replayed the end of a topic."""
        self._topics.pop(name, None)

    def _lay_over_broker(self) -> None:
        self._topics.clear()
        self._groups.clear()
        self._default_topic = self._default_group = None
        try:
            self._broker = self._static.overridden(
                self.overrides(self._all_brokers), self.overrides(self._this_broker)
            )
            self.ignored_dynamic = None
        except ConfigError as bad:
            self._broker = self._static
            self.ignored_dynamic = str(bad)

    # What to tell who asks.

    def describe(self, resource: Resource) -> list[ConfigEntry]:
        """Every key of a resource, by name. Not for loggers; whether a topic exists is the caller's to know."""
        overrides = self.overrides(resource)
        places = self._places()
        match resource.type:
            case ResourceType.TOPIC:
                return topic_entries(self.topic(resource.name), overrides, places)
            case ResourceType.GROUP:
                return group_entries(self.group(resource.name), overrides, places)
            case ResourceType.BROKER if resource.name:
                return broker_entries(self._broker, places)
            case ResourceType.BROKER:
                return cluster_entries(places)
            case ResourceType.CLIENT_METRICS:
                return client_metrics_entries(overrides)
            case _:
                raise ValueError(f"{resource.type.name} is not described here")

    def _places(self) -> Places:
        return Places(
            self.overrides(self._this_broker), self.overrides(self._all_brokers), self._static.originals
        )


def _refuse_kept(
    resource: Resource, current: Mapping[str, str], wanted: Mapping[str, str | None]
) -> Refused | None:
    """Whoever sends back what it has read changes nothing, so that is no fault."""
    for key, text in wanted.items():
        if is_kept(resource, key) and current.get(key) != text:
            return Refused(ErrorCode.INVALID_CONFIG, f"{key} is written by the broker itself")
    return None
