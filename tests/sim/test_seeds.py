"""Ten thousand runs are counted, spread over the scenarios, and not begun again because somebody closed the lid."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim import seeds
from sim.play import SCENARIOS
from sim.seeds import Ledger, Run, planned, summary


def test_the_plan_takes_every_scenario_in_turn() -> None:
    assert list(planned(["a", "b"], 5, 10)) == [("a", 10), ("b", 10), ("a", 11), ("b", 11), ("a", 12)]


def test_a_ledger_remembers_what_ended_and_not_the_half_line_of_a_killed_process(tmp_path: Path) -> None:
    one, other = Run("a", 1, True, 2.5, 0.5, 7), Run("b", 1, False, 0.0, 0.25, 0)
    ledger = Ledger(tmp_path / "runs.txt")
    ledger.add(one, "")
    ledger.add(other, "what happened")
    ledger.close()
    with (tmp_path / "runs.txt").open("a") as file:
        file.write("a 2 Tr")

    again = Ledger(tmp_path / "runs.txt")
    again.add(Run("a", 2, True, 1.0, 1.0, 1), "")
    again.close()

    last = Ledger(tmp_path / "runs.txt")
    last.close()
    assert last.runs == {
        ("a", 1): one,
        ("b", 1): other,
        ("a", 2): Run("a", 2, True, 1.0, 1.0, 1),
    }
    assert (tmp_path / "runs.failed" / "b-1.txt").read_text() == "what happened\n"
    assert "3 runs    1 failed" in summary(again.runs.values())[-1]


@pytest.mark.deep
def test_only_what_the_ledger_has_not_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In processes of its own, a real run; the second time there is nothing left to do."""
    wanted = [
        "--scenarios",
        "owners",
        "--runs",
        "1",
        "--first",
        "3",
        "--jobs",
        "1",
        "--ledgers",
        str(tmp_path),
    ]
    assert seeds.main(wanted) == 0
    assert "owners            1 runs    0 failed" in capsys.readouterr().out

    def nobody(*_: object) -> None:
        raise AssertionError("a process was begun")

    monkeypatch.setattr(seeds, "play_one", nobody)
    assert seeds.main(wanted) == 0


def test_a_scenario_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        seeds.main(["--scenarios", "owners,weather"])
    assert "no scenario weather" in capsys.readouterr().err
    assert "weather" not in SCENARIOS
