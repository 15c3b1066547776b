"""An event loop on virtual time, in which chance decides what of all that is ready goes first.

Nothing waits: when nothing is ready, the clock jumps to the next timer. Whatever a real loop leaves to the operating
system (the order of two sockets, how long a thread takes) is drawn from one seeded source, so the same seed is the
same history, event for event. Asyncio promises first come, first served among callbacks; code that needs that promise
is rare and mostly wrong, so by default the order is shuffled.

Several processes share the loop, as the context their callbacks run in tells. A process that is killed never runs
again: its callbacks are dropped where they stand, with no chance to clean up, as ``SIGKILL`` does it.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeVar

from leaselog.testing.disk import PowerCut

__all__ = ["Deadlock", "Livelock", "SimLoop", "SimProcess", "current_process"]

T = TypeVar("T")


class Net(Protocol):
    """The network, as far as the loop has to know it."""

    async def connect(self, factory: Any, host: Any, port: Any) -> Any: ...

    def listen(self, factory: Any, host: Any, port: Any) -> Any: ...


#: a run that needs more callbacks than this goes round in circles
MAX_STEPS = 5_000_000
#: what a callback takes: whoever waits for a moment by looking again and again gets there
STEP_S = 2e-6
#: cancelled timers are swept out when they are so many, and most of all
SWEEP_AT = 500
KEEP_TASKS = 1_000


class Deadlock(Exception):
    """Nothing is ready, nothing is scheduled: nothing can ever happen again."""


class Livelock(Exception):
    """The run does not come to its end in any sensible number of steps."""


@dataclass(slots=True, eq=False)
class SimProcess:
    """What ``kill -9`` can be sent to: everything that was begun in it, and what that began."""

    name: str
    #: the machine it runs on: its address on the network
    host: str
    is_alive: bool = True
    is_paused: bool = False
    #: why it ended by itself, if it did
    exit: BaseException | None = None
    #: callbacks that came while it was paused
    held: list[events.Handle] = field(default_factory=list)
    #: when it went on after it had last been paused
    resumed_s: float = 0.0


_PROCESS: ContextVar[SimProcess | None] = ContextVar("leaselog_sim_process", default=None)


def current_process() -> SimProcess | None:
    return _PROCESS.get()


class SimLoop(asyncio.BaseEventLoop):
    """Made for one run. ``net`` answers for its sockets, ``work_s`` says how long a thread takes."""

    def __init__(self, chance: Random, *, shuffles: bool = True, start_s: float = 1_000.0) -> None:
        super().__init__()
        self._chance = chance
        self._shuffles = shuffles
        self._now_s = start_s
        #: one list for the whole run: it is emptied, never replaced
        self._ready: list[events.Handle] = []
        self._cancelled_timers = 0
        self._kept_tasks: list[asyncio.Task[Any]] = []
        self._keep_at_most = KEEP_TASKS
        self._is_over = False
        self._running_process: SimProcess | None = None
        self.steps = 0
        self.net: Net | None = None
        self.work_s: Callable[[], float] = lambda: 0.001
        #: what no callback should let escape, as (process, what)
        self.complaints: list[tuple[str, str]] = []
        self.on_exit: Callable[[SimProcess], None] = lambda process: None

    # -- running --------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now_s

    def spawn(self, process: SimProcess, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begins ``work`` in the process."""
        context = copy_context()
        context.run(_PROCESS.set, process)
        return self.create_task(work, context=context)

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        self._now_s += STEP_S
        if not ready or (scheduled and scheduled[0]._when <= self._now_s):
            self._advance()
            if not ready:
                return
        if self._shuffles and len(ready) > 1:
            index = int(self._chance.random() * len(ready))
            ready[index], ready[-1] = ready[-1], ready[index]
            handle = ready.pop()
        else:
            handle = ready.pop(0)
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Livelock(f"{self.steps} steps, and the clock is at {self._now_s:.3f} s")
        if handle._cancelled:
            return
        process = self._running_process = handle._context.get(_PROCESS)  # type: ignore[attr-defined]
        if process is None:
            handle._run()
        elif process.is_paused:
            process.held.append(handle)
        elif process.is_alive:
            try:
                handle._run()
            except SystemExit as exit:
                process.exit = exit
                self.on_exit(process)

    def _advance(self) -> None:
        """Timers are due; if nothing else is to be done, the next ones are."""
        scheduled = self._scheduled  # type: ignore[attr-defined]
        if self._cancelled_timers > SWEEP_AT and self._cancelled_timers * 2 > len(scheduled):
            self._sweep()
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
        if not self._ready:
            if not scheduled:
                raise Deadlock(f"nothing is left to do at {self._now_s:.3f} s")
            self._now_s = max(self._now_s, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self._now_s:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            if not timer._cancelled:
                self._ready.append(timer)

    def _sweep(self) -> None:
        scheduled = self._scheduled  # type: ignore[attr-defined]
        for timer in scheduled:
            if timer._cancelled:
                timer._scheduled = False
        scheduled[:] = [timer for timer in scheduled if not timer._cancelled]
        heapq.heapify(scheduled)
        self._cancelled_timers = 0

    def _timer_handle_cancelled(self, handle: events.TimerHandle) -> None:
        self._cancelled_timers += 1

    def resume(self, process: SimProcess) -> None:
        """What came while the process was paused comes to it now."""
        process.is_paused, process.resumed_s = False, self._now_s
        held, process.held = process.held, []
        self._ready += held

    # -- what a real loop would have threads, sockets and log lines for ----------------------------------------

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Done at once and whole, at some moment from now: a thread that was quick when it ran."""
        answer: asyncio.Future[T] = self.create_future()

        def work() -> None:
            try:
                outcome = func(*args)
            except Exception as failed:  # noqa: BLE001 - a thread hands on whatever it ends with
                if not answer.cancelled():
                    answer.set_exception(failed)
            else:
                if not answer.cancelled():
                    answer.set_result(outcome)

        self.call_later(self.work_s(), work)
        return answer

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        assert self.net is not None, "the loop has no network"
        return await self.net.connect(protocol_factory, host, port)

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **more: Any
    ) -> Any:
        assert self.net is not None, "the loop has no network"
        return self.net.listen(protocol_factory, host, port)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._is_over:
            return
        process = self._running_process
        if process is not None and not process.is_alive:
            return  # it died of this
        failure = context.get("exception")
        if isinstance(failure, PowerCut):
            return  # the machine died in the middle of the callback
        said = f"{context.get('message')}: {failure!r}"
        self.complaints.append(("nobody" if process is None else process.name, said))

    def _write_to_self(self) -> None:
        """There is no selector to wake."""

    def _process_events(self, event_list: Any) -> None:
        """There is no selector."""

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> events.Handle:
        # asyncio's own, without what it does for debugging
        handle = events.Handle(callback, args, self, context)
        if not self._is_over:
            self._ready.append(handle)
        return handle

    # -- tasks ----------------------------------------------------------------------------------------------

    def create_task(self, coro: Any, **how: Any) -> asyncio.Task[Any]:
        """Kept until it is done: what a killed process leaves unfinished must not be collected, at a moment that
        nobody chose, and run its ``finally`` blocks then."""
        task: asyncio.Task[Any] = super().create_task(coro, **how)
        self._kept_tasks.append(task)
        if len(self._kept_tasks) > self._keep_at_most:
            self._kept_tasks = [kept for kept in self._kept_tasks if not kept.done()]
            self._keep_at_most = max(KEEP_TASKS, 2 * len(self._kept_tasks))
        return task

    def end(self) -> None:
        """The world is over. Coroutines that were waiting for something are closed, and nothing comes of it."""
        self._is_over = True
        self._ready.clear()
        self._scheduled.clear()  # type: ignore[attr-defined]
        asyncio._set_running_loop(self)
        try:
            while self._kept_tasks:  # some begin others on their way out
                self._close(self._kept_tasks.pop())
        finally:
            asyncio._set_running_loop(None)
        self.close()

    @staticmethod
    def _close(task: asyncio.Task[Any]) -> None:
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(BaseException):
                task.get_coro().close()
