"""Apache's `kafka-share-groups` and its formatter, on groups whose members are librdkafka's share consumers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import create_topic, numbered, produce

confluent_kafka = pytest.importorskip("confluent_kafka")
SHARE_TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
FORMATTER = "org.apache.kafka.tools.consumer.ShareGroupMessageFormatter"


def member(broker: BrokerProcess, group: str, topic: str) -> object:
    """A share consumer that the group knows: it has been given a record."""
    consumer = confluent_kafka.ShareConsumer(
        {"bootstrap.servers": broker.address, "group.id": group, "client.id": "worker", "log_level": 2}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        produce(broker, topic, numbered(1))  # the group begins at the end of the topic
        if consumer.poll(0.2):
            return consumer
    raise AssertionError(f"nobody joined {group}")


def rows(printed: str) -> list[list[str]]:
    """The table, without its head."""
    return [line.split() for line in printed.splitlines() if line.strip()][1:]


def documents(printed: str) -> Iterator[dict[str, Any]]:
    """JSON one after the other, with nothing in between: so the formatter prints."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(printed.rstrip()):
        found, at = decoder.raw_decode(printed, at)
        yield found


def test_a_live_group_is_listed_and_described(tool, broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    on = ["--group", group, "--topic", topic]
    with closing(member(broker, group, topic)):
        assert group in tool(SHARE_TOOL, "--list").split()
        state = tool(SHARE_TOOL, "--describe", "--group", group, "--state")
        assert rows(state) == [[group, broker.address, "(0)", "Stable", "1"]]
        (one,) = rows(tool(SHARE_TOOL, "--describe", "--group", group, "--members"))
        assert [one[0], *one[2:]] == [group, "/127.0.0.1", "worker", "2", f"{topic}:0,1"]
        tool(SHARE_TOOL, "--reset-offsets", *on, "--to-earliest", "--execute", code=1)
        assert "The group is not empty." in tool(SHARE_TOOL, "--delete-offsets", *on)
    assert rows(tool(SHARE_TOOL, "--describe", "--group", group, "--state"))[0][3] == "Empty"


def test_offsets_are_reset_described_and_deleted_and_the_group_with_them(tool, broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(7))
    on = ["--group", group, "--topic", topic]
    planned = tool(SHARE_TOOL, "--reset-offsets", *on, "--to-latest", "--dry-run")
    assert rows(planned) == [[group, topic, "0", "7"]]
    assert group not in tool(SHARE_TOOL, "--list").split()
    assert rows(tool(SHARE_TOOL, "--reset-offsets", *on, "--to-earliest", "--execute")) == [
        [group, topic, "0", "0"]
    ]
    offsets = tool(SHARE_TOOL, "--describe", "--group", group, "--offsets", "--verbose")
    assert rows(offsets) == [[group, topic, "0", "0", "0", "7"]]
    assert rows(tool(SHARE_TOOL, "--delete-offsets", *on)) == [[topic, "Successful"]]
    again = tool(SHARE_TOOL, "--delete-offsets", *on)
    assert "There is no offset information to delete." in again
    assert "was successful" in tool(SHARE_TOOL, "--delete", "--group", group)
    assert group not in tool(SHARE_TOOL, "--list").split()


def test_kafkas_formatter_reads_the_records_of_a_group(tool, broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=3), fresh("group")
    with closing(member(broker, group, topic)):
        pass
    printed = tool(
        "consumer.ConsoleConsumer",
        *("--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "3000"),
        *("--formatter", FORMATTER),
    )
    mine = [r for r in documents(printed) if r["key"]["data"].get("groupId") == group]
    kinds = {record["key"]["type"] for record in mine}
    assert kinds == {10, 11, 12, 13, 14, 15}
    targets = [r["value"]["data"] for r in mine if r["key"]["type"] == 13 and r["value"]]
    assert targets[-1]["topicPartitions"][0]["partitions"] == [0, 1, 2]
    states = [r["value"]["data"] for r in mine if r["key"]["type"] == 15]
    assert [p["partitions"] for p in states[-1]["initializedTopics"]] == [[0, 1, 2]]
    assert mine[-1]["value"]["data"]["epoch"] > 2
