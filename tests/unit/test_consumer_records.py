"""The records of consumer groups: Apache Kafka's bytes, and what is read back of them."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest

from leaselog.broker.groups.records import decode_fact, encode_fact
from leaselog.coordination.consumer_group_facts import (
    ConsumerAssignmentStored,
    ConsumerAssignmentTime,
    ConsumerCurrent,
    ConsumerCurrentStored,
    ConsumerEpoch,
    ConsumerEpochStored,
    ConsumerGroupFact,
    ConsumerMemberAsked,
    ConsumerMemberStored,
    ConsumerPatternStored,
    ConsumerTargetStored,
    MatchedTopics,
    Standing,
)
from leaselog.model import GroupId, MemberId, TopicId
from leaselog.wire.records import Record

G, M = GroupId("group"), MemberId("m")
T, U = TopicId(UUID(int=7)), TopicId(UUID(int=8))
ASKED = ConsumerMemberAsked("i", None, "client", "/host", ("t", "u"), "v.*", 30_000, "range")
CURRENT = ConsumerCurrent(5, 4, Standing.REVOKING, {T: {0: 3, 2: 5}}, {U: {1: 2}})
FACTS: list[ConsumerGroupFact] = [
    ConsumerMemberStored(G, M, ASKED),
    ConsumerEpochStored(G, ConsumerEpoch(5, -77)),
    ConsumerAssignmentStored(G, ConsumerAssignmentTime(5, 1_234)),
    ConsumerTargetStored(G, M, {T: frozenset({0, 2})}),
    ConsumerCurrentStored(G, M, CURRENT),
    ConsumerPatternStored(G, "v.*", MatchedTopics(frozenset({"v1", "v2"}), 9, 1_234)),
    ConsumerMemberStored(G, M, None),
    ConsumerEpochStored(G, None),
    ConsumerAssignmentStored(G, None),
    ConsumerTargetStored(G, M, None),
    ConsumerCurrentStored(G, M, None),
    ConsumerPatternStored(G, "v.*", None),
]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_what_is_written_is_what_is_read(fact: ConsumerGroupFact) -> None:
    assert decode_fact(encode_fact(fact, 55)) == fact


def test_the_keys_are_kafkas() -> None:
    kinds = [int.from_bytes((encode_fact(fact, 1).key or b"")[:2], "big") for fact in FACTS[:6]]
    assert kinds == [5, 3, 6, 7, 8, 16]
    assert encode_fact(FACTS[0], 1).key == b"\x00\x05" + b"\x00\x05group" + b"\x00\x01m"


def test_a_current_assignment_is_kafkas_with_the_epochs_in_a_tag() -> None:
    value = encode_fact(
        ConsumerCurrentStored(G, M, ConsumerCurrent(5, 4, Standing.STABLE, {T: {2: 3}})), 1
    ).value
    place = T.bytes + b"\x02" + pack(">i", 2) + b"\x01" + b"\x00" + b"\x05" + b"\x02" + pack(">i", 3)
    assert value == b"\x00\x00" + pack(">iib", 5, 4, 0) + b"\x02" + place + b"\x01" + b"\x00"


def test_a_current_assignment_of_an_older_broker_has_the_members_epoch_everywhere() -> None:
    key = encode_fact(FACTS[4], 1).key
    place = T.bytes + b"\x03" + pack(">ii", 0, 2) + b"\x00"
    value = b"\x00\x00" + pack(">iib", 5, 4, 0) + b"\x02" + place + b"\x01" + b"\x00"
    assert decode_fact(Record(key, value)) == ConsumerCurrentStored(
        G, M, ConsumerCurrent(5, 4, Standing.STABLE, {T: {0: 5, 2: 5}})
    )


def test_a_state_to_come_is_sorted_out_by_the_next_heartbeat() -> None:
    record = encode_fact(ConsumerCurrentStored(G, M, ConsumerCurrent(5, 4)), 1)
    assert record.value is not None
    unknown = record.value[:10] + b"\x7f" + record.value[11:]
    assert decode_fact(Record(record.key, unknown)) == ConsumerCurrentStored(G, M, ConsumerCurrent(5, 4))


def test_the_partitions_of_older_brokers_are_passed_over() -> None:
    assert decode_fact(Record(pack(">h", 4) + b"\x00\x05group", b"\x00\x00")) is None
