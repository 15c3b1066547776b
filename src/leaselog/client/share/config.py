"""A share consumer's configuration: every name of Kafka's consumer, checked, with Kafka's defaults.

What Kafka's consumer knows and a share consumer may not have is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from leaselog.client.config_values import LONG_MAX, ConfigValues, Given
from leaselog.client.errors import ConfigError
from leaselog.client.security.config import PLAINTEXT, SecurityConfig
from leaselog.client.share.deserializers import Deserializer, as_bytes, deserializer_of

__all__ = ["BATCH_OPTIMIZED", "RECORD_LIMIT", "ShareConsumerConfig"]

BATCH_OPTIMIZED = 0
RECORD_LIMIT = 1

#: KIP-932: of a consumer group, and settings of the share group as a whole
_NOT_FOR_SHARE_GROUPS = (
    "auto.offset.reset",
    "enable.auto.commit",
    "group.instance.id",
    "isolation.level",
    "partition.assignment.strategy",
    "interceptor.classes",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "group.protocol",
    "group.remote.assignor",
)
#: what has an effect; the last is our own, see the guide
_USED = (
    "bootstrap.servers", "group.id", "client.id", "client.rack", "key.deserializer",
    "value.deserializer", "share.acknowledgement.mode", "share.acquire.mode", "max.poll.records",
    "max.poll.interval.ms", "fetch.max.wait.ms", "fetch.min.bytes", "fetch.max.bytes", "default.api.timeout.ms",
    "request.timeout.ms", "retry.backoff.ms", "retry.backoff.max.ms", "metadata.max.age.ms",
    "allow.auto.create.topics", "check.crcs", "enable.metrics.push", "share.unacknowledged.records",
)  # fmt: skip
#: Kafka's, and without meaning here: another way of doing the same, or for a JVM
_WITHOUT_EFFECT = (
    "auto.commit.interval.ms", "bootstrap.resolve.timeout.ms", "client.dns.lookup", "config.providers",
    "connections.max.idle.ms", "exclude.internal.topics", "internal.throw.on.fetch.stable.offset.unsupported",
    "max.partition.fetch.bytes", "metadata.cluster.check.enable", "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
    "metrics.sample.window.ms", "receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
    "security.providers", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)  # fmt: skip
_ACKNOWLEDGEMENT_MODES = {"implicit": False, "explicit": True}
_ACQUIRE_MODES = {"batch_optimized": BATCH_OPTIMIZED, "record_limit": RECORD_LIMIT}
_UNACKNOWLEDGED = {"refuse": False, "present": True}


@dataclass(frozen=True, slots=True)
class ShareConsumerConfig:
    """Made with `of`. The defaults are Kafka's."""

    bootstrap_servers: str
    group_id: str
    client_id: str = "leaselog"
    client_rack: str | None = None
    is_explicit: bool = False
    acquire_mode: int = BATCH_OPTIMIZED
    max_poll_records: int = 500
    max_poll_interval_ms: int = 300_000
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    default_api_timeout_ms: int = 60_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    allow_auto_create_topics: bool = True
    check_crcs: bool = True
    enable_metrics_push: bool = True
    key_deserializer: Deserializer[Any] = field(default=as_bytes)
    value_deserializer: Deserializer[Any] = field(default=as_bytes)
    #: a poll with records that nobody acknowledged hands these out again, in place of refusing (KIP-932's first text)
    presents_again: bool = False
    security: SecurityConfig = PLAINTEXT

    @classmethod
    def of(cls, *given: Given, **more: object) -> ShareConsumerConfig:
        """Later values win. Raises ``ConfigError``."""
        values = ConfigValues(*given, more)
        illegal = [key for key in _NOT_FOR_SHARE_GROUPS if key in values]
        if illegal:
            raise ConfigError(f"{', '.join(illegal)} cannot be set when using a share group.")
        values.refuse_unknown((*_USED, *_WITHOUT_EFFECT, *_NOT_FOR_SHARE_GROUPS), "consumer")
        if not values.text("group.id").strip():
            raise ConfigError("group.id is missing: a share consumer belongs to a group")
        number, truth = values.number, values.truth
        return cls(
            bootstrap_servers=values.bootstrap_servers(),
            group_id=values.text("group.id"),
            client_id=values.text("client.id", "leaselog"),
            client_rack=values.text("client.rack") or None,
            is_explicit=values.choice("share.acknowledgement.mode", _ACKNOWLEDGEMENT_MODES, "implicit"),
            acquire_mode=values.choice("share.acquire.mode", _ACQUIRE_MODES, "batch_optimized"),
            max_poll_records=number("max.poll.records", 500, 1),
            max_poll_interval_ms=number("max.poll.interval.ms", 300_000, 1),
            fetch_max_wait_ms=number("fetch.max.wait.ms", 500),
            fetch_min_bytes=number("fetch.min.bytes", 1),
            fetch_max_bytes=number("fetch.max.bytes", 52_428_800),
            default_api_timeout_ms=number("default.api.timeout.ms", 60_000),
            request_timeout_ms=number("request.timeout.ms", 30_000),
            retry_backoff_ms=number("retry.backoff.ms", 100, most=LONG_MAX),
            retry_backoff_max_ms=number("retry.backoff.max.ms", 1_000, most=LONG_MAX),
            metadata_max_age_ms=number("metadata.max.age.ms", 300_000, most=LONG_MAX),
            allow_auto_create_topics=truth("allow.auto.create.topics", True),
            check_crcs=truth("check.crcs", True),
            enable_metrics_push=truth("enable.metrics.push", True),
            key_deserializer=deserializer_of(values.value("key.deserializer", as_bytes), "key.deserializer"),
            value_deserializer=deserializer_of(
                values.value("value.deserializer", as_bytes), "value.deserializer"
            ),
            security=SecurityConfig.of(values),
            presents_again=values.choice("share.unacknowledged.records", _UNACKNOWLEDGED, "refuse"),
        )
