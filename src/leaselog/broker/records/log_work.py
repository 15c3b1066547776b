"""Carries out what a log offers in steps: as many in a turn of the loop as fit, the heavy ones on a thread.

What is heavy unpacks records, up to 64 MiB of them, and holds on to them until its steps are done. So there is one such
piece of work at a time, and the others wait in their order, with what they brought along.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import TypeVar

from leaselog.broker.runtime.turns import Turns
from leaselog.log import Steps

__all__ = ["LogWork"]

T = TypeVar("T")


class LogWork:
    def __init__(self, turns: Turns | None = None) -> None:
        self._turns = Turns(time.perf_counter) if turns is None else turns
        self._one_at_a_time = asyncio.Lock()
        #: made with the first piece of work that asks for it
        self._thread: ThreadPoolExecutor | None = None

    async def carry(self, steps: Steps[T]) -> T:
        """What the steps return, or raise."""
        async with AsyncExitStack() as held:
            is_holding = False
            while True:
                try:
                    heavy = next(steps)
                except StopIteration as end:
                    result: T = end.value
                    return result
                if heavy is not None:
                    if not is_holding:
                        await held.enter_async_context(self._one_at_a_time)
                        is_holding = True
                    await asyncio.get_running_loop().run_in_executor(self._its_thread(), heavy.run)
                else:
                    await self.breathe()

    async def breathe(self) -> None:
        """For a walk over many logs: lets others go first if this turn has been long enough."""
        if self._turns.is_spent():
            await self._turns.step_back()

    def _its_thread(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="unpacking")
        return self._thread

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
