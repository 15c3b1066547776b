"""The arithmetic and the tables of the comparison with Apache Kafka; what is measured is not run here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.frame import KAFKA, LEASELOG, Case, Figure, Line, Measured, Metric, Row, Run, lines
from bench.report import BEGIN, END, between_markers, render, write_into
from bench.rows import ROWS
from bench.runner import Plan, Turn
from bench.timetable import Progress, expected_s, timetable

RATE, WAIT = Metric("rate", "1/s", target=2.0), Metric("wait", "ms", bigger_is_better=False)


def row(name: str = "jobs", **more: Any) -> Row:
    values: dict[str, Any] = {"metrics": (RATE, WAIT), "cases": (Case("one"), Case("many"))}
    return Row(name, "some jobs", "a client", measure=lambda _, __: Measured({}), **{**values, **more})


def figure(kind: str, number: int, rate: float, wait: float = 1.0, **more: Any) -> Figure:
    return Figure("jobs", "one", kind, "os", number, {"rate": rate, "wait": wait}, **more)


def line(metric: Metric, *figures: Figure) -> Line:
    (found,) = (found for found in lines([row()], figures) if found.metric is metric)
    return found


def test_a_line_has_the_medians_of_all_rounds() -> None:
    rounds = [figure(LEASELOG, n, rate) for n, rate in enumerate((10.0, 90.0, 30.0))]
    assert line(RATE, *rounds, figure(KAFKA, 0, 5.0), figure(KAFKA, 1, 15.0)).ours == 30.0
    assert line(RATE, *rounds, figure(KAFKA, 0, 5.0), figure(KAFKA, 1, 15.0)).theirs == 10.0


def test_the_ratio_is_the_median_of_each_rounds_own() -> None:
    # a slow second round slows both: the medians alone would say 3
    slow_together = [
        figure(LEASELOG, 1, 30.0), figure(LEASELOG, 2, 3.0), figure(LEASELOG, 3, 40.0),
        figure(KAFKA, 1, 10.0), figure(KAFKA, 2, 1.0), figure(KAFKA, 3, 20.0),
    ]  # fmt: skip
    assert line(RATE, *slow_together).ratio == 3.0


def test_a_ratio_says_how_many_times_better_whichever_way_is_better() -> None:
    found = line(WAIT, figure(LEASELOG, 1, 1.0, wait=2.0), figure(KAFKA, 1, 1.0, wait=8.0))
    assert found.ratio == 4.0


def test_rounds_that_only_one_broker_finished_have_no_ratio() -> None:
    failed = Figure("jobs", "one", KAFKA, "os", 1, failed="it ended")
    found = line(RATE, figure(LEASELOG, 1, 3.0), failed)
    assert (found.ours, found.theirs, found.ratio) == (3.0, None, None)
    assert found.failed == ["kafka, round 1: it ended"]
    assert not found.is_behind


def test_a_case_has_targets_of_its_own() -> None:
    hard = row(cases=(Case("one", targets={"rate": 5.0}),))
    found = lines([hard], [figure(LEASELOG, 1, 30.0), figure(KAFKA, 1, 10.0)])
    assert [(f.target, f.is_behind) for f in found] == [(5.0, True), (None, False)]


def test_processor_time_is_the_median_and_does_not_count_what_was_not_taken() -> None:
    figures = [figure(LEASELOG, n, 1.0, broker_us_per_operation=us) for n, us in enumerate((0, 4.0, 6.0))]
    assert line(RATE, *figures).our_us == 5.0
    assert line(RATE, *figures).their_us is None


def test_the_table_shows_each_metric_with_its_ratio_and_marks_what_is_behind() -> None:
    run = Run({"machine": "a small one"}, {"rounds": "1"})
    run.figures += [
        figure(LEASELOG, 1, 1_500.0, 0.5, broker_us_per_operation=12.3),
        figure(KAFKA, 1, 1_000.0, 2.0, broker_us_per_operation=123.4),
    ]
    text = render(run, [row()])
    assert "| machine | a small one |" in text
    assert "| one | os | rate, 1/s | 1,500 | 1,000 | **1.50x** | 2x | 12.3 | 123 |" in text
    assert "| one | os | wait, ms | 0.50 | 2.00 | 4.00x | - | 12.3 | 123 |" in text
    assert text.rstrip().endswith("- jobs, one, os: rate 1.50x of 2x")


def test_a_case_that_failed_is_in_the_table_with_its_reason() -> None:
    run = Run(
        {}, {}, [Figure("jobs", "one", LEASELOG, "os", 2, failed="RuntimeError: no"), figure(KAFKA, 2, 1.0)]
    )
    text = render(run, [row()])
    assert "| one | os | rate, 1/s | failed | 1.00 | - | 2x |" in text
    assert text.count("- failed: one, os: leaselog, round 2: RuntimeError: no") == 1


def test_rows_and_cases_that_were_not_run_are_not_in_the_table() -> None:
    text = render(Run({}, {}, [figure(LEASELOG, 1, 1.0)]), [row(), row("others")])
    assert "others" not in text
    assert "| many |" not in text


def test_figures_come_back_from_json_as_they_were() -> None:
    run = Run({"machine": "m"}, {"rounds": "3"}, [figure(LEASELOG, 1, 1.5, load_average=2.0)])
    assert Run.of_json(run.as_json()) == run


def test_the_table_takes_the_place_of_the_last_one_and_leaves_the_prose(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{BEGIN}\nold\n{END}\nafter\n")
    write_into(page, "first")
    write_into(page, "second")
    assert page.read_text() == f"# Before\n{BEGIN}\n\nsecond\n\n{END}\nafter\n"


@pytest.mark.parametrize("page", ["nothing", f"{BEGIN} no end", f"{END} before {BEGIN}"])
def test_a_page_without_both_markers_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="has no"):
        between_markers(page, "text")


def test_the_tables_of_the_page_are_those_of_the_figures_beside_it() -> None:
    page = Path(__file__).parents[2] / "docs" / "benchmarks.md"
    run = Run.of_json(page.with_suffix(".json").read_text())
    assert between_markers(page.read_text(), render(run, ROWS)) == page.read_text()


def test_both_brokers_of_a_row_follow_each_other_and_take_turns_in_being_first() -> None:
    plan = Plan([row("a"), row("b", kinds=(LEASELOG,))], ["os"], 2, False, [LEASELOG, KAFKA])
    assert [(number, of.name, kind) for number, _, of, kind in plan.turns()] == [
        (1, "a", LEASELOG), (1, "a", KAFKA), (1, "b", LEASELOG),
        (2, "a", KAFKA), (2, "a", LEASELOG), (2, "b", LEASELOG),
    ]  # fmt: skip


def one_round() -> Plan:
    """Of one row with two cases, on both brokers."""
    return Plan([row()], ["os"], 1, False, [LEASELOG, KAFKA])


def test_a_run_that_goes_on_leaves_out_what_it_has_all_cases_of() -> None:
    has_one, has_both = figure(LEASELOG, 1, 1.0), figure(KAFKA, 1, 1.0)
    figures = [has_one, has_both, Figure("jobs", "many", KAFKA, "os", 1)]
    assert [turn.kind for turn in one_round().left(figures)] == [LEASELOG]


def test_a_case_that_failed_is_run_again() -> None:
    failed = Figure("jobs", "many", LEASELOG, "os", 1, failed="no")
    figures = [
        figure(LEASELOG, 1, 1.0),
        failed,
        figure(KAFKA, 1, 1.0),
        Figure("jobs", "many", KAFKA, "os", 1),
    ]
    (turn,) = one_round().left(figures)
    assert turn.kind == LEASELOG
    assert [turn.made(each) for each in figures] == [True, True, False, False]


def test_what_was_another_when_the_run_went_on_is_told_beside_what_it_was() -> None:
    run = Run({"date": "today", "disk": "slow"}, {})
    run.also_measured_on({"date": "tomorrow", "disk": "slow", "Java": "17"})
    assert run.machine == {"date": "today; then tomorrow", "disk": "slow", "Java": "17"}


def test_the_timetable_names_every_row_and_the_sum() -> None:
    rows = [row(name, case_s=case_s, has_own_broker=True) for name, case_s in (("a", 26.0), ("b", 56.0))]
    plan = Plan(rows, ["os"], 1, False, [LEASELOG])
    text = timetable(list(plan.turns()), plan.cases, is_quick=False)
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [
        ["a", "1.0"],
        ["b", "2.0"],
        ["all", "3.0"],
    ]


def test_what_is_left_takes_as_much_longer_as_what_is_done() -> None:
    progress = Progress(300.0)
    assert progress.likely_s(progress.left_s) == 300.0
    progress.ended(expected_s=100.0, took_s=150.0)
    assert progress.likely_s(progress.left_s) == 300.0  # 200, half as much again


def test_a_quick_case_is_not_expected_to_take_as_long_as_a_whole_one() -> None:
    turns = [Turn(1, "os", row(case_s=60.0), KAFKA)]
    [whole_s], [quick_s] = (
        expected_s(turns, lambda of: of.cases, is_quick=is_quick) for is_quick in (False, True)
    )
    assert quick_s < whole_s / 2


def test_a_broker_that_rows_share_is_warmed_up_once_a_round() -> None:
    plan = Plan([row("a"), row("b")], ["os"], 2, False, [LEASELOG])
    first_s, second_s, *rest_s = expected_s(list(plan.turns()), plan.cases, is_quick=False)
    assert first_s > second_s
    assert rest_s == [first_s, second_s]


def test_every_row_is_complete() -> None:
    assert len({of.name for of in ROWS}) == len(ROWS)
    for of in ROWS:
        labels, metrics = [case.label for case in of.cases], {metric.name for metric in of.metrics}
        assert len(set(labels)) == len(labels)
        assert set(of.quick) <= set(labels)
        assert all(set(case.targets) <= metrics for case in of.cases)
        assert of.has_own_broker or (of.starts_broker and not of.settings)
