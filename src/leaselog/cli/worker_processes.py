"""The processes of `leaselog worker --processes` and `--reload`: programs of their own, who hear of each other's end.

`supervision.py` decides; here it is done. Nothing is forked: each process imports its handler itself. A process has one
end of a pair of sockets, on which it says that it is ready, and hears when whoever started it is gone.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self, assert_never

from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.cli.supervision import Broken, Effect, Kill, Restart, Start, Stop, Supervision

__all__ = ["ProcessRole", "supervise"]

#: tells a process that it is one of several
_VARIABLE = "LEASELOG_WORKER_PLACE"
_READY = b"r"
#: A process that was ready and ended at once was ready first. Its own children may hold its socket open.
_LAST_WORD_S = 1.0

log = StructuredLog("worker")

Happened = Callable[[int], tuple[Effect, ...]]


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """Which process of how many this is, and how it hears of whoever started it."""

    number: int = 1
    processes: int = 1
    supervisor: socket.socket | None = None

    @classmethod
    def take(cls) -> Self:
        """Once: what this process starts is none of its kind."""
        text = os.environ.pop(_VARIABLE, "")
        if not text:
            return cls()
        number, processes, fd = map(int, text.split(":"))
        os.set_inheritable(fd, False)
        return cls(number, processes, socket.socket(fileno=fd))

    @property
    def is_supervised(self) -> bool:
        return self.supervisor is not None

    def tell_ready(self) -> None:
        if self.supervisor is not None:
            with suppress(OSError):  # it is gone: `watch` knows
                self.supervisor.send(_READY)

    def watch(self) -> None:
        """From now on the end of whoever started this process asks it to end, too."""
        if self.supervisor is not None:
            threading.Thread(target=self._wait_alone, name="leaselog-supervisor", daemon=True).start()

    def _wait_alone(self) -> None:
        assert self.supervisor is not None
        with suppress(OSError):
            self.supervisor.recv(1)
        log.warning("the process that started this one is gone")
        os.kill(os.getpid(), signal.SIGTERM)


def supervise(
    arguments: Sequence[str], supervision: Supervision, processes: int, *, is_watching: bool = False
) -> int:
    """Runs `leaselog worker` with these arguments in so many processes, until a signal. The exit code."""
    return _Supervisor(arguments, supervision, processes).run(is_watching)


class _Supervisor:
    def __init__(self, arguments: Sequence[str], supervision: Supervision, processes: int) -> None:
        self._arguments = arguments
        self._supervision = supervision
        self._count = processes
        self._running = dict[int, subprocess.Popen[bytes]]()
        # A handler of a signal may put into it, whatever was going on.
        self._events = queue.SimpleQueue[Happened]()

    def run(self, is_watching: bool) -> int:
        rules = self._supervision
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._events.put(rules.asked_to_end))
        if is_watching:
            from leaselog.cli.source_changes import watch_sources

            watch_sources(lambda: self._events.put(self._changed))
        try:
            self._do(rules.begin(_now_ms()))
            while not rules.is_over:
                self._do(self._next()(_now_ms()))
        finally:
            for process in self._running.values():
                process.kill()  # only if this is our own bug: else none is left
        log.info("stopped", processes=self._count, code=rules.exit_code)
        return rules.exit_code

    def _next(self) -> Happened:
        next_ms = self._supervision.next_ms
        try:
            timeout = None if next_ms is None else max(0, next_ms - _now_ms()) / 1000
            return self._events.get(timeout=timeout)
        except queue.Empty:
            return self._supervision.passed

    def _changed(self, now_ms: int) -> tuple[Effect, ...]:
        log.info("sources have changed")
        return self._supervision.sources_changed(now_ms)

    def _do(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case Start(number):
                    self._start(number)
                case Stop(number):
                    self._signal(number, signal.SIGTERM)
                case Kill(number):
                    log.warning("killed", process=number)
                    self._signal(number, signal.SIGKILL)
                case Restart(number, code, pause_ms):
                    log.warning(
                        "a process has ended and will be started again",
                        process=number,
                        code=code,
                        seconds=pause_ms / 1000,
                    )
                case Broken(number, code):
                    log.warning("waiting for the sources to change", process=number, code=code)
                case _:
                    assert_never(effect)

    def _signal(self, number: int, what: signal.Signals) -> None:
        if (process := self._running.get(number)) is not None:
            process.send_signal(what)

    def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        # What the current directory holds is for the handler's module to import, not for Python's start: -P.
        command = [sys.executable, "-P", "-m", "leaselog.cli.main", "worker", *self._arguments]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, _VARIABLE: f"{number}:{self._count}:{theirs.fileno()}"},
                pass_fds=[theirs.fileno()],
                # Ctrl-C at a terminal is for this process alone, which passes it on once.
                process_group=0,
            )
        except OSError as failed:
            log.error("a process could not be started", process=number, reason=failed)
            ours.close()
            self._events.put(lambda now_ms: self._supervision.ended(number, 1, now_ms))
            return
        finally:
            theirs.close()
        self._running[number] = process
        threading.Thread(target=self._follow, args=(number, process, ours), daemon=True).start()

    def _follow(self, number: int, process: subprocess.Popen[bytes], ours: socket.socket) -> None:
        listening = threading.Thread(target=self._listen, args=(number, process, ours), daemon=True)
        listening.start()
        code = process.wait()
        listening.join(_LAST_WORD_S)

        def ended(now_ms: int) -> tuple[Effect, ...]:
            ours.close()
            del self._running[number]
            return self._supervision.ended(number, code, now_ms)

        self._events.put(ended)

    def _listen(self, number: int, process: subprocess.Popen[bytes], ours: socket.socket) -> None:
        with suppress(OSError):
            if ours.recv(1) == _READY:
                self._events.put(
                    lambda now_ms: (
                        self._supervision.ready(number, now_ms)
                        if self._running.get(number) is process
                        else ()
                    )
                )


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
