"""franz-go's share consumer: the checks of compat/franz-go, all in one process, one test each.

An implementation of its own, in Go, that speaks the newest versions. Building it takes a minute of processor time the
first time, so it belongs to the deep tier; where Go is not installed the tests are skipped and say so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT, BrokerProcess

SOURCES = CHECKOUT / "compat" / "franz-go"
PROGRAM = CHECKOUT / "out" / "go" / "franz-go"
CHECKS = re.findall(r'^\s*"(\w+)":\s*\w+,', (SOURCES / "main.go").read_text(), re.MULTILINE)

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def program() -> Path:
    """Go itself knows what has to be built anew."""
    if shutil.which("go") is None:
        pytest.skip("go not found: franz-go's share consumer is not judged here")
    subprocess.run(["go", "build", "-o", str(PROGRAM), "."], cwd=SOURCES, check=True, timeout=1_800)
    return PROGRAM


@pytest.fixture(scope="module")
def report(program: Path, share_broker: BrokerProcess) -> dict[str, tuple[bool, str]]:
    command = [str(program), share_broker.address, f"go-{uuid.uuid4().hex[:8]}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    lines = [line.split("\t") for line in ended.stdout.splitlines()]
    return {name: (outcome == "PASS", wrong) for outcome, name, _, wrong in lines}


@pytest.mark.parametrize("check", CHECKS)
def test_share_franz_go(report, check: str) -> None:
    passed, wrong = report[check]
    assert passed, wrong


def test_every_check_that_the_program_has_is_a_test_here(report) -> None:
    assert sorted(report) == sorted(CHECKS)
