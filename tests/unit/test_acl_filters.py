"""Which rules a filter takes: Kafka's `AclBindingFilter`, by its own words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leaselog.model import (
    SUPPORTED_OPERATIONS,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
READ, WRITE = AclOperation.READ, AclOperation.WRITE
LITERAL, PREFIXED, ANY, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.ANY, PatternType.MATCH

ORDERS = AclBinding(TOPIC, "orders", "User:alice", READ)
BEGINS = AclBinding(TOPIC, "ord", "User:alice", READ, pattern_type=PREFIXED)
ALL = AclBinding(TOPIC, "*", "User:*", WRITE, AclPermission.DENY)
PACKING = AclBinding(GROUP, "orders", "User:bob", READ, host="10.0.0.1")
RULES = (ORDERS, BEGINS, ALL, PACKING)


def taken(**said: object) -> set[AclBinding]:
    wanted = AclFilter(**said)  # type: ignore[arg-type]
    return {rule for rule in RULES if wanted.matches(rule)}


def test_a_filter_that_says_nothing_takes_every_rule() -> None:
    assert taken() == set(RULES)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"resource_type": GROUP}, {PACKING}),
        ({"principal": "User:alice"}, {ORDERS, BEGINS}),
        ({"host": "*"}, {ORDERS, BEGINS, ALL}),
        ({"operation": WRITE}, {ALL}),
        ({"permission": AclPermission.ALLOW}, {ORDERS, BEGINS, PACKING}),
        ({"pattern_type": PREFIXED}, {BEGINS}),
        ({"pattern_type": MATCH}, set(RULES)),
    ],
)
def test_each_part_is_compared_by_itself(said, expected) -> None:
    assert taken(**said) == expected


@pytest.mark.parametrize(
    ("pattern_type", "name", "expected"),
    [
        (LITERAL, "orders", {ORDERS, PACKING}),
        (LITERAL, "ord", set()),
        (PREFIXED, "ord", {BEGINS}),
        (PREFIXED, "orders", set()),
        (ANY, "orders", {ORDERS, PACKING}),
        (ANY, "ord", {BEGINS}),
        (ANY, "*", {ALL}),
        (MATCH, "orders", {ORDERS, BEGINS, ALL, PACKING}),
        (MATCH, "ordinary", {BEGINS, ALL}),
        (MATCH, "or", {ALL}),
    ],
)
def test_a_name_is_compared_as_the_pattern_type_says(pattern_type, name, expected) -> None:
    assert taken(pattern_type=pattern_type, resource_name=name) == expected


def test_the_filter_of_a_rule_takes_this_rule_alone() -> None:
    for rule in RULES:
        others = [
            *RULES,
            replace(rule, host="10.0.0.9"),
            replace(rule, permission=AclPermission.ANY),
            replace(rule, operation=AclOperation.ALL),
        ]
        assert [other for other in others if AclFilter.of(rule).matches(other)] == [rule]


def test_a_number_of_a_newer_broker_is_unknown() -> None:
    assert AclOperation(99) is AclOperation.UNKNOWN
    assert AclResourceType(99) is AclResourceType.UNKNOWN
    assert PatternType(99) is PatternType.UNKNOWN
    assert AclPermission(99) is AclPermission.UNKNOWN


def test_every_type_of_resource_says_what_can_be_done_to_it() -> None:
    assert set(SUPPORTED_OPERATIONS) == set(AclResourceType) - {AclResourceType.UNKNOWN, AclResourceType.ANY}
