"""Our commands in the test's own process: what they print and how they end, without starting an interpreter for each.

For tests that compare many lines with Apache's tools; `test_cli.py` runs commands as a shell does.
"""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

from interop.broker_process import BrokerProcess
from leaselog.cli.main import main


class CliHere:
    """Runs a command against the broker, and insists on its exit code."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._server = ("--bootstrap-server", broker.address)

    def __call__(self, command: str, *args: str, code: int = 0) -> str:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            ended = main([command, *self._server, *args])
        assert ended == code, f"{command} {args} ended with {ended}\n{out.getvalue()}\n{err.getvalue()}"
        return out.getvalue()

    def json(self, command: str, *args: str) -> object:
        return json.loads(self(command, *args, "--json"))
