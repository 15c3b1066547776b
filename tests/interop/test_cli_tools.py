"""The smaller commands beside Apache's tools of the same names on the same broker: the same lines."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from interop.broker_process import BrokerProcess
from interop.cli_here import CliHere
from interop.confluent_io import consumer_of, create_topic, numbered, produce, wait_until

pytestmark = pytest.mark.on_kafka


@pytest.fixture
def cli(broker: BrokerProcess) -> CliHere:
    return CliHere(broker)


def _lines(listing: str) -> list[str]:
    return sorted(listing.splitlines())


def test_offsets_are_the_same(cli, tool, broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=3)
    produce(broker, topic, numbered(7))
    for words in (
        ("--topic", topic),
        ("--topic", topic, "--partitions", "0,2", "--time", "earliest"),
        ("--topic-partitions", f"{topic}:1-,{re.escape(topic)}:0"),
        ("--topic", topic, "--time", "-3"),
        ("--topic", topic, "--time", "0"),
        ("--topic", topic, "--time", "-5"),
    ):
        assert cli("get-offsets", *words) == tool("GetOffsetShell", *words)


def test_a_dot_in_a_name_is_a_dot(cli, broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"))
    other = create_topic(broker, topic.replace(".", "-"))
    assert cli("get-offsets", "--topic", topic) == f"{topic}:0:0\n"
    assert cli("topics", "--list", "--topic", topic) == f"{topic}\n"
    cli("topics", "--delete", "--topic", topic)
    assert cli.json("topics", "--list", "--topic", f"{topic},{other}") == [other]


def test_records_are_deleted_by_apaches_file_and_reported_the_same(
    cli, tool, broker, fresh, tmp_path
) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    produce(broker, topic, numbered(10))
    file = tmp_path / "offsets.json"

    def wanted(offset: int) -> tuple[str, str]:
        parts = [{"topic": topic, "partition": 0, "offset": offset}]
        file.write_text(json.dumps({"version": 1, "partitions": parts}))
        return ("--offset-json-file", str(file))

    assert cli("delete-records", *wanted(5)) == tool("DeleteRecordsCommand", *wanted(5))
    assert "OFFSET_OUT_OF_RANGE" in cli("delete-records", *wanted(99), code=1)
    ours = cli("delete-records", "--topic", f"{topic}:0", "--before-offset", "latest")
    assert ours == tool("DeleteRecordsCommand", *wanted(-1))


def test_groups_of_all_types_are_the_same(cli, tool, broker, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    with closing(consumer_of(broker, group)) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    cli(
        "share-groups",
        "--reset-offsets",
        "--group",
        fresh("share"),
        "--topic",
        topic,
        "--to-latest",
        "--execute",
    )
    for words in (
        ("--list",),
        ("--list", "--share"),
        ("--list", "--group-type", "classic", "--protocol", ""),
    ):
        # again, as groups that other tests left may end in between
        wait_until(
            lambda w=words: _lines(cli("groups", *w)) == _lines(tool("GroupsCommand", *w)), "the same groups"
        )
    assert group in cli("groups", "--list", "--consumer")


def test_quotas_are_set_by_the_one_and_shown_by_the_other(cli, tool, fresh) -> None:
    def same(*words: str) -> None:
        ours, judged = (
            [
                (line.partition(" are ")[0], sorted(line.partition(" are ")[2].split(", ")))
                for line in sorted(out.splitlines())
            ]
            for out in (
                cli("configs", "--describe", *words),
                tool("kafka.admin.ConfigCommand", "--describe", *words),
            )
        )
        assert ours == judged

    user = fresh("user")
    both = ("--entity-type", "users", "--entity-name", user, "--entity-type", "clients", "--entity-default")
    limits = ("--add-config", "producer_byte_rate=10485760,request_percentage=0.0005")
    ours = cli("configs", "--alter", *both, *limits)
    assert ours == tool("kafka.admin.ConfigCommand", "--alter", *both, *limits)
    same(*both)
    same("--entity-type", "users", "--entity-type", "clients")
    same("--user", user)
    tool("kafka.admin.ConfigCommand", "--alter", *both, "--delete-config", "request_percentage")
    cli("configs", "--alter", *both, "--delete-config", "producer_byte_rate")
    same(*both)
    rate = ("--add-config", "connection_creation_rate=1000")
    assert (
        cli("configs", "--alter", "--ip", "127.9.9.9", *rate)
        == "Completed updating config for ip 127.9.9.9.\n"
    )
    same("--entity-type", "ips")
    cli("configs", "--alter", "--ip", "127.9.9.9", "--delete-config", "connection_creation_rate")


def test_elections_are_the_same(cli, tool, broker, fresh, tmp_path) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    file = tmp_path / "places.json"
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": p} for p in (0, 1)]}))
    for words in (
        ("--election-type", "preferred", "--path-to-json-file", str(file)),
        ("--election-type", "unclean", "--topic", topic, "--partition", "1"),
    ):
        # Apache's tool names the partitions in the order of a hash map
        ours, apaches = cli("leader-election", *words), tool("LeaderElectionCommand", *words)
        assert sorted(ours.replace(",", "").split()) == sorted(apaches.replace(",", "").split())
    missing = ("--election-type", "preferred", "--topic", topic, "--partition", "9")
    assert f"partition: {topic}-9: UNKNOWN_TOPIC_OR_PARTITION" in cli("leader-election", *missing, code=1)


def test_features_are_the_same(cli, tool) -> None:
    def levels(out: str) -> list[str]:
        return _lines(re.sub(r"Epoch: \d+", "Epoch: N", out))  # which is any write's to the cluster's log

    assert levels(cli("features", "describe")) == levels(tool("FeatureCommand", "describe"))
    for words, code in (
        (("downgrade", "--feature", "share.version=0", "--dry-run"), 0),
        (("upgrade", "--feature", "share.version=99"), 1),
        (("disable", "--feature", "share.version", "--dry-run"), 0),
    ):
        assert cli("features", *words, code=code) == tool("FeatureCommand", *words, code=code)


def test_the_cluster_and_its_disks_are_the_same(cli, tool, broker, fresh) -> None:
    topic = create_topic(broker, fresh("topic"), partitions=2)
    produce(broker, topic, numbered(5))
    assert cli("cluster", "cluster-id") == tool("ClusterTool", "cluster-id")
    disks = ("--describe", "--topic-list", topic)
    ours, judged = cli("log-dirs", *disks).splitlines(), tool("LogDirsCommand", *disks).splitlines()
    assert ours[:2] == judged[:2]
    assert _sorted(json.loads(ours[2])) == _sorted(json.loads(judged[2]))


def _sorted(report: dict[str, Any]) -> dict[str, Any]:
    for broker in report["brokers"]:
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda part: part["partition"])
    return report


def test_the_apis_of_a_broker_are_the_same(cli, tool) -> None:
    """Which version is usable depends on who asks; what Apache's tool calls unknown is newer than it."""

    def ranges(out: str) -> set[str]:
        return set(re.findall(r"^\t(\w+\(\d+\): \d+(?: to \d+)?) \[", out, re.MULTILINE))

    ours, judged = cli("broker-api-versions"), tool("BrokerApiVersionsCommand")
    known = {line for line in ranges(judged) if not line.startswith("UNKNOWN")}
    assert len(known) > 30
    assert known <= ranges(ours)
