"""The client as on Windows: every module of it, and what an application does with it, on a broker in memory."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
import threading

from interop.other_systems import import_all, pretend_windows

pretend_windows()

from leaselog.admin import Admin, NewTopic, Resource, ResourceType  # noqa: E402
from leaselog.cli.main import COMMANDS, main  # noqa: E402
from leaselog.client import AsyncProducer, AsyncShareConsumer, Producer, ShareConsumer  # noqa: E402
from leaselog.testing.embedded_broker import EmbeddedBroker  # noqa: E402

#: without Spark, which is not claimed there
ROOMS = ("leaselog.client", "leaselog.admin", "leaselog.model", "leaselog.wire", "leaselog.testing")
WAIT_S = 60.0


def command(*arguments: str) -> tuple[int, str]:
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        code = main(arguments)
    return code, shown.buffer.getvalue().decode()  # type: ignore[attr-defined]


def run_until(handled: list[bytes | None], consumer: ShareConsumer[bytes, bytes], count: int) -> None:
    """A worker in the main thread, where its signals are."""

    def handle(record: object) -> None:
        handled.append(record.value)  # type: ignore[attr-defined]
        if len(handled) == count:
            signal.raise_signal(signal.SIGTERM)

    consumer.run(handle)


async def use_async(address: str, topic: str) -> list[bytes | None]:
    async with AsyncProducer(address) as producer:
        await (await producer.send(topic, b"async"))
    async with AsyncShareConsumer(address, group_id="async") as consumer:
        consumer.subscribe([topic])
        return [record.value for record in await consumer.poll(WAIT_S)]


def use(address: str) -> None:
    with Admin(address) as admin:
        admin.create_topics([NewTopic("orders", partitions=1)])
        for group in ("sync", "async", "shell", "worker"):
            admin.alter_configs(
                Resource(ResourceType.GROUP, group), put={"share.auto.offset.reset": "earliest"}
            )
    with Producer(address) as producer:
        producer.send("orders", b"one").result(WAIT_S)
        producer.send("orders", b"two").result(WAIT_S)
    handled: list[bytes | None] = []
    with ShareConsumer(address, group_id="sync") as consumer:
        consumer.subscribe(["orders"])
        run_until(handled, consumer, 2)
    assert handled == [b"one", b"two"], handled
    loop = asyncio.SelectorEventLoop()
    seen = loop.run_until_complete(use_async(address, "orders"))
    assert seen[:1] == [b"one"], seen
    loop.close()
    use_commands(["--bootstrap-server", address])


def use_commands(server: list[str]) -> None:
    code, shown = command("topics", *server, "--list")
    assert code == 0, shown
    assert "orders" in shown.splitlines(), shown
    consume = ["console-share-consumer", *server, "--topic", "orders", "--group", "shell"]
    code, shown = command(*consume, "--max-messages", "2")
    assert code == 0, shown
    assert shown.startswith("one\ntwo\n"), shown
    code, shown = command("share-groups", *server, "--describe", "--group", "shell")
    assert code == 0, shown
    assert "orders" in shown
    work = ["worker", "os:getcwd", *server, "--group", "worker", "--topic", "orders"]
    assert command(*work, "--processes", "2") == (
        1,
        "leaselog worker: a worker with --processes or --reload runs on Linux and macOS, and this is Windows\n",
    )
    assert command("serve")[0] == 1
    for name in COMMANDS:
        with contextlib.suppress(SystemExit):
            command(name, "--help")


if __name__ == "__main__":
    assert sys.platform == "win32"
    assert not hasattr(os, "fork")
    print("modules", import_all(*ROOMS))
    with EmbeddedBroker() as broker:
        use(broker.bootstrap_servers)
    assert threading.active_count() == 1, threading.enumerate()
    print("works")
