"""The simulated loop and network: that they are what asyncio and TCP promise, and no more than that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from leaselog.testing.sim_loop import Deadlock, SimLoop, SimProcess
from leaselog.testing.sim_net import SimNet


def run(story: Callable[[SimLoop, SimNet], Coroutine[Any, Any, Any]], seed: int = 0) -> Any:
    loop = SimLoop(Random(seed))
    net = SimNet(loop, Random(seed))
    try:
        return loop.run_until_complete(story(loop, net))
    finally:
        loop.end()


def test_a_day_passes_at_once() -> None:
    async def story(loop: SimLoop, net: SimNet) -> float:
        began = loop.time()
        await asyncio.sleep(86_400)
        return loop.time() - began

    assert run(story) == pytest.approx(86_400, abs=0.001)


def test_chance_decides_which_of_several_goes_first_and_the_seed_decides_chance() -> None:
    async def story(loop: SimLoop, net: SimNet) -> tuple[int, ...]:
        order: list[int] = []

        async def go(number: int) -> None:
            await asyncio.sleep(0)
            order.append(number)

        await asyncio.gather(*(go(number) for number in range(6)))
        return tuple(order)

    orders = [run(story, seed) for seed in range(20)]
    assert len(set(orders)) > 10
    assert orders == [run(story, seed) for seed in range(20)]


def test_nothing_left_to_do_is_told_and_not_waited_for() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        await loop.create_future()

    with pytest.raises(Deadlock):
        run(story)


def test_a_killed_process_does_nothing_more_not_even_clean_up() -> None:
    done: list[str] = []

    async def story(loop: SimLoop, net: SimNet) -> None:
        async def live() -> None:
            try:
                await asyncio.create_task(child())
            finally:
                done.append("cleaned up")

        async def child() -> None:
            await asyncio.sleep(1)
            done.append("woke")

        process = SimProcess("p", "h")
        loop.spawn(process, live())
        await asyncio.sleep(0.5)
        process.is_alive = False
        await asyncio.sleep(5)
        assert done == []

    run(story)


def test_a_paused_process_goes_on_where_it_was() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        woke: list[float] = []

        async def live() -> None:
            await asyncio.sleep(1)
            woke.append(loop.time())

        process = SimProcess("p", "h")
        loop.spawn(process, live())
        await asyncio.sleep(0.5)
        process.is_paused = True
        await asyncio.sleep(10)
        assert woke == []
        loop.resume(process)
        await asyncio.sleep(0.1)
        assert len(woke) == 1

    run(story)


def test_what_a_thread_does_is_done_later_and_whole() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        assert await asyncio.to_thread(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)

    run(story)


class Echo(asyncio.Protocol):
    """Sends back what comes."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


class Client(asyncio.Protocol):
    def __init__(self) -> None:
        self.got = bytearray()
        self.pieces = 0
        self.lost: list[Exception | None] = []
        self.paused = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.got += data
        self.pieces += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)

    def pause_writing(self) -> None:
        self.paused += 1

    def resume_writing(self) -> None:
        self.paused -= 1


async def connected(loop: SimLoop) -> Client:
    """From host c to an echo on host s."""
    _, client = await loop.create_task(loop.create_connection(Client, "s", 7))
    return client


def with_echo(story: Callable[[SimLoop, SimNet], Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    async def wrapped(loop: SimLoop, net: SimNet) -> Any:
        server, client = SimProcess("server", "s"), SimProcess("client", "c")

        async def serve() -> None:
            await loop.create_server(Echo, "s", 7)

        await loop.spawn(server, serve())
        net.server = server  # type: ignore[attr-defined]
        return await loop.spawn(client, story(loop, net))

    return wrapped


@pytest.mark.parametrize("seed", range(10))
def test_bytes_arrive_in_order_however_they_are_cut_delayed_and_lost(seed: int) -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        net.cuts_pieces, net.loss, net.window_bytes = 0.9, 0.2, 3_000
        client = await connected(loop)
        sent = Random(seed).randbytes(50_000)
        for at in range(0, len(sent), 5_000):
            client.transport.write(sent[at : at + 5_000])
            await asyncio.sleep(0.001)
        net.block("c", "s")
        await asyncio.sleep(5)
        net.heal()
        await asyncio.sleep(200)
        assert client.got == sent
        assert client.pieces > 20

    run(with_echo(story), seed)


def test_who_does_not_read_makes_the_other_stop_writing() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        client = await connected(loop)
        client.transport.pause_reading()
        for _ in range(30):
            client.transport.write(bytes(50_000))
            await asyncio.sleep(0.01)
        assert client.got == b""
        server = client.transport.peer
        assert server.get_write_buffer_size() + server.unread_bytes <= 30 * 50_000
        assert server.unread_bytes <= net.window_bytes
        client.transport.resume_reading()
        await asyncio.sleep(10)
        assert len(client.got) == 30 * 50_000

    run(with_echo(story))


def test_a_killed_process_resets_its_connections_and_a_dark_host_says_nothing() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        client, other = await connected(loop), await connected(loop)
        net.host_lost_power("s")
        net.server.is_alive = False  # type: ignore[attr-defined]
        client.transport.write(b"hello?")
        await asyncio.sleep(60)
        assert client.lost == other.lost == []
        net.power_is_back("s")
        await asyncio.sleep(5)
        assert [type(why) for why in client.lost] == [ConnectionResetError]
        assert other.lost == []  # half open: it has said nothing
        with pytest.raises(ConnectionRefusedError):
            await connected(loop)

    run(with_echo(story))


def test_a_host_that_cannot_be_reached_is_tried_for_a_while() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        net.block("c", "s")
        began = loop.time()
        with pytest.raises(TimeoutError):
            await connected(loop)
        assert loop.time() - began > 30

    run(with_echo(story))


def test_a_cut_on_one_side_is_found_out_by_who_says_something() -> None:
    async def story(loop: SimLoop, net: SimNet) -> None:
        client = await connected(loop)
        net.cut(client.transport.peer, half=True)
        await asyncio.sleep(60)
        assert client.lost == []
        client.transport.write(b"still there?")
        await asyncio.sleep(1)
        assert len(client.lost) == 1

    run(with_echo(story))
