"""Transaction markers, byte for byte as Apache Kafka 4.3.1 writes them."""

from __future__ import annotations

import pytest

from leaselog.wire.end_markers import EndMarker, build_end_marker, read_end_marker
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import read_header
from leaselog.wire.records import Record, build_batch

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize("marker", [EndMarker(True, 7), EndMarker(False, 0)])
def test_a_marker_is_one_control_record_of_its_producer_and_reads_as_it_was_written(
    marker: EndMarker,
) -> None:
    batch = build_end_marker(1234, 5, marker, now_ms=NOW_MS)
    header = read_header(batch)
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    assert (header.producer_id, header.producer_epoch, header.record_count) == (1234, 5, 1)
    assert header.size_bytes == 78
    assert read_end_marker(batch, header) == marker
    assert batch.endswith(
        bytes.fromhex("080000" + ("0001" if marker.is_commit else "0000") + "0c0000")
        + (marker.coordinator_epoch.to_bytes(4, "big") + b"\0")
    )


def control(key: bytes | None, value: bytes | None) -> bytearray:
    return build_batch([Record(key, value, (), NOW_MS)], producer_id=1, producer_epoch=0, is_control=True)


def test_other_control_records_are_no_markers() -> None:
    batch = control(b"\0\0\0\2", b"")
    assert read_end_marker(batch, read_header(batch)) is None
    plain = build_batch([Record(b"\0\0\0\1", b"\0\0\0\0\0\0")], producer_id=1, producer_epoch=0)
    assert read_end_marker(plain, read_header(plain)) is None


def test_a_later_version_is_read_as_the_one_it_extends() -> None:
    batch = control(b"\0\1\0\1more", b"\0\1\0\0\0\x09more")
    assert read_end_marker(batch, read_header(batch)) == EndMarker(True, 9)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0\0\0\0\0\0"),
        (b"\0\0", b"\0\0\0\0\0\0"),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0\0\0"),
        (b"\xff\xff\0\1", b"\0\0\0\0\0\0"),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\0"),
    ],
)
def test_what_no_coordinator_writes_is_a_decode_error(key: bytes | None, value: bytes | None) -> None:
    batch = control(key, value)
    with pytest.raises(DecodeError):
        read_end_marker(batch, read_header(batch))
