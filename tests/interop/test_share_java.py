"""KafkaShareConsumer, every method of it, and the Admin on share groups: the checks of compat/java, one test each."""

from __future__ import annotations

import pytest

from interop.java_process import check_names

CHECKS = check_names(shared=True)


@pytest.fixture(scope="module")
def report(share_broker, java) -> dict[str, tuple[bool, str]]:
    return java.report(share_broker.address, CHECKS)


@pytest.mark.parametrize("check", CHECKS)
def test_share_java(report, check) -> None:
    passed, wrong = report[check]
    assert passed, wrong
