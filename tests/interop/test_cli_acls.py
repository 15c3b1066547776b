"""`acls` and SCRAM credentials beside Apache's tools on the same broker: the same lines, the same rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from interop.broker_process import BrokerProcess
from interop.cli_here import CliHere
from interop.toolbox import Shell, Toolbox
from leaselog.admin import AclFilter, Admin
from leaselog.cli.acl_options import OPERATIONS
from leaselog.client import kafka_errors

pytestmark = pytest.mark.all_on_kafka

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ACLS, CONFIGS = "AclCommand", "kafka.admin.ConfigCommand"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that asks its rules of access, whose administrator need not log in."""
    process = BrokerProcess(tmp_path_factory.mktemp("guarded"), AUTHORIZER)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def cli(guarded: BrokerProcess) -> Iterator[CliHere]:
    """Leaves no rules behind."""
    yield CliHere(guarded)
    with Admin(guarded.address) as admin, suppress(kafka_errors.SecurityDisabledException):
        admin.delete_acls([AclFilter()])


@pytest.fixture
def tool(toolbox: Toolbox, guarded: BrokerProcess) -> Shell:
    return Shell(toolbox, guarded)


def _lines(listing: str) -> list[str]:
    """Apache's tool has them in the order of a hash map."""
    return sorted(listing.splitlines())


RULES = (
    ("--topic", "orders", "--operation", "Read", "--allow-principal", "User:alice"),
    ("--producer", "--idempotent", "--topic", "orders", "--topic", "bills", "--allow-principal", "User:bob"),
    ("--producer", "--topic", "orders", "--transactional-id", "t", "--allow-principal", "User:carl"),
    ("--consumer", "--topic", "orders", "--group", "packing", "--allow-principal", "User:dora"),
    ("--cluster", "--operation", "ClusterAction", "--operation", "Alter", "--allow-principal", "User:a=b,c"),
    ("--topic", "ord", "--resource-pattern-type", "prefixed", "--deny-principal", "User:*", "--deny-host", "10.0.0.1"),
    ("--group", "*", "--operation", "describeconfigs", "--allow-principal", "User:a", "--allow-principal", "User:b"),
    ("--user-principal", "User:eve", "--operation", "CreateTokens", "--allow-principal", "User:admin"),
    ("--delegation-token", "x", "--operation", "describe", "--allow-principal", "User:admin"),
)  # fmt: skip


def test_rules_are_added_by_the_one_and_listed_by_the_other(cli, tool) -> None:
    for words in RULES:
        ours = cli("acls", "--add", *words)
        assert ours.startswith("Adding ACLs for resource `ResourcePattern(resourceType=")
        again = tool(ACLS, "--add", *words)
        assert again.count("already exists") == len(again.splitlines()), "they are the same rules"
        assert _lines(cli("acls", "--add", *words)) == _lines(again)
    for words in (
        (),
        ("--topic", "orders"),
        ("--topic", "orders", "--resource-pattern-type", "match"),
        ("--topic", "ord", "--resource-pattern-type", "any"),
        ("--topic", "ord", "--resource-pattern-type", "prefixed"),
        ("--cluster",),
        ("--topic", "orders", "--group", "packing"),
        ("--principal", "User:dora"),
        ("--topic", "nobody"),
    ):
        assert _lines(cli("acls", "--list", *words)) == _lines(tool(ACLS, "--list", *words)), words


def test_rules_added_by_apaches_tool_are_removed_by_ours_and_the_other_way_round(cli, tool) -> None:
    for words in RULES:
        added = tool(ACLS, "--add", *words)
        dry = cli("acls", "--remove", "--dry-run", *words)
        assert dry.replace("Would remove", "Adding").count("permissionType") == added.count("permissionType")
        cli("acls", "--remove", "--execute", *words)
        assert tool(ACLS, "--list") == ""
        cli("acls", "--add", *words)
        tool(ACLS, "--remove", "--force", *words)
        assert cli("acls", "--list") == ""


def test_all_rules_of_a_resource_are_removed(cli, tool) -> None:
    for words in RULES:
        cli("acls", "--add", *words)
    cli("acls", "--remove", "--execute", "--topic", "orders", "--resource-pattern-type", "match")
    left = cli.json("acls", "--list")
    assert {rule["resourceName"] for rule in left if rule["resourceType"] == "TOPIC"} == {"bills"}
    assert tool(ACLS, "--list", "--topic", "orders", "--resource-pattern-type", "match") == ""


def test_what_one_lists_is_added_from_a_file(cli, tool, tmp_path) -> None:
    for words in RULES:
        tool(ACLS, "--add", *words)
    before = cli.json("acls", "--list")
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(before))
    for words in (("--topic", "*"), ("--group", "*"), ("--transactional-id", "*"), ("--cluster",)):
        cli("acls", "--remove", "--execute", *words)
    assert "already exists" in cli("acls", "--add", "--from", str(file))
    assert cli.json("acls", "--list") == before


def test_which_operations_a_resource_has_is_what_apaches_tool_says(cli, tool) -> None:
    for resource in ("topic", "group", "transactional-id", "delegation-token", "user-principal"):
        for operation in OPERATIONS:
            words = (f"--{resource}", "x", "--operation", operation, "--allow-principal", "User:a")
            judged = tool.start(ACLS, "--add", *words).result(100).code
            ours = cli("acls", "--add", *words, code=2 if judged else 0)
            assert ("already exists" in ours) == (judged == 0), (resource, operation)


def test_credentials_are_set_by_the_one_and_described_by_the_other(cli, tool, fresh) -> None:
    user, other = fresh("user"), fresh("other")
    for name in (user, other):
        added = ("--alter", "--user", name, "--add-config", "SCRAM-SHA-256=[iterations=5000,password=x]")
        assert cli("configs", *added) == tool(CONFIGS, *added)
    cli("configs", "--alter", "--user", user, "--add-config", "SCRAM-SHA-512=[iterations=4096,password=y]")
    cli("configs", "--alter", "--user", user, "--add-config", "consumer_byte_rate=1000")
    for words in (
        ("--user", user),
        ("--user", other),
        ("--entity-type", "users"),
        ("--user", fresh("nobody")),
    ):
        assert _lines(cli("configs", "--describe", *words)) == _lines(tool(CONFIGS, "--describe", *words)), (
            words
        )
    gone = ("--alter", "--user", user, "--delete-config", "SCRAM-SHA-512")
    assert cli("configs", *gone) == tool(
        CONFIGS, "--alter", "--user", other, "--delete-config", "SCRAM-SHA-256"
    ).replace(other, user)
    assert cli("configs", "--describe", "--user", other) == ""
    cli("configs", *gone, code=1)


def test_more_mechanisms_than_one_are_set_at_once(cli, guarded, tmp_path, fresh) -> None:
    """Apache's tool cannot: its broker refuses a user twice in a request."""
    user, file = fresh("user"), tmp_path / "password"
    file.write_text("open sesame\n")
    both = ("--add-config", "SCRAM-SHA-256=[],SCRAM-SHA-512=[]", "--password-file", str(file))
    cli("configs", "--alter", "--user", user, *both)
    with Admin(guarded.address) as admin:
        infos = admin.describe_user_scram_credentials([user])[user]
    assert [(info.mechanism.mechanism_name, info.iterations) for info in infos] == [
        ("SCRAM-SHA-256", 8192),
        ("SCRAM-SHA-512", 8192),
    ]
