"""The worst inputs that anybody has thought of: four times as many bytes cost about four times as much, not sixteen."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache

import cramjam
import pytest

from fuzz.cost import Budget, allocations_traced, growth, spend
from fuzz.seeds import NOW_MS
from fuzz.targets.target import TOPIC_ID
from leaselog.broker.config import parse_properties
from leaselog.log import AppendRefused, LogConfig, MemoryFiles, Origin, PartitionLog, finish
from leaselog.log._scan import scan_headers, scan_valid
from leaselog.log.index import OffsetIndex, TimeIndex
from leaselog.log.ingest import Ingested, ingest_at_once
from leaselog.log.ingest_rules import IngestRules
from leaselog.log.producer_state import ProducerState
from leaselog.model import Refused
from leaselog.wire.codec import decode
from leaselog.wire.compression import Codec, compress, decompress
from leaselog.wire.errors import DecodeError
from leaselog.wire.frame_reader import FrameReader
from leaselog.wire.frames import skip_tagged_fields
from leaselog.wire.messages.api_versions import ApiVersionsRequest
from leaselog.wire.messages.metadata import MetadataRequest
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from leaselog.wire.primitives import MAX_TAGGED_FIELDS
from leaselog.wire.record_batch import check_crc, iterate_headers, read_header, rewrite_header
from leaselog.wire.records import Record, build_batch, read_records

TIMES = 4
#: a quadratic cost gives sixteen
MOST = 10.0


def gzip_members(size: int) -> None:
    decompress(Codec.GZIP, compress(Codec.GZIP, b"") * size)


def snappy_blocks(size: int) -> None:
    empty = bytes(cramjam.snappy.compress_raw(b""))
    decompress(
        Codec.SNAPPY, compress(Codec.SNAPPY, b"")[:16] + (len(empty).to_bytes(4, "big") + empty) * size
    )


def zstd_frames(size: int) -> None:
    decompress(Codec.ZSTD, compress(Codec.ZSTD, b"x") * size)


def lz4_frames(size: int) -> None:
    with suppress(DecodeError):
        decompress(Codec.LZ4, compress(Codec.LZ4, b"x") * size)


def small_batches(size: int) -> None:
    data = build_batch([Record(None, b"")]) * size
    for position, header in iterate_headers(data):
        check_crc(data, header, position)
        list(read_records(data, header, position))


def segment_of_small_batches(size: int) -> None:
    file = MemoryFiles().open("log", writable=True, create=True)
    file.write_at(0, bytes(build_batch([Record(None, b"")])) * size)
    list(scan_headers(file, 0, file.size_bytes()))
    list(scan_valid(file, file.size_bytes(), 0))


def records_without_anything(size: int) -> None:
    batch = build_batch([Record(None, None, (), NOW_MS)] * size)
    list(read_records(batch, read_header(batch)))


def record_headers(size: int) -> None:
    batch = build_batch([Record(None, None, [("", None)] * size, NOW_MS)])
    list(read_records(batch, read_header(batch)))


def names_in_a_request(size: int) -> None:
    decode(MetadataRequest, 8, struct.pack(">i", size) + b"\x00\x01t" * size + b"\x00\x00\x00")


def tiny_structs(size: int) -> None:
    """Of a topic without partitions: 16 bytes of id, an empty array, no tags."""
    topics = _uvarint(size + 1)
    decode(
        ShareAcknowledgeRequest,
        1,
        b"\x02g\x02m\x00\x00\x00\x00" + topics + (bytes(16) + b"\x01\x00") * size + b"\x00",
    )


def tagged_fields(size: int) -> None:
    for _ in range(size // MAX_TAGGED_FIELDS):
        skip_tagged_fields(_uvarint(MAX_TAGGED_FIELDS) + b"\x7f\x00" * MAX_TAGGED_FIELDS, 0)


def frames_of_nothing(size: int) -> None:
    reader = FrameReader(memoryview(bytearray(1 << 16)), 1 << 20)
    for _ in range(size // (1 << 14)):
        reader.buffer()[:] = bytes(1 << 16)
        assert len(reader.advance(1 << 16)) == 1 << 14


def index_entries(size: int) -> None:
    assert OffsetIndex.from_bytes(0, b"".join(struct.pack(">ii", n, n) for n in range(1, size))) is not None
    assert OffsetIndex.from_bytes(0, struct.pack(">ii", 1, 1) + bytes(8 * size)) is not None
    assert TimeIndex.from_bytes(0, b"".join(struct.pack(">qi", n, n) for n in range(1, size))) is not None


def producers(size: int) -> None:
    state = ProducerState(limit=10**9)
    batch = read_header(build_batch([Record(None, b"")], producer_id=1, producer_epoch=0, base_sequence=0))
    for number in range(size):
        batch.producer_id = number
        state.replay(batch)
    ProducerState().restore(state.snapshot(), 0)


def records_looked_into(size: int) -> None:
    rules = IngestRules(is_compacted=True, codec=Codec.NONE)
    batch = build_batch([Record(b"k", None, (), NOW_MS)] * size, codec=Codec.ZSTD)
    place = {"next_offset": 0, "leader_epoch": 0, "now_ms": NOW_MS}
    assert isinstance(ingest_at_once(batch, rules, ProducerState(), **place, origin=Origin.CLIENT), Ingested)


def records_to_blame(size: int) -> None:
    rules = IngestRules(is_compacted=True)
    batch = build_batch([Record(None, None, (), NOW_MS)] * size)
    place = {"next_offset": 0, "leader_epoch": 0, "now_ms": NOW_MS}
    refused = ingest_at_once(batch, rules, ProducerState(), **place, origin=Origin.CLIENT)
    assert isinstance(refused, AppendRefused)


def a_time_in_a_large_batch(size: int) -> None:
    log = _log()
    log.append(build_batch([Record(b"k", None, (), NOW_MS)] * size), leader_epoch=0, now_ms=NOW_MS)
    assert finish(log.max_timestamp()) is not None
    assert finish(log.offset_for_timestamp(NOW_MS + 1)) is None


def _log(**settings: object) -> PartitionLog:
    config = LogConfig.of({"durability": "os", **settings})
    return PartitionLog.open(MemoryFiles(), "data/t-0", TOPIC_ID, config, now_ms=NOW_MS, clean=True)


def properties(size: int) -> None:
    parse_properties("a=\\\n" * size + "b\\u0041" * size + "\n#\n" * size + "k = v\n" * size)


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


@pytest.mark.parametrize(
    ("run", "size"),
    [
        (gzip_members, 8_000),
        (snappy_blocks, 10_000),
        (zstd_frames, 8_000),
        (lz4_frames, 8_000),
        (small_batches, 2_000),
        (segment_of_small_batches, 2_000),
        (records_without_anything, 4_000),
        (record_headers, 8_000),
        (names_in_a_request, 10_000),
        (tiny_structs, 5_000),
        (tagged_fields, 20_000),
        (frames_of_nothing, 1 << 15),
        (index_entries, 10_000),
        (producers, 1_000),
        (records_looked_into, 5_000),
        (records_to_blame, 5_000),
        (a_time_in_a_large_batch, 5_000),
        (properties, 3_000),
    ],
)
def test_it_costs_in_proportion(run: Callable[[int], None], size: int) -> None:
    # A busy machine may spoil a measurement, but it makes nothing that is quadratic look linear five times.
    measured: list[float] = []
    while not measured or measured[-1] >= MOST:
        assert len(measured) < 5, measured
        measured.append(growth(run, size, TIMES))


def looked_up_in_a_large_log(size: int) -> None:
    log = _logs(size)
    for part in range(50):
        assert not isinstance(log.read(size * part // 50, 1), Refused)


def asked_for_its_largest_time(size: int) -> None:
    for _ in range(50):
        assert finish(_logs(size).max_timestamp()) is not None


def claims_of_records(size: int) -> None:
    """Seventy bytes of each, for more and more records by their header."""
    for _ in range(50):
        log = _log(**{"message.timestamp.type": "LogAppendTime"})
        log.append(claiming(size), leader_epoch=0, now_ms=NOW_MS)
        finish(log.max_timestamp())
        finish(log.offset_for_timestamp(NOW_MS))


def claiming(count: int) -> bytearray:
    batch = build_batch([Record(b"k", b"xx", (), NOW_MS)])
    header = read_header(batch)
    header.attributes, header.record_count, header.last_offset_delta = int(Codec.ZSTD), count, count - 1
    rewrite_header(batch, 0, header)
    return batch


@cache
def _logs(size: int) -> PartitionLog:
    log = _log(**{"index.interval.bytes": 2**31 - 1})
    batch = build_batch([Record(b"k", b"v", (), NOW_MS)])
    for number in range(size):
        batch[:8] = bytes(8)
        log.append(batch, leader_epoch=0, now_ms=NOW_MS + number)
    return log


@pytest.mark.parametrize(
    ("run", "size"),
    [(looked_up_in_a_large_log, 2_000), (asked_for_its_largest_time, 2_000), (claims_of_records, 10_000)],
)
def test_it_costs_the_same_for_four_times_as_much(run: Callable[[int], None], size: int) -> None:
    measured: list[float] = []
    while not measured or measured[-1] >= 2.0:
        assert len(measured) < 5, measured
        measured.append(growth(run, size, TIMES))


LIMIT_BYTES = 1 << 20
_ZEROS = bytes(1 << 26)
#: what claims to be large, or is, once it is unpacked
BOMBS = {
    "a zstd frame with a window of four terabytes": (Codec.ZSTD, bytes.fromhex("28b52ffd00ff") + bytes(40)),
    "a zstd frame of an exabyte": (Codec.ZSTD, bytes.fromhex("28b52ffde0") + b"\x0f" * 8 + bytes(40)),
    "zeros in zstd": (Codec.ZSTD, compress(Codec.ZSTD, _ZEROS)),
    "zeros in gzip": (Codec.GZIP, compress(Codec.GZIP, _ZEROS)),
    "zeros in lz4": (Codec.LZ4, compress(Codec.LZ4, _ZEROS)),
    "zeros in snappy's blocks": (Codec.SNAPPY, compress(Codec.SNAPPY, _ZEROS)),
    "a snappy block of four gigabytes": (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20)),
}
#: a window that the limit knows nothing of may be zstd's default, 8 MiB, and its buffers
MOST_MB = 24
_EXPLODE = """
import resource, sys
from leaselog.wire.compression import Codec, decompress
from leaselog.wire.errors import DecodeError

