"""What becomes of worker processes: when each is started, stopped and started again. Pure: time is an argument.

The first process prepares the group, so the others begin when it is ready. One that ends unasked is started again,
after a pause that grows as long as it does not live well. One that could not be started at all ends the whole: a name
that is wrong does not become right.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import Enum, auto

from leaselog.client.share.stopping import SAME_SIGNAL_MS

__all__ = ["Broken", "Effect", "Kill", "Restart", "Start", "Stop", "Supervision"]

FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000
#: whoever has lived as long has begun anew: the next end is the first
GOOD_LIFE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Start:
    number: int


@dataclass(frozen=True, slots=True)
class Stop:
    """It is to finish what it has begun."""

    number: int


@dataclass(frozen=True, slots=True)
class Kill:
    number: int


@dataclass(frozen=True, slots=True)
class Restart:
    """To be told: it has ended unasked, and will be started again in so long."""

    number: int
    code: int
    pause_ms: int


@dataclass(frozen=True, slots=True)
class Broken:
    """To be told: it could not be started, and will be when its sources have changed."""

    number: int
    code: int


Effect = Start | Stop | Kill | Restart | Broken


class _Life(Enum):
    UNBORN = auto()
    STARTING = auto()
    UP = auto()
    #: until its time
    WAITING = auto()
    #: until its sources change
    BROKEN = auto()
    OVER = auto()


@dataclass(slots=True)
class _Process:
    number: int
    life: _Life = _Life.UNBORN
    started_ms: int = 0
    due_ms: int = 0
    #: ends in a row, each after a short life
    ends: int = 0
    was_ready: bool = False
    is_told_to_stop: bool = False

    @property
    def is_alive(self) -> bool:
        return self.life in (_Life.STARTING, _Life.UP)


class Supervision:
    """Calls say what happened and return what to do. Over when `is_over`; then `exit_code` holds."""

    def __init__(self, processes: int, *, patience_ms: int, reloads: bool = False) -> None:
        self._processes = [_Process(number) for number in range(1, processes + 1)]
        self._patience_ms = patience_ms
        self._reloads = reloads
        self._kill_ms: int | None = None
        self._asked_ms: int | None = None
        self.exit_code = 0

    @property
    def is_ending(self) -> bool:
        return self._kill_ms is not None

    @property
    def is_over(self) -> bool:
        return self.is_ending and not any(process.is_alive for process in self._processes)

    @property
    def next_ms(self) -> int | None:
        """When `passed` has something to do; None if only an event can change that."""
        if self._kill_ms is not None:
            return self._kill_ms
        due = [process.due_ms for process in self._processes if process.life is _Life.WAITING]
        return min(due, default=None)

    def begin(self, now_ms: int) -> tuple[Effect, ...]:
        return (self._start(self._processes[0], now_ms),)

    def ready(self, number: int, now_ms: int) -> tuple[Effect, ...]:
        process = self._processes[number - 1]
        if process.life is not _Life.STARTING:
            return ()
        process.life = _Life.UP
        process.was_ready = True
        if self.is_ending:
            return ()
        unborn = [other for other in self._processes if other.life is _Life.UNBORN]
        return tuple(self._start(other, now_ms) for other in unborn)

    def ended(self, number: int, code: int, now_ms: int) -> tuple[Effect, ...]:
        process = self._processes[number - 1]
        was_starting = process.life is _Life.STARTING
        if self.is_ending:
            process.life = _Life.OVER
            # A signal that comes before anybody listens to it ends a process that has nothing to finish.
            if code and not (was_starting and code == -signal.SIGTERM):
                self.exit_code = self.exit_code or 1
            return ()
        if process.is_told_to_stop:  # for its sources
            return (self._start(process, now_ms),)
        if was_starting and self._reloads:
            process.life = _Life.BROKEN
            return (Broken(number, code),)
        if not process.was_ready:
            process.life = _Life.OVER
            self.exit_code = code if code > 0 else 1
            return self._stop_all(now_ms)
        process.ends = 1 if now_ms - process.started_ms >= GOOD_LIFE_MS else process.ends + 1
        pause_ms = min(FIRST_PAUSE_MS << min(process.ends - 1, 10), LONGEST_PAUSE_MS)
        process.life = _Life.WAITING
        process.due_ms = now_ms + pause_ms
        return (Restart(number, code, pause_ms),)

    def asked_to_end(self, now_ms: int) -> tuple[Effect, ...]:
        """By a signal: the first lets them finish, the second does not."""
        if not self.is_ending:
            self._asked_ms = now_ms
            return self._stop_all(now_ms)
        if self._asked_ms is not None and now_ms - self._asked_ms < SAME_SIGNAL_MS:
            return ()
        return self._kill_all()

    def sources_changed(self, now_ms: int) -> tuple[Effect, ...]:
        if self.is_ending:
            return ()
        effects = list[Effect]()
        for process in self._processes:
            if process.is_alive:
                if not process.is_told_to_stop:
                    process.is_told_to_stop = True
                    effects.append(Stop(process.number))
            elif process.life in (_Life.WAITING, _Life.BROKEN):
                effects.append(self._start(process, now_ms))
        return tuple(effects)

    def passed(self, now_ms: int) -> tuple[Effect, ...]:
        """Time has: processes are due, or those that were told to end have not."""
        if self._kill_ms is not None:
            return self._kill_all() if now_ms >= self._kill_ms else ()
        due = [p for p in self._processes if p.life is _Life.WAITING and p.due_ms <= now_ms]
        return tuple(self._start(process, now_ms) for process in due)

    def _start(self, process: _Process, now_ms: int) -> Start:
        process.life = _Life.STARTING
        process.started_ms = now_ms
        process.is_told_to_stop = False
        return Start(process.number)

    def _stop_all(self, now_ms: int) -> tuple[Effect, ...]:
        self._kill_ms = now_ms + self._patience_ms
        for process in self._processes:
            if not process.is_alive:
                process.life = _Life.OVER
        return tuple(Stop(process.number) for process in self._processes if process.is_alive)

    def _kill_all(self) -> tuple[Effect, ...]:
        alive = [process for process in self._processes if process.is_alive]
        if alive:
            self.exit_code = self.exit_code or 1
        return tuple(Kill(process.number) for process in alive)
