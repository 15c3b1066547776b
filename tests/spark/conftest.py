"""Fixtures of the Spark tier: one local Spark and one broker for all of it, fresh names, a driver's folders."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from spark.queries import Queue
from spark.sessions import LOCAL, start_session

#: leases one can wait for, and members that are missed soon after they were killed
CONFIG = {
    "share.coordinator.state.topic.num.partitions": "3",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.session.timeout.ms": "10000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "1000",
}

HERE = Path(__file__).parent

_names = itertools.count(1)
_broker = pytest.StashKey[BrokerProcess]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.filterwarnings("default"))  # pyspark has some of its own


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.failed and (broker := item.config.stash.get(_broker, None)) is not None:
        report.sections.append(("broker log", broker.log_tail()))
    return report


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Skips with a reason where there is no Java or no pyspark, except in CI: there it must run."""
    if shutil.which("java") is None:
        _cannot_run("no Java on the path")
    try:
        import pyspark  # noqa: F401
    except ImportError:
        _cannot_run("pyspark is not installed: make spark")
    session = start_session(LOCAL, {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield session
    session.stop()


def _cannot_run(what: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}: the Spark tier has to run here")
    pytest.skip(what)


@pytest.fixture(scope="session")
def broker(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), CONFIG)
    pytestconfig.stash[_broker] = process
    process.start()
    yield process
    process.stop()


@pytest.fixture
def new_broker(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Callable[[], BrokerProcess]]:
    """For a test that does to its broker what the others would not like."""
    started: list[BrokerProcess] = []
    shared = pytestconfig.stash.get(_broker, None)

    def make() -> BrokerProcess:
        process = BrokerProcess(tmp_path / "broker", CONFIG)
        pytestconfig.stash[_broker] = process
        started.append(process)
        process.start()
        return process

    yield make
    for process in started:
        process.stop()
    if shared is not None:
        pytestconfig.stash[_broker] = shared


@pytest.fixture
def queue(broker: BrokerProcess, tmp_path: Path) -> Callable[..., Queue]:
    """Makes a topic with records and a group that begins with the first of them."""

    def make(records: int, partitions: int = 1, **group_configs: str) -> Queue:
        number = next(_names)
        made = Queue(broker, f"topic-{number}", f"group-{number}", tmp_path, partitions)
        made.begin(group_configs)
        made.produce(range(records))
        return made

    return make
