"""The stage that scenarios play on: a run ends, whatever its broker does."""

from __future__ import annotations

import pytest

from leaselog.admin import AsyncAdmin
from leaselog.client import BrokerError
from leaselog.model import ErrorCode
from leaselog.testing import sim_stage
from leaselog.testing.sim_stage import Stage
from leaselog.testing.sim_world import Impossible, World


def test_an_administrator_who_is_refused_for_good_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that never comes back was asked until the run had as many steps as there may be, for minutes."""
    monkeypatch.setattr(sim_stage, "LIVENESS_S", 5.0)
    world = World(0, {})
    asked = list[float]()

    async def refused(admin: AsyncAdmin) -> None:
        asked.append(world.now_s)
        raise BrokerError(ErrorCode.NOT_COORDINATOR)

    async def story() -> None:
        await world.start()
        await Stage(world).administer(refused)

    with pytest.raises(Impossible, match=r"refused for 5.0 s: .*NOT_COORDINATOR"):
        world.run(story)
    assert 5 < asked[-1] - asked[0] < 7
