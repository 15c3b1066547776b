"""What a broker has from the machine it runs on: files, the wall clock, chance, and threads that wait for the disk.

The one door to all of them. Whoever stands behind it decides what the broker lives through: the real machine here, a
simulated one in the test kit. Sockets, timers and the clock that never jumps are the event loop's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from secrets import randbelow
from typing import Any, Protocol
from uuid import UUID, uuid4

from leaselog.broker.runtime.directory_lock import DataDirectoryLock
from leaselog.broker.runtime.sync_threads import Outcomes, SyncThreads
from leaselog.log import Files, MemoryFiles, OsFiles, SyncJob

__all__ = ["Machine", "RealMachine", "Syncs"]

EPHEMERAL_DIRECTORY = "ephemeral"
#: no connection takes these: a log opens segments, checkpoints and directories at any time
KEPT_DESCRIPTORS = 512
#: open all the time, for when connections have taken the others before anybody could refuse them
SPARE_DESCRIPTORS = 32
#: a tenth of a second, on a slow disk; what others have written to the file system may take longer
FEW_SYNCS = 16


class Syncs(Protocol):
    """Somebody else who waits for the disk: several calls of ``run`` may be under way at once."""

    def run(self, jobs: Sequence[SyncJob], done: Callable[[Outcomes], None]) -> None:
        """Runs the jobs one after the other, then ``done`` on the loop."""

    def close(self) -> None:
        """Returns when nothing runs any more."""


class Machine(Protocol):
    @property
    def files(self) -> Files: ...

    @property
    def data_dir(self) -> str: ...

    def wall_ms(self) -> int:
        """What records are stamped with. Jumps when somebody sets the clock."""

    def new_uuid(self) -> UUID: ...

    def random_below(self, bound: int) -> int: ...

    def syncs(self) -> Syncs: ...

    @property
    def few_syncs(self) -> int:
        """Of so many logs each is synced by itself; of more all of the file system is, at once."""

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Seconds from anywhere: how long the broker's own work takes is measured with it, and nothing else."""

    def has_room_for(self, sock: Any) -> bool:
        """Whether a connection that was just accepted leaves descriptors enough for the log."""

    def release(self) -> None:
        """The broker is done with the data directory: another one may take it."""


class RealMachine:
    """This computer. Without a data directory the files are in memory. Raises ``LockedByAnother``."""

    def __init__(self, data_dir: str | None) -> None:
        self._lock: DataDirectoryLock | None = None
        self.files: Files
        self.data_dir = EPHEMERAL_DIRECTORY if data_dir is None else data_dir
        if data_dir is None:
            self.files = MemoryFiles()
        else:
            os.makedirs(data_dir, exist_ok=True)
            self._lock = DataDirectoryLock(data_dir)
            self.files = OsFiles(spare=SPARE_DESCRIPTORS)

    @property
    def few_syncs(self) -> int:
        return FEW_SYNCS

    def wall_ms(self) -> int:
        return int(time.time() * 1000)

    def new_uuid(self) -> UUID:
        return uuid4()

    def random_below(self, bound: int) -> int:
        return randbelow(bound)

    def syncs(self) -> Syncs:
        return SyncThreads()

    @property
    def stopwatch(self) -> Callable[[], float]:
        return time.perf_counter

    def has_room_for(self, sock: Any) -> bool:
        if self._lock is None:
            return True  # nothing here is a file
        import resource  # which Windows has not, where no broker has files

        # A new descriptor is the lowest that is free: so many are in use. The limit may change while we run.
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return bool(sock.fileno() < limit - min(KEPT_DESCRIPTORS, limit // 4))

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
