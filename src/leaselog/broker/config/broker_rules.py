"""Rules between broker keys: what must not exceed what, in the words Kafka uses when it refuses to start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.ip_overrides import connections_by_address
from leaselog.broker.config.synonyms import broker_synonyms, first_synonym
from leaselog.broker.config.values import Value

__all__ = ["check_broker"]

#: ``group.{kind}.{what}`` must lie within ``group.{kind}.min.{what}`` and ``group.{kind}.max.{what}``
_WITHIN = (
    ("consumer", "heartbeat.interval.ms"),
    ("consumer", "session.timeout.ms"),
    ("consumer", "assignment.interval.ms"),
    ("share", "heartbeat.interval.ms"),
    ("share", "session.timeout.ms"),
    ("share", "assignment.interval.ms"),
    ("share", "record.lock.duration.ms"),
    ("share", "delivery.count.limit"),
    ("share", "partition.max.record.locks"),
    ("streams", "heartbeat.interval.ms"),
    ("streams", "session.timeout.ms"),
    ("streams", "assignment.interval.ms"),
)
#: left must not exceed right
_AT_MOST = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("group.share.max.size", "group.share.max.share.sessions"),
    ("offsets.commit.timeout.ms", "group.share.initialize.retry.interval.ms"),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"),
    ("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"),
    ("controller.quorum.retry.backoff.ms", "controller.quorum.request.timeout.ms"),
)


def check_broker(values: Mapping[str, Value]) -> None:
    """ConfigError for the first rule between keys that ``values`` break."""
    for low, high in _ordered_pairs():
        if _number(values, low) > _number(values, high):
            raise ConfigError(f"{low} ({values[low]}) must be less than or equal to {high} ({values[high]})")
    for kind in ("consumer", "share", "streams"):
        heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        if _number(values, heartbeat) >= _number(values, session):
            raise ConfigError(
                f"{heartbeat} ({values[heartbeat]}) must be less than {session} ({values[session]})"
            )
    _check_times(values)
    _check_lists(values)
    connections_by_address(str(values["max.connections.per.ip.overrides"]))


def _ordered_pairs() -> Iterator[tuple[str, str]]:
    for kind, what in _WITHIN:
        low, high = f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"
        yield low, high
        yield low, f"group.{kind}.{what}"
        yield f"group.{kind}.{what}", high
    yield from _AT_MOST


def _check_times(values: Mapping[str, Value]) -> None:
    retention = first_synonym(broker_synonyms("log.retention.ms"), values)
    if retention == 0:
        raise ConfigError("log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    roll = first_synonym(broker_synonyms("log.roll.ms"), values)
    if not isinstance(roll, int) or roll < 1:
        raise ConfigError("log.roll.ms must be greater than or equal to 1")
    jitter = first_synonym(broker_synonyms("log.roll.jitter.ms"), values)
    if not isinstance(jitter, int) or jitter < 0:
        raise ConfigError("log.roll.jitter.ms must be greater than or equal to 0")


def _check_lists(values: Mapping[str, Value]) -> None:
    if values["group.share.assignors"] != ("simple",):
        raise ConfigError("group.share.assignors must contain exactly one assignor, and it must be simple")
    assignors = values["group.consumer.assignors"]
    if not isinstance(assignors, tuple) or not assignors or not {"uniform", "range"}.issuperset(assignors):
        raise ConfigError(
            "group.consumer.assignors must contain uniform, range or both, and no class of one's own"
        )
    dirs = values["log.dirs"] or values["log.dir"]
    if not dirs:
        raise ConfigError("At least one log directory must be defined via log.dirs or log.dir.")
    if not values["listeners"]:
        raise ConfigError("At least one listener must be defined via listeners.")


def _number(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int), f"{name} is an INT in the table"
    return value
