"""A folder on the driver's machine through which a query's outcomes reach its source, which is another process.

The sink, or `foreach_batch`, drops a report when a batch's work is done and before Spark commits the batch. The source
takes it when it hears that the batch is over. Files outlive both: a driver that is killed in between finds the reports
when it comes back. Each says of which of the source's batches it is, since an earlier batch, or one of another
checkpoint, may have said something else of the same records; the source leaves the number in the folder. One source at
a time may use a folder; it locks it, and that lock is how others see that it lives.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from uuid import uuid4

from leaselog.client import ConfigError
from leaselog.spark import extras as added
from leaselog.spark import runs
from leaselog.spark.extras import Extras
from leaselog.spark.options import BoxOptions
from leaselog.spark.runs import Runs

if sys.platform != "win32":
    import fcntl

__all__ = ["BoxInUse", "OutcomeBox", "Report", "SpoiltReport", "live_boxes"]

LOOK_S = 0.1
#: nobody writes a report for so long
PART_S = 600.0

_REPORT = "report-"
_LOCK = "lock"
_ABOUT = "about.json"
_CURRENT = "current.json"
_PART = ".part"


class BoxInUse(ConfigError):
    """Another source on this machine reads the same box."""


class SpoiltReport(ConfigError):
    """A file that is no report any more."""


@dataclass(frozen=True, slots=True)
class Report:
    name: str
    #: Spark's number of the batch, which is not the source's
    batch_id: int
    outcomes: Runs
    extras: Extras = field(default_factory=dict)
    #: the source's number of the batch; 0 if no source had begun one
    number: int = 0


class OutcomeBox:
    """`drop` for sinks. A source holds it `as_owner`, and then may `read` and `discard`."""

    def __init__(self, options: BoxOptions) -> None:
        self._options = options
        self.folder = _base(options.location) / _name(options)

    @contextmanager
    def as_owner(self, wait_s: float = 0.0) -> Iterator[None]:
        """Raises ``BoxInUse`` if another source has it, and does not give it up within ``wait_s``."""
        self._make()
        about = {"group": self._options.group_id, "channel": self._options.channel}
        about["bootstrap"] = self._options.bootstrap_servers
        with (self.folder / _LOCK).open("a") as lock:
            deadline = time.monotonic() + wait_s
            while not _try_lock(lock):
                if time.monotonic() >= deadline:
                    raise BoxInUse(
                        f"another query on this machine reads share group {self._options.group_id} with"
                        f" acknowledge=explicit: give each of them, and its sink, an outcomesChannel of its own"
                    )
                time.sleep(LOOK_S)
            self._clear_parts()
            _write_whole(self.folder / _ABOUT, about)
            yield

    def begin(self, number: int) -> None:
        """Reports are of this batch from here on. A source says so before the tasks of a batch run, each time."""
        _write_whole(self.folder / _CURRENT, {"number": number})

    def drop(self, batch_id: int, outcomes: Runs, extras: Extras | None = None) -> None:
        """Safe on disk, and visible as a whole, when this returns."""
        self._make()
        name = f"{_REPORT}{time.time_ns():020d}-{batch_id}-{uuid4().hex}.json"
        content: dict[str, object] = {
            "batch": batch_id,
            "number": self._current(),
            "outcomes": runs.to_json(outcomes),
        }
        if extras:
            content["remarks"] = added.to_json(extras)
        _write_whole(self.folder / name, content)

    def read(self) -> list[Report]:
        """All reports, the oldest first."""
        if not self.folder.is_dir():
            return []
        paths = sorted(path for path in self.folder.iterdir() if path.name.startswith(_REPORT))
        return [_report(path) for path in paths]

    def discard(self, reports: Sequence[Report]) -> None:
        """They are gone when this returns, a power cut after it or not."""
        for report in reports:
            (self.folder / report.name).unlink(missing_ok=True)
        if reports:
            _sync(self.folder)

    def _current(self) -> int:
        path = self.folder / _CURRENT
        return int(json.loads(path.read_text())["number"]) if path.is_file() else 0

    def _clear_parts(self) -> None:
        """Of who was killed while it wrote; what is young may still become a report."""
        for part in self.folder.glob(f".*{_PART}"):
            with suppress(FileNotFoundError):
                if time.time() - part.stat().st_mtime > PART_S:
                    part.unlink()

    def _make(self) -> None:
        base = self.folder.parent
        if self.folder.is_dir() and base.stat().st_uid == os.getuid():
            return
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if base.stat().st_uid != os.getuid():
            raise ConfigError(f"{base} belongs to somebody else: name another folder with outcomesLocation")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        _sync(base)
        _sync(base.parent)


def _report(path: Path) -> Report:
    try:
        content = json.loads(path.read_text())
        extras = added.from_json(content.get("remarks", ()))
        outcomes = runs.from_json(content["outcomes"])
        return Report(path.name, content["batch"], outcomes, extras, content["number"])
    except (ValueError, KeyError, TypeError, AttributeError) as bad:
        raise SpoiltReport(
            f"{path} should hold the outcomes of a batch, and cannot be read: {bad!r:.200}. Delete it, and those"
            f" records of the batch that come again are processed again"
        ) from bad


def live_boxes(location: str | None = None) -> list[BoxOptions]:
    """What the sources that live on this machine, and have this ``location``, are reading."""
    base = _base(location)
    found: list[BoxOptions] = []
    for folder in sorted(base.iterdir()) if base.is_dir() else ():
        if (folder / _ABOUT).is_file() and _is_locked(folder / _LOCK):
            about = json.loads((folder / _ABOUT).read_text())
            found.append(BoxOptions(about["bootstrap"], about["group"], location, about["channel"]))
    return found


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: Path) -> bool:
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(lock, fcntl.LOCK_UN)
        return False


def _base(location: str | None) -> Path:
    """Of this user alone unless told otherwise: a report decides what becomes of records."""
    return Path(location) if location else Path(tempfile.gettempdir()) / f"leaselog-spark-{os.getuid()}"


def _name(options: BoxOptions) -> str:
    whose = "\n".join((options.bootstrap_servers, options.group_id, options.channel))
    return hashlib.sha256(whose.encode()).hexdigest()[:32]


def _write_whole(path: Path, content: object) -> None:
    """In place as a whole or not at all, whatever stops the machine, and in place for good when this returns."""
    part = path.with_name(f".{path.name}{_PART}")
    with part.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """What names the folder holds is on disk when this returns: a file's own sync does not say that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
