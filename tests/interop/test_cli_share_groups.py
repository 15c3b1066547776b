"""`leaselog share-groups` beside Apache's kafka-share-groups on the same groups: the same lines on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import create_topic, numbered, produce
from interop.java_process import Java
from interop.test_cli import Cli
from interop.test_share_group_tools import SHARE_TOOL, member

confluent_kafka = pytest.importorskip("confluent_kafka")


@pytest.fixture
def ours(broker: BrokerProcess, tmp_path: Path) -> Iterator[Callable[..., str]]:
    with closing(Cli(broker, tmp_path)) as cli:
        yield lambda *args, code=0: cli("share-groups", *args, code=code)


@pytest.fixture
def apaches(broker: BrokerProcess) -> Callable[..., str]:
    java = Java()
    return lambda *args: java.run(SHARE_TOOL, "--bootstrap-server", broker.address, *args).out


def test_a_group_with_a_member_looks_the_same(broker, ours, apaches, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic"), partitions=2), fresh("group")
    on = ("--group", group)
    with closing(member(broker, group, topic)):
        for view in ("--members", "--state"):
            assert ours("--describe", *on, view) == apaches("--describe", *on, view)
            assert ours("--describe", *on, view, "--verbose") == apaches("--describe", *on, view, "--verbose")
        assert ours("--list", "--state", "stable") == apaches("--list", "--state", "stable")
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


def test_top_shows_the_lag_and_what_moves(broker, tmp_path, fresh) -> None:
    topic, group = create_topic(broker, fresh("topic")), fresh("group")
    with closing(member(broker, group, topic)), closing(Cli(broker, tmp_path)) as cli:
        out = cli("top", "--group", group, "--json", "--iterations", "2", "--interval-ms", "300")
        first, second = ((json.loads(line)["groups"])[0] for line in out.splitlines())
        assert (first["group"], first["state"], first["members"]) == (group, "Stable", 1)
        assert first["producedPerSecond"] is None
        assert second["producedPerSecond"] == 0
        assert (second["inFlight"] is None) == is_kafka()
