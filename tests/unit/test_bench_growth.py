"""The bench of growth, with small numbers: every row says something."""

from __future__ import annotations

import asyncio

import pytest
from bench import growth
from handlers.share_member import run


# `starts` has a broker on a port: see tests/interop/test_bench.py
@pytest.mark.parametrize("row", [row for row in growth.ROWS if row != "starts"])
def test_every_row_of_growth_is_told(
    row: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "quiet_collector", lambda: None)  # of this process, which has more to do
    monkeypatch.setattr(growth, "JOBS", 5)
    run(asyncio.wait_for(growth.measure([row], is_quick=True), 60))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(told) > 2, "the heading, and more"
