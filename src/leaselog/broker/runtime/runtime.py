"""What all rooms of one broker stand on: its config as it is now, its clocks and chance, its turns, its counters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from leaselog.broker.config import BrokerConfig
from leaselog.broker.runtime.machine import Machine
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.turns import Turns

__all__ = ["Runtime"]


class Runtime:
    def __init__(self, config: BrokerConfig, machine: Machine) -> None:
        #: another one when an administrator has changed it
        self.config = config
        self.machine = machine
        self.turns = Turns(machine.stopwatch)
        self.metrics = Metrics()
        #: whoever waits is to be answered now
        self.is_stopping = False
        self._loop_time: Callable[[], float] | None = None

    def now_ms(self) -> int:
        """The wall clock: what records are stamped with."""
        return self.machine.wall_ms()

    def monotonic_ms(self) -> float:
        """A clock that never jumps: what deadlines are measured with."""
        if self._loop_time is None:
            # one broker, one loop; a request asks ten times
            self._loop_time = asyncio.get_running_loop().time
        return self._loop_time() * 1000
