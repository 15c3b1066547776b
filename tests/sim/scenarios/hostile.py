"""A client that means harm beside the good ones: it floods, stalls, listens to nothing and hangs up.

Whatever it does, the others' histories stay right and they get through in time, the broker holds no more for clients
than its bounds say, and nothing once they have gone.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import cast

from leaselog.broker.broker import Broker
from leaselog.testing import sim_stage
from leaselog.testing.sim_loop import SimProcess
from leaselog.testing.sim_stage import Stage
from leaselog.testing.sim_world import ADDRESS, HOST, Impossible
from leaselog.wire.codec import encode
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

__all__ = ["play", "settings"]

LIMIT_BYTES = 200_000
#: what the last who found room may bring beyond it, and what each of the others is owed all the same
BEYOND_BYTES = 3 * LIMIT_BYTES
QUIET_S = 60.0
MALLORY = "mallory"


def settings(chance: Random, **more: str) -> dict[str, str]:
    bounds = ("socket.request.max.bytes", "queued.max.request.bytes", "queued.max.response.bytes")
    # of a client that has gone without a word the broker hears when it is idle for too long
    idle = {"connections.max.idle.ms": "20000"}
    return {**sim_stage.settings(chance, **more), **dict.fromkeys(bounds, str(LIMIT_BYTES)), **idle}


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    await stage.open()
    stage.add_producers(chance.randint(1, 2), chance.randint(20, 60))
    stage.add_consumers(chance.randint(2, 4))
    attacks = [
        world.spawn(SimProcess(f"{MALLORY}.{n}", MALLORY), _attack(stage, Random(f"{world.seed}-{n}")))
        for n in range(chance.randint(3, 10))
    ]
    for _ in range(chance.randint(10, 40)):
        await world.sleep(0.02, 0.3)
        _check(world.broker)
        if chance.random() < 0.02:
            await world.restart()
    for attack in attacks:
        attack.cancel()
    for end in world.net.connections():
        if end.near[0] == MALLORY:
            end.abort()
    await stage.finish()
    await world.until(lambda: _held_bytes(world.broker) == (0, 0), "nothing is held for nobody", QUIET_S)


def _held_bytes(broker: Broker | None) -> tuple[int, int]:
    """Of requests, and of answers."""
    if broker is None:
        return 0, 0
    server = broker._server
    return server.requests_held.total_bytes, server.answers_held.total_bytes


def _check(broker: Broker | None) -> None:
    for held_bytes in _held_bytes(broker):
        if not 0 <= held_bytes <= LIMIT_BYTES + BEYOND_BYTES:
            raise Impossible(f"{held_bytes} bytes are held for clients, {LIMIT_BYTES} may be")


async def _attack(stage: Stage, chance: Random) -> None:
    """One connection after the other, each with something else in mind."""
    host, _, port = ADDRESS.rpartition(":")
    assert host == HOST
    while True:
        with suppress(OSError):
            made, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, host, int(port))
            transport = cast(asyncio.Transport, made)
            if chance.random() < 0.3:
                transport.pause_reading()
            for _ in range(chance.randint(1, 6)):
                transport.write(_harm(stage, chance))
                await asyncio.sleep(chance.choice((0.0, 0.01, 0.3)))
            await asyncio.sleep(chance.choice((0.0, 0.1, 2.0, 20.0)))
            transport.abort() if chance.random() < 0.5 else transport.close()
        await asyncio.sleep(0.01 + 0.1 * chance.random())


def _harm(stage: Stage, chance: Random) -> bytes:
    """Something to send: requests in crowds, half a request, large ones behind one that waits, or no request at all."""
    size = chance.randint(20_000, LIMIT_BYTES)
    match chance.randrange(6):
        case 0:
            return _request(18, 0, b"") * chance.randint(1, 3_000)
        case 1:
            return size.to_bytes(4, "big") + bytes(chance.randrange(size))
        case 2:
            return _fetch(stage, waits=True) + size.to_bytes(4, "big") + bytes(size // 2)
        case 3:
            return _fetch(stage, waits=False) * chance.randint(1, 300)
        case 4:
            return _request(18, 0, b"")[: chance.randrange(14)]
        case _:
            return chance.randbytes(chance.randint(1, 2_000))


def _request(key: int, version: int, body: bytes) -> bytes:
    head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    return (len(head) + len(body)).to_bytes(4, "big") + head + body


def _fetch(stage: Stage, *, waits: bool) -> bytes:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 30)
    request = FetchRequest(
        max_wait_ms=10_000 if waits else 0,
        min_bytes=1 << 30 if waits else 1,
        max_bytes=1 << 30,
        session_epoch=-1,
        topics=[FetchTopic(topic=stage.topic, partitions=[partition])],
    )
    return _request(FetchRequest.API_KEY, 11, encode(request, 11))
