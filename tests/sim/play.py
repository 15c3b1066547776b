"""Plays scenarios on a simulated world.

python tests/sim/play.py SCENARIO SEED          that very run again, with its story if it fails
python tests/sim/play.py SCENARIO FIRST-LAST    so many of them, and what they came to
python tests/sim/play.py all FIRST-LAST         of every scenario in turn
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from leaselog.testing.sim_stage import Report, Stage
from leaselog.testing.sim_world import World

__all__ = ["SCENARIOS", "Failed", "Scenario", "play"]


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    settings: Callable[[Random], dict[str, str]]
    play: Callable[[Stage], Awaitable[None]]
    #: how a stage is made, where it is not the usual one
    stage: Callable[[World], Stage]


def _found() -> dict[str, Scenario]:
    directory = Path(__file__).with_name("scenarios")
    scenarios = {}
    for module_info in iter_modules([str(directory)]):
        module: Any = import_module(f"sim.scenarios.{module_info.name}")
        make = getattr(module, "stage", Stage)
        scenarios[module_info.name] = Scenario(module_info.name, module.settings, module.play, make)
    return scenarios


SCENARIOS = _found()


class Failed(AssertionError):
    """A run in which something happened that must not; its text is all one needs to see it again."""


def play(scenario: Scenario, seed: int) -> Report:
    world = World(f"{scenario.name}-{seed}", scenario.settings(Random(f"{scenario.name}-{seed}-settings")))

    async def story() -> Report:
        stage = scenario.stage(world)
        await scenario.play(stage)
        return stage.report()

    try:
        return world.run(story)
    except Exception as failed:
        lines = "\n".join(world.lines)
        again = f"python tests/sim/play.py {scenario.name} {seed}"
        raise Failed(f"{lines}\n{type(failed).__name__}: {failed}\nplay it again: {again}") from failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", choices=[*SCENARIOS, "all"])
    parser.add_argument("seeds", help="one, or FIRST-LAST")
    parser.add_argument("--go-on", action="store_true", help="after a failure, too")
    args = parser.parse_args()
    first, dash, last = args.seeds.partition("-")
    seeds = range(int(first), int(last if dash else first) + 1)
    names = list(SCENARIOS) if args.scenario == "all" else [args.scenario]
    began, virtual_s, runs, failures = time.process_time(), 0.0, 0, 0
    seen = Counter[str]()
    for seed in seeds:
        for name in names:
            runs += 1
            try:
                report = play(SCENARIOS[name], seed)
            except Failed as failed:
                failures += 1
                print(str(failed) if not args.go_on else str(failed)[-2000:], flush=True)
                if not args.go_on:
                    return 1
                continue
            virtual_s += report.virtual_s
            seen += report.seen
            if len(seeds) * len(names) == 1:
                print(report)
    took = time.process_time() - began
    print(
        f"{runs} runs, {failures} failed, {took:.1f} s of a core: {runs / took * 60:.0f} a minute,"
        f" {virtual_s / 3600:.2f} virtual hours; {dict(seen)}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
