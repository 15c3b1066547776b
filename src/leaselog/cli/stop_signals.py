"""What a command does in its loop when it is asked to end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

__all__ = ["forget_signals", "on_signals"]


def on_signals(call: Callable[[], object], *numbers: int) -> None:
    """Have this called in the running loop at each of these signals.

    Windows has no such signals to send, and asyncio no such handlers there: Ctrl-C ends the command at once.
    """
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, call)


def forget_signals(*numbers: int) -> None:
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):
        for number in numbers:
            loop.remove_signal_handler(number)
