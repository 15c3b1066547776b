"""What the benches of share groups begin with: a topic of one partition, what lies in it, a group that takes it all."""

from __future__ import annotations

from collections.abc import Iterable
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

__all__ = ["begin_group", "fill", "make_topic"]

PATIENCE_S = 30.0


def make_topic(address: str, topic: str) -> None:
    """Of one partition; one that is there already is taken as it is."""
    admin = AdminClient({"bootstrap.servers": address})
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
    except KafkaException as refused:
        if refused.args[0].name() != "TOPIC_ALREADY_EXISTS":
            raise


def begin_group(address: str, group: str) -> None:
    """It is to begin with the first record."""
    wish = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[wish])
    admin = AdminClient({"bootstrap.servers": address})
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(PATIENCE_S)


def fill(address: str, topic: str, values: Iterable[bytes], **settings: Any) -> None:
    """Produces the values; underscores in ``settings`` stand for dots."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": address, **named})
    for number, value in enumerate(values):
        producer.produce(topic, value)
        if number % 50_000 == 49_999:
            producer.flush()
    assert producer.flush(60) == 0, "records were not produced"
