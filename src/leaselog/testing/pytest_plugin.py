"""What pytest has of leaselog where it is installed: a broker for the session, names of a test's own, clients for them.

Every fixture begins with `leaselog_`. Nothing is imported and nothing starts before a test asks for it. The guide is
docs/guides/testing.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from leaselog.admin import Admin
    from leaselog.client import Producer, ShareConsumer
    from leaselog.testing.embedded_broker import EmbeddedBroker

__all__ = [
    "leaselog_admin",
    "leaselog_bootstrap_servers",
    "leaselog_broker",
    "leaselog_broker_config",
    "leaselog_data_dir",
    "leaselog_group",
    "leaselog_producer",
    "leaselog_share_consumer",
    "leaselog_topic",
    "pytest_addoption",
]

_OPTION = "--leaselog-bootstrap-servers"
#: of a test's name in the name of its topic, which may have 249 characters
_MOST_OF_A_NAME = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("leaselog").addoption(
        _OPTION, metavar="HOST:PORT", help="use this cluster, and start no broker"
    )


@pytest.fixture(scope="session")
def leaselog_broker_config() -> Mapping[str, str]:
    """Configs of the session's broker. Override it to set some."""
    return {}


@pytest.fixture(scope="session")
def leaselog_data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Where the session's broker keeps its data. Override it with None for one that keeps all in memory."""
    return tmp_path_factory.mktemp("leaselog")


@pytest.fixture(scope="session")
def leaselog_broker(
    leaselog_data_dir: Path | None, leaselog_broker_config: Mapping[str, str]
) -> Iterator[EmbeddedBroker]:
    """A broker on a free port of the loopback interface, for the whole session."""
    from leaselog.testing.embedded_broker import EmbeddedBroker

    with EmbeddedBroker(leaselog_data_dir, leaselog_broker_config) as broker:
        yield broker


@pytest.fixture(scope="session")
def leaselog_bootstrap_servers(request: pytest.FixtureRequest) -> str:
    """The address of the session's broker, or of the cluster that the command line names."""
    named: str | None = request.config.getoption(_OPTION)
    if named is not None:
        return named
    broker: EmbeddedBroker = request.getfixturevalue("leaselog_broker")
    return broker.bootstrap_servers


@pytest.fixture(scope="session")
def leaselog_admin(leaselog_bootstrap_servers: str) -> Iterator[Admin]:
    from leaselog.admin import Admin

    with Admin(leaselog_bootstrap_servers) as admin:
        yield admin


@pytest.fixture
def leaselog_topic(request: pytest.FixtureRequest, leaselog_admin: Admin) -> str:
    """The name of a topic that this test alone has: there, with one partition, and empty."""
    from leaselog.admin import NewTopic

    name = _fresh_name(request, "topic")
    leaselog_admin.create_topics([NewTopic(name, partitions=1)])
    return name


@pytest.fixture
def leaselog_group(request: pytest.FixtureRequest, leaselog_admin: Admin) -> str:
    """The name of a share group that this test alone has. It begins with the first record of its topics."""
    from leaselog.admin import Resource, ResourceType

    name = _fresh_name(request, "group")
    group = Resource(ResourceType.GROUP, name)
    leaselog_admin.alter_configs(group, put={"share.auto.offset.reset": "earliest"})
    return name


@pytest.fixture
def leaselog_producer(leaselog_bootstrap_servers: str) -> Iterator[Producer[Any, Any]]:
    """A producer of bytes."""
    from leaselog.client import Producer

    with Producer(leaselog_bootstrap_servers) as producer:
        yield producer


@pytest.fixture
def leaselog_share_consumer(
    leaselog_bootstrap_servers: str, leaselog_topic: str, leaselog_group: str
) -> Iterator[ShareConsumer[Any, Any]]:
    """A consumer of bytes: a member of the test's group, subscribed to its topic."""
    from leaselog.client import ShareConsumer

    with ShareConsumer(leaselog_bootstrap_servers, group_id=leaselog_group) as consumer:
        consumer.subscribe([leaselog_topic])
        yield consumer


def _fresh_name(request: pytest.FixtureRequest, kind: str) -> str:
    """One that nobody had before, on whatever cluster, and that says whose it is."""
    test = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")[:_MOST_OF_A_NAME]
    return f"{test}-{kind}-{uuid4().hex[:8]}"
