"""Frames come out whole however the bytes come in, and lengths that lie cost nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselog.wire.errors import BadLength
from leaselog.wire.frame_reader import LARGE_BYTES, FrameReader

SHARED_BYTES = 64


def feed(reader: FrameReader, data: bytes, pieces: list[int]) -> list[bytes]:
    """What a socket does: fill the buffer it is given, at most so many bytes at a time."""
    frames, position, turn = [], 0, 0
    while position < len(data):
        buffer = reader.buffer()
        size = min(len(buffer), pieces[turn % len(pieces)], len(data) - position)
        buffer[:size] = data[position : position + size]
        frames += reader.advance(size)
        position, turn = position + size, turn + 1
    return [bytes(frame) for frame in frames]


def reader(max_frame_bytes: int = 1 << 30, shared_bytes: int = SHARED_BYTES) -> FrameReader:
    return FrameReader(memoryview(bytearray(shared_bytes)), max_frame_bytes)


@given(st.lists(st.binary(max_size=300)), st.lists(st.integers(1, 100), min_size=1))
def test_frames_come_out_as_they_went_in(frames: list[bytes], pieces: list[int]) -> None:
    stream = b"".join(len(f).to_bytes(4, "big") + f for f in frames)
    assert feed(reader(), stream, pieces) == frames


def test_a_large_frame_arrives_whole_in_memory_of_its_own() -> None:
    frame = bytes(range(256)) * (LARGE_BYTES // 256 * 5 // 2)
    stream = len(frame).to_bytes(4, "big") + frame
    assert feed(reader(), stream * 2 + b"\0\0\0\1x", [65536]) == [frame, frame, b"x"]


@given(st.lists(st.integers(0, 3 * LARGE_BYTES), max_size=5), st.lists(st.integers(1, 1 << 19), min_size=1))
@settings(max_examples=30)
def test_large_and_small_frames_follow_each_other(sizes: list[int], pieces: list[int]) -> None:
    frames = [bytes((n % 251,)) * size for n, size in enumerate(sizes)]
    stream = b"".join(len(f).to_bytes(4, "big") + f for f in frames)
    assert feed(reader(shared_bytes=1 << 18), stream, pieces) == frames


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(0, 3), min_size=1))
def test_frames_may_be_taken_later(frames: list[bytes], takes: list[int]) -> None:
    """Whoever has no time for a frame finds it again, behind those that came before it and before those after."""
    later, taken = reader(shared_bytes=7), []
    stream = b"".join(len(f).to_bytes(4, "big") + f for f in frames)
    for turn, at in enumerate(range(0, len(stream), 7)):
        piece = stream[at : at + 7]
        later.buffer()[: len(piece)] = piece
        later.received(len(piece))
        for _ in range(takes[turn % len(takes)]):
            frame = later.take()
            taken += [] if frame is None else [bytes(frame)]
        later.keep()
        later._shared[:] = b"x" * 7
    while (frame := later.take()) is not None:
        taken.append(bytes(frame))
    assert taken == frames
    assert later.held_bytes == 0


def test_what_is_held_is_what_came_and_was_not_taken() -> None:
    r = reader(shared_bytes=100)
    stream = b"".join(b"\0\0\0\6abcdef" for _ in range(9))
    r.buffer()[:90] = stream
    r.received(90)
    r.take()
    assert r.held_bytes == 80
    r.keep()
    assert r.held_bytes == 80
    for left in range(8):
        assert r.take() == b"abcdef"
        assert r.held_bytes == 70 - 10 * left
    assert r._kept is None


def test_a_length_alone_takes_no_memory() -> None:
    before = resident_bytes()
    hungry = [reader(shared_bytes=1 << 16) for _ in range(100)]
    for r in hungry:
        feed(r, (100 << 20).to_bytes(4, "big") + b"x", [5])
        assert len(r.buffer()) >= 1 << 16
        assert r.held_bytes == 1
    assert resident_bytes() - before < 8 << 20


def resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS in /proc/self/status")


@pytest.mark.parametrize("length", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_length_no_frame_may_have_is_refused(length: int) -> None:
    with pytest.raises(BadLength, match=str(length)):
        feed(reader(max_frame_bytes=1000), length.to_bytes(4, "big", signed=True), [4])
