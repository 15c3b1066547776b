"""Frames come out whole however the bytes come in, and lengths that lie cost nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaselog.wire.errors import BadLength
from leaselog.wire.frame_reader import FIRST_PIECE_BYTES, FrameReader

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


def reader(max_frame_bytes: int = 1 << 30) -> FrameReader:
    return FrameReader(memoryview(bytearray(SHARED_BYTES)), max_frame_bytes)


@given(st.lists(st.binary(max_size=300)), st.lists(st.integers(1, 100), min_size=1))
def test_frames_come_out_as_they_went_in(frames: list[bytes], pieces: list[int]) -> None:
    stream = b"".join(len(f).to_bytes(4, "big") + f for f in frames)
    assert feed(reader(), stream, pieces) == frames


def test_a_frame_larger_than_the_first_piece_of_memory_arrives_whole() -> None:
    frame = bytes(range(256)) * (FIRST_PIECE_BYTES // 256 * 5 // 2)
    stream = len(frame).to_bytes(4, "big") + frame
    assert feed(reader(), stream * 2, [65536]) == [frame, frame]


def test_a_length_alone_takes_no_more_than_the_first_piece() -> None:
    hungry = reader()
    feed(hungry, (1 << 29).to_bytes(4, "big"), [4])
    assert len(hungry.buffer()) <= FIRST_PIECE_BYTES


@pytest.mark.parametrize("length", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_length_no_frame_may_have_is_refused(length: int) -> None:
    with pytest.raises(BadLength, match=str(length)):
        feed(reader(max_frame_bytes=1000), length.to_bytes(4, "big", signed=True), [4])
