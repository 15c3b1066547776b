"""The power fails at every step on the disk while dead letters are on their way: each record has one in the end."""

from __future__ import annotations

import pytest

from leaselog.testing.sim_clients import Habits
from leaselog.testing.sim_stage import Stage, settings
from leaselog.testing.sim_world import World

RECORDS = 6
#: rejects all it gets, at once
PICKY = Habits(weights=(0, 0, 100), closes=0.0, dawdles=0.0, work_s=0.0, commits=(100, 0, 0))
#: of the operations, for every change; the deep version dies at each
SAMPLED = 12


def play(cut_after: int | None) -> tuple[int, Stage]:
    """The same world until the power fails; how many operations it takes without that, from the first record on."""
    world = World("dead-letters", {}, shuffles=False)
    world.settings = settings(world.chance)
    stage = Stage(world)
    took = 0

    async def story() -> None:
        nonlocal took
        await stage.open()
        await stage.have_dead_letters("g", 1)
        began = world.disk.operations
        if cut_after is not None:
            world.disk.cut_at = began + cut_after
        stage.add_producers(1, RECORDS)
        stage.add_consumers(1, habits=PICKY)
        if cut_after is not None:
            await world.until(lambda: not world.is_up, "the power fails", 60)
            world.disk.cut_at = None
            world.cut_power()
        await stage.finish()
        took = world.disk.operations - began

    world.run(story)
    return took, stage


def dies_at(operation: int) -> None:
    _, stage = play(operation)
    assert stage.seen["records with dead letters"] == stage.seen["records"] > 0
    assert stage.seen["broker deaths"] > 0


def test_without_a_death_there_is_one_letter_of_each_record() -> None:
    _, stage = play(None)
    assert (stage.seen["records"], stage.seen["dead letters"]) == (RECORDS, RECORDS)


@pytest.mark.parametrize("number", range(SAMPLED))
def test_a_death_at_some_step_leaves_no_record_without_a_letter(number: int) -> None:
    steps, _ = play(None)
    dies_at(1 + number * (steps - 1) // SAMPLED)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_a_death_at_any_step_leaves_no_record_without_a_letter() -> None:
    steps, _ = play(None)
    for operation in range(1, steps):
        dies_at(operation)
