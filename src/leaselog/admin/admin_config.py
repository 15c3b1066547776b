"""An admin's configuration: every name of Kafka's admin client that has a meaning here, with Kafka's defaults."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.client.config_values import ConfigValues, Given
from leaselog.client.security.config import SecurityConfig

__all__ = ["AdminConfig"]

_USED = (
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "default.api.timeout.ms",
)
#: Kafka's, and without meaning here: another way of doing the same, or for a JVM
_WITHOUT_EFFECT = (
    "bootstrap.controllers", "bootstrap.resolve.timeout.ms", "client.dns.lookup", "config.providers",
    "connections.max.idle.ms", "enable.metrics.push", "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy", "metric.reporters",
    "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms",
    "security.providers", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AdminConfig:
    """Made with `of`."""

    bootstrap_servers: str
    client_id: str
    request_timeout_ms: int
    security: SecurityConfig
    default_api_timeout_ms: int

    @classmethod
    def of(cls, *given: Given, **more: object) -> AdminConfig:
        """Later values win. Raises ``ConfigError``."""
        values = ConfigValues(*given, more)
        values.refuse_unknown((*_USED, *_WITHOUT_EFFECT), "admin")
        return cls(
            bootstrap_servers=values.bootstrap_servers(),
            client_id=values.text("client.id", "leaselog-admin"),
            request_timeout_ms=values.number("request.timeout.ms", 30_000),
            security=SecurityConfig.of(values),
            default_api_timeout_ms=values.number("default.api.timeout.ms", 60_000),
        )
