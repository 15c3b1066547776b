"""Bytes as they arrive on a connection, at a broker and at a client."""

from __future__ import annotations

from contextlib import suppress

from fuzz.targets.target import Unwanted
from leaselog.client import UnsupportedVersion
from leaselog.client.session import Session
from leaselog.wire.errors import DecodeError
from leaselog.wire.frame_reader import FrameReader
from leaselog.wire.frames import read_request_header, skip_tagged_fields
from leaselog.wire.messages.fetch import FetchRequest, FetchResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataResponse
from leaselog.wire.messages.share_fetch import ShareFetchRequest
from leaselog.wire.share_fetch_ranges import RangesShareFetchResponse

__all__ = ["frames", "session"]

MAX_FRAME_BYTES = 1 << 16


def frames(data: bytes) -> None:
    """The first byte says in what pieces the rest arrives. However it does, the same frames come out."""
    if not data:
        raise Unwanted
    outcomes = [_frames_of(data[1:], piece_bytes) for piece_bytes in (data[0] % 61 + 1, 1 << 16)]
    assert outcomes[0] == outcomes[1], "pieces make no difference"
    for frame in outcomes[0][0]:
        with suppress(DecodeError):
            header = read_request_header(frame)
            assert header.end <= len(frame)
            assert skip_tagged_fields(frame, header.end) <= len(frame)


def _frames_of(stream: bytes, piece_bytes: int) -> tuple[list[bytes], bool]:
    """The frames, and whether the stream ended in error."""
    reader = FrameReader(memoryview(bytearray(64)), MAX_FRAME_BYTES)
    found: list[bytes] = []
    while stream:
        room = reader.buffer()
        piece, stream = (
            stream[: min(len(room), piece_bytes)],
            stream[min(len(room), piece_bytes) :],
        )
        room[: len(piece)] = piece
        try:
            found += map(bytes, reader.advance(len(piece)))
        except DecodeError:
            # Those of the same piece are lost with it, as the connection is: compare what is certain.
            return [], True
    return found, False


_ASKED = (
    (MetadataRequest(topics=[]), MetadataResponse),
    (FetchRequest(), FetchResponse),
    (ShareFetchRequest(group_id="g", member_id="m"), RangesShareFetchResponse),
)


def session(data: bytes) -> None:
    """What a broker answers a client, from its first word on; the first byte says in what pieces it arrives."""
    if not data:
        raise Unwanted
    made, stream, is_asked = (
        Session("c", "1", max_response_bytes=MAX_FRAME_BYTES),
        memoryview(data)[1:],
        False,
    )
    try:
        while stream:
            room = made.buffer()
            size = min(len(room), data[0] + 1, len(stream))
            room[:size], stream = stream[:size], stream[size:]
            made.received(size)
            if made.is_ready and not is_asked:
                is_asked = True
                for request, answer in _ASKED:
                    made.ask(request, answer)
    except (DecodeError, UnsupportedVersion):
        return
