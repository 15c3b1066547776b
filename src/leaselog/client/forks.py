"""Which process this is. A fork copies a client's memory, but neither its threads nor its right to its connections.

In the child nothing of the parent's loop may be touched: its sockets and its poll set are the same ones as the
parent's, and taking a socket out there would take it out in the parent. What is left of it is therefore kept, for ever.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable
from multiprocessing import parent_process, util
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "at_exit", "generation", "keep_for_ever", "tell_of_forks"]


class Forked(Protocol):
    def begin_in_child(self) -> None:
        """This is the child, it has one thread, and locks may be held by threads that are not there."""


_log = logging.getLogger("leaselog.client")
_generation = 0
_clients: WeakSet[Forked] = WeakSet()
_kept = list[object]()


def generation() -> int:
    """How many forks lie between the first process and this one."""
    return _generation


def tell_of_forks(client: Forked) -> None:
    """Call it in every child, as long as it lives."""
    _clients.add(client)


def keep_for_ever(*parents: object) -> None:
    _kept.extend(parents)


def at_exit(call: Callable[[], object]) -> None:
    """Have this called when the process ends, and its threads are still there; it may be called more than once.

    A child that multiprocessing has made ends without what `atexit` was told, and has a list of its own.
    """
    atexit.register(call)
    if parent_process() is not None:
        util.Finalize(None, call, exitpriority=0)


def _begin_in_child() -> None:
    global _generation
    _generation += 1
    for client in list(_clients):
        try:
            client.begin_in_child()
        except Exception:  # noqa: BLE001 - one client's trouble is not to leave the others with the parent's threads
            _log.exception("a client of the parent process cannot begin anew in its child")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
