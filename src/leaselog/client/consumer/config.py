"""A consumer's configuration: every name of Kafka's consumer, checked, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leaselog.client.config_values import LONG_MAX, ConfigValues, Given
from leaselog.client.errors import ConfigError
from leaselog.client.fetcher import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, FetchLimits
from leaselog.client.group_consumer import GroupReading
from leaselog.client.membership import GroupSettings
from leaselog.client.security.config import SecurityConfig
from leaselog.client.share.deserializers import Deserializer, as_bytes, deserializer_of

__all__ = ["ConsumerConfig"]

_USED = (
    "bootstrap.servers", "group.id", "group.instance.id", "client.id", "key.deserializer",
    "value.deserializer", "auto.offset.reset", "enable.auto.commit", "auto.commit.interval.ms", "isolation.level",
    "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records",
    "partition.assignment.strategy", "group.protocol", "fetch.max.wait.ms", "fetch.min.bytes", "fetch.max.bytes",
    "max.partition.fetch.bytes", "default.api.timeout.ms", "request.timeout.ms", "metadata.max.age.ms",
    "allow.auto.create.topics", "check.crcs",
)  # fmt: skip
#: Kafka's, and without meaning here: another way of doing the same, or for a JVM
_WITHOUT_EFFECT = (
    "bootstrap.resolve.timeout.ms", "client.dns.lookup", "client.rack", "config.providers",
    "connections.max.idle.ms", "enable.metrics.push", "exclude.internal.topics", "interceptor.classes",
    "internal.throw.on.fetch.stable.offset.unsupported", "metadata.cluster.check.enable",
    "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy", "metric.reporters",
    "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "retry.backoff.max.ms", "retry.backoff.ms",
    "security.providers", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
    # librdkafka's, of how it works inside
    "api.version.request", "broker.address.family", "enable.partition.eof", "fetch.error.backoff.ms",
    "fetch.queue.backoff.ms", "log.connection.close", "queued.max.messages.kbytes", "queued.min.messages",
    "socket.keepalive.enable", "socket.nagle.disable", "socket.timeout.ms", "statistics.interval.ms",
)  # fmt: skip
#: Java's words, then librdkafka's
_RESETS: dict[str, int | None] = {
    "earliest": EARLIEST, "latest": LATEST, "none": None,
    "smallest": EARLIEST, "beginning": EARLIEST, "largest": LATEST, "end": LATEST, "error": None,
}  # fmt: skip
_ISOLATION = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
_RANGE = ("range", "org.apache.kafka.clients.consumer.RangeAssignor")


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """Made with `of`."""

    bootstrap_servers: str
    client_id: str
    #: None: it reads for itself, what `assign` says
    group_id: str | None
    #: how topics are read, and what is committed when
    reading: GroupReading
    max_poll_records: int
    default_api_timeout_ms: int
    request_timeout_ms: int
    security: SecurityConfig
    allow_auto_create_topics: bool
    check_crcs: bool
    key_deserializer: Deserializer[Any]
    value_deserializer: Deserializer[Any]

    @classmethod
    def of(cls, *given: Given, **more: object) -> ConsumerConfig:
        """Later values win. Raises ``ConfigError``."""
        values = ConfigValues(*given, more)
        values.refuse_unknown((*_USED, *_WITHOUT_EFFECT), "consumer")
        number, truth = values.number, values.truth
        group = _group(values)
        auto_create = truth("allow.auto.create.topics", True)
        reading = GroupReading(
            group,
            FetchLimits(
                max_wait_ms=number("fetch.max.wait.ms", 500),
                min_bytes=number("fetch.min.bytes", 1),
                max_bytes=number("fetch.max.bytes", 52_428_800),
                partition_max_bytes=number("max.partition.fetch.bytes", 1_048_576),
                isolation_level=values.choice("isolation.level", _ISOLATION, "read_uncommitted"),
            ),
            values.choice("auto.offset.reset", _RESETS, "latest"),
            auto_commit=truth("enable.auto.commit", group is not None),
            auto_commit_interval_ms=number("auto.commit.interval.ms", 5_000),
            metadata_max_age_ms=number("metadata.max.age.ms", 300_000, most=LONG_MAX),
            auto_create=auto_create,
        )
        if reading.auto_commit and group is None:
            raise ConfigError("enable.auto.commit=true needs a group.id: offsets are committed for a group")
        return cls(
            bootstrap_servers=values.bootstrap_servers(),
            client_id=values.text("client.id", "leaselog"),
            group_id=None if group is None else group.group_id,
            reading=reading,
            max_poll_records=number("max.poll.records", 500, 1),
            default_api_timeout_ms=number("default.api.timeout.ms", 60_000),
            request_timeout_ms=number("request.timeout.ms", 30_000),
            security=SecurityConfig.of(values),
            allow_auto_create_topics=auto_create,
            check_crcs=truth("check.crcs", True),
            key_deserializer=deserializer_of(values.value("key.deserializer", as_bytes), "key.deserializer"),
            value_deserializer=deserializer_of(
                values.value("value.deserializer", as_bytes), "value.deserializer"
            ),
        )


def _group(values: ConfigValues) -> GroupSettings | None:
    values.choice("group.protocol", {"classic": None}, "classic")
    named = values.value("partition.assignment.strategy", _RANGE[0])
    strategies = [str(each).strip() for each in (named if isinstance(named, list) else str(named).split(","))]
    if not set(strategies) & set(_RANGE):
        raise ConfigError(f"partition.assignment.strategy={named}: expected range, or a list that has it")
    settings = GroupSettings(
        values.text("group.id"),
        instance_id=values.text("group.instance.id") or None,
        session_timeout_ms=values.number("session.timeout.ms", 45_000, 1),
        heartbeat_interval_ms=values.number("heartbeat.interval.ms", 3_000, 1),
        max_poll_interval_ms=values.number("max.poll.interval.ms", 300_000, 1),
    )
    if settings.heartbeat_interval_ms >= settings.session_timeout_ms:
        raise ConfigError(
            f"heartbeat.interval.ms={settings.heartbeat_interval_ms}:"
            f" expected less than session.timeout.ms, which is {settings.session_timeout_ms}"
        )
    if "group.id" in values and not settings.group_id.strip():
        raise ConfigError("group.id is empty: leave it out to read without a group")
    return settings if settings.group_id else None
