"""Fuzzes targets one after the other, and says what came of it.

python tests/fuzz/run.py [TARGET …] --seconds 60        all targets without a name
python tests/fuzz/run.py TARGET --replay FILE           one input again, as a finding names it
python tests/fuzz/run.py [TARGET …] --keep              what was found since into the corpus, as little as does

New inputs gather in out/fuzz; the corpus of the repository and the seeds are where each run begins.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))  # the bench
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.corpus import distilled, load, store
from fuzz.cost import allocations_traced, spend
from fuzz.seeds import SEEDS
from fuzz.targets import TARGETS

OUT = Path("out/fuzz")
MEMORY_MB = 2048
#: of one input; what costs too much is found long before
TIMEOUT_S = 30


class Outcome(NamedTuple):
    target: str
    executions: int
    seconds: float
    edges: int
    inputs: int
    findings: tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--replay", metavar="FILE", type=Path)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    unknown = set(args.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    targets = args.targets or list(TARGETS)
    if args.replay:
        with allocations_traced(TARGETS[targets[0]].budget):
            spend(TARGETS[targets[0]].budget, TARGETS[targets[0]].run, args.replay.read_bytes())
        return 0
    if args.keep:
        for target in targets:
            _keep(target)
        return 0
    outcomes = []
    for target in targets:
        outcomes.append(_fuzz(target, args.seconds))
        _print(outcomes[-1])
    return 1 if any(outcome.findings for outcome in outcomes) else 0


def _fuzz(target: str, seconds: int) -> Outcome:
    inputs, findings = OUT / target, OUT / f"{target}.findings"
    for directory in (inputs, findings):
        directory.mkdir(parents=True, exist_ok=True)
    for data in (*load(target).values(), *SEEDS[target]()):
        (inputs / hashlib.sha1(data).hexdigest()).write_bytes(data)
    before = set(findings.iterdir())
    began_s = time.monotonic()
    arguments = {
        "max_total_time": seconds, "max_len": TARGETS[target].max_bytes, "rss_limit_mb": MEMORY_MB,
        "timeout": TIMEOUT_S, "print_final_stats": 1, "artifact_prefix": f"{findings}/",
    }  # fmt: skip
    engine = Path(__file__).with_name("engine.py")
    log = OUT / f"{target}.log"
    with log.open("w") as written:
        subprocess.run(
            [
                sys.executable,
                engine,
                target,
                *(f"-{name}={value}" for name, value in arguments.items()),
                inputs,
            ],
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            check=False,
        )
    told = log.read_text(errors="replace")
    found = tuple(map(str, sorted(set(findings.iterdir()) - before)))
    if not found and "Done " not in told:
        found = (f"it ended by itself: {log}",)
    executions = _last(r"number_of_executed_units: (\d+)", told) or _last(r"^#(\d+)", told)
    edges = _last(r"cov: (\d+)", told)
    return Outcome(target, executions, time.monotonic() - began_s, edges, len([*inputs.iterdir()]), found)


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def _print(outcome: Outcome) -> None:
    print(
        f"{outcome.target:12}{outcome.executions:>12,} executions{outcome.seconds:8.0f} s"
        f"{outcome.edges:8,} edges{outcome.inputs:8,} inputs{len(outcome.findings):4} findings",
        flush=True,
    )
    for finding in outcome.findings:
        print(f"  python tests/fuzz/run.py {outcome.target} --replay {finding}", flush=True)


def _keep(target: str) -> None:
    found = [path.read_bytes() for path in (OUT / target).glob("*")] if (OUT / target).exists() else []
    kept = distilled([*load(target).values(), *found], TARGETS[target].run, SEEDS[target]())
    path = store(target, kept)
    print(f"{target:12}{len(kept):6} inputs of {sum(map(len, kept)):,} bytes, {path.stat().st_size:,} packed")


if __name__ == "__main__":
    sys.exit(main())
