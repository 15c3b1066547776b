"""Fixtures of the interop tier: a broker for the session, brokers with settings of their own, fresh names."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping

import pytest

from interop.broker_process import SHARE, BrokerProcess, is_kafka
from interop.java_process import Java
from interop.toolbox import Shell, Toolbox
from interop.workers import pytest_xdist_make_scheduler  # noqa: F401

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas the old way
    import kafka  # noqa: F401

BrokerFactory = Callable[..., BrokerProcess]

_names = itertools.count(1)
_brokers = pytest.StashKey[list[BrokerProcess]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_brokers] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "interop" in item.path.parts:
            item.add_marker(pytest.mark.interop)
    other = "only_leaselog" if is_kafka() else "only_kafka"
    of_the_other = [item for item in items if item.get_closest_marker(other) is not None]
    if of_the_other:
        config.hook.pytest_deselected(items=of_the_other)
        items[:] = [item for item in items if item not in of_the_other]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.failed:
        for broker in item.config.stash[_brokers]:
            report.sections.append(("broker log", broker.log_tail()))
    return report


@pytest.fixture(scope="session")
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[BrokerProcess]:
    """The broker nearly every test shares; what a test leaves behind has a name of its own."""
    if is_kafka():  # it takes ten seconds to start, and a third of a gigabyte
        yield request.getfixturevalue("share_broker")
        return
    process = BrokerProcess(tmp_path_factory.mktemp("broker"))
    pytestconfig.stash[_brokers].append(process)
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def share_broker(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[BrokerProcess]:
    """The broker of the tests of share groups that would wait too long, or not reach a bound, on the other."""
    process = BrokerProcess(tmp_path_factory.mktemp("share-broker"), SHARE)
    pytestconfig.stash[_brokers].append(process)
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def dead_broker(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[BrokerProcess]:
    """A broker on which no topic comes into being unasked, and a group begins without waiting for others."""
    settings = {
        **SHARE,
        "auto.create.topics.enable": "false",
        "group.share.assignment.interval.ms": "0",
        "group.share.min.assignment.interval.ms": "0",
    }
    process = BrokerProcess(tmp_path_factory.mktemp("dead-letters"), settings)
    pytestconfig.stash[_brokers].append(process)
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def java() -> Java:
    return Java()


@pytest.fixture(scope="session")
def toolbox(java: Java) -> Iterator[Toolbox]:
    with Toolbox(java) as box:
        yield box


@pytest.fixture
def tool(toolbox: Toolbox, broker: BrokerProcess) -> Shell:
    """Apache's tools on the broker that is there for all."""
    return Shell(toolbox, broker)


@pytest.fixture
def share_tool(toolbox: Toolbox, share_broker: BrokerProcess) -> Shell:
    """Apache's tools on the broker of the share groups."""
    return Shell(toolbox, share_broker)


@pytest.fixture
def broker_factory(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[BrokerFactory]:
    """Starts a broker with these settings, for tests that need other settings or a restart."""
    started: list[BrokerProcess] = []

    def start(config: Mapping[str, str] | None = None) -> BrokerProcess:
        process = BrokerProcess(tmp_path_factory.mktemp("own-broker"), config)
        started.append(process)
        pytestconfig.stash[_brokers].append(process)
        process.start()
        return process

    yield start
    for process in started:
        process.stop()
        pytestconfig.stash[_brokers].remove(process)


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names nobody used before: `fresh("group")`."""
    stem = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:60]
    return lambda kind: f"{stem}.{kind}.{next(_names)}"
