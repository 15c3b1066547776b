"""How the source's process on the driver ends: whatever happens to Spark, `stop` runs, so that the group knows at once.

Spark ends it with a signal and not with a call. If the JVM is killed nobody ends it: it would go on acquiring until it
next has to answer, while the driver's successor wants the same records.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

__all__ = ["leave_with_spark"]

LOOK_S = 0.5


def leave_with_spark() -> None:
    """From here on the main thread raises ``SystemExit`` on SIGTERM, and when the parent process is gone."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch, args=(os.getppid(),), name="leaselog-spark-parent", daemon=True).start()


def _leave(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # Spark sends it twice, and `stop` takes a moment
    sys.exit(128 + number)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
