"""Fixtures of the Spark tier: one local Spark and one broker for all of it, fresh names, a driver's folders."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from spark.queries import Queue

_names = itertools.count(1)
_broker = pytest.StashKey[BrokerProcess]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in item.path.parts:
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
        from pyspark.sql import SparkSession
    except ImportError:
        _cannot_run("pyspark is not installed: make spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("leaselog tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts sooner
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    import leaselog.spark

    leaselog.spark.register(session)
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
    process = BrokerProcess(
        tmp_path_factory.mktemp("broker"), {"group.share.min.record.lock.duration.ms": "1000"}
    )
    pytestconfig.stash[_broker] = process
    process.start()
    yield process
    process.stop()


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
