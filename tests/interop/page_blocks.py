"""The blocks of a page, and somebody who pastes them one by one.

Owns what a block is and how each kind of it is run: Python in a namespace of its own, a shell block in a shell of its
own, a block that begins with `# NAME.py` or `// NAME.java` as a file of that name, and a block marked `text` as what an
earlier one prints. So nothing of an earlier block helps a later one but what it left on the broker and on the disk, as
the page says. Knows nothing of what the pages are about (`pages.py`).
"""

from __future__ import annotations

import ast
import configparser
import io
import os
import re
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from interop.broker_process import CHECKOUT
from interop.test_cli import PROGRAM

BLOCK = re.compile(r'^```(\S*)(?: title="([^"\n]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?:#|//) ([\w-]+\.(?:py|java))\n")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?")
#: what a reader has running at this address; a test runs it elsewhere
ADDRESS = "127.0.0.1:9092"
#: commands that go on until somebody ends them
ENDLESS = ("leaselog serve", "leaselog worker")
BLOCK_S = 100.0


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    #: whose it is, if not leaselog's: `Celery` beside what it is here
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name under which the page says to save it."""
        named = FILE.match(self.text)
        return named[1] if named else None

    @property
    def is_endless(self) -> bool:
        return self.language == "sh" and self.text.strip().splitlines()[-1].startswith(ENDLESS)


def blocks_of(page: str) -> list[Block]:
    text = (CHECKOUT / page).read_text()
    assert text.count("\n```") % 2 == 0, f"{page}: a block is not closed"
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2] or "", found[3])
        for found in BLOCK.finditer(text)
    ]


class Reader:
    """Pastes blocks, with a broker at ``address`` and a folder of its own; `with` it, for some commands go on.

    With ``programs``, the folder of another environment's, its leaselog is what runs, and no module of this process.
    """

    def __init__(
        self, address: str, home: Path, kafka_libs: Path | None = None, programs: Path | None = None
    ) -> None:
        self.address = address
        self.home = home
        self._kafka_libs = kafka_libs
        self._programs = programs
        self._running: list[_Endless] = []
        #: by all blocks, in order
        self.shown = ""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._running:
            one.process.kill()
            one.process.wait()

    def paste(self, block: Block, until: str) -> None:
        """Raises if it does not work, or for a command that goes on, if it does not come to show ``until``."""
        if block.language == "text":
            return self._compare(block)
        if block.file is not None:
            (self.home / block.file).write_text(self._here(block.text))
            if block.language == "python":
                ast.parse(block.text)
        elif block.is_endless:
            self._begin(block, until)
        elif block.language == "sh":
            self.shown += self._shell(block)
        elif block.language == "python":
            self._python(block)
        else:
            check_config(block)
        return None

    def end(self) -> None:
        """Ctrl-C for what still runs: it has to end well."""
        for one in reversed(self._running):
            one.end()
        self._running.clear()

    def _python(self, block: Block) -> None:
        if self._programs is not None:
            (self.home / "pasted.py").write_text(self._here(block.text))
            self.shown += self._shell(Block(block.page, block.line, "sh", "", "python pasted.py"))
            return
        out = io.StringIO()
        code = compile(self._here(block.text), str(block), "exec")
        try:
            with redirect_stdout(out):
                exec(code, {"__name__": "__main__"})
        finally:
            self.shown += out.getvalue()

    def _shell(self, block: Block) -> str:
        script = f"set -e -o pipefail\n{self._here(block.text)}"
        ended = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            text=True,
            timeout=BLOCK_S,
            cwd=self.home,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
        )
        assert ended.returncode == 0, f"{block}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def _begin(self, block: Block, until: str) -> None:
        *before, command = block.text.strip().splitlines()
        if before:
            self.shown += self._shell(Block(block.page, block.line, "sh", "", "\n".join(before)))
        endless = _Endless(self._here(command), self.home, self._environment())
        self._running.append(endless)
        shown = endless.wait_for(until)
        if not command.startswith("leaselog serve"):  # which the blocks that follow need
            self._running.remove(endless)
            shown = endless.end()
        self.shown += shown

    def _compare(self, block: Block) -> None:
        shown = {_plain(line) for line in self.shown.splitlines()}
        missing = [line for line in block.text.splitlines() if line and _plain(line) not in shown]
        assert not missing, f"{block}: nothing printed {missing}, but\n{self.shown}"

    def _here(self, text: str) -> str:
        listen = f"leaselog serve --listen {self.address}"
        text = text.replace("leaselog serve", listen).replace(f"--listen {ADDRESS}", "")
        text = text.replace(ADDRESS, self.address).replace("/tmp/", f"{self.home}/")
        return text.replace("kafka/libs", str(self._kafka_libs))

    def _environment(self) -> dict[str, str]:
        path = f"{self._programs or Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"
        inherited = dict(os.environ)
        if self._programs is not None:
            inherited.pop("PYTHONPATH", None)
        return {
            **inherited,
            "PATH": path,
            "PYTHONUNBUFFERED": "1",
        }  # a terminal shows lines as they are printed


def check_config(block: Block) -> None:
    """A block that is no program: it can be read as what it says it is."""
    match block.language:
        case "properties":
            for line in block.text.splitlines():
                assert not line or line.startswith("#") or "=" in line, f"{block}: {line}"
        case "toml":
            tomllib.loads(block.text)
        case "ini":
            configparser.ConfigParser().read_string(block.text)
        case _:
            raise AssertionError(f"{block}: nobody knows how to try a block of {block.language or 'nothing'}")


class _Endless:
    """A command that goes on, and what it has printed."""

    def __init__(self, command: str, home: Path, environment: dict[str, str]) -> None:
        self._log = home / f"endless-{time.monotonic_ns()}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=home,
                env=environment,
            )

    def wait_for(self, words: str) -> str:
        for _ in self._while_running():
            if words in (shown := self._log.read_text()):
                return shown
        raise AssertionError(f"nothing printed {words!r}, but\n{self._log.read_text()}")

    def end(self) -> str:
        """What it has printed in all."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(BLOCK_S)
        shown = self._log.read_text()
        assert code == 0, f"ended with {code}\n{shown}"
        return shown

    def _while_running(self) -> Iterator[None]:
        deadline = time.monotonic() + BLOCK_S
        while self.process.poll() is None and time.monotonic() < deadline:
            yield
            time.sleep(0.02)  # another process is awaited


def _plain(line: str) -> str:
    """Without what differs from run to run: times, and how wide a column is."""
    return " ".join(TIME.sub("TIME", line).split())
