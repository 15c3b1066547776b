"""leaselog beside Apache Kafka in one run.

    make bench                                     everything; for hours on a machine that has nothing else to do
    .venv/bin/python -m bench produce job-queue    some rows
    .venv/bin/python -m bench --quick --rounds 1   whether every row works, in minutes; its figures mean little

Every round runs every row on both brokers, one after the other, on fresh directories of one disk; who is first changes
from round to round. All figures go into JSON, with `--write` the table into docs/benchmarks.md and they beside it;
`--render` makes the table of such a file again. How long it takes is said first. What takes too long for one sitting is
done in several:

    make bench BENCH="--minutes 60"                begins nothing that would not be over by then
    make bench BENCH=--resume                      goes on: what has its figures in the JSON is not run again
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from bench import ROOT
from bench.frame import KAFKA, LEASELOG, Figure, Run
from bench.jvm import Jars, JavaClients, bring_jars
from bench.machine import describe
from bench.report import render, write_into
from bench.rows import ROWS
from bench.runner import Plan, Sitting, Turn
from bench.timetable import Progress, expected_s, timetable

PAGE = ROOT / "docs" / "benchmarks.md"
RAW = ROOT / "out" / "bench" / "raw.json"
#: what the page was written from
KEPT = PAGE.with_suffix(".json")


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the brokers end with the run, however it ends
    args = arguments()
    rows = [row for row in ROWS if row.name in args.rows or not (args.rows or row.only_when_named)]
    if args.render:
        run = Run.of_json(args.render.read_text())
    else:
        run = measured(args, [row.name for row in rows])
    text = render(run, ROWS)
    print(text)
    if args.write:
        write_into(PAGE, text)
        KEPT.write_text(run.as_json())
    return 1 if any(figure.failed for figure in run.figures) else 0


def measured(args: argparse.Namespace, names: list[str]) -> Run:
    jars = bring_jars()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as home:
        plan = Plan(
            [row for row in ROWS if row.name in names], args.durability, args.rounds, args.quick,
            [kind for kind in (LEASELOG, KAFKA) if not args.only or kind == args.only], args.cases or (),
        )  # fmt: skip
        facts = {**describe(Path(home)), **jars.versions()}
        run = begun(args, plan, facts)
        turns = plan.left(run.figures)
        # of a turn that did not get to its end, or had a case that failed, everything is measured anew
        run.figures = [figure for figure in run.figures if not any(turn.made(figure) for turn in turns)]
        tell(timetable(turns, plan.cases, is_quick=plan.is_quick))
        measure(run, plan, turns, jars, args, Path(home))
    return run


def begun(args: argparse.Namespace, plan: Plan, facts: dict[str, str]) -> Run:
    """An empty run, or with ``--resume`` the one that lies in the JSON."""
    args.json.parent.mkdir(parents=True, exist_ok=True)
    if not args.json.exists():
        return Run(facts, plan.settings())
    if not args.resume:
        args.json.replace(args.json.with_suffix(".before.json"))  # hours of figures are not lost by a slip
        return Run(facts, plan.settings())
    run = Run.of_json(args.json.read_text())
    if ("quick" in run.settings["rounds"]) != plan.is_quick:
        raise SystemExit(f"{args.json} is of a quick run or this one is: their figures do not go together")
    run.also_measured_on(facts)
    return replace(run, settings=plan.settings())


def measure(
    run: Run, plan: Plan, turns: list[Turn], jars: Jars, args: argparse.Namespace, home: Path
) -> None:
    java = JavaClients(jars, home / "classes")
    each_s = expected_s(turns, plan.cases, is_quick=plan.is_quick)
    progress, began_s, done = Progress(sum(each_s)), time.monotonic(), 0
    for (number, durability), together in groupby(turns, key=lambda turn: (turn.round, turn.durability)):
        with Sitting(plan, durability, jars, java, home / f"{number}-{durability}") as sitting:
            for turn in together:
                turn_s, turn_began_s = each_s[done], time.monotonic()
                if args.minutes and turn_began_s - began_s + progress.likely_s(turn_s) > args.minutes * 60:
                    tell(f"{len(turns) - done} of {len(turns)} rows are left: --resume goes on with them")
                    return
                for figure in sitting.run(turn):
                    run.figures.append(figure)
                    # after each: hours of figures are not lost with the run
                    args.json.write_text(run.as_json())
                    tell(said(figure))
                done += 1
                progress.ended(turn_s, time.monotonic() - turn_began_s)
                tell(f"{done} of {len(turns)}; about {progress.likely_s(progress.left_s) / 60:.0f} min left")


def said(figure: Figure) -> str:
    values = figure.failed or ", ".join(f"{name} {value:,.2f}" for name, value in figure.values.items())
    where = f"round {figure.round}, {figure.durability}, {figure.row}, {figure.case}, {figure.kind}"
    used = f"{figure.broker_us_per_operation:,.1f} us of processor" if not figure.failed else "failed"
    return f"{where}: {values}; {used}; took {figure.seconds:.0f} s"


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(row.name for row in ROWS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few cases with few records")
    parser.add_argument("--durability", nargs="+", choices=["os", "fsync"], default=["os", "fsync"])
    parser.add_argument("--cases", nargs="+", metavar="LABEL", help="only cases whose label has this in it")
    parser.add_argument("--only", choices=[LEASELOG, KAFKA], help="one broker alone")
    parser.add_argument(
        "--resume", action="store_true", help="go on with the run in --json: what it has is not run again"
    )
    parser.add_argument("--minutes", type=float, help="begin no row that would end later than that")
    parser.add_argument("--dir", help="where the brokers keep their data (the system's temporary folder)")
    parser.add_argument("--json", type=Path, default=RAW, help=f"raw figures ({RAW.relative_to(ROOT)})")
    parser.add_argument(
        "--render", type=Path, metavar="JSON", help="measure nothing: the table of these figures"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"the table into {PAGE.relative_to(ROOT)}, the figures beside it"
    )
    args = parser.parse_args()
    unknown = set(args.rows) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    return args


if __name__ == "__main__":
    sys.exit(main())
