"""Which letters a condition means, and what is said of one that makes no sense; what a letter's headers tell."""

from __future__ import annotations

import pytest
from dead_letter_box import a_letter

from leaselog.admin.dead_letters.letter import Letter, own_headers, read_letter
from leaselog.admin.dead_letters.selection import EVERYTHING, Selection
from leaselog.model import TopicPartition
from leaselog.wire.records import Record

DEAD = TopicPartition("dlq.packing", 3)


def letter(**given: object) -> Letter:
    made = a_letter("orders", 2, 17, Record(b"k", b"v"), cause="no stock", time_ms=1_700_000_000_000, count=4)
    found = read_letter(made._replace(offset=99, **given), DEAD)
    assert found is not None
    return found


def test_a_letter_says_where_its_record_lay_and_why_it_failed() -> None:
    found = letter()
    assert (found.name, found.source, found.source_offset) == (
        "dlq.packing-3@99",
        TopicPartition("orders", 2),
        17,
    )
    assert (found.group_id, found.delivery_count, found.cause) == ("packing", 4, "no stock")
    assert (found.key, found.value, found.time_ms) == (b"k", b"v", 1_700_000_000_000)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        [("__dlq.errors.topic", b"orders")],
        [(name, b"x") for name, _ in a_letter("orders", 0, 0, None).headers],
        [(name, None) for name, _ in a_letter("orders", 0, 0, None).headers],
    ],
)
def test_a_record_without_the_headers_is_no_letter(headers: list[tuple[str, bytes | None]]) -> None:
    assert read_letter(Record(b"k", b"v", headers), DEAD) is None


def test_only_headers_of_its_own_are_the_records() -> None:
    headers = [*a_letter("orders", 0, 0, None).headers, ("trace", b"1"), ("__dlq.redrive.hops", b"2")]
    assert own_headers(headers) == [("trace", b"1")]


@pytest.mark.parametrize(
    "condition",
    [
        "delivery.count>3",
        "delivery.count >= 4",
        "delivery.count=4",
        "delivery.count!=5",
        "topic=orders",
        "topic~ord",
        "topic!=returns",
        "partition<3",
        "offset<=17",
        "message=no stock",
        "cause='no stock'",
        'message~"o s"',
        "message!~timeout",
        "time=1700000000000",
        "time<2023-11-15",
        "time>=2023-11-14T22:13:20",
        "time<2023-11-14T23:13:21+01:00",
    ],
)
def test_a_condition_holds_of_what_it_means(condition: str) -> None:
    assert Selection.of([condition]).holds_of(letter())


@pytest.mark.parametrize(
    "condition",
    [
        "delivery.count>4",
        "delivery.count!=4",
        "topic=order",
        "topic!~ord",
        "partition=1",
        "offset>17",
        "message~stocks",
        "time>2023-11-14T22:13:20",
    ],
)
def test_a_condition_holds_of_nothing_else(condition: str) -> None:
    assert not Selection.of([condition]).holds_of(letter())


def test_all_conditions_have_to_hold() -> None:
    assert EVERYTHING.holds_of(letter())
    assert Selection.of(["topic=orders", "offset=17"]).holds_of(letter())
    assert not Selection.of(["topic=orders", "offset=18"]).holds_of(letter())


def test_the_same_conditions_are_the_same_selection() -> None:
    one = Selection.of(["cause = no stock", "time>2023-11-14T22:13:20"])
    assert one == Selection.of(["time>1700000000000", "message=no stock", "message='no stock'"])
    assert Selection.of(one.texts) == one
    assert one != EVERYTHING


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("", "expected FIELD, an operator and a value"),
        ("delivery.count", "expected FIELD, an operator and a value"),
        ("count>3", "expected one of delivery.count, partition, offset, time, message, topic"),
        ("topic>orders", "topic is a text, which takes =, !=, ~, !~"),
        ("offset~1", "offset is compared with =, !=, <, <=, >, >="),
        ("offset=one", "expected a whole number"),
        ("offset=-1", "expected a whole number"),
        ("time<yesterday", "expected a time as YYYY-MM-DDTHH:mm:SS, or ms since 1970"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(condition: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Selection.of([condition])
