"""What a reader makes of fetched bytes: whole batches, from the offset asked for, nothing aborted."""

from __future__ import annotations

import pytest

from leaselog.client.fetcher import Fetched, _readable
from leaselog.model import TopicPartition
from leaselog.wire.errors import CorruptBatch
from leaselog.wire.messages.fetch import AbortedTransaction
from leaselog.wire.record_batch import whole_batches
from leaselog.wire.records import Record, build_batch

WHERE = TopicPartition("t", 0)


def batch(base: int, *values: bytes, producer_id: int = -1, control: bool = False) -> bytes:
    return bytes(
        build_batch(
            [Record(None, value) for value in values],
            base_offset=base,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            is_transactional=producer_id >= 0,
            is_control=control,
        )
    )


def read(data: bytes, start: int, aborted: list[AbortedTransaction] | None = None) -> list[bytes | None]:
    kept = _readable(list(whole_batches(data)), aborted or [], data, start)
    return [r.value for r in Fetched(WHERE, start, 0, 0, kept, data).records()]


def test_records_before_the_offset_asked_for_are_left_out() -> None:
    assert read(batch(0, b"a", b"b", b"c") + batch(3, b"d"), start=2) == [b"c", b"d"]


@pytest.mark.parametrize("missing", [1, 20, 61, 68])
def test_a_batch_cut_off_at_the_end_is_left_for_the_next_fetch(missing: int) -> None:
    whole = batch(0, b"a") + batch(1, b"b")
    assert read(whole[:-missing], start=0) == [b"a"]


def test_control_records_are_nobodys_data() -> None:
    data = (
        batch(0, b"a", producer_id=7)
        + batch(1, b"\0\0\0\0\0\0", producer_id=7, control=True)
        + batch(2, b"b")
    )
    assert read(data, start=0) == [b"a", b"b"]


def test_an_aborted_transaction_is_skipped_until_its_marker_and_not_beyond() -> None:
    data = (
        batch(0, b"kept", producer_id=8)
        + batch(1, b"aborted", producer_id=7)
        + batch(2, b"\0\0\0\0\0\0", producer_id=7, control=True)
        + batch(3, b"later", producer_id=7)
    )
    aborted = [AbortedTransaction(producer_id=7, first_offset=1)]
    assert read(data, start=0, aborted=aborted) == [b"kept", b"later"]


def test_a_changed_byte_is_noticed() -> None:
    data = bytearray(batch(0, b"abcdef"))
    data[-3] ^= 1
    with pytest.raises(CorruptBatch, match="checksum"):
        read(bytes(data), start=0)
