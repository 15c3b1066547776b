"""Groups that are paused, by an operator or their breaker, as librdkafka's consumer sees it: a queue that is idle."""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import create_topic, numbered, produce, wait_until
from interop.test_cli import Cli
from interop.test_share_librdkafka import (
    AcknowledgeType,
    commit,
    explicit,
    nothing_comes,
    places,
    set_group,
    take,
)
from leaselog.admin import Admin, SharePause
from leaselog.client import BrokerError


@pytest.mark.only_kafka("leaselog can pause")
@pytest.mark.on_kafka
def test_apache_kafka_refuses_and_the_command_says_so(broker: BrokerProcess, tmp_path, fresh) -> None:
    with closing(Cli(broker, tmp_path)) as cli:
        for what in ("pause", "resume"):
            wish = ("--bootstrap-server", broker.address, f"--{what}", "--group", fresh("group"))
            _, said = cli.ended("share-groups", *wish, code=1)
            assert said.count("\n") == 1
            assert (
                f"this broker cannot {what} share groups: INVALID_CONFIG: Unknown group config name" in said
            )
    with Admin(broker.address) as admin, pytest.raises(BrokerError, match="Unknown group config name"):
        admin.pause_share_groups([fresh("group")])


@pytest.mark.only_leaselog("Apache Kafka cannot pause a group")
def test_a_paused_group_is_idle_across_a_restart_and_goes_on_when_it_is_resumed(
    broker_factory, tmp_path, fresh
) -> None:
    broker = broker_factory({})
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(2))
    with closing(Cli(broker, tmp_path)) as cli, closing(explicit(broker, group, topic)) as consumer:
        held = take(consumer, 2)
        assert cli("share-groups", "--pause", "--group", group, "--reason", "new release") == (
            f"Share group '{group}' is paused.\n"
        )
        produce(broker, topic, numbered(3))
        for message in held:  # what is held may be finished
            consumer.acknowledge(message)
        commit(consumer)
        assert nothing_comes(consumer)
        broker.kill()
        broker.start()
        assert nothing_comes(consumer, 2.0)
        shown = cli("share-groups", "--describe", "--group", group, "--state")
        assert re.search(r"is paused since .* by an operator: new release\n$", shown)
        cli("share-groups", "--resume", "--group", group)
        came = take(consumer, 3, consumer.acknowledge)
        assert places(came) == [(0, 2), (0, 3), (0, 4)]
        commit(consumer)


@pytest.mark.only_leaselog("leaselog's breaker")
def test_a_group_that_fails_at_too_much_pauses_itself_until_somebody_resumes_it(
    broker, tmp_path, fresh
) -> None:
    topic = create_topic(broker, fresh("topic"))
    group = set_group(
        broker,
        fresh("group"),
        errors_deadletterqueue_breaker_ratio="0.5",
        errors_deadletterqueue_breaker_min_records="4",
    )
    produce(broker, topic, numbered(4))
    with (
        closing(Cli(broker, tmp_path)) as cli,
        closing(explicit(broker, group, topic)) as consumer,
        Admin(broker.address) as admin,
    ):
        for number, message in enumerate(take(consumer, 4)):
            consumer.acknowledge(message, AcknowledgeType.REJECT if number else AcknowledgeType.ACCEPT)
        commit(consumer)
        wait_until(lambda: admin.list_share_pauses([group])[group] is not None, "the breaker trips")
        pause = admin.list_share_pauses([group])[group]
        assert isinstance(pause, SharePause)
        assert (pause.by, pause.reason) == (
            "breaker",
            "3 of 4 records failed within 60000 ms, more than 0.5 of them",
        )
        produce(broker, topic, numbered(1))
        assert nothing_comes(consumer)
        (row,) = json.loads(cli("top", "--group", group, "--iterations", "1", "--json"))["groups"]
        assert row["paused"]["by"] == "breaker"
        admin.resume_share_groups([group])
        take(consumer, 1, consumer.acknowledge)
        commit(consumer)
