"""The thread that reads standard input ends quietly when the command does, whatever it was doing."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from leaselog.cli.console_producer import _CHUNK_BYTES, _CHUNKS_AHEAD, _input_lines


def test_a_reader_that_waits_for_room_ends_quietly_when_the_command_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = list[threading.ExceptHookArgs]()
    monkeypatch.setattr(threading, "excepthook", raised.append)
    lines = tmp_path / "lines"
    #: one chunk taken, as many as fit in the queue, and one that waits
    full = (1 + _CHUNKS_AHEAD + 1) * _CHUNK_BYTES
    lines.write_bytes(b"line\n" * (full // 4))

    async def fail_with_the_reader_waiting(fd: int) -> None:
        async for _ in _input_lines():
            while os.lseek(fd, 0, os.SEEK_CUR) < full or len(asyncio.all_tasks()) == 1:  # noqa: ASYNC110
                await asyncio.sleep(0)  # the thread has no event to set
            raise RuntimeError("a record was refused")

    with lines.open("rb") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(RuntimeError, match="refused"):
            asyncio.run(fail_with_the_reader_waiting(stdin.fileno()))
        for thread in threading.enumerate():
            if thread.name == "stdin":
                thread.join(10)
                assert not thread.is_alive()
    assert raised == []
