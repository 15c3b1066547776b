"""`leaselog share-groups` beside Apache's kafka-share-groups on the same groups: the same lines on standard output."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import Sent, create_topic, numbered, produce, wait_until
from interop.test_cli import Cli
from interop.test_share_group_tools import member
from interop.toolbox import Toolbox

pytestmark = pytest.mark.all_on_kafka

SHARE_TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


@pytest.fixture
def ours(broker: BrokerProcess, tmp_path: Path) -> Iterator[Callable[..., str]]:
    with closing(Cli(broker, tmp_path)) as cli:
        yield lambda *args, code=0: cli("share-groups", *args, code=code)


@pytest.fixture
def apaches(toolbox: Toolbox, broker: BrokerProcess) -> Callable[..., str]:
    return lambda *args: toolbox.run(SHARE_TOOL, "--bootstrap-server", broker.address, *args).out


def _lines(listing: str) -> list[str]:
    return sorted(listing.splitlines())


def test_a_group_with_a_member_looks_the_same(broker, ours, apaches, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    on = ("--group", group)
    with closing(member(broker, group, topic)):
        for view in ("--members", "--state"):
            assert ours("--describe", *on, view) == apaches("--describe", *on, view)
            assert ours("--describe", *on, view, "--verbose") == apaches("--describe", *on, view, "--verbose")
        stable = ("--list", "--state", "stable")
        # In any order, as Apache's tool has none; and again, as groups that other tests left may end in between.
        wait_until(lambda: _lines(ours(*stable)) == _lines(apaches(*stable)), "the same groups")
        assert group in ours("--list").split()
        reset = ("--reset-offsets", *on, "--topic", topic, "--to-earliest", "--execute")
        ours(*reset, code=1)
        assert "is not EMPTY." in ours("--delete", *on, code=1)


def test_a_group_without_members_looks_the_same(broker, ours, apaches, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(7))
    on = ("--group", group, "--topic", topic)
    for to in (("--to-latest",), ("--to-earliest",), ("--to-datetime", "2090-01-01T00:00:00.000")):
        plan = ("--reset-offsets", *on, *to, "--dry-run")
        assert ours(*plan) == apaches(*plan)
    ours("--reset-offsets", *on, "--to-earliest", "--execute")
    for words in (
        ("--describe", "--group", group),
        ("--describe", "--group", group, "--state"),
        ("--describe", "--group", group, "--members"),
        ("--reset-offsets", "--group", group, "--all-topics", "--to-latest", "--execute"),
        ("--describe", "--group", group, "--offsets"),
    ):
        assert ours(*words) == apaches(*words)
    apaches_verbose = apaches("--describe", "--group", group, "--verbose")
    assert ours("--describe", "--group", group, "--verbose").startswith(apaches_verbose)
    forgotten = ours("--delete-offsets", *on)
    ours("--reset-offsets", *on, "--to-earliest", "--execute")
    assert forgotten == apaches("--delete-offsets", *on)
    assert ours("--delete-offsets", *on, code=1) == apaches("--delete-offsets", *on)
    assert ours("--describe", "--group", group) == apaches("--describe", "--group", group)
    assert (
        ours("--delete", "--group", group)
        == f"Deletion of requested share groups ('{group}') was successful.\n"
    )
    assert group not in ours("--list").split()


def test_a_broker_that_is_not_there_is_one_line(ours, broker, fresh) -> None:
    out, err = Cli.ended("share-groups", "--bootstrap-server", "127.0.0.1:1", "--list", code=1)
    assert (out, err) == ("", "leaselog share-groups: 127.0.0.1:1: Connection refused\n")


@pytest.mark.on_kafka
def test_records_are_printed_released_rejected_and_accepted(broker, tmp_path, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    with closing(Cli(broker, tmp_path)) as cli:
        cli("configs", "--alter", "--group", group, "--add-config", "share.auto.offset.reset=earliest")
        produce(broker, topic, [Sent(b"k%d" % i, b"v%d" % i) for i in range(4)])
        reading = ("--topic", topic, "--group", group, "--formatter-property", "print.key=true")
        counting = (*reading, "--formatter-property", "print.delivery=true")
        released = cli("console-share-consumer", *counting, "--max-messages", "2", "--release")
        assert released == "Delivery:1\tk0\tv0\nDelivery:1\tk1\tv1\n"
        rejected = cli("console-share-consumer", *counting, "--max-messages", "1", "--reject")
        assert rejected == "Delivery:2\tk0\tv0\n"
        rest = cli("console-share-consumer", *reading, "--max-messages", "3").split()
        assert sorted(rest[1::2]) == ["v1", "v2", "v3"]
        assert cli("console-share-consumer", *reading, "--timeout-ms", "1500") == ""
        (described,) = cli.json("share-groups", "--describe", "--group", group)
        assert [row["lag"] for row in described["offsets"]] == [0]


def test_what_was_printed_before_a_signal_is_accepted(broker, tmp_path, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    with closing(Cli(broker, tmp_path)) as cli:
        cli("configs", "--alter", "--group", group, "--add-config", "share.auto.offset.reset=earliest")
        produce(broker, topic, [Sent(b"k", b"v%d" % i) for i in range(3)])
        reading = ("--topic", topic, "--group", group)
        printing = cli.printing("console-share-consumer", *reading)
        wait_until(lambda: printing.lines() == ["v0", "v1", "v2"], "the records")
        assert "Processed a total of 3 messages" in printing.end(signal.SIGTERM, 143)
        assert cli("console-share-consumer", *reading, "--timeout-ms", "1500") == ""


def test_the_perf_test_counts_what_it_consumed(broker, tmp_path, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    produce(broker, topic, numbered(500))
    with closing(Cli(broker, tmp_path)) as cli:
        cli("configs", "--alter", "--group", group, "--add-config", "share.auto.offset.reset=earliest")
        load = ("--topic", topic, "--group", group, "--num-records", "500")
        for mode in ("implicit", "explicit"):
            chosen = ("--command-property", f"share.acknowledgement.mode={mode}", "--threads", "2")
            head, numbers = cli("share-consumer-perf-test", *load, *chosen).splitlines()
            assert head.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, ")
            assert numbers.split(", ")[5] == "500"
            produce(broker, topic, numbered(500))
        (described,) = cli.json("share-groups", "--describe", "--group", group)
        assert [row["lag"] for row in described["offsets"]] == [500]


def test_top_shows_the_lag_and_what_moves(broker, tmp_path, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    with closing(member(broker, group, topic)), closing(Cli(broker, tmp_path)) as cli:
        out = cli("top", "--group", group, "--json", "--iterations", "2", "--interval-ms", "300")
        first, second = ((json.loads(line)["groups"])[0] for line in out.splitlines())
        assert (first["group"], first["state"], first["members"]) == (group, "Stable", 1)
        assert first["producedPerSecond"] is None
        assert second["producedPerSecond"] == 0
        assert (second["inFlight"] is None) == is_kafka()