codec, packed = Codec(int(sys.argv[1])), sys.stdin.buffer.read()
had_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decompress(codec, packed, int(sys.argv[2]))
except DecodeError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - had_kb) // 1024)
"""


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_takes_little_more_than_its_limit_and_is_refused(bomb: str) -> None:
    codec, packed = BOMBS[bomb]
    child = subprocess.run(
        [sys.executable, "-c", _EXPLODE, str(int(codec)), str(LIMIT_BYTES)],
        input=packed,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert int(child.stdout) <= MOST_MB


#: a million tagged fields with nothing in them
_TAGS = _uvarint(1_000_000) + bytes(2_000_000)


@pytest.mark.parametrize(
    "claim",
    [
        lambda: decode(MetadataRequest, 12, b"\xff\xff\xff\xff\x0f" + bytes(40)),
        lambda: decode(MetadataRequest, 8, b"\x7f\xff\xff\xff" + bytes(40)),
        lambda: skip_tagged_fields(_TAGS, 0),
        lambda: decode(ApiVersionsRequest, 3, b"\x01\x01" + _TAGS),
        lambda: list(iterate_headers(bytes(8) + b"\x7f\xff\xff\xff" + bytes(4) + b"\x02" + bytes(60))),
        lambda: read_header(build_batch([Record(None, b"")])[:20]),
    ],
)
def test_a_length_is_not_believed_before_the_bytes_are_there(claim: Callable[[], object]) -> None:
    def explode(_: bytes) -> None:
        with pytest.raises(DecodeError):
            claim()

    with allocations_traced():
        spend(Budget(), explode, b"")
