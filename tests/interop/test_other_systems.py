"""Windows and macOS, as far as Linux can pretend to be them: without the modules and names that are not there.

What Linux cannot show is how their event loops, files and signals behave.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT

pytestmark = pytest.mark.only_leaselog("what a system lacks is found with a broker in the same process")


def run_there(module: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", f"interop.{module}", str(home / "data")],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "tests")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_client_works_without_what_windows_has_not(tmp_path: Path) -> None:
    assert run_there("on_windows", tmp_path).endswith("works\n")


def test_broker_and_client_work_without_what_macos_has_not(tmp_path: Path) -> None:
    assert run_there("on_macos", tmp_path).endswith("works\n")
