"""An event loop on a thread of its own, for callers that block: it goes on while they do something else, and it does
not mind a loop that runs on the caller's thread already (a notebook)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from leaselog.client.errors import IllegalState
from leaselog.client.forks import generation, keep_for_ever

__all__ = ["LoopThread"]

T = TypeVar("T")

#: for work that was cancelled to end, and for the thread once everything in it has
_GRACE_S = 5.0
#: A wait without end can miss a signal: Python hears of it in the main thread, between two instructions.
_LOOKS_UP_S = 0.5

_log = logging.getLogger("leaselog.client")


class LoopThread:
    """Call from any thread but its own. Over once ``close`` was called."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()
        self.is_closed = False
        self._generation = generation()

    @property
    def is_of_a_parent(self) -> bool:
        """Whether the thread is in another process: this one has forked since."""
        return self._generation != generation()

    def run(
        self,
        work: Coroutine[Any, Any, T],
        keep: Callable[[T], None] | None = None,
        *,
        interrupt: Callable[[], None] | None = None,
        grace_s: float = _GRACE_S,
    ) -> T:
        """The result of ``work``, run on the loop.

        An interrupted caller has ``work`` cancelled, or ``interrupt`` called in the loop, and leaves when that has
        ended; a result that came nevertheless is not lost but handed to ``keep``.
        """
        crossing = self._begin(work)
        try:
            return crossing.wait()
        except BaseException as raised:
            if not crossing.has_raised(raised):  # it is us who are interrupted, perhaps a moment too late
                self.tell(interrupt or crossing.cancel)
                crossing.see_off(keep, grace_s)
            raise

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin ``work`` on the loop; it ends when it likes."""
        return self._begin(work).result

    def tell(self, call: Callable[[], object]) -> None:
        """Have this called in the loop soon; if it is closed meanwhile there is nobody to tell."""
        if self.is_of_a_parent:
            return
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        if self.is_of_a_parent:
            keep_for_ever(self)
            return
        self.tell(self._loop.stop)
        self._thread.join(_GRACE_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _begin(self, work: Coroutine[Any, Any, T]) -> _Crossing[T]:
        if self.is_closed:
            work.close()
            raise RuntimeError(f"{self._thread.name} is closed")
        if self.is_of_a_parent:
            work.close()
            raise IllegalState(
                "This client was made before a fork, and is its parent's: make one in each process that uses one."
            )
        crossing = _Crossing(work)
        self._loop.call_soon_threadsafe(crossing.begin)
        return crossing


class _Crossing(Generic[T]):
    """A coroutine's way into the loop's thread, and its result's way back."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self.result: Future[T] = Future()
        self._is_over = threading.Event()

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.result.cancel()
            self.result.set_running_or_notify_cancel()
        elif (failed := task.exception()) is not None:
            self.result.set_exception(failed)
        else:
            self.result.set_result(task.result())
        self._is_over.set()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def wait(self) -> T:
        """Now and then it looks up: a signal that another thread was given is heard by the main thread's next step."""
        while not self._is_over.wait(_LOOKS_UP_S):
            pass
        return self.result.result()

    def has_raised(self, error: BaseException) -> bool:
        """Whether this is how the work ended."""
        if not self.result.done():
            return False
        if self.result.cancelled():
            return isinstance(error, CancelledError)
        return self.result.exception() is error

    def see_off(self, keep: Callable[[T], None] | None, grace_s: float) -> None:
        """Wait for the end; a result that came nevertheless is kept for the next one who asks."""
        try:
            result = self.result.result(grace_s)
        except BaseException as gone:  # noqa: BLE001 - the interruption that brought us here is raised instead
            _log.debug("interrupted: %r", gone)
        else:
            if keep is not None:
                keep(result)
