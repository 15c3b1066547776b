"""Apache's command-line tools, any number at a time, inside one JVM (compat/java's Toolbox).

Owns the process and its protocol. A tool runs as its script would run it: its `main`, what it prints, its exit
code; only its JVM is not its own, which saves two seconds a call.
"""

from __future__ import annotations

import itertools
import struct
import subprocess
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import IO

from interop.broker_process import BrokerProcess
from interop.java_process import TIMEOUT_S, Ended, Java

TOOLS = "org.apache.kafka.tools."
#: SLF4J has no logger and says so, once, in the first tool
NOISE = ("SLF4J", "WARNING: ")


class Toolbox:
    """A JVM that waits for tools to run; `with` it."""

    def __init__(self, java: Java) -> None:
        java.compile()
        self._process = subprocess.Popen(
            java.command("interop.Toolbox"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        self._asked: dict[int, Future[Ended]] = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        self._reader.start()

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe().close()  # which ends it, and whatever still runs in it
        self._process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        self._answers().close()

    def start(self, name: str, *args: str, stdin: str = "") -> Future[Ended]:
        """Runs the class's main; the future is how it ended."""
        ended: Future[Ended] = Future()
        with self._lock:
            number = next(self._numbers)
            self._asked[number] = ended
            call = [struct.pack(">i", number), _counted(name), struct.pack(">i", len(args))]
            self._pipe().write(b"".join([*call, *map(_counted, args), _counted(stdin)]))
            self._pipe().flush()
        return ended

    def run(self, name: str, *args: str, stdin: str = "") -> Ended:
        """The same, to its end."""
        return self.start(name, *args, stdin=stdin).result(TIMEOUT_S)

    def _pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _answers(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _read_answers(self) -> None:
        answers = self._answers()
        while head := answers.read(8):
            number, code = struct.unpack(">ii", head)
            out, err = (_text(answers) for _ in range(2))
            err = "".join(line for line in err.splitlines(True) if not line.startswith(NOISE))
            self._asked.pop(number).set_result(Ended(code, out, err))
        for unanswered in self._asked.values():
            unanswered.set_exception(ConnectionError("the toolbox has ended"))


class Shell:
    """Runs a tool against one broker and insists that it ends well."""

    def __init__(self, toolbox: Toolbox, broker: BrokerProcess) -> None:
        self.toolbox = toolbox
        self._server = ("--bootstrap-server", broker.address)

    def __call__(self, tool: str, *args: str, stdin: str = "", code: int = 0) -> str:
        return self.ended(tool, *args, stdin=stdin, code=code).out

    def ended(self, tool: str, *args: str, stdin: str = "", code: int = 0) -> Ended:
        """What it printed on both streams."""
        ended = self.start(tool, *args, stdin=stdin).result(TIMEOUT_S)
        assert ended.code == code, f"{tool} {args} ended with {ended.code}\n{ended.out}\n{ended.err}"
        return ended

    def start(self, tool: str, *args: str, stdin: str = "") -> Future[Ended]:
        """While others run."""
        name = tool if tool.startswith(("org.", "kafka.", "interop.")) else TOOLS + tool
        # two of argparse's children: one takes the server before its verb only, one after it only
        line = (*self._server, *args) if tool == "FeatureCommand" else (*args, *self._server)
        return self.toolbox.start(name, *line, stdin=stdin)


def _counted(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def _text(answers: IO[bytes]) -> str:
    (length,) = struct.unpack(">i", answers.read(4))
    return answers.read(length).decode()
