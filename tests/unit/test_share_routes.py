"""Which partition is fetched where, and when that is looked up."""

from __future__ import annotations

from uuid import UUID

from leaselog.client.share.acknowledgements import TopicIdPartition
from leaselog.client.share.routes import Routes
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology
from leaselog.model import ErrorCode, TopicId

ID = TopicId(UUID(int=5))
MAX_AGE_MS, BACKOFF_MS, PATIENCE_MS = 300_000, 100, 1_000


def routes() -> Routes:
    made = Routes(0, max_age_ms=MAX_AGE_MS, backoff_ms=BACKOFF_MS, patience_ms=PATIENCE_MS)
    made.subscribe(frozenset({"t"}), 0)
    return made


def topology(*leaders: int, **errors: ErrorCode) -> Topology:
    infos = tuple(PartitionInfo(p, leader, 0, (), (), ()) for p, leader in enumerate(leaders))
    topics = {"t": TopicInfo("t", ID, False, infos)} if leaders else {}
    return Topology({1: Node(1, "a", 1), 2: Node(2, "b", 2)}, None, 1, topics, errors)


def where(partition: int) -> TopicIdPartition:
    return TopicIdPartition("t", partition, ID)


def known(*leaders: int) -> Routes:
    made = routes()
    assert made.take_question(0) == ("t",)
    assert made.learned(("t",), topology(*leaders), 0) == {}
    made.follow(frozenset({(ID, 0), (ID, 1)}), 0)
    return made


def test_assigned_partitions_are_fetched_from_their_leaders() -> None:
    assert known(1, 2).by_node == {1: [where(0)], 2: [where(1)]}


def test_one_question_is_under_way_at_a_time_and_the_next_comes_with_age() -> None:
    made = routes()
    made.take_question(0)
    assert (made.take_question(0), made.next_ms) == (None, None)
    made.learned(("t",), topology(1), 0)
    assert made.take_question(MAX_AGE_MS - 1) is None
    assert made.take_question(MAX_AGE_MS) == ("t",)


def test_an_assigned_partition_nobody_knows_is_looked_up_soon() -> None:
    made = known(1)
    assert made.by_node == {1: [where(0)]}
    assert made.next_ms == BACKOFF_MS


def test_a_broker_that_says_who_leads_is_believed_and_checked() -> None:
    made = known(1, 1)
    made.led_by(where(1), 2, 50)
    made.follow(frozenset({(ID, 0), (ID, 1)}), 50)
    assert made.by_node == {1: [where(0)], 2: [where(1)]}
    assert made.next_ms == 50 + BACKOFF_MS


def test_a_topic_that_does_not_exist_is_looked_for_again() -> None:
    made = routes()
    made.take_question(0)
    assert made.learned(("t",), topology(t=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 0) == {}
    assert made.next_ms == PATIENCE_MS


def test_what_is_wrong_with_a_topic_for_good_is_told() -> None:
    made = routes()
    made.take_question(0)
    error = made.learned(("t",), topology(t=ErrorCode.TOPIC_AUTHORIZATION_FAILED), 0)["t"]
    assert error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_subscription_that_changes_while_a_question_is_under_way_is_asked_about_at_once() -> None:
    made = routes()
    made.take_question(0)
    made.subscribe(frozenset({"t", "u"}), 10)
    made.learned(("t",), topology(1), 20)
    assert made.take_question(20) == ("t", "u")


def test_partitions_of_a_topic_no_longer_subscribed_are_not_fetched() -> None:
    made = known(1, 1)
    made.subscribe(frozenset({"u"}), 10)
    made.follow(frozenset({(ID, 0), (ID, 1)}), 10)
    assert made.by_node == {}


def test_after_no_answer_it_is_asked_again_soon() -> None:
    made = routes()
    made.take_question(0)
    made.learned_nothing(10)
    assert made.next_ms == 10 + BACKOFF_MS
