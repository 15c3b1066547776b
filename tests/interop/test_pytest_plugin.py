"""The fixtures of `leaselog.testing` in somebody else's test suite, which has leaselog installed and nothing set."""

from __future__ import annotations

import socket

import pytest

from interop.broker_process import BrokerProcess
from leaselog.admin import Admin
from leaselog.broker.config import ConfigError
from leaselog.client import Producer
from leaselog.testing.embedded_broker import EmbeddedBroker

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.only_leaselog("the broker is part of what is tested")

#: pytest of a project that takes warnings seriously, and has none of our own plugins
STRICT = ("-p", "no:randomly", "-p", "no:xdist", "-W", "error", "--strict-markers")

SUITE = """
import os
from pathlib import Path

import pytest

from leaselog.admin import NewTopic
from leaselog.client import AsyncProducer, Producer, ShareConsumer

seen = set()


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_a_queue_of_its_own(
    number, leaselog_topic, leaselog_group, leaselog_producer, leaselog_share_consumer
):
    assert not seen & {leaselog_topic, leaselog_group}
    seen.update({leaselog_topic, leaselog_group})
    assert leaselog_topic.startswith("test-each-test-has-a-queue-of-its-own-")
    leaselog_producer.send(leaselog_topic, b"%d" % number).result(30)
    assert [record.value for record in leaselog_share_consumer.poll(30)] == [b"%d" % number]


def test_what_was_sent_before_a_worker_begins_reaches_it(
    leaselog_bootstrap_servers, leaselog_topic, leaselog_group
):
    with Producer(leaselog_bootstrap_servers) as producer:
        producer.send(leaselog_topic, b"early")
    handled = []

    def handle(record):
        handled.append(record.value)
        worker.wakeup()

    with ShareConsumer(leaselog_bootstrap_servers, group_id=leaselog_group) as worker:
        worker.subscribe([leaselog_topic])
        worker.run(handle)
    assert handled == [b"early"]


def test_the_broker_keeps_its_data_below_the_tests_own_folder(
    leaselog_broker, leaselog_data_dir, leaselog_admin, leaselog_producer, tmp_path_factory
):
    assert tmp_path_factory.getbasetemp() in leaselog_data_dir.parents
    leaselog_admin.create_topics([NewTopic("by-name", partitions=2)])
    leaselog_producer.send("by-name", b"x", partition=1).result(30)
    assert (leaselog_data_dir / "by-name-1").is_dir()
    Path(os.environ["ADDRESS_FILE"]).write_text(leaselog_broker.bootstrap_servers)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_theirs=SUITE)
    return pytester


def test_a_suite_gets_a_broker_names_of_its_own_and_clients_and_nothing_of_them_is_left(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = suite.path / "address"
    monkeypatch.setenv("ADDRESS_FILE", str(address))
    ended = suite.runpytest_subprocess(*STRICT)
    ended.assert_outcomes(passed=4)
    host, _, port = address.read_text().rpartition(":")
    assert host == "127.0.0.1"
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0, "the broker is to end with the session"


def test_a_suite_that_asks_for_nothing_imports_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_theirs():
            ours = {name for name in sys.modules if name.startswith("leaselog")}
            assert ours == {"leaselog", "leaselog.testing", "leaselog.testing.pytest_plugin"}
        """
    )
    pytester.runpytest_subprocess(*STRICT).assert_outcomes(passed=1)


def test_a_suite_sets_its_broker_by_overriding_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def leaselog_data_dir():
            return None

        @pytest.fixture(scope="session")
        def leaselog_broker_config():
            return {"num.partitions": "7"}
        """
    )
    pytester.makepyfile(
        """
        from leaselog.admin import NewTopic

        def test_theirs(leaselog_admin, leaselog_data_dir):
            leaselog_admin.create_topics([NewTopic("seven")])
            assert len(leaselog_admin.describe_topics(["seven"])["seven"].partitions) == 7
        """
    )
    pytester.runpytest_subprocess(*STRICT).assert_outcomes(passed=1)


def test_a_suite_runs_on_the_cluster_that_the_command_line_names(
    suite: pytest.Pytester, broker: BrokerProcess
) -> None:
    option = ("--leaselog-bootstrap-servers", broker.address, "-k", "queue or before")
    ended = suite.runpytest_subprocess(*STRICT, *option)
    ended.assert_outcomes(passed=3, deselected=1)
    with Admin(broker.address) as admin:
        assert sum(one.name.startswith("test-each-test-has-a-queue") for one in admin.list_topics()) == 2


def test_a_broker_that_was_stopped_begins_again_where_its_clients_look_for_it(tmp_path) -> None:
    broker = EmbeddedBroker(tmp_path / "data")
    with broker, Producer(broker.bootstrap_servers) as producer:
        before = broker.bootstrap_servers
        producer.send("t", b"one").result(30)
        broker.stop()
        assert not broker.is_running
        receipt = producer.send("t", b"two")
        broker.start()
        assert (broker.bootstrap_servers, receipt.result(60).offset) == (before, 1)


def test_a_broker_that_cannot_start_says_why_and_one_that_was_not_has_no_address(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        EmbeddedBroker(config={"num.partitions": "many"}).start()
    with EmbeddedBroker(tmp_path / "data"), pytest.raises(Exception, match="in use by another broker"):
        EmbeddedBroker(tmp_path / "data").start()
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = EmbeddedBroker().bootstrap_servers
