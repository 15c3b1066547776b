"""Checks the checks: bugs that are put in on purpose, one at a time, and must be caught by the simulation.

    python tests/sim/mutants.py [NAME …] [--jobs N]

Each is a patch in ``mutants``, whose head says what is wrong with it, which scenario has to find it, and within how
many seeds. It is applied to a copy of the tree; nothing here is touched. A patch that no longer fits fails, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CHECKOUT", "LOOSELY", "Caught", "Mutant", "mutants", "try_mutant"]

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
#: of the lines around a change the nearest has to be what it was; a patch is not to break with what it is not about
LOOSELY = ("-C1",)
#: for all of a mutant's seeds
PATIENCE_S = 900


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    patch: Path
    what: str
    scenario: str
    seeds: int


@dataclass(frozen=True, slots=True)
class Caught:
    mutant: Mutant
    #: the seed that did it; None if none did
    seed: int | None
    said: str


def mutants() -> list[Mutant]:
    return [_read(path) for path in sorted((HERE / "mutants").glob("*.patch"))]


def _read(path: Path) -> Mutant:
    what, scenario, seeds, *_ = path.read_text().splitlines()
    return Mutant(
        path.stem, path, what, scenario.removeprefix("Scenario: "), int(seeds.removeprefix("Seeds: "))
    )


def try_mutant(mutant: Mutant) -> Caught:
    """Raises ``CalledProcessError`` if the patch does not fit."""
    with tempfile.TemporaryDirectory(prefix="leaselog-mutant-") as directory:
        copy = Path(directory)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / "src", copy / "src", ignore=ignored)
        shutil.copytree(HERE, copy / "tests" / "sim", ignore=ignored)
        subprocess.run(
            ["git", "apply", *LOOSELY, str(mutant.patch)], cwd=copy, check=True, capture_output=True
        )
        played = subprocess.run(
            [sys.executable, "tests/sim/play.py", mutant.scenario, f"0-{mutant.seeds - 1}"],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy / "src")},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    if played.returncode == 0:
        return Caught(mutant, None, played.stdout.strip().splitlines()[-1])
    if not (lines := played.stdout.strip().splitlines()) or "play it again" not in lines[-1]:
        raise AssertionError(f"{mutant.name}: {played.stderr[-2000:]}")
    return Caught(mutant, int(lines[-1].rsplit(" ", 1)[1]), lines[-2])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="some of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args(arguments)
    chosen = [mutant for mutant in mutants() if not args.names or mutant.name in args.names]
    missed = 0
    with ThreadPoolExecutor(args.jobs) as threads:
        for caught in threads.map(try_mutant, chosen):
            mutant = caught.mutant
            missed += caught.seed is None
            where = f"{mutant.scenario} {caught.seed}" if caught.seed is not None else "NOT CAUGHT"
            print(f"{mutant.name:32} {where:16} {caught.said[:160]}", flush=True)
    print(f"{len(chosen)} bugs, {missed} not caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
