"""KafkaProducer, KafkaConsumer and Admin: the checks of compat/java, all in one JVM, one test each."""

from __future__ import annotations

import uuid

import pytest

from interop.java_process import Java, check_names


@pytest.fixture(scope="session")
def java() -> Java:
    return Java()


@pytest.fixture(scope="session")
def report(broker, java) -> dict[str, tuple[bool, str]]:
    """Every check's outcome and what was wrong."""
    java.compile()
    ended = java.run("interop.Interop", broker.address, f"java-{uuid.uuid4().hex[:8]}")
    lines = [line.split("\t") for line in ended.lines()]
    outcomes = {line[1]: (line[0] == "PASS", line[3]) for line in lines if line[0] in ("PASS", "FAIL")}
    assert ended.code == 0, ended.err
    return outcomes


@pytest.mark.parametrize("check", check_names())
def test_java_clients(report, check) -> None:
    passed, wrong = report[check]
    assert passed, wrong
