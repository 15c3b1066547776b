"""`leaselog consumer-groups` beside Apache's kafka-consumer-groups on the same groups: the same lines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition

from interop.broker_process import BrokerProcess
from interop.cli_here import CliHere
from interop.confluent_io import consumer_of, create_topic, numbered, produce, wait_until
from interop.toolbox import Shell

pytestmark = pytest.mark.on_kafka

GROUP_TOOL = "consumer.group.ConsumerGroupCommand"
VIEWS = (
    (),
    ("--verbose",),
    ("--members",),
    ("--members", "--verbose"),
    ("--state",),
    ("--state", "--verbose"),
)


@pytest.fixture
def ours(broker: BrokerProcess) -> Callable[..., str]:
    cli = CliHere(broker)
    return lambda *args, code=0: cli("consumer-groups", *args, code=code)


@pytest.fixture
def apaches(tool: Shell) -> Callable[..., str]:
    return lambda *args: tool(GROUP_TOOL, *args)


def _lines(listing: str) -> list[str]:
    return sorted(listing.splitlines())


def _reading(consumer: Consumer, topic: str) -> Consumer:
    """Has the topic's partitions, and has committed in one of them."""
    consumer.subscribe([topic])
    assert consumer.consume(1, 30)
    consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    return consumer


def _committed(broker: BrokerProcess, group: str, topic: str, offset: int) -> None:
    with closing(consumer_of(broker, group)) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)


def test_a_group_with_a_member_looks_the_same(broker, ours, apaches, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    produce(broker, topic, numbered(10))
    with closing(_reading(consumer_of(broker, group, group_instance_id="the-first-of-them"), topic)):
        for view in VIEWS:
            assert ours("--describe", "--group", group, *view) == apaches(
                "--describe", "--group", group, *view
            )
        stable = ("--list", "--state", "stable", "--type")
        # In any order, as Apache's tool has none; and again, as groups that other tests left may end in between.
        wait_until(lambda: _lines(ours(*stable)) == _lines(apaches(*stable)), "the same groups")
        assert group in ours("--list").split()
        reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
        ours(*reset, code=1)
        assert "NON_EMPTY_GROUP" in ours("--delete", "--group", group, code=1)
        forget = ("--delete-offsets", "--group", group, "--topic", topic)
        refused, judged = ours(*forget, code=1).splitlines(), apaches(*forget).splitlines()
        assert refused[:4] == judged[:4]
        assert "GROUP_SUBSCRIBED_TO_TOPIC" in refused[4]
        assert "GroupSubscribedToTopicException" in judged[4]


def test_a_group_without_members_looks_the_same(broker, ours, apaches, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    produce(broker, topic, numbered(7))
    _committed(broker, group, topic, 4)
    for view in ((), ("--members",), ("--state",)):
        assert ours("--describe", "--group", group, *view) == apaches("--describe", "--group", group, *view)
    on = ("--reset-offsets", "--group", group, "--topic", f"{topic}:0")
    for to in (
        ("--to-earliest",),
        ("--to-latest",),
        ("--to-current",),
        ("--to-offset", "3"),
        ("--to-offset", "99"),
        ("--shift-by", "-2"),
        ("--by-duration", "PT1H"),
        ("--to-datetime", "2090-01-01T00:00:00.000"),
    ):
        assert ours(*on, *to, "--dry-run") == apaches(*on, *to, "--dry-run")
    # what one of them did, the other sees
    assert ours(*on, "--to-offset", "2", "--execute") == apaches(*on, "--to-current", "--execute")
    every = ("--reset-offsets", "--group", group, "--all-topics", "--to-latest")
    assert ours(*every, "--execute") == apaches(*every, "--dry-run")
    assert ours("--describe", "--group", group) == apaches("--describe", "--group", group)


def test_a_plan_that_one_of_them_exports_the_other_reads(broker, ours, apaches, fresh, tmp_path) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    produce(broker, topic, numbered(7))
    export = ("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--dry-run", "--export")
    exported = ours(*export)
    assert _lines(exported) == _lines(apaches(*export).replace('"', ""))  # Apache's quotes what is long
    plan = tmp_path / "plan.csv"
    plan.write_text(exported.strip().replace(",7", ",5"))
    read = ("--reset-offsets", "--group", group, "--from-file", str(plan))
    assert _lines(ours(*read, "--execute")) == _lines(apaches(*read, "--dry-run"))
    assert ours("--describe", "--group", group) == apaches("--describe", "--group", group)
    forget = ("--delete-offsets", "--group", group, "--topic", f"{topic}:1")
    assert ours(*forget) == apaches(*forget)
    deleted = ours("--delete", "--group", group)
    assert deleted == f"Deletion of requested consumer groups ('{group}') was successful.\n"
    assert group not in ours("--list").split()


def test_a_group_of_the_consumer_protocol_looks_the_same(broker, ours, apaches, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    produce(broker, topic, numbered(10))
    config = {"bootstrap.servers": broker.address, "group.id": group, "auto.offset.reset": "earliest"}
    with closing(_reading(Consumer({**config, "group.protocol": "consumer"}), topic)):
        for view in VIEWS:
            assert ours("--describe", "--group", group, *view) == apaches(
                "--describe", "--group", group, *view
            )
        listed = ("--list", "--type", "consumer")
        assert _lines(ours(*listed)) == _lines(apaches(*listed))
