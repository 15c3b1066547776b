"""Calling a handler: what may be one, where it runs, and how it ended.

A coroutine function that nobody awaits has done nothing, and a generator that nobody drives neither: calling one is no
work, and may not look like it. What a handler raises is a value here: some exceptions mean something to whoever carries
them (`StopIteration` to a coroutine, `SystemExit` to a loop) and would not arrive.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["HandlerThreads", "WrongHandler", "call_plain", "check_handler", "is_async", "refused_awaitable"]

T = TypeVar("T")


class WrongHandler(TypeError):
    """The handler cannot be one: found when it was called. Nothing was accepted."""


def is_async(handler: object) -> bool:
    """Whether calling it makes a coroutine, as far as one can see without doing so."""
    return _is(inspect.iscoroutinefunction, handler)


def check_handler(handler: object, *, blocking: bool) -> None:
    """Raises ``TypeError`` for what could not do its work."""
    if not callable(handler):
        raise TypeError(f"{handler!r} is no handler: expected a function of one record")
    if _is(inspect.isgeneratorfunction, handler) or _is(inspect.isasyncgenfunction, handler):
        raise TypeError(f"{_name(handler)} yields: expected a function that is done when it returns")
    if blocking and is_async(handler):
        raise TypeError(
            f"{_name(handler)} is async: ShareConsumer.run takes a plain function, AsyncShareConsumer.run a coroutine's"
        )


def _is(question: Callable[[Any], bool], handler: object) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    if question(handler):
        return True
    if inspect.isroutine(handler) or isinstance(handler, type):
        return False
    return question(getattr(type(handler), "__call__", None))  # noqa: B004 - what a call would run is the question


def _name(handler: object) -> str:
    return getattr(handler, "__qualname__", None) or repr(handler)


def call_plain(handler: Callable[[Any], object], record: object) -> tuple[object, BaseException | None]:
    """What it returned, and what it raised."""
    try:
        made = handler(record)
    except BaseException as failed:  # noqa: BLE001 - a value for whoever called
        return None, failed
    if inspect.isgenerator(made) or inspect.isasyncgen(made):
        return None, WrongHandler(f"{_name(handler)} returned a generator: nothing has been done")
    return made, None


def refused_awaitable(handler: Callable[[Any], object], made: object) -> WrongHandler | None:
    """What a plain function should not have returned."""
    if not inspect.isawaitable(made):
        return None
    if inspect.iscoroutine(made):
        made.close()
    return WrongHandler(
        f"{_name(handler)} returned {type(made).__name__}, which nobody awaits here: nothing has been done."
        " AsyncShareConsumer.run takes coroutine functions"
    )


class HandlerThreads:
    """So many threads at most, made when they are needed. They do not keep a process from ending."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._work = queue.SimpleQueue[Callable[[], None] | None]()
        self._threads = 0
        self._free = 0

    def call(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """From the loop. ``work`` raises nothing."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def give(result: T) -> None:
            self._free += 1
            if not future.done():
                future.set_result(result)

        def run() -> None:
            result = context.run(work)
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(give, result)

        if self._free:
            self._free -= 1
        elif self._threads < self._limit:
            self._threads += 1
            threading.Thread(target=self._live, name=f"{self._name}-{self._threads}", daemon=True).start()
        else:
            self._free -= 1  # somebody who is not through yet
        self._work.put(run)
        return future

    def close(self) -> None:
        """No more work; who works ends when that is done."""
        for _ in range(self._threads):
            self._work.put(None)

    def _live(self) -> None:
        while (run := self._work.get()) is not None:
            run()
