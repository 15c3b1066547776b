"""What one group runs with: its own values over the broker's, typed, and kept within the broker's limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

from leaselog.broker.config.broker_config import BrokerConfig
from leaselog.broker.config.definitions import BROKER, GROUP, Definition
from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.values import ConfigType, Value
from leaselog.broker.config.views import Flag, Int, Number, Text, View

__all__ = ["GroupConfig", "check_group", "limit_document"]


class GroupConfig(View):
    """Every group key with a value, and attributes for those the broker acts on."""

    table = GROUP
    documents: ClassVar[dict[str, str]] = {}
    planned: ClassVar[set[str]] = set()

    __slots__ = ()

    consumer_session_timeout_ms = Int(
        "A member of a consumer group (KIP-848) silent for this long is fenced."
    )
    consumer_heartbeat_interval_ms = Int("How often such members are told to send a heartbeat.")
    consumer_assignment_interval_ms = Int(
        "The assignment of such a group is computed at most this often, unless a member would be left without one."
    )
    share_session_timeout_ms = Int("A member silent for this long is fenced.")
    share_heartbeat_interval_ms = Int(
        "How often members are told to send a heartbeat. Right after a change of the group they are asked sooner."
    )
    share_assignment_interval_ms = Int(
        "The assignment is computed at most this often, unless a member would be left without partitions."
    )
    share_record_lock_duration_ms = Int("How long a lease lasts (Kafka's acquisition lock).")
    share_delivery_count_limit = Int("Deliveries of a record before it is archived.")
    share_partition_max_record_locks = Int(
        "The most records in flight in one share partition: the size of its window."
    )
    share_auto_offset_reset = Text(
        "Where a new group begins: latest, earliest, or by_duration:PnDTnHnMn.nS ago."
    )
    share_isolation_level = Text(
        "read_committed hides the records of aborted transactions, and all that lies behind an open one."
    )
    share_renew_acknowledge_enable = Flag("Members may renew the leases of records.")
    errors_deadletterqueue_topic_name = Text(
        "The group's dead-letter topic; empty: records are archived without a dead letter."
    )
    errors_deadletterqueue_copy_record_enable = Flag(
        "A dead letter has a copy of its record's key and value; otherwise it only says where the record is."
    )
    errors_deadletterqueue_breaker_ratio = Number(
        "The breaker pauses the group when more than this part of the records it has finished was rejected or came back"
        " after the last delivery. 0: no breaker."
    )
    errors_deadletterqueue_breaker_window_ms = Int(
        "The breaker looks at the records that were finished within the last so many milliseconds."
    )
    errors_deadletterqueue_breaker_min_records = Int(
        "The breaker does not pause the group if fewer records than this were finished within that time."
    )
    share_retry_backoff_ms = Int(
        "The delay between a record's first delivery and its second, if it was released or its lease expired. 0: none."
    )
    share_retry_backoff_multiplier = Number("Each further delay is so many times as long as the one before.")
    share_retry_backoff_max_ms = Int("The longest of these delays.")
    share_retry_backoff_jitter = Number("A delay is longer or shorter by up to this part, by chance.")
    share_release_delay_max_ms = Int(
        "The longest delay that a consumer may ask for when it releases a record; a longer one becomes this."
    )
    share_delivery_paused = Flag(
        "The group is paused: it gets no records. Records in flight may be finished. Kept until it is unset."
    )
    share_delivery_paused_reason = Text("Why the group is paused; removed when it is resumed.")
    share_delivery_paused_by = Text(
        "Who paused the group, `operator` or `breaker`: written by the broker, removed when the group is resumed."
    )
    share_delivery_paused_since_ms = Int(
        "When the group was paused, in ms since 1970: written by the broker, removed when the group is resumed."
    )

    @classmethod
    def resolve(cls, broker: BrokerConfig, overrides: Mapping[str, str]) -> Self:
        """The config of a group. A stored value that the broker's limits have since left outside is moved to the
        nearest limit, as Kafka does from 4.3: a restart with other limits must not stop a group.
        """
        values = group_defaults(broker)
        for name, text in overrides.items():
            values[name] = _within_limits(name, GROUP[name].parse(text), broker)
        return cls(values)


def group_defaults(broker: BrokerConfig) -> dict[str, Value]:
    """What a group has that sets nothing."""
    return {name: _default(key, broker) for name, key in GROUP.items()}


def _default(key: Definition, broker: BrokerConfig) -> Value:
    if not key.broker_keys:
        return key.default
    value = broker.values[key.broker_keys[0]]
    if isinstance(value, tuple) and key.type is not ConfigType.LIST:
        return value[0] if value else None  # of the broker's assignors, the first is the group's
    return value


def limit_document(name: str) -> str | None:
    """What a broker key does that limits what groups may choose; None if it is none."""
    found = re.fullmatch(r"group\.(\w+)\.(min|max)\.(.+)", name)
    if found is None or not {f"{found[1]}.{found[3]}", f"{found[1]}.num.{found[3]}"} & GROUP.keys():
        return None
    return f"The {'lowest' if found[2] == 'min' else 'highest'} {found[1]}.{found[3]} a group may choose."


def _limits(name: str, broker: BrokerConfig) -> Iterator[tuple[str, int, bool]]:
    """The broker keys that limit a group key, with their values; True marks an upper limit."""
    kind, _, what = name.partition(".")
    for word, is_upper in (("min", False), ("max", True)):
        limit = f"group.{kind}.{word}.{what}"
        if limit not in BROKER:
            limit = f"group.{kind}.{word}.{what.removeprefix('num.')}"
        value = broker.values.get(limit)
        if isinstance(value, int):
            yield limit, value, is_upper


def _within_limits(name: str, value: Value, broker: BrokerConfig) -> Value:
    if isinstance(value, int):
        for _, limit, is_upper in _limits(name, broker):
            value = min(value, limit) if is_upper else max(value, limit)
    return value


def check_group(broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """ConfigError, in Kafka's words, for the first value a group may not have under this broker's limits."""
    for name in overrides:
        if name not in GROUP:
            raise ConfigError(f"Unknown group config name: {name}")
    values = group_defaults(broker)
    values.update({name: GROUP[name].parse(text) for name, text in overrides.items()})
    for name in overrides:
        _check_limits(name, values[name], broker)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = values[f"{kind}.session.timeout.ms"], values[f"{kind}.heartbeat.interval.ms"]
        assert isinstance(session, int)
        assert isinstance(heartbeat, int)
        if session <= heartbeat:
            raise ConfigError(f"{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms")
    if str(values["errors.deadletterqueue.topic.name"]).startswith("__"):
        raise ConfigError("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
    first_ms, longest_ms = values["share.retry.backoff.ms"], values["share.retry.backoff.max.ms"]
    assert isinstance(first_ms, int)
    assert isinstance(longest_ms, int)
    if first_ms > longest_ms:
        raise ConfigError("share.retry.backoff.ms must be less than or equal to share.retry.backoff.max.ms")


def _check_limits(name: str, value: Value, broker: BrokerConfig) -> None:
    for limit, bound, is_upper in _limits(name, broker):
        assert isinstance(value, int), f"{limit} limits {name}, so both are INTs"
        if is_upper and value > bound:
            raise ConfigError(f"{name} must be less than or equal to {limit}")
        if not is_upper and value < bound:
            raise ConfigError(f"{name} must be greater than or equal to {limit}")
