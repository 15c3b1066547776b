"""leaselog as its users have it: a wheel in an environment of its own, with and without extras, and its types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT, free_port
from interop.installed import Environment, build_wheel, constraints
from interop.page_blocks import Block, Reader, blocks_of
from interop.pages import PAGES, follow, why_not_run

pytestmark = [
    pytest.mark.only_leaselog("what is installed and how; the broker is not in question"),
    pytest.mark.timeout(300),
]

QUICKSTART_ENDS = "## On Spark"

#: imports each command
EVERY_COMMAND = """
from leaselog.cli.main import COMMANDS, command_parser

for name in COMMANDS:
    print(command_parser(name).format_usage())
"""

#: what an application does, every name of it with a type
APPLICATION = """
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from leaselog.admin import Admin, GroupListing, NewTopic, TopicListing
from leaselog.client import (
    AsyncProducer,
    AsyncShareConsumer,
    Producer,
    RecordMetadata,
    Reject,
    ShareConsumer,
    ShareRecord,
    as_string,
    from_string,
    kafka_errors,
)


@dataclass
class Order:
    item: str

    @classmethod
    def parse(cls, data: bytes) -> "Order":
        return cls(data.decode())

    def to_bytes(self) -> bytes:
        return self.item.encode()


def prepare(address: str) -> tuple[list[TopicListing], Sequence[GroupListing]]:
    with Admin(address) as admin:
        try:
            admin.create_topics([NewTopic("orders", partitions=3)])
        except kafka_errors.TopicExistsException as there:
            print(there.code.name)
        return admin.list_topics(), admin.list_groups()


def produce(address: str) -> RecordMetadata:
    with Producer(address, key_serializer=from_string, value_serializer=Order.to_bytes) as producer:
        receipt = producer.send("orders", Order("lamp"), key="a")
        return receipt.result(10)


def pack(record: ShareRecord[str, Order]) -> None:
    if not record.value.item:
        raise Reject("nothing ordered")
    print(record.topic, record.offset, record.key, record.delivery_count)


def work(address: str) -> None:
    with ShareConsumer(
        address, group_id="packing", key_deserializer=as_string, value_deserializer=Order.parse
    ) as consumer:
        consumer.subscribe(["orders"])
        for record in consumer.poll(1.0):
            consumer.acknowledge(record)
        consumer.run(pack, concurrency=4)


async def work_async(address: str) -> list[str]:
    items: list[str] = []
    async with AsyncProducer(address) as producer:
        await producer.send("orders", b"chair")
    async with AsyncShareConsumer(address, group_id="packing", value_deserializer=Order.parse) as consumer:
        consumer.subscribe(["orders"])
        items += [record.value.item for record in await consumer.poll(1.0)]
    return items


if __name__ == "__main__":
    print(prepare("127.0.0.1:9092"), produce("127.0.0.1:9092"))
    work("127.0.0.1:9092")
    print(asyncio.run(work_async("127.0.0.1:9092")))
"""
#: strict, and what an application gets from us is never Unknown
PYRIGHT = '{"typeCheckingMode": "strict", "pythonVersion": "3.11"}'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Environment:
    """`pip install leaselog`."""
    folder = tmp_path_factory.mktemp("client")
    environment = Environment(folder, constraints(folder, "requirements.lock"))
    environment.install(str(wheel))
    return environment


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_port()}"


def test_a_plain_installation_is_a_client_and_says_what_a_broker_needs(client: Environment) -> None:
    assert client.installed() == {"leaselog", "cramjam", "crc32c"}
    where = client.run(
        "python", "-c", "import leaselog.client, leaselog.admin; print(leaselog.__file__)"
    ).stdout
    assert str(CHECKOUT) not in where
    refused = client.run("leaselog", "serve", is_to_fail=True)
    assert refused.stderr == (
        "leaselog serve: a broker needs uvloop and prometheus-client, which are not installed: "
        "pip install 'leaselog[server]'\n"
    )
    assert client.run("python", "-c", EVERY_COMMAND).stdout.count("usage: leaselog ") >= 15


def test_the_quickstart_of_the_readme_works_far_from_the_checkout(
    tmp_path: Path, wheel: Path, address: str
) -> None:
    environment = Environment(tmp_path, constraints(tmp_path, "requirements.lock"))
    environment.install(f"{wheel}[server]")
    page = PAGES["README.md"]
    blocks = [block for block in blocks_of("README.md") if block.line < line_of(QUICKSTART_ENDS)]
    with Reader(address, environment.home, programs=environment.programs) as reader:
        for block in blocks:
            if why_not_run("README.md", block.text) is None:
                until = [words for command, words in page.until.items() if command in block.text]
                reader.paste(block, until[0] if until else "")
        reader.end()
    assert len(blocks) > 8
    assert page.shows[0] in reader.shown


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_somebody_new_comes_from_another_queue_with_an_installation_and_nothing_else(
    tmp_path: Path, wheel: Path
) -> None:
    """Page after page, each with a broker of its own, as its reader would have one."""
    environment = Environment(tmp_path, constraints(tmp_path, "requirements.lock"))
    environment.install(f"{wheel}[server]", "confluent-kafka")
    serve = Block("", 0, "sh", "", "leaselog serve --ephemeral")
    names = sorted(name for name in PAGES if name.startswith("docs/coming-from/"))
    for name in names:
        home = environment.home / Path(name).stem
        home.mkdir()
        reader = Reader(f"127.0.0.1:{free_port()}", home, programs=environment.programs)
        with reader:
            reader.paste(serve, "leaselog ready on")
            follow(reader, name)
            reader.end()
    assert len(names) == 5


def line_of(heading: str) -> int:
    return (CHECKOUT / "README.md").read_text().splitlines().index(heading) + 1


def test_an_application_that_is_written_against_the_wheel_passes_strict_mypy_and_pyright(
    client: Environment, tmp_path: Path
) -> None:
    (tmp_path / "application.py").write_text(APPLICATION)
    (tmp_path / "every_name.py").write_text(every_public_attribute())
    (tmp_path / "pyrightconfig.json").write_text(PYRIGHT)
    mypy = (sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"))
    checked = client.run(*mypy, "--python-executable", client.python, "application.py", cwd=tmp_path)
    assert "Success: no issues found" in checked.stdout
    pyright = (sys.executable, "-m", "pyright", "--pythonpath", client.python)
    checked = client.run(*pyright, "application.py", "every_name.py", cwd=tmp_path)
    assert "0 errors, 0 warnings" in checked.stdout


def every_public_attribute() -> str:
    """A module that reads each attribute of each public class, for whoever complains of a type that is not known."""
    import leaselog.admin
    import leaselog.client

    lines = ["from typing import Any", "from leaselog import admin, client"]
    for room, module in (("client", leaselog.client), ("admin", leaselog.admin)):
        for name in module.__all__:
            made = getattr(module, name)
            if not isinstance(made, type):
                lines.append(f"print({room}.{name})")
                continue
            many = len(getattr(made, "__parameters__", ()))
            kind = f"{room}.{name}" + (f"[{', '.join(['Any'] * many)}]" if many else "")
            lines.append(f"def use_{room}_{name}(it: {kind}) -> None:")
            public = [each for each in dir(made) if not each.startswith("_") and each not in dir(Exception)]
            lines += [f"    print(it.{each})" for each in public] or ["    print(it)"]
    return "\n".join(lines) + "\n"
