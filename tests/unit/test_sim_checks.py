"""What looks into a simulated broker does not depend on who hears of an answer first."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import ReadState, StateRead, WriteState, Written
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused, TopicId
from leaselog.share import RecordState
from leaselog.testing import sim_checks
from leaselog.testing.sim_checks import Inspector

KEY = SharePartitionKey(GroupId("g"), TopicId(UUID(int=7)), 0)
MOVED = Refused(ErrorCode.NOT_COORDINATOR)


class Persister:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[Any]] = []

    def ask(self, command: object) -> asyncio.Future[Any]:
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]

    initialize = read = write = delete = ask


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """A persister that an inspector listens to; the log holds the records 0 to 9."""
    monkeypatch.setattr(sim_checks, "records_of", lambda partition: [(i, "r") for i in range(10)])
    persister = Persister()
    world: Any = SimpleNamespace(impossible=[], disk=SimpleNamespace(looked_at=nullcontext))
    config = SimpleNamespace(share_delivery_count_limit=2)
    broker: Any = SimpleNamespace(
        persister=persister,
        shares=SimpleNamespace(every_owner=lambda: [SimpleNamespace(key=KEY, machine=1, is_over=False)]),
        logs=SimpleNamespace(partition=lambda topic, index: object()),
        cluster=SimpleNamespace(
            topic_name_of=lambda topic_id: "t",
            configuration=SimpleNamespace(group=lambda group_id: config),
        ),
    )
    Inspector(world).begin(broker)
    return persister, world


def write(persister: Any, start: int, *batches: tuple[int, RecordState]) -> None:
    persister.write(
        WriteState(
            KEY,
            state_epoch=0,
            leader_epoch=0,
            start_offset=start,
            delivery_complete_count=0,
            batches=tuple(StateBatch(at, at + 1, state.value, 2) for at, state in batches),
        )
    )


@pytest.mark.parametrize("is_answered", [True, False])
def test_of_several_writes_refused_at_once_the_owner_may_hear_before_the_book(
    monkeypatch: pytest.MonkeyPatch, is_answered: bool
) -> None:
    """A last lease's end stands though its write was refused; the next write, asked for in the same turn of the loop,
    has the start pass it."""

    async def story() -> list[str]:
        persister, world = watched(monkeypatch)
        persister.read(ReadState(KEY, leader_epoch=0))
        persister.asked[-1].set_result(StateRead(0, 0))
        await asyncio.sleep(0)
        write(persister, 0, (0, RecordState.ARCHIVED))
        write(persister, 0, (1, RecordState.ACKNOWLEDGED))
        if is_answered:
            for refused in persister.asked[-2:]:
                refused.set_result(MOVED)
        write(persister, 1, (1, RecordState.ARCHIVED))
        told: list[str] = world.impossible
        return told

    told = asyncio.run(story())
    assert told == ([] if is_answered else [f"{KEY}: the start passes [0], which nobody has finished"])


def test_what_was_answered_counts_from_its_answer_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> list[str]:
        persister, world = watched(monkeypatch)
        persister.read(ReadState(KEY, leader_epoch=0))
        persister.asked[-1].set_result(StateRead(0, 0))
        write(persister, 0, (0, RecordState.ACKNOWLEDGED))
        persister.asked[-1].set_result(Written())
        write(persister, 1, (1, RecordState.ACKNOWLEDGED))
        told: list[str] = world.impossible
        return told

    assert asyncio.run(story()) == []
