"""The judge of conformance runs complains about what is not as expected, and about nothing else."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


judge, published = load("judge"), load("published")

A, B, OTHER = judge.Case("suite", "a()"), judge.Case("suite", "b()[1]"), judge.Case("other", "c()")
B2 = judge.Case("suite", "b()[2]")
PASSED, FAILED = judge.Outcome("passed", ""), judge.Outcome("failed", "expected 1 but was 2")
SUITE = ["suite"]


def test_a_run_like_apaches_is_as_expected() -> None:
    assert judge.complaints({A: PASSED, B: FAILED}, {}, {A: PASSED, B: FAILED}, SUITE) == []


def test_a_failure_nobody_listed_is_reported_with_its_reason() -> None:
    assert judge.complaints({A: PASSED}, {}, {A: FAILED}, SUITE) == [
        "failed\tsuite\ta()\texpected 1 but was 2"
    ]


def test_a_listed_failure_is_as_expected() -> None:
    assert judge.complaints({A: PASSED}, {A: "needs transactions"}, {A: FAILED}, SUITE) == []


def test_a_listed_test_that_passes_has_to_leave_the_list() -> None:
    assert judge.complaints({A: PASSED}, {A: "needs transactions"}, {A: PASSED}, SUITE) == [
        "now passes, take it off the list\tsuite\ta()"
    ]


def test_a_listed_race_may_end_either_way() -> None:
    assert judge.complaints({A: PASSED}, {A: "a race: who is first"}, {A: PASSED}, SUITE) == []
    assert judge.complaints({A: PASSED}, {A: "a race: who is first"}, {A: FAILED}, SUITE) == []


def test_a_line_without_a_test_has_to_leave_the_list() -> None:
    assert judge.complaints({A: PASSED}, {B: "gone"}, {A: PASSED}, SUITE) == [
        "listed, but no test that could pass\tsuite\tb()[1]"
    ]


def test_a_test_the_run_lost_is_reported_whatever_it_does_on_apache_kafka() -> None:
    assert judge.complaints({A: PASSED, B: FAILED}, {}, {A: PASSED}, SUITE) == ["missing\tsuite\tb()[1]"]


def test_a_suite_that_was_asked_for_and_does_not_report_is_reported() -> None:
    kafka = {A: PASSED, OTHER: PASSED}
    assert judge.complaints(kafka, {}, {A: PASSED}, ["suite", "other"]) == ["no result\tother\tof 1 tests"]


def test_a_suite_without_a_test_that_could_pass_has_nothing_to_report() -> None:
    assert judge.complaints({A: PASSED}, {A: "needs transactions"}, {}, SUITE) == []


def test_a_suite_that_nobody_measured_on_apache_kafka_is_reported() -> None:
    assert judge.complaints({A: PASSED}, {}, {A: PASSED}, ["suite", "new"]) == ["not in kafka-4.3.1.tsv\tnew"]


def test_one_method_of_a_suite_has_to_report_if_it_was_asked_for() -> None:
    kafka = {A: PASSED, B: PASSED, B2: PASSED}
    assert judge.complaints(kafka, {}, {B: PASSED, B2: PASSED}, ["suite#b()"]) == []
    assert judge.complaints(kafka, {}, {B: PASSED}, ["suite#b"]) == ["missing\tsuite\tb()[2]"]


def test_suites_that_were_not_asked_for_are_not_expected() -> None:
    assert judge.complaints({A: PASSED, OTHER: PASSED}, {}, {A: PASSED}, SUITE) == []


def test_a_method_is_left_out_if_no_test_of_it_could_tell_anything() -> None:
    kafka = {A: PASSED, B: PASSED, B2: PASSED}
    assert judge.excluded(kafka, {A: "no", B: "no"}) == {"suite#a"}
    assert judge.complaints(kafka, {A: "no", B: "no"}, {B2: PASSED}, SUITE) == ["missing\tsuite\tb()[1]"]
    assert judge.complaints(kafka, {A: "no"}, {B: PASSED, B2: PASSED}, SUITE, all_ran=True) == [
        "missing\tsuite\ta()"
    ]


def test_a_test_apache_fails_promises_nothing() -> None:
    assert judge.complaints({A: FAILED}, {}, {A: PASSED}, SUITE) == []


def test_a_report_is_read_back() -> None:
    assert judge.parse(["failed\tsuite\ta()\t7\texpected 1 but was 2\n"]) == {A: FAILED}


PRETEND = """#!/bin/bash
while [ $# -gt 1 ]; do [ "$1" != --reports-dir ] || reports=$2; shift; done
[ -z "${REPORT:-}" ] || { mkdir -p "$reports"; echo "$REPORT" >"$reports/TEST-it.xml"; }
exit ${JAVA_ENDS:-0}
"""


@pytest.fixture
def pretended_java(tmp_path: Path) -> dict[str, str]:
    """A Java that reports what it is given, and ends as it is told to."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("java", "javac"):
        (tools / name).write_text(PRETEND)
        (tools / name).chmod(0o755)
    (tools / "python3").symlink_to(sys.executable)
    work = str(tmp_path / "work")
    told = {"KAFKA_LIBS": work, "CONFORMANCE_WORK": work, "CONFORMANCE_OUT": str(tmp_path / "out")}
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", **told}


def check(env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(HERE / "check"), *args], env=env, capture_output=True, text=True, check=False)


