"""Whoever stands behind the doors decides what clients and brokers take for time and chance."""

from __future__ import annotations

import asyncio
from random import Random
from uuid import UUID

from leaselog.broker.broker import Broker
from leaselog.broker.config import BrokerConfig
from leaselog.broker.config.listeners import Listener
from leaselog.broker.runtime.machine import RealMachine
from leaselog.client import machine
from leaselog.client.machine import Machine, on_machine


def test_a_client_on_another_machine_reads_its_clocks_until_the_block_ends() -> None:
    other = Machine(
        monotonic_ns=lambda: 7_000_000_000,
        wall_ns=lambda: 9_000_000,
        new_uuid=lambda: UUID(int=3),
        new_chance=lambda: Random(5),
    )
    with on_machine(other):
        assert (machine.monotonic_ms(), machine.monotonic_s()) == (7_000, 7.0)
        assert machine.wall_ms() == 9
        assert machine.new_uuid() == UUID(int=3)
        assert machine.new_chance().random() == Random(5).random()
    assert machine.wall_ms() > 9


class SetClock(RealMachine):
    """In memory, on the first of January 1970."""

    def wall_ms(self) -> int:
        return 86_400_000

    def new_uuid(self) -> UUID:
        return UUID(int=2**127 + 1)


def test_a_broker_stamps_and_names_with_what_its_machine_says() -> None:
    async def main() -> None:
        broker = Broker(BrokerConfig.from_originals({}), data_dir=None, machine=SetClock(None))
        await broker.start([Listener.plaintext("127.0.0.1", 0)])
        try:
            assert broker.now_ms() == 86_400_000
            assert broker.cluster.directory_id == UUID(int=2**127 + 1)
        finally:
            await broker.stop()

    asyncio.run(main())
