"""A disk that forgets what was not synced, and fails on request.

Keeps the contract of ``leaselog.log.Files`` while it is powered. Two layers: what a running program sees, and
what is durable plus the operations still on their way there. ``crash`` rolls dice about those:

    file bytes    per file, some first part of the unsynced writes happened; the next one may be torn in the
                  middle, or have grown the file without its bytes (zeros)
    names         some first part of the unsynced makes, renames and removals happened, in the order they were
                  asked for, as a journalling file system does; ``sync_directory`` settles its own directory's

A sync that fails lies from then on, as after a write-back error on Linux: the bytes it was to make durable can still be
read, no later sync writes them, and ``forget_cached``, a crash or both show that they are gone.

A sync of the whole file system does the same for every file, each of which may fail: whoever has a file open since
before is told once that something was lost, and the next sync of each file that it was lost of fails, whosever it is.

Names and bytes are independent: a renamed file may turn up empty. Every change is one operation, counted, so a
test can run a scenario once, count, and run it again dying at each one.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from leaselog.log import Buffer, File

__all__ = ["PowerCut", "SimDisk"]


class PowerCut(Exception):
    """The simulated machine lost power in the middle of an operation. Not an OSError: nothing may handle it."""


@dataclass(slots=True, eq=False)
class _Inode:
    live: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    #: (position, data), or (size, None) for a truncation, not synced yet
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    #: how many changes there were before those
    settled: int = 0
    #: bytes were lost, and nobody who synced this file has been told
    is_unreported: bool = False

    @property
    def changes(self) -> int:
        return self.settled + len(self.pending)

    def settle(self, changes: int) -> None:
        """A sync is done that began with so many changes."""
        count = max(changes - self.settled, 0)
        data = bytearray(self.durable)
        for change in self.pending[:count]:
            _apply(data, *change)
        self.durable, self.pending, self.settled = bytes(data), self.pending[count:], self.settled + count

    def lose(self, changes: int) -> None:
        """A sync failed that began with so many changes: their bytes stay in memory, and nobody writes them again."""
        count = max(changes - self.settled, 0)
        # A file's size is the file system's own business, and goes by its journal.
        kept = [change for change in self.pending[:count] if change[1] is None]
        self.pending, self.settled = kept + self.pending[count:], self.settled + count - len(kept)

    def forget_cached(self) -> None:
        """What is in memory only because of a failed sync is gone; what is still to be written stays."""
        data = bytearray(self.durable)
        for change in self.pending:
            _apply(data, *change)
        self.live = data

    def survive(self, dice: random.Random) -> None:
        """Become what the platter holds."""
        data = bytearray(self.durable)
        kept = dice.randint(0, len(self.pending))
        for change in self.pending[:kept]:
            _apply(data, *change)
        if kept < len(self.pending):
            position, written = self.pending[kept]
            if written:
                part = written[: dice.randrange(len(written))]
                grown = bytes(dice.choice((0, len(written) - len(part))))
                _apply(data, position, part + grown)
        self.settled = self.changes
        self.live, self.durable, self.pending = data, bytes(data), []


def _apply(data: bytearray, position: int, written: bytes | None) -> None:
    size = position if written is None else position + len(written)
    if len(data) < (size if written is None else position):
        data.extend(bytes((size if written is None else position) - len(data)))
    if written is None:
        del data[position:]
    else:
        data[position:size] = written


#: a change of names: the directories it belongs to, and what it does to a name space
_Change = tuple[frozenset[str], Callable[["_Names"], object]]


@dataclass(slots=True)
class _Names:
    files: dict[str, _Inode] = field(default_factory=dict)
    directories: set[str] = field(default_factory=lambda: {""})

    def copy(self) -> _Names:
        return _Names(dict(self.files), set(self.directories))

    def drop_unreachable(self) -> None:
        """A file or directory whose own directory never got its name is gone."""
        reachable = {""}
        for path in sorted(self.directories):
            if _parent(path) in reachable:
                reachable.add(path)
        self.directories = reachable
        self.files = {path: inode for path, inode in self.files.items() if _parent(path) in reachable}

    def move(self, source: str, target: str) -> None:
        if source in self.files:
            self.files[target] = self.files.pop(source)
            return
        below = source + "/"
        for path in [path for path in self.files if path.startswith(below)]:
            self.files[target + path[len(source) :]] = self.files.pop(path)
        moved = {path for path in self.directories if path == source or path.startswith(below)}
        self.directories = (self.directories - moved) | {target + path[len(source) :] for path in moved}


class SimDisk:
    """One machine's disk. ``operations`` counts changes since it was made; ``cut_at`` picks the one to die at."""

    def __init__(self, *, capacity_bytes: int | None = None) -> None:
        self.operations = 0
        #: die at this operation, or never
        self.cut_at: int | None = None
        #: every byte beyond this is refused with ENOSPC
        self.capacity_bytes = capacity_bytes
        #: files that may be open at once, or any number; beyond it EMFILE
        self.descriptors: int | None = None
        self.open_files = 0
        #: told when it has come to that, before anybody else
        self.on_cut: Callable[[], None] = lambda: None
        #: given the operation's name and path, says whether it fails with EIO
        self.fails: Callable[[str, str], bool] = _never
        #: given a path and what was read of it, says what the reader gets instead
        self.spoils: Callable[[str, bytes], bytes] = _as_it_is
        self._live = _Names()
        self._durable = _Names()
        self._journal: list[_Change] = []
        self._boot = 0
        self._current = ""
        #: below these directories is another file system
        self.elsewhere: tuple[str, ...] = ()
        #: how often bytes were lost, in a sync of whatever kind
        self.losses = 0

    def crash(self, seed: int = 0) -> None:
        """Lose power now, and come back. Open files are dead; what survives is decided by ``seed``."""
        dice = random.Random(seed)
        kept = dice.randint(0, len(self._journal))
        for _, change in self._journal[:kept]:
            change(self._durable)
        self._durable.drop_unreachable()
        self._journal = []
        self._live = self._durable.copy()
        for path in sorted(self._live.files):
            self._live.files[path].survive(dice)
        self.cut_at = None
        self._boot += 1
        self.open_files = 0

    @contextmanager
    def looked_at(self) -> Iterator[None]:
        """Somebody from outside looks at it: nothing fails while he does."""
        was = self.fails, self.spoils, self.descriptors
        self.fails, self.spoils, self.descriptors = _never, _as_it_is, None
        try:
            yield
        finally:
            self.fails, self.spoils, self.descriptors = was

    def used_bytes(self) -> int:
        return sum(len(inode.live) for inode in self._live.files.values())

    # -- Files ------------------------------------------------------------------------------------------

    def open(self, path: str, *, writable: bool = False, create: bool = False) -> File:
        inode = self._live.files.get(path)
        if inode is None:
            if not create:
                raise _error(errno.ENOENT, path)
            made = inode = _Inode()
            self._require_descriptor(path)
            self._change("create", path, lambda names: names.files.setdefault(path, made))
        self._require_descriptor(path)
        return _SimFile(self, path, inode, writable)

    def names(self, directory: str) -> list[str]:
        self._require_directory(directory)
        entries = [*self._live.files, *self._live.directories]
        return sorted({path.rpartition("/")[2] for path in entries if path and _parent(path) == directory})

    def exists(self, path: str) -> bool:
        return path in self._live.files or path in self._live.directories

    def size_bytes(self, path: str) -> int:
        if path not in self._live.files:
            raise _error(errno.ENOENT, path)
        return len(self._live.files[path].live)

    def make_directory(self, path: str) -> None:
        if path in self._live.directories:
            return
        self.make_directory(_parent(path))
        self._change("mkdir", path, lambda names: names.directories.add(path))

    def rename(self, source: str, target: str) -> None:
        if not self.exists(source):
            raise _error(errno.ENOENT, source)
        if target in self._live.directories and self.names(target):
            raise _error(errno.ENOTEMPTY, target)
        self._change("rename", source, lambda names: names.move(source, target), target)

    def remove(self, path: str) -> None:
        if path not in self._live.files:
            raise _error(errno.ENOENT, path)
        self._change("remove", path, lambda names: names.files.pop(path, None))

    def remove_directory(self, path: str) -> None:
        if self.names(path):
            raise _error(errno.ENOTEMPTY, path)
        self._change("rmdir", path, lambda names: names.directories.discard(path))

    def sync_directory(self, path: str) -> None:
        self._require_directory(path)
        self._require_descriptor(path)
        self.step("sync_directory", path)
        self.step_done()  # before it takes effect: nothing is promised until it returns
        settled = [change for directories, change in self._journal if path in directories]
        self._journal = [entry for entry in self._journal if path not in entry[0]]
        for change in settled:
            change(self._durable)

    def sync_everything(self, path: str) -> None:
        """What could not be written is lost, and counted."""
        self.step("sync_file_system", path)
        self.step_done()
        for name in sorted(self._live.files):
            inode = self._live.files[name]
            if self.is_elsewhere(name) or not inode.pending:
                continue
            if self.fails("sync", name):
                inode.lose(inode.changes)
                inode.is_unreported = True
                self.losses += 1
            else:
                inode.settle(inode.changes)
        settled = [entry for entry in self._journal if not any(map(self.is_elsewhere, entry[0]))]
        self._journal = [entry for entry in self._journal if entry not in settled]
        for _, change in settled:
            change(self._durable)

    def is_elsewhere(self, path: str) -> bool:
        return any(f"{path}/".startswith(f"{other}/") for other in self.elsewhere)

    # -- inside -----------------------------------------------------------------------------------------

    def step(self, operation: str, path: str) -> None:
        """Count an operation, and fail or die if it is its turn."""
        self.require_power()
        self.operations += 1
        if self.fails(operation, path):
            raise _error(errno.EIO, path)
        self._current = f"operation {self.operations}: {operation} {path}"

    def step_done(self) -> None:
        """The operation is under way: dying here, it has happened, and the dice say whether it lasts."""
        if self._is_cut():
            self.on_cut()
            raise PowerCut(self._current)

    def _is_cut(self) -> bool:
        return self.cut_at is not None and self.operations >= self.cut_at

    def require_power(self) -> None:
        """What a dying program still tries, on its way out of the call in which it died, never happens."""
        if self._is_cut():
            raise PowerCut(self._current)

    def is_alive(self, boot: int) -> bool:
        return boot == self._boot

    @property
    def boot(self) -> int:
        return self._boot

    def _change(
        self, operation: str, path: str, change: Callable[[_Names], object], target: str = ""
    ) -> None:
        self._require_directory(_parent(target or path))
        directories = frozenset({_parent(path), _parent(target)} if target else {_parent(path)})
        self.step(operation, path)
        self._journal.append((directories, change))
        change(self._live)
        self.step_done()

    def _require_descriptor(self, path: str) -> None:
        if self.descriptors is not None and self.open_files >= self.descriptors:
            raise _error(errno.EMFILE, path)

    def _require_directory(self, path: str) -> None:
        if path not in self._live.directories:
            raise _error(errno.ENOENT, path)


