"""Scenarios on a simulated world: the unmodified broker and client, and bad disks, lines and clocks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.play import SCENARIOS, play

HERE = Path(__file__).parent
#: fifty in all, for every change; `seeds.py` plays them by the thousand
SEEDS = 50


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_impossible_happens_and_everything_gets_through(name: str) -> None:
    names = list(SCENARIOS)
    seen = 0
    for number in range(SEEDS):
        if names[number % len(names)] == name:
            seen += play(SCENARIOS[name], number).seen["deliveries"]
    assert seen > 50, "the scenario has become too quiet to find anything"


def test_one_seed_is_one_history_in_every_process() -> None:
    """Event for event, with their times; whatever strings hash to in the process, and whatever ran there before."""
    play(SCENARIOS["members"], 1)
    told = {play(SCENARIOS[name], 3).digest for name in ("crashes", "owners")}
    for name, hash_seed in (("crashes", "0"), ("owners", "1")):
        again = subprocess.run(
            [sys.executable, str(HERE / "play.py"), name, "3"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )
        assert any(f"digest='{digest}'" in again.stdout for digest in told), again.stdout
