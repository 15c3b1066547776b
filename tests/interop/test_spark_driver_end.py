"""The source's process on the driver ends with what started it, and in good order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from interop.confluent_io import wait_until

SOURCE = """
import sys, threading
from leaselog.spark.driver_end import leave_with_spark
leave_with_spark()
try:
    print("ready", flush=True)  # within: the signal may come before this line has returned
    threading.Event().wait(60)  # as a call that waits for another thread
finally:
    open(sys.argv[1], "w").close()
"""
SPARK = """
import subprocess, sys
source = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], start_new_session=True)
print(source.pid, flush=True)
source.wait()
"""


@pytest.mark.parametrize("how", ["its parent is killed", "it is terminated, twice"])
def test_a_source_that_loses_spark_in_the_middle_of_a_call_still_stops(tmp_path: Path, how: str) -> None:
    stopped = tmp_path / "stopped"
    spark = subprocess.Popen(
        [sys.executable, "-c", SPARK, SOURCE, str(stopped)], stdout=subprocess.PIPE, text=True
    )
    assert spark.stdout is not None
    with spark.stdout as out:
        source = int(out.readline())
        assert out.readline() == "ready\n"
        if how == "its parent is killed":
            spark.kill()
        else:
            os.kill(source, signal.SIGTERM)
            with suppress(ProcessLookupError):  # it may be quicker than that
                os.kill(source, signal.SIGTERM)
        wait_until(stopped.exists, "the source to stop")
    spark.wait(30)
