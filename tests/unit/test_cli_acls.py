"""`acls`: which rules the options mean, what is shown of them, and a file of them on another cluster."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence

import pytest
from acl_cluster import AclCluster

from leaselog.cli.acl_json import as_json, parse_rules
from leaselog.cli.acls import _checked, add_arguments
from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.client import BrokerError
from leaselog.model import AclBinding, AclOperation, AclPermission, AclResourceType, ErrorCode, PatternType

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
READ, WRITE, DESCRIBE, CREATE = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DESCRIBE,
    AclOperation.CREATE,
)
ALICE, BOB = ("--allow-principal", "User:alice"), ("--allow-principal", "User:bob")


def parsed(*words: str) -> argparse.Namespace:
    parser = Parser(prog="acls")
    add_arguments(parser)
    return parser.parse_args(["--bootstrap-server", "x:1", *words])


def done(
    capsys: pytest.CaptureFixture[str], cluster: AclCluster, *commands: Sequence[str]
) -> list[tuple[object, str]]:
    """Exit code, or error, and output of each."""
    results = list[tuple[object, str]]()
    for words in commands:
        code: object
        try:
            code = asyncio.run(_checked(parsed(*words))(cluster))  # type: ignore[arg-type]
        except (CommandFailed, BrokerError) as failed:
            code = str(failed)
        results.append((code, capsys.readouterr().out))
    return results


def added(capsys: pytest.CaptureFixture[str], *words: str) -> set[AclBinding]:
    cluster = AclCluster()
    done(capsys, cluster, ("--add", *words))
    return cluster.rules


def refused(*words: str) -> str:
    with pytest.raises(UsageError) as wrong:
        _checked(parsed(*words))
    return str(wrong.value)


def of(name: str, *operations: AclOperation, type: AclResourceType = TOPIC) -> set[AclBinding]:
    return {AclBinding(type, name, "User:alice", operation) for operation in operations}


# which rules


def test_a_rule_is_every_resource_operation_principal_and_host_that_is_named(capsys) -> None:
    words = (
        "--topic",
        "a",
        "--topic",
        "b",
        "--operation",
        "Read",
        "--operation",
        "describe-configs".replace("-", "_"),
    )
    hosts = ("--allow-host", "10.0.0.1", "--allow-host", "10.0.0.2")
    rules = added(capsys, *words, *ALICE, *BOB, *hosts, "--deny-principal", "User:eve")
    assert len(rules) == 2 * 2 * (2 * 2 + 1)
    assert AclBinding(TOPIC, "b", "User:bob", AclOperation.DESCRIBE_CONFIGS, host="10.0.0.2") in rules
    assert AclBinding(TOPIC, "a", "User:eve", READ, AclPermission.DENY) in rules


def test_without_an_operation_it_is_all(capsys) -> None:
    assert added(capsys, "--group", "g", *ALICE) == of("g", AclOperation.ALL, type=GROUP)


def test_names_are_prefixes_if_it_is_said(capsys) -> None:
    (rule,) = added(
        capsys, "--topic", "a", "--resource-pattern-type", "PREFIXED", "--operation", "Read", *ALICE
    )
    assert rule.pattern_type is PatternType.PREFIXED


def test_the_roles_say_what_each_needs(capsys) -> None:
    orders, packing = ("--topic", "orders"), ("--group", "packing")
    cluster = AclBinding(
        AclResourceType.CLUSTER, "kafka-cluster", "User:alice", AclOperation.IDEMPOTENT_WRITE
    )
    reading = of("orders", READ, DESCRIBE)
    assert added(capsys, "--producer", *orders, *ALICE) == of("orders", WRITE, DESCRIBE, CREATE)
    assert added(capsys, "--producer", "--idempotent", *orders, *ALICE) == {
        *of("orders", WRITE, DESCRIBE, CREATE),
        cluster,
    }
    assert added(capsys, "--producer", *orders, "--transactional-id", "t", *ALICE) == {
        *of("orders", WRITE, DESCRIBE, CREATE),
        *of("t", WRITE, DESCRIBE, type=AclResourceType.TRANSACTIONAL_ID),
    }
    assert added(capsys, "--consumer", *orders, *packing, *ALICE) == {
        *reading,
        *of("packing", READ, type=GROUP),
    }
    assert added(capsys, "--share-consumer", *orders, *packing, *ALICE) == {
        *reading,
        *of("packing", READ, AclOperation.DESCRIBE_CONFIGS, type=GROUP),
    }
    letters = ("--dead-letter-topic", "dlq.packing")
    assert added(capsys, "--worker", *orders, *packing, *letters, *ALICE) == {
        *reading,
        *of("packing", READ, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS, type=GROUP),
        *of("dlq.packing", DESCRIBE, CREATE, AclOperation.DESCRIBE_CONFIGS),
    }


def test_one_may_have_two_roles(capsys) -> None:
    both = ("--producer", "--consumer", "--topic", "orders", "--group", "g")
    assert added(capsys, *both, *ALICE) == {
        *of("orders", WRITE, DESCRIBE, CREATE, READ),
        *of("g", READ, type=GROUP),
    }


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--add", "--topic", "a"), "--add needs --allow-principal or --deny-principal"),
        (("--add", *ALICE), "name a resource"),
        (
            ("--add", "--topic", "a", "--allow-principal", "alice"),
            "a principal is TYPE:NAME, as User:alice, not alice",
        ),
        (("--add", "--topic", "a", "--allow-principal", "User:"), "a principal is TYPE:NAME"),
        (
            ("--add", "--group", "g", "--operation", "Write", *ALICE),
            "--operation Write: of a group there are All, Read",
        ),
        (("--add", "--topic", "a", "--operation", "Eat", *ALICE), "--operation Eat: one of All, Read"),
        (
            ("--add", "--topic", "a", "--resource-pattern-type", "match", *ALICE),
            "a rule is literal or prefixed",
        ),
        (
            ("--add", "--topic", "a", "--resource-pattern-type", "x", *ALICE),
            "one of any, match, literal, prefixed",
        ),
        (
            ("--add", "--producer", "--topic", "a", "--operation", "Read", *ALICE),
            "--producer says the operations",
        ),
        (("--add", "--consumer", "--topic", "a", *ALICE), "--consumer needs --topic and --group"),
        (("--add", "--worker", "--topic", "a", *ALICE), "--worker needs --topic and --group"),
        (
            ("--add", "--producer", "--topic", "a", "--group", "g", *ALICE),
            "--producer has nothing to do with the group g",
        ),
        (("--add", "--topic", "a", "--idempotent", *ALICE), "--idempotent goes with --producer"),
        (
            ("--add", "--topic", "a", "--dead-letter-topic", "d", *ALICE),
            "--dead-letter-topic goes with --worker",
        ),
        (("--add", "--topic", "a", "--allow-host", "h"), "--allow-host needs --allow-principal"),
        (("--add", "--topic", "a", "--execute", *ALICE), "--execute goes with --remove"),
        (("--remove", "--topic", "a"), "--remove needs --dry-run to see which rules would go, or --execute"),
        (("--remove", "--dry-run", "--execute", "--topic", "a"), "--remove needs --dry-run"),
        (
            ("--remove", "--execute", "--topic", "a", "--operation", "Read"),
            "need --allow-principal or --deny-principal",
        ),
        (("--remove", "--execute"), "name a resource"),
        (("--remove", "--execute", "--topic", "a", "--principal", "User:a"), "--principal goes with --list"),
        (("--list", "--topic", "a", *ALICE), "--list takes resources and --principal alone"),
        (("--add", "--from", "f", "--topic", "a"), "--from FILE says all of the rules"),
        (("--list", "--from", "f"), "--from goes with --add"),
        (("--add", "--from", "/nowhere/f"), "--from /nowhere/f: No such file or directory"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(words, says) -> None:
    assert says in refused(*words)


# what is done, and shown


def test_rules_are_added_shown_and_removed(capsys) -> None:
    cluster = AclCluster()
    words = ("--topic", "orders", "--operation", "Read", *ALICE)
    dry, first, again, listed = done(
        capsys, cluster, ("--add", "--dry-run", *words), ("--add", *words), ("--add", *words), ("--list",)
    )
    entry = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
    where = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
    assert dry == (0, f"Would add ACLs for resource `{where}`: \n \t{entry}\n\n")
    assert first == (0, f"Adding ACLs for resource `{where}`: \n \t{entry}\n\n")
    assert again == (0, f"Acl (pattern={where}, entry={entry}) already exists.\n")
    assert listed == (0, f"Current ACLs for resource `{where}`:\n\t{entry}\n\n")
    assert len([asked for asked in cluster.asked if asked.NAME == "CreateAclsRequest"]) == 1

    there = set(cluster.rules)
    (would,) = done(capsys, cluster, ("--remove", "--dry-run", *words))
    assert (would, cluster.rules) == ((0, f"Would remove ACLs for resource `{where}`:\n\t{entry}\n\n"), there)
    gone, none = done(capsys, cluster, ("--remove", "--execute", *words), ("--remove", "--force", *words))
    assert (gone, cluster.rules) == ((0, f"Removed ACLs for resource `{where}`:\n\t{entry}\n\n"), set())
    assert none == (0, "There are no such rules.\n")


def test_with_a_principal_only_the_very_rules_are_removed(capsys) -> None:
    kept = AclBinding(TOPIC, "orders", "User:alice", WRITE)
    cluster = AclCluster(kept, AclBinding(TOPIC, "orders", "User:alice", READ))
    done(capsys, cluster, ("--remove", "--execute", "--topic", "orders", "--operation", "Read", *ALICE))
    assert cluster.rules == {kept}


def test_rules_are_listed_by_resource_pattern_and_principal(capsys) -> None:
    begins = AclBinding(TOPIC, "ord", "User:bob", READ, pattern_type=PatternType.PREFIXED)
    cluster = AclCluster(begins, *of("orders", READ, WRITE), *of("g", READ, type=GROUP))

    def names(*words: str) -> list[tuple[str, str]]:
        ((_, out),) = done(capsys, cluster, ("--list", "--json", *words))
        return [(rule["resourceName"], rule["operation"]) for rule in json.loads(out)]

    assert names() == [("ord", "READ"), ("orders", "READ"), ("orders", "WRITE"), ("g", "READ")]
    assert names("--topic", "orders") == [("orders", "READ"), ("orders", "WRITE")]
    assert names("--topic", "orders", "--resource-pattern-type", "match")[0] == ("ord", "READ")
    assert names("--principal", "User:bob") == [("ord", "READ")]
    ((_, out),) = done(capsys, cluster, ("--list", "--principal", "User:bob", "--principal", "User:eve"))
    assert out.splitlines()[0] == "ACLs for principal `User:bob`"
    assert out.splitlines()[-1] == "ACLs for principal `User:eve`"


def test_a_literal_and_a_prefix_of_one_name_are_two_resources(capsys) -> None:
    both = [
        AclBinding(TOPIC, "a", f"User:{who}", READ, pattern_type=pattern)
        for who in ("x", "y")
        for pattern in (PatternType.LITERAL, PatternType.PREFIXED)
    ]
    ((_, out),) = done(capsys, AclCluster(*both), ("--list",))
    assert out.count("Current ACLs") == 2


# on another cluster


def test_what_one_cluster_lists_another_one_adds(capsys, tmp_path) -> None:
    one, other = AclCluster(*RULES), AclCluster()
    ((_, out),) = done(capsys, one, ("--list", "--json"))
    file = tmp_path / "rules.json"
    file.write_text(out)
    ((code, shown),) = done(capsys, other, ("--add", "--from", str(file), "--json"))
    assert (code, other.rules) == (0, one.rules)
    assert json.loads(shown) == json.loads(out)
    (again,) = done(capsys, other, ("--add", "--from", str(file), "--json"))
    assert again == (0, "[]\n"), "what is there already is nothing to do"


RULES = (
    AclBinding(TOPIC, "*", "User:*", READ, AclPermission.DENY, PatternType.LITERAL, "10.0.0.1"),
    AclBinding(TOPIC, "größe", "User:CN=alice,OU=a b", AclOperation.ALL, pattern_type=PatternType.PREFIXED),
    AclBinding(AclResourceType.USER, "User:bob", "User:admin", AclOperation.CREATE_TOKENS),
)


def test_a_rule_goes_through_json_and_back() -> None:
    assert parse_rules(json.dumps([as_json(rule) for rule in RULES])) == list(RULES)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"operation": "ANY"}, "rule 1: ANY is no AclOperation"),
        ({"patternType": "MATCH"}, "rule 1: MATCH is no PatternType"),
        ({"permission": "MAYBE"}, "rule 1: MAYBE is no AclPermission"),
        ({"host": ""}, "rule 1: expected host, operation"),
        ({"host": 7}, "rule 1: expected host, operation"),
        ({"more": "x"}, "rule 1: expected host, operation"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_its_number(change, says) -> None:
    with pytest.raises(ValueError, match=says):
        parse_rules(json.dumps([{**as_json(RULES[0]), **change}]))


@pytest.mark.parametrize("text", ["{}", "nonsense", "[7]"])
def test_a_file_of_something_else_is_refused(text) -> None:
    with pytest.raises(ValueError):
        parse_rules(text)


# what fails


def test_the_first_rule_that_is_refused_is_named_and_the_others_are_counted(capsys) -> None:
    cluster = AclCluster(refuses=("User:bob",))
    words = ("--topic", "a", "--operation", "Read", *ALICE, *BOB)
    ((code, _),) = done(capsys, cluster, ("--add", *words))
    assert code == (
        "ResourcePattern(resourceType=TOPIC, name=a, patternType=LITERAL) (principal=User:bob, host=*, operation=READ,"
        " permissionType=ALLOW): INVALID_REQUEST: not this one (1 refused, 1 added)"
    )
    assert cluster.rules == of("a", READ)
    kept = AclCluster(AclBinding(TOPIC, "a", "User:bob", READ), refuses=("User:bob",))
    ((code, _),) = done(capsys, kept, ("--remove", "--execute", "--topic", "a"))
    assert "UNKNOWN_SERVER_ERROR" in str(code)


def test_a_cluster_without_an_authorizer_is_an_error(capsys) -> None:
    cluster = AclCluster(code=ErrorCode.SECURITY_DISABLED)
    listed, removed = done(capsys, cluster, ("--list",), ("--remove", "--execute", "--topic", "a"))
    assert (listed[0], removed[0]) == ("SECURITY_DISABLED: because", "SECURITY_DISABLED: because")
