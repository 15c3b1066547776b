"""Writes of share state that return when the owner that sent them has ended."""

from __future__ import annotations

import asyncio
from typing import Any

from broker_in_a_box import use_persister

from handlers.share_member import ACCEPT, RELEASE, a_group, codes, ranges, run, skip_ms, still_waiting
from leaselog.broker.share_state.persister import Persister
from leaselog.coordination.share_state_commands import (
    InitializeState,
    ReadState,
    StateRead,
    WriteState,
    Written,
)
from leaselog.model import ErrorCode, GroupId, Refused


class SlowWrites:
    """A persister that writes at once and says so when it is told to."""

    def __init__(self, inner: Persister) -> None:
        self.inner = inner
        self.asked: list[WriteState] = []
        self._held: list[tuple[asyncio.Future[Any], asyncio.Future[Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, ask: WriteState) -> asyncio.Future[Written | Refused]:
        self.asked.append(ask)
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._held.append((self.inner.write(ask), told))
        return told

    async def tell(self) -> None:
        while self._held:
            held, self._held = self._held, []
            for written, told in held:
                told.set_result(await written)
            for _ in range(5):
                await asyncio.sleep(0)


def test_an_owner_that_has_ended_writes_nothing_when_its_last_write_returns() -> None:
    async def main() -> None:
        async with a_group(partitions=1, group_share_min_record_lock_duration_ms="1000") as group:
            await group.configure(share_delivery_count_limit="2", share_record_lock_duration_ms="1000")
            await group.produce(10)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 9, [RELEASE])]})
            assert ranges(await member.fetch()) == [(0, 9, 2)]
            broker = group.box.broker
            slow = SlowWrites(broker.persister)
            use_persister(broker, slow)
            accepting = await still_waiting(member.acknowledge({0: [(0, 0, [ACCEPT])]}))
            # What an administrator does who sets the group's offsets: the owner ends, its state begins anew.
            broker.shares.forget(GroupId("g"))
            assert isinstance(await slow.initialize(InitializeState(group.key(), 0, 0)), Written)
            # Its leases are over, all of them the last their records had.
            await skip_ms(1_500)
            await slow.tell()
            assert len(slow.asked) == 1
            assert codes(await accepting) == {0: 0}
            state = await broker.persister.read(ReadState(group.key()))
            assert state == StateRead(0, 0, ())
            assert ranges(await group.member("n", connection=2).fetch()) == [(0, 9, 1)]

    run(main())


def test_who_waited_for_the_last_write_of_an_owner_is_told_that_it_failed() -> None:
    async def main() -> None:
        async with a_group(partitions=1) as group:
            await group.produce(2)
            member = group.member()
            await member.fetch()
            broker = group.box.broker
            slow = SlowWrites(broker.persister)
            use_persister(broker, slow)
            # The state has a newer epoch by the time the write arrives.
            assert isinstance(await slow.initialize(InitializeState(group.key(), 3, 0)), Written)
            accepting = await still_waiting(member.acknowledge({0: [(0, 1, [ACCEPT])]}))
            broker.shares.forget(GroupId("g"))
            await slow.tell()
            assert codes(await accepting) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}

    run(main())
