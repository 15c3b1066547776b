"""What a dead letter holds, how it fits its topic, and how one that goes in a circle is known."""

from __future__ import annotations

import pytest

from leaselog.broker.dead_letters.records import (
    MAX_HOPS,
    Origin,
    fitted,
    is_in_a_circle,
    letter,
    way_of,
)
from leaselog.broker.records.portions import portions
from leaselog.model import GroupId, TopicPartition
from leaselog.share import REJECTED
from leaselog.wire.records import Record, build_batch


def origin(topic: str = "src", offset: int = 7) -> Origin:
    return Origin(TopicPartition(topic, 2), offset, GroupId("g"), 3, REJECTED)


HEADERS = [
    ("__dlq.errors.topic", b"src"),
    ("__dlq.errors.partition", b"2"),
    ("__dlq.errors.offset", b"7"),
    ("__dlq.errors.group", b"g"),
    ("__dlq.errors.delivery.count", b"3"),
    ("__dlq.errors.message", b"Offset rejected by client."),
]


@pytest.mark.parametrize(("key", "value"), [(b"k", b"v"), (None, b"v"), (b"k", None), (b"", b"")])
def test_a_letter_has_the_key_and_value_of_its_record_and_headers_of_its_own(
    key: bytes | None, value: bytes | None
) -> None:
    original = Record(key, value, [("mine", b"1")], timestamp_ms=1, offset=7)
    assert letter(origin(), original, (), 99) == Record(key, value, HEADERS, 99)


def test_a_letter_without_a_copy_says_where_the_record_lies() -> None:
    assert letter(origin(), None, (), 99) == Record(None, None, HEADERS, 99)


def test_a_letter_about_a_letter_names_the_topics_before() -> None:
    first = letter(origin("a"), Record(b"k", b"v"), (), 1)
    assert way_of(first) == ("a",)
    second = letter(origin("dlq.b"), first, way_of(first), 2)
    assert second.headers[-1] == ("__dlq.errors.hops", b"a")
    assert way_of(second) == ("a", "dlq.b")
    third = letter(origin("dlq.c"), second, way_of(second), 3)
    assert third.headers[-1] == ("__dlq.errors.hops", b"a,dlq.b")
    assert way_of(third) == ("a", "dlq.b", "dlq.c")


@pytest.mark.parametrize(
    "headers", [[], [("other", b"x")], [("__dlq.errors.topic", None)], [("__dlq.errors.hops", b"a")]]
)
def test_what_is_no_dead_letter_has_no_way(headers: list[tuple[str, bytes | None]]) -> None:
    assert way_of(Record(b"k", b"v", headers)) == ()


def test_a_circle_is_a_topic_twice() -> None:
    assert is_in_a_circle((), "dlq.a", "dlq.a")
    assert is_in_a_circle(("dlq.a", "dlq.b"), "dlq.c", "dlq.a")
    assert not is_in_a_circle(("a", "dlq.b"), "dlq.c", "dlq.d")


def test_a_way_without_end_is_taken_for_a_circle() -> None:
    topics = tuple(f"dlq.{n}" for n in range(MAX_HOPS))
    assert not is_in_a_circle(topics[1:], "dlq.x", "dlq.y")
    assert is_in_a_circle(topics, "dlq.x", "dlq.y")


def test_a_letter_that_is_too_large_goes_without_key_and_value() -> None:
    small, large = (letter(origin(), Record(b"k", b"v" * size), (), 1) for size in (100, 1000))
    assert list(fitted([small, large], 600)) == [small, large._replace(key=None, value=None)]


def test_a_letter_that_fits_to_the_byte_keeps_its_value() -> None:
    one = letter(origin(), Record(b"k", b"v" * 500), (), 1)
    size = len(build_batch([one]))
    assert list(fitted([one], size)) == [one]
    assert list(fitted([one], size - 1)) == [one._replace(key=None, value=None)]


def test_no_batch_of_letters_is_larger_than_its_topic_takes() -> None:
    letters = [letter(origin(offset=n), Record(b"k", b"v" * (n * 7 % 300)), (), 1) for n in range(200)]
    batches = list(portions(fitted(letters, 2_000), 2_000))
    assert [one for batch in batches for one in batch] == letters
    assert all(len(build_batch(batch)) <= 2_000 for batch in batches)
    assert len(batches) < 60
