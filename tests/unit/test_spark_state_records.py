"""What a record of the state topic is read as; its bytes come from the coordinator that writes them."""

from __future__ import annotations

from uuid import UUID

import pyarrow as pa
import pytest

from leaselog.broker.share_state.records import encode_share_fact
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_facts import (
    ShareDropped,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.model import GroupId, TopicId
from leaselog.spark.state_options import View
from leaselog.spark.state_records import SharePlace, StateEntry, Stretch, read_entry
from leaselog.spark.state_rows import log_rows, row_batches
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

TOPIC_ID = UUID(int=7)
KEY = SharePartitionKey(GroupId("g"), TopicId(TOPIC_ID), 3)
PLACE = SharePlace("g", TOPIC_ID, 3)
BATCHES = (StateBatch(10, 15, 2, 1), StateBatch(15, 16, 0, 4))
STRETCHES = (Stretch(10, 15, 2, 1), Stretch(15, 16, 0, 4))


def test_a_snapshot_and_an_update_are_read_as_they_were_written() -> None:
    snapshot = ShareSnapshot(KEY, 5, 2, 1, 10, 6, 111, 222, BATCHES)
    assert read_entry(encode_share_fact(snapshot, 0)) == StateEntry(
        "snapshot", PLACE, 10, 5, 2, 1, 6, STRETCHES
    )
    update = ShareUpdate(KEY, 5, 1, 12, -1, BATCHES[1:])
    assert read_entry(encode_share_fact(update, 0)) == StateEntry(
        "update", PLACE, 12, 5, None, 1, None, STRETCHES[1:]
    )


def test_an_offset_that_is_not_told_is_none() -> None:
    entry = read_entry(encode_share_fact(ShareUpdate(KEY, 5, 1, -1, -1, ()), 0))
    assert entry is not None
    assert entry.start_offset is None


def test_a_tombstone_is_read_and_what_is_of_a_type_to_come_is_passed_over() -> None:
    assert read_entry(encode_share_fact(ShareDropped(KEY), 0)) == StateEntry("tombstone", PLACE)
    assert read_entry(Record(b"\x00\x09whatever", b"")) is None


@pytest.mark.parametrize(("key", "value"), [(None, b""), (b"\x00", b""), (b"\x00\x00\x00", b""), (b"", None)])
def test_a_malformed_record_is_an_error(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        read_entry(Record(key, value))


def test_a_value_of_a_version_to_come_is_an_error_that_says_so() -> None:
    record = encode_share_fact(ShareUpdate(KEY, 5, 1, -1, -1, ()), 0)
    with pytest.raises(DecodeError, match="version 1 at offset 8, known is 0"):
        read_entry(Record(record.key, b"\x00\x01" + (record.value or b"")[2:], offset=8))


def test_an_entry_is_a_row_for_each_stretch_and_one_without_offsets_if_it_has_none() -> None:
    entry = StateEntry("update", PLACE, 12, 5, None, 1, None, STRETCHES)
    empty = StateEntry("tombstone", PLACE)
    rows = [*log_rows(entry, {TOPIC_ID: "t"}, 1_000, 4, 99), *log_rows(empty, {}, 1_000, 4, 100)]
    table = pa.Table.from_batches(row_batches(rows, View.LOG)).to_pylist()
    assert [
        (row["first_offset"], row["last_offset"], row["state"], row["delivery_count"]) for row in table
    ] == [
        (10, 14, "acknowledged", 1),
        (15, 15, "available", 4),
        (None, None, None, None),
    ]
    assert {(row["group_id"], row["topic_id"], row["partition"]) for row in table} == {
        ("g", "AAAAAAAAAAAAAAAAAAAABw", 3)
    }
    assert [row["topic"] for row in table] == ["t", "t", None]
    assert [row["state_offset"] for row in table] == [99, 99, 100]
