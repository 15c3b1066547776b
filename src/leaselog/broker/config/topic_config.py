"""What one topic runs with: its own values over the broker's, typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from leaselog.broker.config.broker_config import BrokerConfig
from leaselog.broker.config.definitions import TOPIC
from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.synonyms import first_synonym
from leaselog.broker.config.values import Value
from leaselog.broker.config.views import Flag, Int, Number, Text, Texts, View

__all__ = ["TopicConfig", "check_topic"]


class TopicConfig(View):
    """Every topic key with a value, and attributes for those the broker acts on."""

    table = TOPIC
    documents: ClassVar[dict[str, str]] = {}
    planned: ClassVar[set[str]] = set()

    __slots__ = ()

    cleanup_policy = Texts("What becomes of old records: delete, compact, both, or neither.")
    retention_ms = Int("Records are kept this long; -1 is for ever.")
    retention_bytes = Int(
        "The oldest segments are deleted while a partition is larger than this; -1: none are."
    )
    segment_bytes = Int("A segment is closed at this size.")
    segment_ms = Int("A segment is closed at this age.")
    segment_jitter_ms = Int(
        "Up to this much is taken off segment.ms, so that partitions do not roll together."
    )
    segment_index_bytes = Int("The largest index of a segment.")
    index_interval_bytes = Int(
        "Bytes of the log between two entries of its index; 16384 where it says more, so that no look-up is long."
    )
    file_delete_delay_ms = Int("The files of a removed segment are kept this long.")
    flush_messages = Int("Records after which a partition is synced in any case.")
    max_message_bytes = Int("The largest record batch the topic takes.")
    message_timestamp_type = Text(
        "Whose clock stamps a record: CreateTime (producer) or LogAppendTime (broker)."
    )
    message_timestamp_before_max_ms = Int("How old a producer's timestamp may be.")
    message_timestamp_after_max_ms = Int("How far ahead a producer's timestamp may be.")
    compression_type = Text("The codec of stored batches; producer keeps what came.")
    compression_gzip_level = Int("The level of gzip, where the broker compresses.")
    compression_lz4_level = Int("The level of lz4, where the broker compresses.")
    compression_zstd_level = Int("The level of zstd, where the broker compresses.")
    delete_retention_ms = Int("A tombstone is kept this long in a compacted topic.")
    min_cleanable_dirty_ratio = Number("A log is compacted when this part of it is new.")
    min_compaction_lag_ms = Int("Compaction leaves a record alone for this long.")
    max_compaction_lag_ms = Int("A record waits no longer than this for compaction.")
    errors_deadletterqueue_group_enable = Flag("Share groups may send dead letters here.")

    @classmethod
    def resolve(cls, broker: BrokerConfig, overrides: Mapping[str, str]) -> Self:
        """The config of a topic with these overrides; ConfigError if one is unknown or wrong."""
        values = {name: _default(name, broker) for name in TOPIC}
        for name, text in overrides.items():
            definition = TOPIC.get(name)
            if definition is None:
                raise ConfigError(f"Unknown topic config name: {name}")
            values[name] = definition.parse(text)
        return cls(values)

    @property
    def log_settings(self) -> dict[str, Value]:
        """The values for the log: as they are, but for Kafka's internal key that allows segments below 1 MiB."""
        small = self.values["internal.segment.bytes"]
        return {**self.values, "segment.bytes": self.segment_bytes if small is None else small}

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes_old_records(self) -> bool:
        return "delete" in self.cleanup_policy


def _default(name: str, broker: BrokerConfig) -> Value:
    if name == "retention.ms":
        return broker.log_retention_ms
    definition = TOPIC[name]
    if not definition.broker_keys:
        return definition.default
    return first_synonym(definition.broker_keys, broker.values)


def check_topic(broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """ConfigError, in Kafka's words, if a topic may not have these overrides.

    Asked when they are set and not when they are read: a later change of the broker's defaults must not make a
    stored topic unusable.
    """
    config = TopicConfig.resolve(broker, overrides)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms}) > "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    if config.values["remote.storage.enable"] and "remote.storage.enable" in overrides:
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
