"""Group facts as bytes. The expected bytes are what Apache Kafka's definitions prescribe, put together by hand."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest

from leaselog.broker.groups.records import decode_fact, encode_fact, protocol
from leaselog.coordination.group_facts import (
    CommittedOffset,
    GroupDropped,
    GroupFact,
    GroupMetadata,
    GroupStored,
    OffsetCommitted,
    OffsetDropped,
    StoredMember,
)
from leaselog.model import GroupId, MemberId, TopicId, TopicPartition
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

G = GroupId("group")
P = TopicPartition("topic", 3)
SUBSCRIPTION = b"\x00\x00" + b"\x00\x00\x00\x01\x00\x05topic" + b"\xff\xff\xff\xff"
MEMBER = StoredMember(
    MemberId("m"), "i", "c", "/h", 300_000, 45_000, protocol("consumer", "range", SUBSCRIPTION), b"assigned"
)
GROUP = GroupMetadata("consumer", 5, "range", MemberId("m"), 1_234, (MEMBER,))


@pytest.mark.parametrize(
    "fact",
    [
        GroupStored(G, GROUP),
        GroupStored(G, GroupMetadata(since_ms=9)),
        GroupDropped(G),
        OffsetCommitted(G, P, CommittedOffset(7, 2, "who", 1_000, -1, TopicId(UUID(int=9)))),
        OffsetCommitted(G, P, CommittedOffset(7, -1, "", 1_000, 5_000)),
        OffsetDropped(G, P),
    ],
)
def test_what_is_written_is_read(fact: GroupFact) -> None:
    assert decode_fact(encode_fact(fact, 1)) == fact


def test_an_offset_is_kafkas_version_4() -> None:
    record = encode_fact(OffsetCommitted(G, P, CommittedOffset(7, 2, "md", 1_000)), 55)
    assert record.key == b"\x00\x01" + b"\x00\x05group" + b"\x00\x05topic" + pack(">i", 3)
    assert record.value == b"\x00\x04" + pack(">qi", 7, 2) + b"\x03md" + pack(">q", 1_000) + b"\x00"
    assert record.timestamp_ms == 55


def test_an_offset_that_expires_by_itself_is_kafkas_version_1() -> None:
    record = encode_fact(OffsetCommitted(G, P, CommittedOffset(7, 2, "md", 1_000, 2_000)), 55)
    assert record.value == b"\x00\x01" + pack(">q", 7) + b"\x00\x02md" + pack(">qq", 1_000, 2_000)


def test_a_group_is_kafkas_version_3() -> None:
    record = encode_fact(GroupStored(G, GROUP), 55)
    assert record.key == b"\x00\x02" + b"\x00\x05group"
    member = b"\x00\x01m" + b"\x00\x01i" + b"\x00\x01c" + b"\x00\x02/h" + pack(">ii", 300_000, 45_000)
    member += pack(">i", len(SUBSCRIPTION)) + SUBSCRIPTION + pack(">i", 8) + b"assigned"
    head = b"\x00\x08consumer" + pack(">i", 5) + b"\x00\x05range" + b"\x00\x01m" + pack(">q", 1_234)
    assert record.value == b"\x00\x03" + head + pack(">i", 1) + member


def test_a_deletion_is_a_tombstone() -> None:
    assert encode_fact(GroupDropped(G), 1).value is None
    assert encode_fact(OffsetDropped(G, P), 1).value is None


def test_a_group_of_another_kind_is_passed_over() -> None:
    assert decode_fact(Record(pack(">h", 17) + b"\x00\x05group", b"\x00\x00")) is None


@pytest.mark.parametrize(
    "record",
    [
        Record(None, b""),
        Record(b"", b""),
        Record(b"\x00\x01\x00", b""),
        Record(b"\x00\x02\x00\x01g", b"\x00\x09"),
    ],
)
def test_bytes_that_are_no_fact_raise_the_wires_error(record: Record) -> None:
    with pytest.raises(DecodeError):
        decode_fact(record)


@pytest.mark.parametrize(
    ("protocol_type", "metadata", "topics"),
    [
        ("consumer", SUBSCRIPTION, frozenset({"topic"})),
        ("consumer", b"\x00\x09" + SUBSCRIPTION[2:] + bytes(40), frozenset({"topic"})),
        ("consumer", b"\xff\xff", None),
        ("consumer", b"", None),
        ("connect", SUBSCRIPTION, None),
    ],
)
def test_topics_are_read_from_what_a_consumer_says(
    protocol_type: str, metadata: bytes, topics: frozenset[str] | None
) -> None:
    assert protocol(protocol_type, "range", metadata).topics == topics
