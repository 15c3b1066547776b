"""Plays seeds by the thousand, in several processes, and goes on where it was interrupted.

python tests/sim/seeds.py                                  ten thousand runs: every scenario in turn, from seed 1000 on
python tests/sim/seeds.py --runs 500 --first 5000 --jobs 4
python tests/sim/seeds.py --scenarios resets,letters

Every run that ended is one line of a ledger in ``out/sim``, and every failure has its story beside it. What the ledger
has is not played again, as long as the broker and the scenarios are what they were: other sources have another ledger.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import astuple, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TextIO

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from sim.play import SCENARIOS, Failed, play

__all__ = ["Ledger", "Run", "main", "planned", "play_one", "summary"]

CHECKOUT = Path(__file__).parents[2]
LEDGERS = Path("out/sim")
RUNS, FIRST = 10_000, 1_000
#: how often it says how far it is
SAY_S = 60.0
#: a process is replaced after so many runs: what a library keeps for ever is not kept for ten thousand
RUNS_A_PROCESS = 250


@dataclass(frozen=True, slots=True)
class Run:
    scenario: str
    seed: int
    is_well: bool
    virtual_s: float
    core_s: float
    deliveries: int

    def line(self) -> str:
        return " ".join(str(value) for value in astuple(self))

    @classmethod
    def of_line(cls, line: str) -> Run | None:
        """None for the half line of a process that was killed."""
        match line.split(" "):
            case [scenario, seed, is_well, virtual_s, core_s, deliveries]:
                return cls(
                    scenario, int(seed), is_well == "True", float(virtual_s), float(core_s), int(deliveries)
                )
        return None


def planned(scenarios: Sequence[str], runs: int, first: int) -> Iterator[tuple[str, int]]:
    """Every scenario in turn, seed after seed, so that any beginning of it is spread over all of them."""
    every = ((name, first + number) for number in range(-(-runs // len(scenarios))) for name in scenarios)
    return islice(every, runs)


def play_one(scenario: str, seed: int) -> tuple[Run, str]:
    """With the story, if it failed."""
    began = time.process_time()
    try:
        report = play(SCENARIOS[scenario], seed)
    except Failed as failed:
        return Run(scenario, seed, False, 0.0, time.process_time() - began, 0), str(failed)
    took = round(time.process_time() - began, 3)
    return Run(scenario, seed, True, round(report.virtual_s, 3), took, report.seen["deliveries"]), ""


def sources() -> str:
    """What a run depends on, in a few letters."""
    digest = hashlib.sha256()
    for root in (CHECKOUT / "src", CHECKOUT / "tests" / "sim" / "scenarios"):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(CHECKOUT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Ledger:
    """The runs that ended, on disk; ``stories`` is the directory of those that failed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stories = path.with_suffix(".failed")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        found = [run for run in map(Run.of_line, lines) if run is not None]
        self.runs = {(run.scenario, run.seed): run for run in found}
        # written anew, so that half a line at its end is not continued
        path.write_text("".join(run.line() + "\n" for run in self.runs.values()))
        self._file: TextIO = path.open("a", buffering=1)

    def add(self, run: Run, story: str) -> None:
        if not run.is_well:
            self.stories.mkdir(exist_ok=True)
            (self.stories / f"{run.scenario}-{run.seed}.txt").write_text(story + "\n")
        self.runs[run.scenario, run.seed] = run
        self._file.write(run.line() + "\n")

    def close(self) -> None:
        self._file.close()


def summary(runs: Iterable[Run]) -> list[str]:
    """By scenario, and all together."""
    told = list(runs)
    lines = []
    for name in [*sorted({run.scenario for run in told}), "all"]:
        of_it = [run for run in told if name in (run.scenario, "all")]
        core_s, virtual_h = sum(r.core_s for r in of_it), sum(r.virtual_s for r in of_it) / 3600
        failed = sum(not run.is_well for run in of_it)
        lines.append(
            f"{name:12} {len(of_it):6} runs {failed:4} failed {virtual_h:8.2f} virtual hours"
            f" {len(of_it) / max(core_s, 0.001) * 60:6.0f} a minute of a core"
            f" {core_s / max(len(of_it), 1) * 1000 / 60:6.1f} core minutes a thousand"
            f" {sum(run.deliveries for run in of_it):8} deliveries"
        )
    return lines


def play_all(ledger: Ledger, wanted: Iterable[tuple[str, int]], jobs: int) -> None:
    """Whatever of it the ledger has not; two at a time a process wait for their turn, the others are not begun."""
    left = [one for one in wanted if one not in ledger.runs]
    total, began_s, said_s, done = len(left), time.monotonic(), time.monotonic(), Counter[str]()
    ahead = iter(left)
    with ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=RUNS_A_PROCESS) as processes:
        under_way: set[Future[tuple[Run, str]]] = set()
        while True:
            under_way |= {
                processes.submit(play_one, *one) for one in islice(ahead, 2 * jobs - len(under_way))
            }
            if not under_way:
                return
            ended, under_way = wait(under_way, timeout=SAY_S, return_when=FIRST_COMPLETED)
            for future in ended:
                run, story = future.result()
                ledger.add(run, story)
                done["runs"] += 1
                if not run.is_well:
                    done["failed"] += 1
                    print("\n".join(story.splitlines()[-2:]), flush=True)
            now_s = time.monotonic()
            if now_s - said_s > SAY_S:
                said_s, rate = now_s, done["runs"] / (now_s - began_s) * 60
                left_min = (total - done["runs"]) / max(rate, 0.001)
                print(
                    f"{done['runs']} of {total}, {done['failed']} failed, {rate:.0f} seeds a minute,"
                    f" {left_min:.0f} minutes to go",
                    flush=True,
                )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="all of them, if not said")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--first", type=int, default=FIRST, help="seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--ledgers", type=Path, default=LEDGERS, help="a directory")
    args = parser.parse_args(arguments)
    names = args.scenarios.split(",")
    if unknown := [name for name in names if name not in SCENARIOS]:
        parser.error(f"there is no scenario {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    wanted = list(planned(names, args.runs, args.first))
    ledger = Ledger(args.ledgers / f"seeds-{sources()}.txt")
    began_s = time.monotonic()
    try:
        play_all(ledger, wanted, args.jobs)
    finally:
        ledger.close()
        played = [ledger.runs[one] for one in wanted if one in ledger.runs]
        print("\n".join(summary(played)))
        print(f"{time.monotonic() - began_s:.0f} s; the ledger is {ledger.path}")
    return 1 if any(not run.is_well for run in played) else 0


if __name__ == "__main__":
    sys.exit(main())