def test_a_check_whose_suites_run_no_tests_fails(pretended_java: dict[str, str]) -> None:
    ended = check(pretended_java, "kafka.server.JoinGroupRequestTest", "kafka.server.SyncGroupRequestTest")
    assert ended.returncode == 1
    assert [line.split("\t")[:2] for line in ended.stdout.splitlines()] == [
        ["no result", "kafka.server.JoinGroupRequestTest"],
        ["no result", "kafka.server.SyncGroupRequestTest"],
    ]


def test_a_check_whose_java_ends_badly_fails_whatever_it_reported(pretended_java: dict[str, str]) -> None:
    suite = "kafka.server.SyncGroupRequestTest"
    cases = [case for case in judge.read_baseline() if case.suite == suite]
    tests = "".join(f'<testcase classname="{case.suite}" name="{case.name}" time="1"/>' for case in cases)
    env = {**pretended_java, "REPORT": f"<testsuite>{tests}</testsuite>"}
    good = check(env, suite)
    assert (good.returncode, good.stdout) == (0, ""), good.stderr
    assert check({**env, "JAVA_ENDS": "255"}, suite).returncode == 1


def test_a_check_of_nothing_fails(pretended_java: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n")
    assert check(pretended_java, str(tmp_path / "empty.txt")).returncode == 2


def rows() -> list[tuple[str, str, str]]:
    lines = (HERE / "published.tsv").read_text().splitlines()
    return [published.Published(*line.split("\t")) for line in lines if not line.startswith("#")]


def listed(name: str) -> list[str]:
    return [line for line in (HERE / name).read_text().splitlines() if not line.startswith("#")]


LISTS = ("broker.txt", "share.txt", "transactions.txt", "security.txt", "consumer-protocol.txt")


def left_out() -> dict[str, str]:
    return dict(line.split("\t") for line in listed("left-out.tsv"))


def test_every_published_suite_is_on_one_list_or_left_out_with_a_reason() -> None:
    """Those that start brokers inside their own process have said so themselves."""
    wanted = {row.name for row in rows() if row.how != "own"}
    found = Counter(suite for name in LISTS for suite in listed(name)) + Counter(list(left_out()))
    assert found == Counter(wanted)
    assert all(left_out().values())


def test_every_suite_of_the_lists_has_been_measured_on_apache_kafka_and_no_other() -> None:
    measured = {case.suite for case in judge.read_baseline()}
    assert measured == {suite for name in LISTS for suite in listed(name)}


def test_the_quick_suites_are_some_of_all() -> None:
    assert set(listed("fast.txt")) < set(listed("broker.txt")) | set(listed("share.txt"))


def test_the_tests_that_cannot_pass_are_some_of_those_that_pass_on_apache_kafka_each_with_a_reason() -> None:
    kafka, exempt = judge.read_baseline(), judge.read_exempt()
    assert all(kafka[case].word == "passed" and why for case, why in exempt.items())
    both = [judge.parse_list(listed(name)) for name in ("not-yet.tsv", "not-applicable.tsv")]
    assert not both[0].keys() & both[1].keys()


def class_file(name: str, base: str, *texts: str, access: int = 0x21) -> bytes:
    """As javac makes them, as far as `published.py` looks."""
    constants = [b"\x05" + bytes(8)]  # a long, which takes two places
    constants += [b"\x01" + len(text).to_bytes(2, "big") + text.encode() for text in (name, base, *texts)]
    constants += [b"\x07\x00\x03", b"\x07\x00\x04"]
    first = 3 + 2 + len(texts)
    header = b"\xca\xfe\xba\xbe" + bytes(4) + (first + 2).to_bytes(2, "big")
    return header + b"".join(constants) + b"".join(n.to_bytes(2, "big") for n in (access, first, first + 1))


def test_how_a_suite_gets_its_broker_is_read_from_its_bytecode(tmp_path: Path) -> None:
    test = "Lorg/junit/jupiter/api/Test;"
    classes = {
        "a/ByAnnotationTest": ("java/lang/Object", published.CLUSTER_TEST[0]),
        "a/Base": (published.HARNESS,),
        "a/InScalaTest": ("a/Base", test),
        "a/UnitTest": ("java/lang/Object", test),
        "a/NoTestOfScala": ("a/Base",),
        "a/OfItsOwnTest": ("java/lang/Object", test, "org/apache/kafka/common/test/KafkaClusterTestKit"),
        "a/InheritsTest": ("a/ByAnnotationTest",),
    }
    with ZipFile(tmp_path / "some-module-1.2.3-test.jar", "w") as jar:
        for name, (base, *texts) in classes.items():
            jar.writestr(f"{name}.class", class_file(name, base, *texts))
        jar.writestr("a/AbstractTest.class", class_file("a/AbstractTest", "a/Base", test, access=0x421))
    found = published.suites(published.read_jars(tmp_path))
    assert [tuple(row) for row in found] == [
        ("a.ByAnnotationTest", "some-module", "cluster"),
        ("a.InScalaTest", "some-module", "harness"),
        ("a.InheritsTest", "some-module", "cluster"),
        ("a.OfItsOwnTest", "some-module", "own"),
    ]
