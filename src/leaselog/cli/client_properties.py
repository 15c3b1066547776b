"""Kafka's client properties as the client's settings. What has no effect here is named once, never silently dropped."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping

from leaselog.cli.arguments import CommandFailed, UsageError, given_properties
from leaselog.cli.refused import one_line
from leaselog.client import EARLIEST, LATEST, ClientError, ConfigError
from leaselog.client.accumulator import BatchLimits
from leaselog.client.cluster import Cluster
from leaselog.client.config_values import ConfigValues
from leaselog.client.fetcher import FetchLimits
from leaselog.client.group_consumer import GroupReading
from leaselog.client.membership import GroupSettings
from leaselog.client.producer import ProducerSettings
from leaselog.client.security.config import SecurityConfig
from leaselog.client.security.names import SECURITY_CONFIGS
from leaselog.wire.compression import Codec
from leaselog.wire.errors import DecodeError

__all__ = ["ClientProperties", "run_with_cluster"]

_ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
_ISOLATION = {"read_uncommitted": 0, "read_committed": 1}
_TRUTH = {"true": True, "false": False}
_RESETS = {"earliest": EARLIEST, "latest": LATEST, "none": None}
#: who fails within this time says so in one line; who goes on trying is explained what he waits for
_PATIENCE_MS = 1_000
#: what every client may say and nothing here depends on
_HARMLESS = frozenset({
    "bootstrap.servers", "key.serializer", "value.serializer", "key.deserializer", "value.deserializer",
    "transactional.id",
})  # fmt: skip


class ClientProperties:
    """Properties by Kafka's names, which remember who asked for them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._used = set[str]()
        try:
            self.security = SecurityConfig.of(ConfigValues(self._values))
        except ConfigError as wrong:
            raise UsageError(str(wrong)) from None
        if self._values.get("transactional.id"):
            raise UsageError(
                "transactional.id is not supported: what a command sends counts record by record"
            )

    @classmethod
    def from_arguments(cls, args: argparse.Namespace) -> ClientProperties:
        return cls(given_properties(args))

    def text(self, key: str, default: str) -> str:
        self._used.add(key)
        return self._values.get(key, default).strip()

    def integer(self, key: str, default: int) -> int:
        text = self.text(key, str(default))
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"{key}={text}: expected a whole number") from None

    def choice(self, key: str, default: str, choices: Mapping[str, int]) -> int:
        text = self.text(key, default)
        if text not in choices:
            raise UsageError(f"{key}={text}: expected one of {', '.join(choices)}")
        return choices[text]

    def truth(self, key: str, default: bool) -> bool:
        text = self.text(key, str(default)).lower()
        if text not in _TRUTH:
            raise UsageError(f"{key}={text}: expected true or false")
        return _TRUTH[text]

    def without_effect(self) -> list[str]:
        """Keys that were given and mean nothing to this client; complete once every setting has been made."""
        return sorted(self._values.keys() - self._used - _HARMLESS - SECURITY_CONFIGS)

    def cluster(self, bootstrap_servers: str) -> Cluster:
        try:
            return Cluster(
                bootstrap_servers,
                client_id=self.text("client.id", "leaselog"),
                request_timeout_ms=self.integer("request.timeout.ms", 30_000),
                api_timeout_ms=self.integer("default.api.timeout.ms", 60_000),
                patience_ms=_PATIENCE_MS,
                security=self.security,
            )
        except ValueError as wrong:
            raise UsageError(f"--bootstrap-server {bootstrap_servers}: {wrong}") from None

    def producer(self) -> ProducerSettings:
        codecs = {codec.name.lower(): codec.value for codec in Codec}
        defaults = ProducerSettings()
        return ProducerSettings(
            acks=self.choice("acks", "all", _ACKS),
            enable_idempotence=self.truth("enable.idempotence", True),
            compression=Codec(self.choice("compression.type", "none", codecs)),
            max_request_bytes=self.integer("max.request.size", defaults.max_request_bytes),
            max_block_ms=self.integer("max.block.ms", defaults.max_block_ms),
            retries=self.integer("retries", defaults.retries),
            limits=BatchLimits(
                batch_bytes=self.integer("batch.size", defaults.limits.batch_bytes),
                linger_ms=self.integer("linger.ms", defaults.limits.linger_ms),
                buffer_bytes=self.integer("buffer.memory", defaults.limits.buffer_bytes),
                in_flight=self.integer("max.in.flight.requests.per.connection", defaults.limits.in_flight),
                delivery_timeout_ms=self.integer("delivery.timeout.ms", defaults.limits.delivery_timeout_ms),
            ),
        )

    def fetch_limits(self) -> FetchLimits:
        defaults = FetchLimits()
        return FetchLimits(
            max_wait_ms=self.integer("fetch.max.wait.ms", defaults.max_wait_ms),
            min_bytes=self.integer("fetch.min.bytes", defaults.min_bytes),
            max_bytes=self.integer("fetch.max.bytes", defaults.max_bytes),
            partition_max_bytes=self.integer("max.partition.fetch.bytes", defaults.partition_max_bytes),
            isolation_level=self.choice("isolation.level", "read_uncommitted", _ISOLATION),
        )

    def reset(self, default: str) -> int | None:
        """Where to begin without a place of one's own; None is to fail."""
        text = self.text("auto.offset.reset", default).lower()
        if text not in _RESETS:
            raise UsageError(f"auto.offset.reset={text}: expected one of {', '.join(_RESETS)}")
        return _RESETS[text]

    def group_reading(self, group_id: str, reset: int | None) -> GroupReading:
        protocol = self.text("group.protocol", "classic")
        if protocol.lower() != "classic":
            raise UsageError(f"group.protocol={protocol} is not supported, only classic")
        defaults = GroupSettings(group_id)
        group = GroupSettings(
            group_id,
            instance_id=self.text("group.instance.id", "") or None,
            session_timeout_ms=self.integer("session.timeout.ms", defaults.session_timeout_ms),
            heartbeat_interval_ms=self.integer("heartbeat.interval.ms", defaults.heartbeat_interval_ms),
            max_poll_interval_ms=self.integer("max.poll.interval.ms", defaults.max_poll_interval_ms),
        )
        if not 0 < group.heartbeat_interval_ms < group.session_timeout_ms:
            raise UsageError("heartbeat.interval.ms must be above zero and below session.timeout.ms")
        reading = GroupReading(group)
        return GroupReading(
            group,
            self.fetch_limits(),
            reset,
            auto_commit=self.truth("enable.auto.commit", True),
            auto_commit_interval_ms=self.integer("auto.commit.interval.ms", reading.auto_commit_interval_ms),
            metadata_max_age_ms=self.integer("metadata.max.age.ms", reading.metadata_max_age_ms),
        )


def run_with_cluster(
    args: argparse.Namespace, properties: ClientProperties, body: Callable[[Cluster], Awaitable[int]]
) -> int:
    """The exit code of ``body``, run on a loop of its own with a cluster; client errors become one line."""

    async def main() -> int:
        async with properties.cluster(args.bootstrap_server) as cluster:
            if idle := properties.without_effect():
                print(f"leaselog: no effect: {', '.join(idle)}", file=sys.stderr)
            await (
                cluster.any_connection()
            )  # whoever types a wrong address hears of it now, not after every retry
            return await body(cluster)

    try:
        return asyncio.run(main())
    except (ClientError, DecodeError, CommandFailed) as failed:
        raise CommandFailed(one_line(failed, properties.security)) from failed
