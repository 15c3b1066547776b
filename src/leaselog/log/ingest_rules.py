"""What a topic's configuration asks of the batches that enter its logs."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.log.config import LogConfig
from leaselog.wire.compression import Codec
from leaselog.wire.record_batch import TimestampType

__all__ = ["FOREVER_MS", "IngestRules"]

FOREVER_MS = 2**63 - 1

_CODEC_NAMES = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec}}


@dataclass(frozen=True, slots=True)
class IngestRules:
    """What a topic's configuration asks of its batches. Defaults are Kafka's."""

    max_message_bytes: int = 1_048_588
    segment_bytes: int = 1_073_741_824
    #: None: whatever the producer chose
    codec: Codec | None = None
    level: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = FOREVER_MS
    timestamp_after_max_ms: int = 3_600_000
    is_compacted: bool = False

    @classmethod
    def of(cls, config: LogConfig) -> IngestRules:
        codec = None if config.compression_type == "producer" else _CODEC_NAMES[config.compression_type]
        levels = {
            Codec.GZIP: config.compression_gzip_level,
            Codec.LZ4: config.compression_lz4_level,
            Codec.ZSTD: config.compression_zstd_level,
        }
        is_append_time = config.message_timestamp_type == "LogAppendTime"
        return cls(
            max_message_bytes=config.max_message_bytes,
            segment_bytes=config.segment_bytes,
            codec=codec,
            level=None if codec is None else levels.get(codec),
            timestamp_type=TimestampType.LOG_APPEND_TIME if is_append_time else TimestampType.CREATE_TIME,
            timestamp_before_max_ms=config.message_timestamp_before_max_ms,
            timestamp_after_max_ms=config.message_timestamp_after_max_ms,
            is_compacted=config.is_compacted,
        )
