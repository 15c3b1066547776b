"""dump-log prints what Apache's DumpLogSegments 4.3.1 printed for the same bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from leaselog.cli.main import main
from leaselog.cli.record_decoders import decode_cluster_metadata, decode_offsets
from leaselog.log.aborted_index import AbortedIndex, AbortedTransaction
from leaselog.log.producer_state import ProducerState
from leaselog.wire.codec import encode
from leaselog.wire.compression import Codec
from leaselog.wire.messages.group_records import OffsetCommitKey, OffsetCommitValue
from leaselog.wire.messages.metadata_records import FeatureLevelRecord
from leaselog.wire.record_batch import read_header
from leaselog.wire.records import Record, build_batch

NAME = "00000000000000000000"
T = 1795264900503
FIRST = build_batch(
    [Record(None, b"v0", (), T), Record(b"k1", b"v1", (("h1", b"x"), ("h2", None)), T), Record(b"k2", b"v2", (), T)],
    leader_epoch=0, producer_id=10, producer_epoch=0, base_sequence=0,
)  # fmt: skip
SECOND = build_batch(
    [Record(b"k", None, (), T + 78)],
    base_offset=3,
    leader_epoch=0,
    producer_id=10,
    producer_epoch=0,
    base_sequence=3,
)
FIRST_LINE = (
    "baseOffset: 0 lastOffset: 2 count: 3 baseSequence: 0 lastSequence: 2 producerId: 10 producerEpoch: 0"
    " partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0"
    " CreateTime: 1795264900503 size: 101 magic: 2 compresscodec: none crc: 356932888 isvalid: true"
)
SECOND_LINE = (
    "baseOffset: 3 lastOffset: 3 count: 1 baseSequence: 3 lastSequence: 3 producerId: 10 producerEpoch: 0"
    " partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 101"
    " CreateTime: 1795264900581 size: 69 magic: 2 compresscodec: none crc: 995208936 isvalid: true"
)


def dump(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> tuple[list[str], list[str]]:
    """What goes to stdout below the file's name, and what goes to stderr."""
    assert main(["dump-log", *options, "--files", str(file)]) == 0
    out, err = capsys.readouterr()
    first, *lines = out.splitlines()
    assert first == f"Dumping {file}"
    return lines, err.splitlines()


def write(folder: Path, suffix: str, data: bytes) -> Path:
    path = folder / f"{NAME}{suffix}"
    path.write_bytes(data)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path, ".log", FIRST + SECOND)


