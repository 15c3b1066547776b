"""KafkaProducer, KafkaConsumer and Admin: the checks of compat/java, all in one JVM, one test each."""

from __future__ import annotations

import pytest

from interop.java_process import check_names

CHECKS = check_names(shared=False)


@pytest.fixture(scope="module")
def report(broker, java) -> dict[str, tuple[bool, str]]:
    return java.report(broker.address, CHECKS)


@pytest.mark.parametrize("check", CHECKS)
def test_java_clients(report, check) -> None:
    passed, wrong = report[check]
    assert passed, wrong


def test_every_check_that_the_program_has_is_a_test_here(java) -> None:
    assert sorted(java.check_names()) == sorted(check_names(shared=False) + check_names(shared=True))
