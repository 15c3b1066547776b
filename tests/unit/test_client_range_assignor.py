"""Kafka's range assignor, by its results."""

from __future__ import annotations

from leaselog.client.range_assignor import Subscriber, assign_ranges
from leaselog.model import TopicPartition


def member(name: str, *topics: str, instance: str | None = None) -> Subscriber:
    return Subscriber(name, instance, frozenset(topics or ("t",)))


def numbers(assigned: dict[str, list[TopicPartition]]) -> dict[str, list[int]]:
    return {name: [where.partition for where in parts] for name, parts in assigned.items()}


def test_the_first_members_get_one_more() -> None:
    assigned = assign_ranges([member("c"), member("a"), member("b")], {"t": 8})
    assert numbers(assigned) == {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7]}


def test_each_topic_is_divided_by_itself() -> None:
    assigned = assign_ranges([member("a", "t", "u"), member("b", "t", "u")], {"t": 1, "u": 3})
    assert assigned["a"] == [TopicPartition("t", 0), TopicPartition("u", 0), TopicPartition("u", 1)]
    assert assigned["b"] == [TopicPartition("u", 2)]


def test_a_topic_goes_only_to_those_who_read_it() -> None:
    assigned = assign_ranges([member("a", "t"), member("b", "u")], {"t": 2, "u": 1})
    assert assigned == {
        "a": [TopicPartition("t", 0), TopicPartition("t", 1)],
        "b": [TopicPartition("u", 0)],
    }


def test_static_members_come_first_and_by_their_names() -> None:
    members = [member("a"), member("z", instance="1"), member("y", instance="2")]
    assert numbers(assign_ranges(members, {"t": 3})) == {"z": [0], "y": [1], "a": [2]}


def test_members_without_a_partition_and_topics_that_are_not_there_are_fine() -> None:
    assert numbers(assign_ranges([member("a"), member("b")], {"t": 1})) == {"a": [0], "b": []}
    assert numbers(assign_ranges([member("a")], {})) == {"a": []}