def test_batches_alone(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dump(capsys, log) == (["Log starting offset: 0", FIRST_LINE, SECOND_LINE], [])


def test_records_with_their_content(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = dump(capsys, log, "--print-data-log")
    start = "| offset: {} CreateTime: {} keySize: {} valueSize: {} sequence: {} headerKeys: [{}]"
    assert lines[2:5] == [
        start.format(0, T, -1, 2, 0, "") + " payload: v0",
        start.format(1, T, 2, 2, 1, "h1,h2") + " key: k1 payload: v1",
        start.format(2, T, 2, 2, 2, "") + " key: k2 payload: v2",
    ]
    assert lines[6] == start.format(3, T + 78, 1, -1, 3, "") + " key: k"


def test_content_without_the_rest(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = dump(capsys, log, "--print-data-log", "--skip-record-metadata")
    assert lines[2:5] == ["| payload: v0", "| key: k1 payload: v1", "| key: k2 payload: v2"]


def test_a_torn_tail_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = dump(capsys, write(tmp_path, ".log", FIRST + b"garbage"))
    assert lines[-1] == f"Found 7 invalid bytes at the end of {NAME}.log"


def test_a_changed_byte_makes_a_batch_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = bytearray(FIRST)
    broken[-2] ^= 1
    lines, _ = dump(capsys, write(tmp_path, ".log", bytes(broken)))
    assert lines[1].endswith("isvalid: false")


def test_a_gap_is_told_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = build_batch([Record(None, b"x")], base_offset=9)
    log = write(tmp_path, ".log", FIRST + later)
    _, findings = dump(capsys, log, "--deep-iteration")
    assert findings == [f"Non-consecutive offsets in {log}", "  2 is followed by 9"]


@pytest.mark.parametrize("codec", Codec)
def test_compressed_records_show_as_others_do(
    codec: Codec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path, ".log", build_batch([Record(b"k", b"v" * 100, (), T)], codec=codec))
    lines, _ = dump(capsys, log, "--print-data-log")
    assert f"compresscodec: {codec.name.lower()}" in lines[1]
    assert lines[2].endswith("key: k payload: " + "v" * 100)


def test_an_index_that_fits_its_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = write(log.parent, ".index", struct.pack(">4i", 2, 0, 3, 101) + bytes(16))
    assert dump(capsys, index) == (["offset: 2 position: 0", "offset: 3 position: 101"], [])
    assert dump(capsys, index, "--verify-index-only") == ([], [])
    assert dump(capsys, index, "--index-sanity-check") == ([f"{index} passed sanity check."], [])


def test_an_index_that_does_not_fit_its_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = write(log.parent, ".index", struct.pack(">4i", 2, 0, 8, 101))
    _, findings = dump(capsys, index)
    assert findings == [f"Mismatches in :{index}", "  Index offset: 8, log offset: 3"]


def test_a_time_index_is_held_against_the_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = write(log.parent, ".timeindex", struct.pack(">qiqi", T, 2, T - 100, 3))
    lines, findings = dump(capsys, times)
    assert lines == [f"timestamp: {T} offset: 2", f"timestamp: {T - 100} offset: 3"]
    assert findings == [
        f"Found timestamp mismatch in :{times}",
        f"  Index timestamp: {T - 100}, log timestamp: {T + 78}",
        f"Found out of order timestamp in :{times}",
        f"  Index timestamp: {T - 100}, Previously indexed timestamp: {T}",
    ]


def test_an_empty_index_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = write(tmp_path, ".index", b"")
    assert dump(capsys, index)[0] == [f"{index} is empty."]


def test_a_producer_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ProducerState()
    state.replay(read_header(FIRST))
    lines, _ = dump(capsys, write(tmp_path, ".snapshot", state.snapshot()))
    assert lines == [
        "producerId: 10 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty"
        f" lastTimestamp: {T} firstSequence: 0 lastSequence: 2 lastOffset: 2 offsetDelta: 2 timestamp: {T}"
    ]


def test_a_committed_offset_in_words() -> None:
    key = b"\0\1" + encode(OffsetCommitKey(group="gg", topic="cp1", partition=0), 0)
    value = b"\0\3" + encode(OffsetCommitValue(offset=2, leader_epoch=0, commit_timestamp=5), 3)
    assert decode_offsets(Record(key, value)) == (
        '{"type":"1","data":{"group":"gg","topic":"cp1","partition":0}}',
        '{"version":"3","data":{"offset":2,"leaderEpoch":0,"metadata":"","commitTimestamp":5}}',
    )
    assert decode_offsets(Record(key, None))[1] == "<DELETE>"


def test_a_metadata_record_in_words() -> None:
    value = b"\1\x0c\0" + encode(FeatureLevelRecord(name="group.version", feature_level=1), 0)
    assert decode_cluster_metadata(Record(None, value)) == (
        None,
        '{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"group.version","featureLevel":1}}',
    )
    assert "skipping" in str(decode_cluster_metadata(Record(None, b"\1\xff\x01"))[1])


def test_records_that_are_none_do_not_stop_the_decoder() -> None:
    assert decode_offsets(Record(b"\0\1\0", b""))[0] is not None
    assert decode_offsets(Record(b"\x7f\x7f", b"")) == ("UNKNOWN(32639)", "UNKNOWN")
    assert decode_offsets(Record(None, b"x")) == (None, "x")


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_is_still_in_memory_is_said_to_be_so(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = write(tmp_path, ".log", bytes(FIRST)).with_suffix(suffix)
    assert main(["dump-log", "--files", str(index)]) == 1
    err = capsys.readouterr().err
    assert err == (
        f"leaselog dump-log: {index}: not there yet; the index of an active segment is in memory until it is rolled"
        " or the broker stops\n"
    )


@pytest.mark.parametrize("name", ["nope", f"{NAME}.log", f"{NAME}.index"])
def test_a_file_that_is_not_there_is_one_line_and_exit_1(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dump-log", "--files", str(tmp_path / name)]) == 1
    err = capsys.readouterr().err
    assert err == f"leaselog dump-log: {tmp_path / name}: No such file or directory\n"


def test_a_batch_that_cannot_be_read_is_named_by_partition_and_offsets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "orders-7"
    folder.mkdir()
    broken = bytearray(SECOND)
    broken[61] = 0x7F  # the record's length goes far past its batch
    log = write(folder, ".log", FIRST + broken)
    assert main(["dump-log", "--deep-iteration", "--files", str(log)]) == 1
    out, err = capsys.readouterr()
    assert "baseOffset: 3" in out.splitlines()[-1]
    assert err.startswith(f"leaselog dump-log: partition orders-7, offsets 3 to 3 ({log}, position 101): ")
    assert err.count("\n") == 1


def test_an_index_of_aborted_transactions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = AbortedIndex()
    index.append(AbortedTransaction(1, 0, 3, 2))
    index.append(AbortedTransaction(2, 2, 4, 5))
    lines, _ = dump(capsys, write(tmp_path, ".txnindex", index.to_bytes()))
    assert lines == [
        "version: 0 producerId: 1 firstOffset: 0 lastOffset: 3 lastStableOffset: 2",
        "version: 0 producerId: 2 firstOffset: 2 lastOffset: 4 lastStableOffset: 5",
    ]
    assert main(["dump-log", "--files", str(write(tmp_path, ".txnindex", b"torn"))]) == 1
    assert "no index of aborted transactions" in capsys.readouterr().err
