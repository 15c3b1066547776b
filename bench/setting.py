"""What rows begin with: topics, what lies in them, groups that are there before the clock runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

__all__ = ["begin_group", "configure_group", "delete_topics", "fill", "make_topic"]

PATIENCE_S = 60.0
_AT_ONCE = 10_000


def make_topic(
    address: str, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None
) -> None:
    """One that is there already is taken as it is."""
    admin = _admin(address)
    new = NewTopic(topic, partitions, 1, config=dict(config or {}))
    try:
        admin.create_topics([new])[topic].result(PATIENCE_S)
    except KafkaException as refused:
        if refused.args[0].name() != "TOPIC_ALREADY_EXISTS":
            raise


def delete_topics(address: str, topics: Sequence[str]) -> None:
    admin = _admin(address)
    for done in admin.delete_topics(list(topics)).values() if topics else ():
        done.result(PATIENCE_S)


def begin_group(address: str, group: str) -> None:
    """It is to begin with the first record."""
    configure_group(address, group, {"share.auto.offset.reset": "earliest"})


def configure_group(address: str, group: str, wishes: dict[str, str]) -> None:
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in wishes.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = _admin(address)
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(PATIENCE_S)


def _admin(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address, "log_level": 2})


def fill(address: str, topic: str, values: Iterable[bytes], **settings: Any) -> None:
    """Produces the values; underscores in ``settings`` stand for dots."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": address, **named})
    for number, value in enumerate(values):
        producer.produce(topic, value)
        if number % _AT_ONCE == _AT_ONCE - 1:
            # single records wait in a queue that a slow disk may let grow until they are too old
            assert producer.flush(PATIENCE_S) == 0, "records were not produced in time"
    assert producer.flush(PATIENCE_S) == 0, "records were not produced"
