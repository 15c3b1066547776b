"""What was fetched and not handed out yet: in order, as far as asked for, and past what cannot be read."""

from __future__ import annotations

import pytest

from leaselog.client.consumer.waiting_records import Decoding, WaitingRecords
from leaselog.client.fetcher import Fetched
from leaselog.client.kafka_errors import CorruptRecordException
from leaselog.client.share.deserializers import as_bytes
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import whole_batches
from leaselog.wire.records import Record, build_batch, read_records

GOOD, BAD = TopicPartition("good", 0), TopicPartition("bad", 0)


def waiting() -> WaitingRecords:
    return WaitingRecords(Decoding(as_bytes, as_bytes, True, read_records))


def fetched(where: TopicPartition, start: int, *counts: int, corrupt: int | None = None) -> Fetched:
    """Batches with so many records each, from offset 0 on; one of them is not as it was written."""
    data, base = bytearray(), 0
    for number, count in enumerate(counts):
        batch = bytearray(build_batch([Record(None, b"x")] * count, base_offset=base))
        if number == corrupt:
            batch[-1] ^= 1
        data += batch
        base += count
    return Fetched(where, start, base + 2, base + 2, list(whole_batches(bytes(data))), bytes(data))


def test_records_come_in_order_and_no_more_than_asked_for() -> None:
    records = waiting()
    records.add(fetched(GOOD, 1, 3, 2))
    taken, ends = records.take(1, ())
    assert [r.offset for r in taken] == [1]
    assert ends == {GOOD: 2}
    assert records.positions == {GOOD: 2}
    taken, ends = records.take(10, ())
    assert [r.offset for r in taken] == [2, 3, 4]
    assert ends == {GOOD: 7}, "what is not for applications is behind it, too"
    assert GOOD not in records


def test_a_paused_partition_keeps_what_it_has() -> None:
    records = waiting()
    records.add(fetched(GOOD, 0, 1))
    assert records.take(10, {GOOD}) == ([], {})
    assert len(records.take(10, ())[0]) == 1


def test_a_batch_that_cannot_be_read_is_an_error_again_and_again_and_others_go_on() -> None:
    records = waiting()
    records.add(fetched(BAD, 0, 1, 2, corrupt=1))
    records.add(fetched(GOOD, 0, 1))
    assert [(r.topic, r.offset) for r in records.take(1, ())[0]] == [("bad", 0)]
    with pytest.raises(CorruptRecordException, match=r"bad-0 cannot be read at offset 1: .* seek beyond it"):
        records.take(1, ())
    assert [r.topic for r in records.take(1, ())[0]] == ["good"]
    with pytest.raises(CorruptRecordException):
        records.take(1, ())
    assert records.positions == {BAD: 1}, "nothing is skipped"
