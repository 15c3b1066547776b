"""SIGTERM and SIGINT while a worker runs and closes: the first asks it to end well, the second to end at once.

Handlers of signals belong to the process: all workers in the main thread share these, and a handler that the
application has set itself is left alone. Who ends a group of processes may signal each of them and the group, as GNU
`timeout` does: two signals so close together are one.

A worker that a signal has ended has yet to leave its group. So what has come another way may come behind its end, and
is the same one there, too; and where nothing was heard before the consumer closes, it closes before the signal does
what it would have done.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from leaselog.client.machine import monotonic_ms

__all__ = ["SAME_SIGNAL_MS", "StopSignals"]

#: a second one within this time is the first, which has come another way; nobody who insists is as quick
SAME_SIGNAL_MS = 500

_SIGNALS = (signal.SIGTERM, signal.SIGINT)

#: who is to hear of a signal, and what the handlers were before
_listening = list["StopSignals"]()
_previous = dict[int, Any]()


class StopSignals:
    """Use as ``with``, around what ends soon after ``stop`` or ``stop_at_once``. In the main thread only."""

    def __init__(
        self, stop: Callable[[], None], stop_at_once: Callable[[], None], *, is_wanted: bool = True
    ) -> None:
        self._stop = stop
        self._stop_at_once = stop_at_once
        self._is_wanted = is_wanted and _is_main_thread()
        self._heard = 0
        self._first_ms = 0
        self._last: int | None = None
        #: the block has ended because of a signal, and what it ended has yet to close
        self._is_behind = False

    def __enter__(self) -> Self:
        if self._is_wanted:
            self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._heard == 1:
            self._is_behind = True
            # who made this may go on for long without closing, and nobody is to be kept for it
            self._stop, self._stop_at_once = _nothing, self._do_as_without_us
        else:
            self._forget()

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Around what a worker does behind the block to leave well. Of signals, the first lets it do that."""
        if not self._is_wanted or self._heard > 1 or not _is_main_thread():
            yield
            return
        was_asked = self._heard == 1
        if not was_asked:
            self._stop, self._stop_at_once = _nothing, self._do_as_without_us
            self._listen()
        try:
            yield
        finally:
            self._forget()
        if not was_asked and self._last is not None:
            self._do_as_without_us()

    def _listen(self) -> None:
        # Those whose block has ended no longer decide about a process in which somebody works.
        _listening[:] = [one for one in _listening if not one._is_behind]
        _take_over()
        _listening.append(self)

    def _forget(self) -> None:
        if self in _listening:
            _listening.remove(self)
            if not _listening:
                _restore()

    def _do_as_without_us(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            self._forget()
            _restore()
            signal.raise_signal(last)

    def pass_on(self) -> None:
        """Behind the block: who was to end at once does what the signal would have done without us."""
        if self._last is not None and self._heard > 1:
            last, self._last = self._last, None
            signal.raise_signal(last)

    def hear(self, number: int, now_ms: int) -> None:
        if self._heard == 0:
            self._first_ms = now_ms
        elif now_ms - self._first_ms < SAME_SIGNAL_MS:
            return
        self._heard += 1
        self._last = number
        if self._heard == 1:
            self._stop()
        else:
            self._stop_at_once()


def _take_over() -> None:
    for number in _SIGNALS:
        previous = signal.getsignal(number)
        if _is_default(previous):
            _previous[number] = previous
            signal.signal(number, _on_signal)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _nothing() -> None:
    pass


def _begin_in_child() -> None:
    _listening.clear()
    _restore()


def _restore() -> None:
    while _previous:
        number, previous = _previous.popitem()
        if signal.getsignal(number) is _on_signal:  # and not one that the application has set meanwhile
            signal.signal(number, previous)


# A child of a fork has these handlers as well, and nobody in it who would stop: SIGTERM could not end it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


def _is_default(handler: Any) -> bool:
    """Whether nobody has said what should happen: the application's own handler knows better, and so does "ignore"."""
    if handler in (signal.SIG_DFL, signal.default_int_handler):
        return True
    return isinstance(getattr(getattr(handler, "func", None), "__self__", None), asyncio.Runner)


def _on_signal(number: int, frame: FrameType | None) -> None:
    listening = tuple(_listening)
    now_ms = monotonic_ms()
    for one in listening:
        one.hear(number, now_ms)
    if any(one._heard > 1 for one in listening):
        _restore()  # whoever insists a third time is through to the process
