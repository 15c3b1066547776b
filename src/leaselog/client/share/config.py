"""A share consumer's configuration: every name of Kafka's consumer, checked, with Kafka's defaults.

Names may be spelled with dots, as Kafka does, or with underscores, as Python does. What Kafka's consumer knows and
a share consumer may not have is refused by name; so is what nobody knows, since that is a mistyped name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from leaselog.client.share.deserializers import Deserializer, as_bytes, deserializer_of
from leaselog.client.share.errors import ConfigError
from leaselog.client.topology import parse_bootstrap

__all__ = ["BATCH_OPTIMIZED", "RECORD_LIMIT", "ShareConsumerConfig"]

BATCH_OPTIMIZED = 0
RECORD_LIMIT = 1
_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1

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
#: Kafka's, and without meaning here: another way of doing the same, or for a JVM
_WITHOUT_EFFECT = frozenset(
    [
        "auto.commit.interval.ms",
        "bootstrap.resolve.timeout.ms",
        "client.dns.lookup",
        "config.providers",
        "connections.max.idle.ms",
        "exclude.internal.topics",
        "max.partition.fetch.bytes",
        "metadata.cluster.check.enable",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "security.providers",
        "internal.throw.on.fetch.stable.offset.unsupported",
    ]
)
#: they configure protocols that `security.protocol` does not allow yet
_SECURITY_PREFIXES = ("sasl.", "ssl.")


class _Number(NamedTuple):
    key: str
    least: int
    most: int = _INT_MAX


@dataclass(frozen=True, slots=True)
class ShareConsumerConfig:
    """Made with `of`. The defaults are Kafka's; `unacknowledged` and `renew` are our own, see the guide."""

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

    @classmethod
    def of(cls, *given: Mapping[str, object] | None, **more: object) -> ShareConsumerConfig:
        """Later values win. Raises ``ConfigError``."""
        values = dict[str, object]()
        for some in (*given, more):
            for name, value in (some or {}).items():
                if value is not None:
                    values[name.replace("_", ".")] = value
        _refuse(values)
        return cls(
            bootstrap_servers=_bootstrap(values),
            group_id=_group_id(values),
            client_id=str(values.get("client.id") or "leaselog"),
            client_rack=str(values.get("client.rack") or "") or None,
            is_explicit=_choice(values, "share.acknowledgement.mode", {"implicit": False, "explicit": True}),
            acquire_mode=_choice(
                values,
                "share.acquire.mode",
                {"batch_optimized": BATCH_OPTIMIZED, "record_limit": RECORD_LIMIT},
            ),
            presents_again=_choice(
                values, "share.unacknowledged.records", {"refuse": False, "present": True}
            ),
            key_deserializer=deserializer_of(values.get("key.deserializer", as_bytes), "key.deserializer"),
            value_deserializer=deserializer_of(
                values.get("value.deserializer", as_bytes), "value.deserializer"
            ),
            **{name: _number(values, name, rule) for name, rule in _NUMBERS.items()},
            **{name: _truth(values, key) for name, key in _TRUTHS.items()},
        )


_NUMBERS = {
    "max_poll_records": _Number("max.poll.records", 1),
    "max_poll_interval_ms": _Number("max.poll.interval.ms", 1),
    "fetch_max_wait_ms": _Number("fetch.max.wait.ms", 0),
    "fetch_min_bytes": _Number("fetch.min.bytes", 0),
    "fetch_max_bytes": _Number("fetch.max.bytes", 0),
    "default_api_timeout_ms": _Number("default.api.timeout.ms", 0),
    "request_timeout_ms": _Number("request.timeout.ms", 0),
    "retry_backoff_ms": _Number("retry.backoff.ms", 0, _LONG_MAX),
    "retry_backoff_max_ms": _Number("retry.backoff.max.ms", 0, _LONG_MAX),
    "metadata_max_age_ms": _Number("metadata.max.age.ms", 0, _LONG_MAX),
}
_TRUTHS = {
    "allow_auto_create_topics": "allow.auto.create.topics",
    "check_crcs": "check.crcs",
    "enable_metrics_push": "enable.metrics.push",
}
_KNOWN = frozenset(
    {
        *_NOT_FOR_SHARE_GROUPS,
        *_WITHOUT_EFFECT,
        *(rule.key for rule in _NUMBERS.values()),
        *_TRUTHS.values(),
        *("bootstrap.servers", "group.id", "client.id", "client.rack", "security.protocol"),
        *("key.deserializer", "value.deserializer", "share.acknowledgement.mode", "share.acquire.mode"),
        "share.unacknowledged.records",
    }
)


def _refuse(values: Mapping[str, object]) -> None:
    illegal = [key for key in _NOT_FOR_SHARE_GROUPS if key in values]
    if illegal:
        raise ConfigError(f"{', '.join(illegal)} cannot be set when using a share group.")
    for key in values:
        if key not in _KNOWN and not key.startswith(_SECURITY_PREFIXES):
            near = get_close_matches(key, _KNOWN, 1)
            raise ConfigError(f"{key} is not a consumer configuration" + (f"; {near[0]}?" if near else ""))
    protocol = str(values.get("security.protocol", "PLAINTEXT"))
    if protocol.upper() != "PLAINTEXT":
        raise ConfigError(f"security.protocol={protocol} is not supported, only PLAINTEXT")


def _bootstrap(values: Mapping[str, object]) -> str:
    given = values.get("bootstrap.servers", "")
    text = given if isinstance(given, str) else ",".join(map(str, _items(given)))
    try:
        parse_bootstrap(text)
    except ValueError as wrong:
        raise ConfigError(f"bootstrap.servers={text}: {wrong}") from None
    return text


def _items(given: object) -> list[object]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _group_id(values: Mapping[str, object]) -> str:
    group_id = str(values.get("group.id") or "")
    if not group_id.strip():
        raise ConfigError("group.id is missing: a share consumer belongs to a group")
    return group_id


def _choice(values: Mapping[str, object], key: str, choices: Mapping[str, Any]) -> Any:
    text = str(values.get(key, next(iter(choices))))
    if text.lower() not in choices:
        raise ConfigError(f"{key}={text}: expected one of {', '.join(choices)}")
    return choices[text.lower()]


def _number(values: Mapping[str, object], name: str, rule: _Number) -> Any:
    given = values.get(rule.key, getattr(_DEFAULTS, name))
    return _whole_number(rule, given)


def _whole_number(rule: _Number, given: object) -> int:
    try:
        if isinstance(given, (bool, float)):
            raise ValueError
        number = int(str(given))
    except ValueError:
        raise ConfigError(f"{rule.key}={given}: expected a whole number") from None
    if not rule.least <= number <= rule.most:
        raise ConfigError(f"{rule.key}={number}: expected {rule.least} to {rule.most}")
    return number


def _truth(values: Mapping[str, object], key: str) -> Any:
    text = str(values.get(key, True)).lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{key}={values[key]}: expected true or false")
    return text == "true"


_DEFAULTS = ShareConsumerConfig("", "")
