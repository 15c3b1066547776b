"""Every page is followed as its reader would: its blocks work as they stand, and show what the page says.

Each block is pasted alone (`page_blocks.py` says how) in the order of its page, with what the page says is there
(`pages.py`). The broker is one for all pages, and forgets one page before the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT, BrokerProcess, free_port, is_kafka
from interop.confluent_io import Sent, create_topic, produce
from interop.java_process import Java
from interop.page_blocks import Reader
from interop.pages import PAGES, Page, follow
from interop.test_share_librdkafka import set_group
from leaselog.admin import Admin, ConfigSource, Resource, ResourceType

pytestmark = pytest.mark.all_on_kafka


def page_and_name() -> list[object]:
    return [
        pytest.param(
            name,
            id=Path(name).stem,
            marks=[pytest.mark.only_leaselog(page.only_leaselog)] if page.only_leaselog else [],
        )
        for name, page in PAGES.items()
        if name != "README.md"
    ]


@pytest.fixture(scope="module")
def page_broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """With what pages say is the default; on Apache Kafka the one there is, for it takes ten seconds to start."""
    if is_kafka():
        yield request.getfixturevalue("share_broker")
        return
    broker = BrokerProcess(tmp_path_factory.mktemp("pages"))
    broker.start()
    yield broker
    broker.stop()


@pytest.mark.parametrize("name", page_and_name())
def test_the_blocks_of_a_page_do_what_it_says(page_broker: BrokerProcess, tmp_path: Path, name: str) -> None:
    begin_anew(page_broker, PAGES[name], (CHECKOUT / name).read_text())
    with Reader(page_broker.address, tmp_path) as reader:
        follow(reader, name)


@pytest.mark.only_leaselog("it begins with the broker")
def test_the_readme_leads_from_nothing_to_a_queue_whose_every_record_is_accounted_for(
    java: Java, tmp_path: Path
) -> None:
    with Reader(f"127.0.0.1:{free_port()}", tmp_path, java.libs) as reader:
        follow(reader, "README.md")
        reader.end()


def begin_anew(broker: BrokerProcess, page: Page, text: str) -> None:
    """Nothing is left of what the page names, whichever page has made it."""
    with Admin(broker.address) as admin:
        admin.delete_groups([group.group_id for group in admin.list_groups() if group.group_id in text])
        admin.delete_topics([topic.name for topic in admin.list_topics()])
        for group in admin.list_config_resources(ResourceType.GROUP):
            resource = Resource(ResourceType.GROUP, group)
            entries = admin.describe_configs([resource])[resource] if group in text else []
            own = [entry.name for entry in entries if entry.source is ConfigSource.DYNAMIC_GROUP_CONFIG]
            if own:
                admin.alter_configs(resource, delete=own)
    if page.orders:
        create_topic(broker, "orders")
        produce(broker, "orders", [Sent(value=value) for value in page.orders])
    for group in page.groups:
        set_group(broker, group)
