"""The judge of conformance runs complains about what is not as expected, and about nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("conformance_judge", Path(__file__).with_name("judge.py"))
assert spec is not None
assert spec.loader is not None
judge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(judge)

A, B, OTHER = judge.Case("suite", "a"), judge.Case("suite", "b"), judge.Case("other", "c")
PASSED, FAILED = judge.Outcome("passed", ""), judge.Outcome("failed", "expected 1 but was 2")


def test_a_run_like_apaches_is_as_expected() -> None:
    assert judge.complaints({A: PASSED, B: FAILED}, {}, {A: PASSED, B: FAILED}) == []


def test_a_failure_nobody_listed_is_reported_with_its_reason() -> None:
    assert judge.complaints({A: PASSED}, {}, {A: FAILED}) == ["failed\tsuite\ta\texpected 1 but was 2"]


def test_a_listed_failure_is_as_expected() -> None:
    assert judge.complaints({A: PASSED}, {A: "needs transactions"}, {A: FAILED}) == []


def test_a_listed_test_that_passes_has_to_leave_the_list() -> None:
    assert judge.complaints({A: PASSED}, {A: "needs transactions"}, {A: PASSED}) == [
        "now passes, take it off the list\tsuite\ta"
    ]


def test_a_listed_race_may_end_either_way() -> None:
    assert judge.complaints({A: PASSED}, {A: "a race: who is first"}, {A: PASSED}) == []
    assert judge.complaints({A: PASSED}, {A: "a race: who is first"}, {A: FAILED}) == []


def test_a_line_without_a_test_has_to_leave_the_list() -> None:
    assert judge.complaints({A: PASSED}, {B: "gone"}, {A: PASSED}) == ["listed, but no test\tsuite\tb"]


def test_a_test_the_run_lost_is_reported() -> None:
    run = {A: PASSED}
    assert judge.complaints({A: PASSED, B: PASSED}, {}, run) == [
        "missing\tsuite\tb\tthe run has no such test"
    ]


def test_suites_that_did_not_run_are_not_expected() -> None:
    assert judge.complaints({A: PASSED, OTHER: PASSED}, {}, {A: PASSED}) == []


def test_a_test_apache_fails_promises_nothing() -> None:
    assert judge.complaints({A: FAILED}, {}, {A: PASSED}) == []


def test_a_report_is_read_back() -> None:
    assert judge.parse(["failed\tsuite\ta\t7\texpected 1 but was 2\n"]) == {A: FAILED}


def test_the_lists_in_the_tree_are_well_formed() -> None:
    kafka = judge.read_cases(judge.HERE / "kafka-4.3.1.tsv")
    exempt = judge.parse_list((judge.HERE / "not-applicable.tsv").read_text().splitlines())
    assert all(kafka[case].word == "passed" for case in exempt)
    assert all(exempt.values())