class _SimFile:
    def __init__(self, disk: SimDisk, path: str, inode: _Inode, writable: bool) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode
        self._writable = writable
        self._boot: int | None = disk.boot
        disk.open_files += 1
        self._known_losses = disk.losses
        #: the changes that a sync under way began with
        self._syncing: int | None = None

    def _bytes(self, *, to_write: bool = False) -> bytearray:
        if self._boot is None or not self._disk.is_alive(self._boot) or (to_write and not self._writable):
            raise _error(errno.EBADF, self._path)
        return self._inode.live

    def read_at(self, position: int, size_bytes: int) -> bytes:
        if self._disk.fails("read", self._path):
            raise _error(errno.EIO, self._path)
        self._disk.require_power()
        return self._disk.spoils(self._path, bytes(self._bytes()[position : position + size_bytes]))

    def write_at(self, position: int, data: Buffer) -> None:
        live, written = self._bytes(to_write=True), bytes(data)
        room = self._room(position + len(written) - len(live))
        fits = written if room is None else written[: max(0, len(written) - room)]
        self._step_write(position, fits)
        self._apply(position, fits)
        self._disk.step_done()
        if room is not None:
            raise _error(errno.ENOSPC, self._path)

    def _step_write(self, position: int, fits: bytes) -> None:
        try:
            self._disk.step("write", self._path)
        except OSError:
            self._apply(position, fits[: len(fits) // 2])  # the first half got through
            raise

    def _apply(self, position: int, written: bytes | None) -> None:
        self._inode.pending.append((position, written))
        _apply(self._inode.live, position, written)

    def _room(self, growth: int) -> int | None:
        """How many bytes of a growing write do not fit; None if all do."""
        capacity = self._disk.capacity_bytes
        excess = 0 if capacity is None else self._disk.used_bytes() + growth - capacity
        return excess if growth > 0 and excess > 0 else None

    def truncate(self, size_bytes: int) -> None:
        self._bytes(to_write=True)
        self._disk.step("truncate", self._path)
        self._apply(size_bytes, None)
        self._disk.step_done()

    def size_bytes(self) -> int:
        return len(self._bytes())

    def sync(self) -> None:
        self._bytes()
        changes = self._inode.changes if self._syncing is None else self._syncing
        self._syncing = None
        try:
            self._disk.step("sync", self._path)
        except OSError:
            self._inode.lose(changes)
            self._disk.losses += 1
            raise
        self._disk.step_done()
        self._inode.settle(changes)
        if self._inode.is_unreported:
            self._inode.is_unreported = False
            raise _error(errno.EIO, self._path)

    def sync_file_system(self) -> None:
        self._bytes()
        self._disk.sync_everything(self._path)
        known, self._known_losses = self._known_losses, self._disk.losses
        if self._known_losses > known:
            raise _error(errno.EIO, self._path)

    def is_beside(self, path: str) -> bool:
        if not self._disk.exists(path):
            raise _error(errno.ENOENT, path)
        return not self._disk.is_elsewhere(path)

    def begin_sync(self) -> None:
        """The next sync of this open file takes its time from here on: what is written before it is done is not in it.

        Another one's is whole, as that of a process which finds the file that this one was killed over.
        """
        self._syncing = self._inode.changes

    def forget_cached(self, *, read_ahead: bool = False) -> None:
        self._bytes()
        self._inode.forget_cached()

    def close(self) -> None:
        if self._boot is not None and self._disk.is_alive(self._boot):
            self._disk.open_files -= 1
        self._boot = None

    def __del__(self) -> None:
        self.close()

    def fileno(self) -> int | None:
        return None


def _never(operation: str, path: str) -> bool:
    return False


def _as_it_is(path: str, data: bytes) -> bytes:
    return data


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)
