"""A producer's configuration: every name of Kafka's producer, checked, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leaselog.client.accumulator import BatchLimits
from leaselog.client.config_values import LONG_MAX, ConfigValues, Given
from leaselog.client.errors import ConfigError
from leaselog.client.producer import ProducerSettings
from leaselog.client.security.config import SecurityConfig
from leaselog.client.serializers import Serializer, from_bytes, serializer_of
from leaselog.wire.compression import Codec

__all__ = ["ProducerConfig"]

_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}
_CODECS = {codec.name.lower(): codec for codec in Codec}
#: with more requests under way a broker could not tell a repeated batch from a new one
_MOST_IN_FLIGHT_IF_IDEMPOTENT = 5
_USED = (
    "bootstrap.servers", "client.id", "key.serializer", "value.serializer", "acks",
    "enable.idempotence", "compression.type", "max.request.size", "max.block.ms", "retries", "batch.size",
    "linger.ms", "buffer.memory", "max.in.flight.requests.per.connection", "delivery.timeout.ms",
    "request.timeout.ms", "transactional.id", "transaction.timeout.ms",
)  # fmt: skip
#: Kafka's, and without meaning here: another way of doing the same, or for a JVM
_WITHOUT_EFFECT = (
    "bootstrap.resolve.timeout.ms", "buffer.memory.allocation.strategy", "client.dns.lookup", "client.rack",
    "compression.gzip.level", "compression.lz4.level", "compression.zstd.level", "config.providers",
    "connections.max.idle.ms", "enable.metrics.push", "interceptor.classes", "metadata.cluster.check.enable",
    "metadata.max.age.ms", "metadata.max.idle.ms", "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
    "metrics.sample.window.ms", "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms", "partitioner.rack.aware", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "retry.backoff.max.ms", "retry.backoff.ms",
    "security.providers", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)  # fmt: skip
#: what would change where records go, or whether they count: better refused than ignored
_NOT_YET = (
    "transaction.two.phase.commit.enable",
    "partitioner.class",
    "partitioner.ignore.keys",
)


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """Made with `of`."""

    bootstrap_servers: str
    client_id: str
    request_timeout_ms: int
    security: SecurityConfig
    settings: ProducerSettings
    key_serializer: Serializer[Any]
    value_serializer: Serializer[Any]

    @classmethod
    def of(cls, *given: Given, **more: object) -> ProducerConfig:
        """Later values win. Raises ``ConfigError``."""
        values = ConfigValues(*given, more)
        not_yet = [key for key in _NOT_YET if key in values]
        if not_yet:
            raise ConfigError(f"{', '.join(not_yet)}: not supported by this producer")
        values.refuse_unknown((*_USED, *_WITHOUT_EFFECT, *_NOT_YET), "producer")
        return cls(
            bootstrap_servers=values.bootstrap_servers(),
            client_id=values.text("client.id", "leaselog"),
            request_timeout_ms=values.number("request.timeout.ms", 30_000),
            security=SecurityConfig.of(values),
            settings=_settings(values),
            key_serializer=serializer_of(values.value("key.serializer", from_bytes), "key.serializer"),
            value_serializer=serializer_of(values.value("value.serializer", from_bytes), "value.serializer"),
        )


def _settings(values: ConfigValues) -> ProducerSettings:
    number = values.number
    settings = ProducerSettings(
        acks=values.choice("acks", _ACKS, "all"),
        enable_idempotence=values.truth("enable.idempotence", True),
        compression=values.choice("compression.type", _CODECS, "none"),
        max_request_bytes=number("max.request.size", 1_048_576),
        max_block_ms=number("max.block.ms", 60_000, most=LONG_MAX),
        retries=number("retries", 2**31 - 1),
        transactional_id=values.text("transactional.id", "") or None,
        transaction_timeout_ms=number("transaction.timeout.ms", 60_000, 1),
        limits=BatchLimits(
            batch_bytes=number("batch.size", 16_384),
            linger_ms=number("linger.ms", 5, most=LONG_MAX),
            buffer_bytes=number("buffer.memory", 32 * 1024 * 1024, most=LONG_MAX),
            in_flight=number("max.in.flight.requests.per.connection", 5, 1),
            delivery_timeout_ms=number("delivery.timeout.ms", 120_000),
        ),
    )
    if "enable.idempotence" in values and settings.enable_idempotence and settings.acks != _ACKS["all"]:
        raise ConfigError("enable.idempotence=true needs acks=all")
    if settings.transactional_id is not None and not settings.is_idempotent:
        raise ConfigError("transactional.id needs enable.idempotence=true and acks=all")
    if settings.is_idempotent and settings.limits.in_flight > _MOST_IN_FLIGHT_IF_IDEMPOTENT:
        raise ConfigError(
            "enable.idempotence=true needs max.in.flight.requests.per.connection of"
            f" {_MOST_IN_FLIGHT_IF_IDEMPOTENT} at most"
        )
    return settings
