"""Who may do what: worked examples, hosts however they are written, plug-ins, and what a decision costs."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.structured_log import configure_logging
from leaselog.broker.security.audit import LINES_A_SECOND, AuditLog
from leaselog.broker.security.authorizer import AclAuthorizer
from leaselog.broker.security.authorizer_choice import STANDARD_AUTHORIZER, choose_guard
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    Principal,
)

ALICE = Principal("User", "alice")
HOST = "10.0.0.1"
TOPIC = AclResourceType.TOPIC
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE


def rule(
    name: str,
    operation: AclOperation = READ,
    *,
    principal: str = "User:alice",
    host: str = "*",
    denies: bool = False,
    prefix: bool = False,
) -> AclBinding:
    return AclBinding(
        TOPIC,
        name,
        principal,
        operation,
        AclPermission.DENY if denies else AclPermission.ALLOW,
        PatternType.PREFIXED if prefix else PatternType.LITERAL,
        host,
    )


def authorizer(*acls: AclBinding, **settings: Any) -> AclAuthorizer:
    made = AclAuthorizer(**settings)
    made.changed(acls, ())
    return made


def may(judge: AclAuthorizer, name: str, operation: AclOperation = READ, host: str = HOST) -> bool:
    return judge.allows(ALICE, host, operation, TOPIC, name)


def test_a_denial_outweighs_every_leave() -> None:
    judge = authorizer(rule("jobs"), rule("*"), rule("jo", denies=True, prefix=True))
    assert not may(judge, "jobs")
    assert may(judge, "other")


def test_leave_to_read_is_leave_to_describe_and_a_denial_to_read_denies_no_more() -> None:
    judge = authorizer(rule("jobs"), rule("jobs", WRITE), rule("jobs", READ, denies=True))
    assert may(judge, "jobs", DESCRIBE)
    assert not may(judge, "jobs", READ)


def test_a_literal_star_is_every_name_and_a_prefixed_star_is_none_but_those_that_begin_with_it() -> None:
    assert may(authorizer(rule("*")), "jobs")
    assert not may(authorizer(rule("*", prefix=True)), "jobs")


def test_everybody_includes_those_whom_nobody_authenticated() -> None:
    judge = authorizer(rule("jobs", principal="User:*"))
    assert judge.allows(Principal("User", "ANONYMOUS"), HOST, READ, TOPIC, "jobs")


def test_by_default_is_said_of_what_no_entry_is_about_whoever_the_entry_is_for() -> None:
    judge = authorizer(rule("jobs", principal="User:bob"), allows_by_default=True)
    assert may(judge, "other")
    assert not may(judge, "jobs")


@pytest.mark.parametrize(
    ("written", "client"),
    [
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("10.0.0.1", "::ffff:10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_host_is_its_address_however_it_is_written(written: str, client: str) -> None:
    judge = authorizer(rule("jobs", host=written))
    assert may(judge, "jobs", host=client)
    assert not may(judge, "jobs", host="10.0.0.2")


def test_a_name_that_looks_like_a_pattern_is_a_name() -> None:
    judge = authorizer(rule("jobs"))
    assert not judge.allows(Principal("User", "*"), HOST, READ, TOPIC, "jobs")


def test_ten_thousand_entries_cost_a_decision_nothing() -> None:
    """Kept or not: what is looked up is the same few tables. The bounds are ten times what it takes here."""
    few = authorizer(rule("jobs"))
    acls = [rule(f"topic-{i}", principal=f"User:{i}") for i in range(4_000)]
    acls += [rule("jobs", principal=f"User:{i}") for i in range(4_000)]
    acls += [rule(f"p{i}-", prefix=True) for i in range(2_000)]
    many = authorizer(rule("jobs"), *acls)
    for judge in (few, many):
        assert may(judge, "jobs")
        assert not may(judge, "topic-1")
    asked = 2_000

    def spent(judge: AclAuthorizer, *, is_kept: bool) -> float:
        best = float("inf")
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(asked):
                if not is_kept:
                    judge._kept.clear()
                may(judge, "jobs")
            best = min(best, time.perf_counter() - began)
        return best

    assert spent(many, is_kept=True) < 3 * spent(few, is_kept=True)
    assert spent(many, is_kept=False) < 5 * spent(few, is_kept=False)


def test_what_is_kept_is_bounded_whatever_names_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaselog.broker.security.authorizer.MAX_KEPT", 10)
    judge = authorizer(rule("jobs"))
    for i in range(100):
        may(judge, f"x{i}")
        may(judge, "y" * 1_000 + str(i))
    assert len(judge._kept) <= 10
    assert may(judge, "jobs")


def config(**settings: str) -> BrokerConfig:
    return BrokerConfig.from_originals({key.replace("_", "."): value for key, value in settings.items()})


def test_without_an_authorizer_there_is_nobody_to_ask() -> None:
    assert choose_guard(config(), lambda: 0.0) is None


def test_a_java_class_that_is_not_known_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^authorizer\.class\.name is com\.acme\.Mine, which .*[^\n]$"):
        choose_guard(config(authorizer_class_name="com.acme.Mine"), lambda: 0.0)


@pytest.mark.parametrize("path", ["no.such.module:make", "json:nothing", ":make", "json:"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"^authorizer\.class\.name is"):
        choose_guard(config(authorizer_class_name=path), lambda: 0.0)


def test_a_super_user_without_a_type_is_refused() -> None:
    settings = config(authorizer_class_name=STANDARD_AUTHORIZER, super_users="User:a;bob")
    with pytest.raises(ConfigError, match=r"super\.users: 'bob', expected User:NAME"):
        choose_guard(settings, lambda: 0.0)


class OnlyNamesOfA:
    """A plug-in: allows what begins with the letter it was configured with."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.letter = settings["my.letter"]

    def allows(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> bool:
        return name.startswith(self.letter)


def test_a_python_path_is_a_plug_in_that_is_told_the_settings_and_asked_each_time() -> None:
    settings = BrokerConfig.from_originals(
        {"authorizer.class.name": f"{__name__}:OnlyNamesOfA", "my.letter": "a"}
    )
    guard = choose_guard(settings, lambda: 0.0)
    assert guard is not None
    client = Client(1, HOST, 1)
    assert guard.allows(client, "Fetch", READ, TOPIC, "apples")
    assert not guard.allows(client, "Fetch", READ, TOPIC, "pears")
    assert not guard.allows_some(client, "InitProducerId", WRITE, TOPIC)
    assert guard.operations(client, TOPIC, "apples") == 3576
    assert not guard.keeps_acls


# -- the audit log


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [record.facts for record in caplog.records]  # type: ignore[attr-defined]


@pytest.fixture
def _heard(caplog: pytest.LogCaptureFixture) -> Iterable[None]:
    root = logging.getLogger("leaselog")
    before = root.propagate
    root.propagate = True
    with caplog.at_level(logging.INFO, logger="leaselog.authorizer"):
        yield
    root.propagate = before


def refuse(audit: AuditLog, times: int = 1, host: str = HOST) -> None:
    for _ in range(times):
        audit.refused(Client(1, host, 1, "SASL", ALICE), "Fetch", READ, TOPIC, "jobs")


@pytest.mark.usefixtures("_heard")
def test_a_refusal_says_who_what_and_where(caplog: pytest.LogCaptureFixture) -> None:
    refuse(AuditLog(lambda: 0.0))
    assert lines(caplog) == [
        {
            "principal": "User:alice",
            "host": HOST,
            "listener": "SASL",
            "operation": "READ",
            "resource": "TOPIC",
            "pattern": "LITERAL",
            "name": "jobs",
            "api": "Fetch",
        }
    ]
    assert caplog.records[0].levelno == logging.INFO


@pytest.mark.usefixtures("_heard")
def test_what_is_allowed_is_said_at_debug_alone(caplog: pytest.LogCaptureFixture) -> None:
    audit = AuditLog(lambda: 0.0)
    audit.allowed(Client(1, HOST, 1), "Fetch", READ, TOPIC, "jobs")
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, logger="leaselog.authorizer"):
        audit.allowed(Client(1, HOST, 1), "Fetch", READ, TOPIC, "jobs")
    assert [record.getMessage() for record in caplog.records] == ["allowed"]


