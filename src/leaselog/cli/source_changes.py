"""Hears of changes of Python files below the current directory. Needs watchfiles, the `reload` extra."""

from __future__ import annotations

import threading
from collections.abc import Callable

from leaselog.cli.extras import need

__all__ = ["check_watching", "watch_sources"]


def check_watching() -> None:
    """Raises ``CommandFailed`` where there is nobody to watch."""
    need("--reload", "reload", "watchfiles")


def watch_sources(changed: Callable[[], None]) -> None:
    """In a thread that ends with the process. What came within a moment is one change."""
    from watchfiles import PythonFilter, watch

    def live() -> None:
        for _ in watch(".", watch_filter=PythonFilter(), raise_interrupt=False):
            changed()

    threading.Thread(target=live, name="leaselog-sources", daemon=True).start()
