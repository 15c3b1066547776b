"""What DescribeConfigs says of a resource: each key, its value, where that came from, and what else could have won.

The order of places is topic or group, this broker's dynamic value, the default of all brokers, the properties file,
Kafka's default. A topic key without its own value shows the broker keys that stand behind it. As in Kafka, the list
begins at the first place that sets the very key that was asked for: `retention.ms` with only `log.retention.hours`
in the file shows no synonyms and the source DEFAULT, though the hours do count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from leaselog.broker.config.broker_config import BrokerConfig
from leaselog.broker.config.definitions import BROKER, CLIENT_METRICS, Definition, UpdateMode
from leaselog.broker.config.dynamic_broker import base_definition
from leaselog.broker.config.effect import effect_of
from leaselog.broker.config.group_config import GroupConfig
from leaselog.broker.config.resources import ConfigEntry, ConfigSource, Synonym
from leaselog.broker.config.synonyms import broker_synonyms
from leaselog.broker.config.topic_config import TopicConfig
from leaselog.broker.config.values import ConfigType, Value, format_value
from leaselog.broker.config.views import View

__all__ = [
    "Places",
    "client_metrics_entries",
    "cluster_entries",
    "broker_entries",
    "group_entries",
    "topic_entries",
]


class _SynonymsOf(Protocol):
    def __call__(self, name: str, *, is_sensitive: bool) -> tuple[Synonym, ...]: ...


@dataclass(frozen=True, slots=True)
class Places:
    """Where a broker's values can come from, as texts."""

    this_broker: Mapping[str, str]
    all_brokers: Mapping[str, str]
    static: Mapping[str, str]

    def synonyms(self, name: str, *, is_sensitive: bool) -> tuple[Synonym, ...]:
        """Everything that is set under ``name`` or a synonym of it, nearest place first."""
        found = [
            Synonym(synonym, None if is_sensitive else text, source)
            for source, texts in (
                (ConfigSource.DYNAMIC_BROKER, self.this_broker),
                (ConfigSource.DYNAMIC_DEFAULT_BROKER, self.all_brokers),
                (ConfigSource.STATIC_BROKER, self.static),
            )
            for synonym in broker_synonyms(name)
            if (text := texts.get(synonym)) is not None
        ]
        for synonym in broker_synonyms(name):
            default = format_value(BROKER[synonym].default) if synonym in BROKER else None
            if default is not None:
                found.append(Synonym(synonym, None if is_sensitive else default, ConfigSource.DEFAULT))
        return tuple(_from_first(found, name))


def _from_first(found: list[Synonym], name: str) -> Iterator[Synonym]:
    started = False
    for synonym in found:
        started = started or synonym.name == name
        if started:
            yield synonym


def broker_entries(broker: BrokerConfig, places: Places) -> list[ConfigEntry]:
    """One broker: every public key, and whatever else somebody has set."""
    shown = {name for name, key in BROKER.items() if _is_listed(key, BrokerConfig)} | broker.originals.keys()
    return [_broker_entry(name, broker, places.synonyms) for name in sorted(shown)]


def _is_listed(key: Definition, view: type[View]) -> bool:
    """Internal keys are not, as in Kafka; nor are keys newer than today's tools that do nothing here anyway."""
    return not key.internal and not (key.since and effect_of(view, key.name) is None)


def cluster_entries(places: Places) -> list[ConfigEntry]:
    """The default of all brokers: only what is set there."""

    def synonyms(name: str, *, is_sensitive: bool) -> tuple[Synonym, ...]:
        text = None if is_sensitive else places.all_brokers[name]
        return (Synonym(name, text, ConfigSource.DYNAMIC_DEFAULT_BROKER),)

    return [_broker_entry(name, None, synonyms) for name in sorted(places.all_brokers)]


def _broker_entry(name: str, broker: BrokerConfig | None, synonyms_of: _SynonymsOf) -> ConfigEntry:
    definition = base_definition(name)
    # A key of an unknown type might be a password.
    is_sensitive = definition is None or definition.is_sensitive
    synonyms = synonyms_of(name, is_sensitive=is_sensitive)
    if broker is not None and name in BROKER:
        value = format_value(broker.values[name])
    else:
        value = synonyms[0].value if synonyms else None
    return ConfigEntry(
        name=name,
        value=None if is_sensitive else value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        type=definition.type if definition else ConfigType.UNKNOWN,
        is_sensitive=is_sensitive,
        is_read_only=name not in BROKER or BROKER[name].mode is UpdateMode.READ_ONLY,
        synonyms=synonyms,
        document=effect_of(BrokerConfig, name),
    )


def topic_entries(topic: TopicConfig, overrides: Mapping[str, str], places: Places) -> list[ConfigEntry]:
    """One topic: every public key, and the internal ones that are set."""

    def behind(key: Definition) -> tuple[Synonym, ...]:
        return places.synonyms(key.broker_keys[0], is_sensitive=False) if key.broker_keys else ()

    return [
        _entry(key, topic, overrides, ConfigSource.TOPIC, behind(key))
        for key in _shown(TopicConfig, overrides)
    ]  # fmt: skip


def group_entries(group: GroupConfig, overrides: Mapping[str, str], places: Places) -> list[ConfigEntry]:
    """One group, whether it exists or not."""

    def behind(key: Definition) -> tuple[Synonym, ...]:
        if key.broker_keys:
            return places.synonyms(key.broker_keys[0], is_sensitive=False)
        default = format_value(key.default)
        return () if default is None else (Synonym(key.name, default, ConfigSource.DEFAULT),)

    return [
        _entry(key, group, overrides, ConfigSource.GROUP, behind(key))
        for key in _shown(GroupConfig, overrides)
    ]


def client_metrics_entries(overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """One subscription to clients' metrics."""
    values: dict[str, Value] = {name: key.default for name, key in CLIENT_METRICS.items()}
    values.update({name: CLIENT_METRICS[name].parse(text) for name, text in overrides.items()})
    return [
        _entry(key, View(values), overrides, ConfigSource.CLIENT_METRICS, ())
        for _, key in sorted(CLIENT_METRICS.items())
    ]


def _shown(view: type[View], overrides: Mapping[str, str]) -> list[Definition]:
    return [key for name, key in sorted(view.table.items()) if _is_listed(key, view) or name in overrides]


def _entry(
    key: Definition, view: View, overrides: Mapping[str, str], own: ConfigSource, behind: tuple[Synonym, ...]
) -> ConfigEntry:
    value = format_value(view.values[key.name])
    synonyms = (Synonym(key.name, value, own), *behind) if key.name in overrides else behind
    return ConfigEntry(
        name=key.name,
        value=value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        type=key.type,
        synonyms=synonyms,
        document=None if type(view) is View else effect_of(type(view), key.name),
    )
