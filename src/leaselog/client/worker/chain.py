"""Middleware around a handler, each plain or async, whatever the handler is.

Plain functions run in threads, one after the other in the same one; async ones run in the loop. Each gets what the call
is about and a function that calls the next, and is given its return value or its exception: a plain one at once, an
async one when it awaits.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from leaselog.client.share.calling import HandlerThreads, check_handler, is_async
from leaselog.client.worker.handlers import Subject

__all__ = ["Call", "Middleware", "chained", "check_middleware", "threads_needed"]

#: from within the loop
Call = Callable[[Subject], Awaitable[Any]]
#: from within a thread
_Plain = Callable[[Subject], Any]
#: what the call is about and the next one: ``call_next(record)`` if it is plain, ``await call_next(record)`` else
Middleware = Callable[[Any, Callable[[Any], Any]], Any]


def chained(
    middleware: Sequence[Middleware], work: _Plain, *, is_async_work: bool, threads: HandlerThreads
) -> Call:
    """From within the loop. The first is the outermost; ``work`` may return an awaitable in any case."""
    loop = asyncio.get_running_loop()
    link = _Link(work, is_async_work, threads, loop)
    for one in reversed(middleware):
        link = _Link(_around(one, link), is_async(one), threads, loop)
    return link.in_loop


def threads_needed(middleware: Sequence[Middleware], *, is_async_work: bool) -> int:
    """By one call at a time: one for each run of plain functions between async ones."""
    kinds = [*map(is_async, middleware), is_async_work]
    return sum(not kind and (index == 0 or kinds[index - 1]) for index, kind in enumerate(kinds))


def check_middleware(one: Middleware) -> None:
    """Raises ``TypeError``."""
    check_handler(one, blocking=False)
    try:
        inspect.signature(one).bind(None, None)
    except TypeError:
        raise TypeError(
            f"{one!r} is no middleware: expected a function of a record and of call_next"
        ) from None
    except ValueError:
        return  # it is written in C: the call will show


class _Link:
    """One function of the chain, as whoever is around it has to call it."""

    def __init__(
        self,
        function: _Plain,
        is_async_function: bool,
        threads: HandlerThreads,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._function = function
        self.is_async = is_async_function
        self._threads = threads
        self._loop = loop

    async def in_loop(self, subject: Subject) -> Any:
        if self.is_async:
            return await self._function(subject)
        made, error = await self._threads.call(lambda: _ended(self._function, subject))
        if error is not None:
            raise error
        return await made if inspect.isawaitable(made) else made

    def in_thread(self, subject: Subject) -> Any:
        """Blocks the thread meanwhile, which is the middleware's own."""
        made = self._function(subject)
        return self._wait(made) if inspect.isawaitable(made) else made

    def _wait(self, made: Awaitable[Any]) -> Any:
        # What it raises comes as a value: SystemExit in a task would end the loop.
        result, error = asyncio.run_coroutine_threadsafe(_ended_async(made), self._loop).result()
        if error is not None:
            raise error
        return result


def _around(one: Middleware, inner: _Link) -> _Plain:
    call_next: Callable[[Subject], Any] = inner.in_loop if is_async(one) else inner.in_thread
    return lambda subject: one(subject, call_next)


def _ended(function: _Plain, subject: Subject) -> tuple[Any, BaseException | None]:
    try:
        return function(subject), None
    except BaseException as failed:  # noqa: BLE001 - a value for whoever called
        return None, failed


async def _ended_async(made: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    try:
        return await made, None
    except BaseException as failed:  # noqa: BLE001 - a value for whoever called
        return None, failed