@pytest.mark.usefixtures("_heard")
def test_one_address_cannot_fill_the_disk_and_silences_no_other(caplog: pytest.LogCaptureFixture) -> None:
    now_ms = 0.0
    audit = AuditLog(lambda: now_ms)
    refuse(audit, 5 * LINES_A_SECOND)
    assert len(caplog.records) == LINES_A_SECOND
    refuse(audit, host="10.0.0.2")
    assert len(caplog.records) == LINES_A_SECOND + 1
    caplog.clear()
    now_ms = 1_000.0
    refuse(audit)
    assert [record.getMessage() for record in caplog.records] == ["more refusals than are written", "refused"]
    assert lines(caplog)[0] == {"host": HOST, "left_out": 4 * LINES_A_SECOND}


def test_its_lines_are_json_whatever_form_other_lines_have(capsys: pytest.CaptureFixture[str]) -> None:
    loggers = [logging.getLogger(name) for name in ("leaselog", "leaselog.authorizer")]
    before = [(one, one.handlers[:], one.level, one.propagate) for one in loggers]
    try:
        configure_logging(level="INFO", form="text")
        refuse(AuditLog(lambda: 0.0))
    finally:
        for one, handlers, level, propagate in before:
            one.handlers[:], one.level, one.propagate = handlers, level, propagate
            one.setLevel(level)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["principal"] == "User:alice"
