"""Every configuration key: its type, default, bounds, and where it may be set.

Kafka's keys come from ``kafka-4.4.0.tsv``, asked of the published 4.4.0 jars (types, defaults and bounds of the
compiled key tables; update modes and synonyms of ``DynamicBrokerConfig``, ``ServerTopicConfigSynonyms`` and
``GroupConfig``). What leaselog adds, and the defaults it sets where Kafka insists on a value, are the two short
tables below. Nothing here says what a key does: the typed views name the keys that are acted on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from types import MappingProxyType

from leaselog.broker.config.bounds import Check, read_bounds
from leaselog.broker.config.values import ConfigType, Value, parse_value

__all__ = ["BROKER", "CLIENT_METRICS", "GROUP", "TOPIC", "Definition", "UpdateMode"]


class UpdateMode(StrEnum):
    """Where a key may change while the broker runs. The words are Kafka's."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"
    PER_TOPIC = "per-topic"
    PER_GROUP = "per-group"
    PER_SUBSCRIPTION = "per-subscription"


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    type: ConfigType
    default: Value
    bounds: str
    importance: str
    #: Kafka's tools do not list it unless it is set
    internal: bool
    mode: UpdateMode
    #: the broker keys that give a topic or group key its default, nearest first
    broker_keys: tuple[str, ...]
    check: Check
    #: the release that brought the key, if that was after 4.3
    since: str = ""
    #: leaselog's own, unknown to Kafka
    added: bool = False

    @property
    def is_sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str) -> Value:
        """The value of ``text``; ConfigError if it is of the wrong type or out of bounds."""
        value = parse_value(self.name, self.type, text)
        self.check(self.name, value)
        return value


_DATA = "kafka-4.4.0.tsv"

#: leaselog's own keys: scope, name, type, default, bounds, importance, mode. A group's that is read-only is written by
#: the broker itself.
_ADDED = (
    ("broker", "durability", "STRING", "fsync", "[fsync, interval, os]", "HIGH", "read-only"),
    ("broker", "durability.interval.ms", "INT", "1000", "[1,...]", "MEDIUM", "read-only"),
    ("broker", "max.partitions", "INT", "50000", "[1,...]", "MEDIUM", "read-only"),
    ("broker", "recovery.point.interval.bytes", "INT", "262144", "[1,...]", "LOW", "read-only"),
    ("broker", "queued.max.response.bytes", "LONG", "104857600", "", "MEDIUM", "read-only"),
    ("broker", "connection.authentication.timeout.ms", "INT", "10000", "[1,...]", "MEDIUM", "read-only"),
    ("broker", "metrics.listener", "STRING", "null", "", "LOW", "read-only"),
    ("group", "errors.deadletterqueue.breaker.ratio", "DOUBLE", "0.0", "[0,...,0.99]", "MEDIUM", "per-group"),
    (
        "group",
        "errors.deadletterqueue.breaker.window.ms",
        "INT",
        "60000",
        "[1000,...,86400000]",
        "LOW",
        "per-group",
    ),
    ("group", "errors.deadletterqueue.breaker.min.records", "INT", "100", "[1,...]", "LOW", "per-group"),
    ("group", "share.retry.backoff.ms", "LONG", "0", "[0,...,86400000]", "MEDIUM", "per-group"),
    ("group", "share.retry.backoff.multiplier", "DOUBLE", "2.0", "[1,...,1000]", "LOW", "per-group"),
    ("group", "share.retry.backoff.max.ms", "LONG", "60000", "[1,...,604800000]", "LOW", "per-group"),
    ("group", "share.retry.backoff.jitter", "DOUBLE", "0.2", "[0,...,1]", "LOW", "per-group"),
    ("group", "share.release.delay.max.ms", "LONG", "3600000", "[0,...,604800000]", "LOW", "per-group"),
    ("group", "share.delivery.paused", "BOOLEAN", "false", "", "MEDIUM", "per-group"),
    ("group", "share.delivery.paused.reason", "STRING", "", "", "LOW", "per-group"),
    ("group", "share.delivery.paused.by", "STRING", "", "", "LOW", "read-only"),
    ("group", "share.delivery.paused.since.ms", "LONG", "-1", "[-1,...]", "LOW", "read-only"),
)

#: Kafka refuses to start without the first three, which a broker that is one process can answer for itself. Of the
#: others, Kafka's defaults would open a newcomer's broker to the network and keep its data where reboots delete it.
#: A megabyte through 100 KB of socket buffer is handed over in ten pieces, with a wait for the other side after each:
#: the system's own buffers, which grow with the connection, brought between a tenth and a third more of large batches.
#: Without a bound on the bytes of requests, one client without a password fills the memory (ADR 0023); and no token
#: that is shown before a login needs half a megabyte (ADR 0037).
_DEFAULTED = {
    "node.id": "0",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "broker.id": "0",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "log.dir": "leaselog-data",
    "socket.send.buffer.bytes": "-1",
    "socket.receive.buffer.bytes": "-1",
    "queued.max.request.bytes": "104857600",
    "sasl.server.max.receive.size": "65536",
}

#: Dynamic in Kafka. Here they take no effect while the broker runs, and whoever was told that a listener moved, or
#: that somebody is kept out, would rely on it. Tuning keys without effect stay as they are: nobody is misled.
_FIXED = re.compile(
    r"listeners|listener\.security\.protocol\.map|principal\.builder\.class|(ssl|sasl)\..*|cordoned\.log\.dirs"
    r"|config\.providers|metric\.reporters"
)


def _define(
    name: str,
    type_: str,
    default: str,
    bounds: str,
    importance: str,
    internal: str,
    mode: str,
    broker_keys: str,
    since: str,
) -> Definition:
    kind = ConfigType[type_]
    text = _DEFAULTED.get(name, default)
    if kind is ConfigType.LIST and text.startswith("["):
        text = text[1:-1]
    value = None if text == "null" else parse_value(name, kind, text.removeprefix("class "))
    check = read_bounds(bounds, kind, nullable=value is None)
    keys = tuple(broker_keys.split(",")) if broker_keys else ()
    update_mode = UpdateMode.READ_ONLY if _FIXED.fullmatch(name) else UpdateMode(mode)
    return Definition(
        name, kind, value, bounds, importance, internal == "internal", update_mode, keys, check, since
    )


def _read_table() -> dict[str, dict[str, Definition]]:
    lines = files(__package__).joinpath(_DATA).read_text(encoding="utf-8").splitlines()[1:]
    tables: dict[str, dict[str, Definition]] = {}
    for line in lines:
        scope, *row = line.split("\t")
        tables.setdefault(scope, {})[row[0]] = _define(*row)
    return tables


def _read_added() -> dict[str, dict[str, Definition]]:
    tables: dict[str, dict[str, Definition]] = {}
    for scope, name, type_, default, bounds, importance, mode in _ADDED:
        kind = ConfigType[type_]
        value = None if default == "null" else parse_value(name, kind, default)
        check = read_bounds(bounds, kind, nullable=value is None)
        tables.setdefault(scope, {})[name] = Definition(
            name, kind, value, bounds, importance, False, UpdateMode(mode), (), check, added=True
        )
    return tables


_TABLES, _OWN = _read_table(), _read_added()

BROKER: Mapping[str, Definition] = MappingProxyType(_TABLES["broker"] | _OWN["broker"])
TOPIC: Mapping[str, Definition] = MappingProxyType(_TABLES["topic"])
GROUP: Mapping[str, Definition] = MappingProxyType(_TABLES["group"] | _OWN["group"])
CLIENT_METRICS: Mapping[str, Definition] = MappingProxyType(_TABLES["client-metrics"])
