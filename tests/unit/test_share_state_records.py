"""Share state as bytes. The samples were written by Apache Kafka 4.3.1 into its own topic."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest

from leaselog.broker.share_state.records import decode_share_fact, encode_share_fact
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_facts import (
    ShareDropped,
    ShareFact,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.model import GroupId, TopicId
from leaselog.wire.codec import decode, encode
from leaselog.wire.errors import DecodeError, EncodeError
from leaselog.wire.messages import share_records as kafka
from leaselog.wire.records import Record
from leaselog.wire.share_state_extensions import RecordedWaitingStateBatch, WaitingUpdateValue

SAMPLES: list[tuple[str, str | None, ShareFact]] = [
    (
        "0000000167cafc7deb2d464781af06fcb6fe494bc700000000",
        "0000000000000000000100000000ffffffffffffffff000001a1fe4c93e8000001a1fe4c93e80100",
        ShareSnapshot(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
            snapshot_epoch=0,
            state_epoch=1,
            leader_epoch=0,
            start_offset=-1,
            delivery_complete_count=-1,
            created_ms=1795267793896,
            written_ms=1795267793896,
            batches=(),
        ),
    ),
    (
        "0001000167cafc7deb2d464781af06fcb6fe494bc700000000",
        "00000000000000000002ffffffffffffffff0100",
        ShareUpdate(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
            snapshot_epoch=0,
            leader_epoch=2,
            start_offset=-1,
            delivery_complete_count=-1,
            batches=(),
        ),
    ),
    (
        "0000000167cafc7deb2d464781af06fcb6fe494bc700000000",
        "00000000000200000002000000000000000000000005000001a1fe4c94a0000001a1fe4c94a00101000400000000",
        ShareSnapshot(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
            snapshot_epoch=2,
            state_epoch=2,
            leader_epoch=0,
            start_offset=5,
            delivery_complete_count=0,
            created_ms=1795267794080,
            written_ms=1795267794080,
            batches=(),
        ),
    ),
    (
        "0001000167cafc7deb2d464781af06fcb6fe494bc700000000",
        "0000000000020000000700000000000000050101000400000005",
        ShareUpdate(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
            snapshot_epoch=2,
            leader_epoch=7,
            start_offset=5,
            delivery_complete_count=5,
            batches=(),
        ),
    ),
    (
        "0001000167cafc7deb2d464781af06fcb6fe494bc700000000",
        "00000000000300000007000000000000000702000000000000000a000000000000000a0400050001000400000003",
        ShareUpdate(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
            snapshot_epoch=3,
            leader_epoch=7,
            start_offset=7,
            delivery_complete_count=3,
            batches=(StateBatch(start=10, end=11, state=4, delivery_count=5),),
        ),
    ),
    (
        "0000000167cafc7deb2d464781af06fcb6fe494bc700000000",
        "0000000000040000000200000007000000000000000c000001a1fe4c94c0000001a1fe4c94c004000000000000000c000000000000000e02000100000000000000000f000000000000001300000100000000000000001400000000000000190200010001000400000002",
        ShareSnapshot(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
            snapshot_epoch=4,
            state_epoch=2,
            leader_epoch=7,
            start_offset=12,
            delivery_complete_count=2,
            created_ms=1795267794112,
            written_ms=1795267794112,
            batches=(
                StateBatch(start=12, end=15, state=2, delivery_count=1),
                StateBatch(start=15, end=20, state=0, delivery_count=1),
                StateBatch(start=20, end=26, state=2, delivery_count=1),
            ),
        ),
    ),
    (
        "0000000167cafc7deb2d464781af06fcb6fe494bc700000000",
        None,
        ShareDropped(
            SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0)
        ),
    ),
]


@pytest.mark.parametrize(("key", "value", "fact"), SAMPLES)
def test_kafkas_record_is_read(key: str, value: str | None, fact: ShareFact) -> None:
    record = Record(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    assert decode_share_fact(record) == fact


@pytest.mark.parametrize(("key", "value", "fact"), SAMPLES)
def test_the_same_fact_is_written_as_kafka_writes_it(key: str, value: str | None, fact: ShareFact) -> None:
    record = encode_share_fact(fact, 77)
    assert record.key is not None
    assert record.key.hex() == key
    assert (None if record.value is None else record.value.hex()) == value
    assert record.timestamp_ms == 77


@pytest.mark.parametrize("due_ms", [0, 1])
@pytest.mark.parametrize("count", [-1, 0, 2**31 - 1])
@pytest.mark.parametrize("batch", [(0, 1, 0, 1), (10, 2**62, 2, 32767), (-3, 0, -1, -1)])
@pytest.mark.parametrize("epochs", [(0, 0, -1), (2**31 - 1, 2**31 - 1, 2**63 - 1)])
def test_an_update_of_one_stretch_has_the_bytes_that_the_codec_gives_it(
    epochs: tuple[int, int, int], batch: tuple[int, int, int, int], count: int, due_ms: int
) -> None:
    start, end, state, deliveries = batch
    update = ShareUpdate(WAITING.key, *epochs, count, (StateBatch(*batch, due_ms),))
    stretch = RecordedWaitingStateBatch(
        first_offset=start,
        last_offset=end - 1,
        delivery_state=state,
        delivery_count=deliveries,
        due_ms=due_ms,
    )
    expected = WaitingUpdateValue(
        snapshot_epoch=epochs[0],
        leader_epoch=epochs[1],
        start_offset=epochs[2],
        delivery_complete_count=count,
        state_batches=[stretch],
    )
    assert encode_share_fact(update, 77).value == bytes(2) + encode(expected, 0)


@pytest.mark.parametrize("deliveries", [-32769, 32768])
def test_what_fits_no_record_is_the_codecs_to_refuse(deliveries: int) -> None:
    update = ShareUpdate(WAITING.key, 0, 0, 0, 0, (StateBatch(0, 1, 2, deliveries),))
    with pytest.raises(EncodeError):
        encode_share_fact(update, 77)


def test_a_record_of_another_kind_is_passed_over() -> None:
    assert decode_share_fact(Record(pack(">h", 2) + b"whatever", b"")) is None


@pytest.mark.parametrize(
    "record",
    [
        Record(None, b""),
        Record(b"", b""),
        Record(b"\x00\x00", b""),
        Record(bytes.fromhex(SAMPLES[0][0]), b""),
        Record(bytes.fromhex(SAMPLES[0][0]), b"\x00\x01"),
        Record(bytes.fromhex(SAMPLES[0][0]), b"\x00\x00\x00"),
        Record(bytes.fromhex(SAMPLES[0][0]) + b"x", None),
    ],
)
def test_bytes_that_are_no_fact_raise_the_wires_error(record: Record) -> None:
    with pytest.raises(DecodeError):
        decode_share_fact(record)


WAITING = ShareUpdate(
    SharePartitionKey(GroupId("g"), TopicId(UUID("cafc7deb-2d46-4781-af06-fcb6fe494bc7")), 0),
    snapshot_epoch=3,
    leader_epoch=7,
    batches=(
        StateBatch(start=10, end=12, state=0, delivery_count=1, due_ms=1_795_267_794_112),
        StateBatch(start=12, end=13, state=2, delivery_count=1),
    ),
)


def test_a_record_says_until_when_others_wait() -> None:
    snapshot = ShareSnapshot(WAITING.key, 4, 0, 7, 10, -1, 5, 5, WAITING.batches)
    for fact in (WAITING, snapshot):
        assert decode_share_fact(encode_share_fact(fact, 77)) == fact


def test_whoever_knows_kafkas_records_alone_reads_everything_but_that() -> None:
    value = encode_share_fact(WAITING, 77).value
    assert value is not None
    known = decode(kafka.ShareUpdateValue, 0, value, 2)
    assert [(b.first_offset, b.last_offset, b.delivery_state) for b in known.state_batches] == [
        (10, 11, 0),
        (12, 12, 2),
    ]
