"""The broker of the demos: `leaselog serve` as a child process that can be killed and started again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from leaselog.cli.arguments import CommandFailed
from leaselog.cli.extras import need_server

__all__ = ["DemoBroker"]

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 10.0
_LOG_TAIL_BYTES = 2_000


class DemoBroker:
    """`leaselog serve` as a child process on a port of its own."""

    def __init__(self, home: Path, configs: Mapping[str, str] | None = None) -> None:
        self._home = home
        self._configs = configs or {}
        self.data = home / "data"
        self.address = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it serves. A second start takes the same port, where its clients look for it."""
        need_server()
        ready = self._home / "ready"
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "leaselog.cli.main", "serve", "--listen", self.address]
        command += ["--data-dir", str(self.data), "--ready-file", str(ready)]
        for name, value in self._configs.items():
            command += ["--set", f"{name}={value}"]
        with (self._home / "broker.log").open("ab") as log:
            # In a session of its own, so that Ctrl-C reaches us alone and it goes last.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise CommandFailed(f"the broker did not start:\n{self._log_tail()}")
            time.sleep(0.01)
        self.address = ready.read_text().strip()

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    async def restart_after_kill(self) -> float:
        """SIGKILL and a new start; the seconds until it serves again."""
        began = time.monotonic()
        await asyncio.to_thread(self.kill)
        await asyncio.to_thread(self.start)
        return time.monotonic() - began

    def disk_bytes(self, topic: str) -> int:
        """What the topic takes on disk."""
        return sum(f.stat().st_size for f in self.data.glob(f"{topic}-*/*") if f.is_file())

    def _log_tail(self) -> str:
        return (self._home / "broker.log").read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")
