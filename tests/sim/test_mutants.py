"""The checks are checked: every bug that is put in on purpose is caught within the seeds that its patch states."""

from __future__ import annotations

import subprocess

import pytest

from sim.mutants import CHECKOUT, LOOSELY, Mutant, mutants, try_mutant
from sim.play import SCENARIOS


def test_there_are_enough_of_them_and_each_names_a_scenario_that_there_is() -> None:
    assert len(mutants()) >= 12
    assert all(mutant.scenario in SCENARIOS and mutant.seeds <= 200 for mutant in mutants())


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_bug_that_is_put_in_still_fits_what_it_is_put_into(mutant: Mutant) -> None:
    checked = subprocess.run(
        ["git", "apply", *LOOSELY, "--check", str(mutant.patch)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.mutant
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_bug_that_is_put_in_is_caught(mutant: Mutant) -> None:
    caught = try_mutant(mutant)
    assert caught.seed is not None, f"{mutant.what} {mutant.seeds} seeds of {mutant.scenario} found nothing"
