"""The records of share groups, against bytes that Apache Kafka 4.3.1 wrote."""

from __future__ import annotations

from uuid import UUID

import pytest

from leaselog.broker.groups.records import decode_fact, encode_fact
from leaselog.coordination.group_facts import GroupFact
from leaselog.coordination.share_group_facts import (
    ShareAssignmentStored,
    ShareAssignmentTime,
    ShareCurrent,
    ShareCurrentStored,
    ShareEpoch,
    ShareEpochStored,
    ShareMemberAsked,
    ShareMemberStored,
    ShareStates,
    ShareStateStored,
    ShareTargetStored,
    TopicPartitions,
)
from leaselog.model import GroupId, MemberId, TopicId
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

G, M1 = GroupId("gtf1c6"), MemberId("m1")
T = TopicId(UUID(bytes=b"\xbd\x81\xb3}\x15\xf5Fc\xa8)\x90d\xa1\xad\x96\xe1"))
U = TopicId(UUID(bytes=b"d\x158\x8d\xc4\x0fH\x10\x94\\t\xa1\xf4S^\xc7"))
MEMBER_KEY, GROUP_KEY = b"\x00\x06gtf1c6\x00\x02m1", b"\x00\x06gtf1c6"

FROM_KAFKA: list[tuple[GroupFact, bytes, bytes | None]] = [
    (
        ShareMemberStored(G, M1, ShareMemberAsked(None, "cl", "/127.0.0.1", ("tf1c6", "utf1c6"))),
        b"\x00\x0a" + MEMBER_KEY,
        b"\x00\x00\x00\x03cl\x0b/127.0.0.1\x03\x06tf1c6\x07utf1c6\x00",
    ),
    (
        ShareEpochStored(G, ShareEpoch(5, int.from_bytes(b"\xf1H\x91Kl\xd1'C", "big", signed=True))),
        b"\x00\x0b" + GROUP_KEY,
        b"\x00\x00\x00\x00\x00\x05\xf1H\x91Kl\xd1'C\x00",
    ),
    (
        ShareAssignmentStored(G, ShareAssignmentTime(3, 0x1A1FE4C40D9)),
        b"\x00\x0c" + GROUP_KEY,
        b"\x00\x00\x00\x00\x00\x03\x01\x00\x08\x00\x00\x01\xa1\xfeL@\xd9",
    ),
    (
        ShareTargetStored(G, M1, {T: frozenset({1, 2, 4}), U: frozenset({0, 1})}),
        b"\x00\x0d" + MEMBER_KEY,
        b"\x00\x00\x03"
        + U.bytes
        + b"\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00"
        + T.bytes
        + b"\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00",
    ),
    (
        ShareCurrentStored(G, M1, ShareCurrent(4, 3, {T: frozenset({1, 2})})),
        b"\x00\x0e" + MEMBER_KEY,
        b"\x00\x00\x00\x00\x00\x04\x00\x00\x00\x03\x00\x02"
        + T.bytes
        + b"\x03\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00",
    ),
    (
        ShareStateStored(
            G,
            ShareStates(
                {T: TopicPartitions("tf1c6", frozenset({3, 4}))},
                {T: TopicPartitions("tf1c6", frozenset({0, 1, 2}))},
                {},
            ),
        ),
        b"\x00\x0f" + GROUP_KEY,
        b"\x00\x00\x02"
        + T.bytes
        + b"\x06tf1c6\x03\x00\x00\x00\x03\x00\x00\x00\x04\x00\x02"
        + T.bytes
        + b"\x06tf1c6\x04\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x01\x00",
    ),
    (
        ShareStateStored(G, ShareStates({}, {}, {U: "utf1c6"})),
        b"\x00\x0f" + GROUP_KEY,
        b"\x00\x00\x01\x01\x02" + U.bytes + b"\x07utf1c6\x00\x00",
    ),
    (ShareMemberStored(G, M1, None), b"\x00\x0a" + MEMBER_KEY, None),
    (ShareEpochStored(G, None), b"\x00\x0b" + GROUP_KEY, None),
    (ShareAssignmentStored(G, None), b"\x00\x0c" + GROUP_KEY, None),
    (ShareTargetStored(G, M1, None), b"\x00\x0d" + MEMBER_KEY, None),
    (ShareCurrentStored(G, M1, None), b"\x00\x0e" + MEMBER_KEY, None),
    (ShareStateStored(G, None), b"\x00\x0f" + GROUP_KEY, None),
]


@pytest.mark.parametrize(("fact", "key", "value"), FROM_KAFKA)
def test_what_is_written_is_what_kafka_writes(fact: GroupFact, key: bytes, value: bytes | None) -> None:
    record = encode_fact(fact, 7)
    assert (bytes(record.key or b""), record.value, record.timestamp_ms) == (key, value, 7)


@pytest.mark.parametrize(("fact", "key", "value"), FROM_KAFKA)
def test_what_kafka_wrote_is_read(fact: GroupFact, key: bytes, value: bytes | None) -> None:
    assert decode_fact(Record(key, value)) == fact


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x00\x01\x00", b"\x00\x00\x00"])
@pytest.mark.parametrize("kind", range(10, 16))
def test_a_value_that_is_not_one_is_a_decode_error(kind: int, value: bytes) -> None:
    key = bytes((0, kind)) + (MEMBER_KEY if kind in (10, 13, 14) else GROUP_KEY)
    with pytest.raises(DecodeError):
        decode_fact(Record(key, value))
