"""What a topic's configuration means to its log. Names, defaults and units are Kafka's topic configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum

__all__ = ["Durability", "LogConfig"]

_FOREVER = 2**63 - 1


class Durability(Enum):
    """When a record counts as safe, and so when a reader may see it."""

    #: once its bytes are synced
    FSYNC = "fsync"
    #: at once; synced every `durability.interval.ms`
    INTERVAL = "interval"
    #: at once; the page cache decides, as in Apache Kafka
    OS = "os"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """One partition's settings. The last three are not a topic's but the broker's."""

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = _FOREVER
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = _FOREVER
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = _FOREVER
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    #: -1: no bound
    retention_bytes: int = -1
    #: -1: no bound
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    durability: Durability = Durability.FSYNC
    producer_id_expiration_ms: int = 86_400_000
    recovery_point_interval_bytes: int = 262_144

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes_old(self) -> bool:
        return "delete" in self.cleanup_policy

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> LogConfig:
        """Built from Kafka's names (`segment.bytes`), values as they are or as text. Names not ours are passed by.

        Bounds are the broker's business, checked before a config is accepted; a value of the wrong shape
        raises ``ValueError``.
        """
        given: dict[str, object] = {}
        for field in fields(cls):
            value = settings.get(_kafka_name(field.name))
            if value is not None:
                given[field.name] = _parse(field.name, value)
        return cls(**given)  # type: ignore[arg-type] # _parse gives each field its own type


def _kafka_name(field_name: str) -> str:
    return field_name.replace("_", ".")


def _parse(field_name: str, value: object) -> object:
    default = _DEFAULTS[field_name]
    if isinstance(default, frozenset):
        parts = value.split(",") if isinstance(value, str) else list(value)  # type: ignore[call-overload]
        return frozenset(part.strip() for part in parts if part.strip())
    if isinstance(value, type(default)):
        return value
    match default:
        case Durability():
            return Durability(value)
        case int():
            return int(str(value))
        case float():
            return float(str(value))
        case _:
            return str(value)


_DEFAULTS: dict[str, object] = {field.name: field.default for field in fields(LogConfig)}
