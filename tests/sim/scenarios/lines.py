"""Lines that lose, stall, break on one side or both, and clients that read slowly."""

from __future__ import annotations

from leaselog.testing.sim_stage import Stage, settings
from leaselog.testing.sim_world import HOST

__all__ = ["play", "settings"]


async def play(stage: Stage) -> None:
    world, net, chance = stage.world, stage.world.net, stage.world.chance
    net.window_bytes = chance.choice((2_000, 64 * 1024, 256 * 1024))
    net.cuts_pieces = chance.choice((0.0, 0.1, 0.9))
    await stage.open()
    net.loss = chance.choice((0.0, 0.02, 0.1))
    stage.add_producers(chance.randint(1, 2), chance.randint(20, 60))
    stage.add_consumers(chance.randint(2, 4))
    for _ in range(chance.randint(3, 10)):
        await world.sleep(0.05, 1.5)
        open_now = net.connections()
        what = chance.random()
        if what < 0.5 and open_now:
            end = chance.choice(open_now)
            if chance.random() < 0.5 and end.peer is not None:
                end = end.peer
            net.cut(end, half=chance.random() < 0.5)
        elif what < 0.7:
            host = chance.choice([c.name for c in (*stage.consumers, *stage.producers)])
            net.block(host, HOST)
        elif what < 0.85:
            net.heal()
        else:
            net.speed[chance.choice([c.name for c in stage.consumers])] = chance.choice((500.0, 20_000.0))
        if chance.random() < 0.1:
            await world.restart()
    await stage.finish()
