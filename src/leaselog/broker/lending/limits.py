"""What a group's configuration says to its share partitions."""

from __future__ import annotations

from leaselog.broker.config import GroupConfig
from leaselog.share import Limits, RetryBackoff

__all__ = ["limits_of"]


def limits_of(config: GroupConfig, *, has_dead_letters: bool = False) -> Limits:
    return Limits(
        delivery_count_limit=config.share_delivery_count_limit,
        lock_duration_ms=config.share_record_lock_duration_ms,
        max_record_locks=config.share_partition_max_record_locks,
        has_dead_letters=has_dead_letters,
        backoff=_backoff(config),
        release_delay_max_ms=config.share_release_delay_max_ms,
    )


def _backoff(config: GroupConfig) -> RetryBackoff | None:
    if config.share_retry_backoff_ms == 0:
        return None
    return RetryBackoff(
        config.share_retry_backoff_ms,
        config.share_retry_backoff_multiplier,
        config.share_retry_backoff_max_ms,
        config.share_retry_backoff_jitter,
    )
