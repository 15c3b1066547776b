"""A stream of bytes in, whole frames out, with no copy of large ones and no memory for idle connections.

Kafka frames are a four-byte length and so many bytes. Bytes are received into a buffer that all connections of a
server share; what belongs to a frame that is not complete yet is moved to a buffer of its own, which grows with
what really arrives: a length alone costs a stranger nothing and must cost us nothing.
"""

from __future__ import annotations

import struct

from leaselog.wire.errors import BadLength

__all__ = ["FrameReader"]

_LENGTH = struct.Struct(">i")
#: how a request line begins
_HTTP = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"CONN", b"PATC", b"PRI ")
#: the first piece of memory given to a frame that is still arriving; doubled whenever it is full
FIRST_PIECE_BYTES = 1 << 20


class FrameReader:
    """One connection's place in its stream.

    ``buffer()`` is where the next bytes belong; ``advance(n)`` says that n of them came and returns the frames
    that are now complete. ``shared`` may be used by other readers between ``buffer`` and ``advance`` pairs only.
    """

    __slots__ = ("_filled", "_frame", "_head", "_head_filled", "_max_frame_bytes", "_shared", "_size")

    def __init__(self, shared: memoryview, max_frame_bytes: int) -> None:
        self._shared = shared
        self._max_frame_bytes = max_frame_bytes
        self._head = bytearray(_LENGTH.size)
        self._head_filled = 0
        #: the frame under way, or None between frames; ``_size`` is what it will measure
        self._frame: bytearray | None = None
        self._filled = 0
        self._size = 0

    def buffer(self) -> memoryview:
        if self._frame is not None:
            return memoryview(self._frame)[self._filled :]
        if self._head_filled:
            return memoryview(self._head)[self._head_filled :]
        return self._shared

    def advance(self, count: int) -> list[bytearray]:
        """The frames completed by ``count`` more bytes. Raises BadLength for a length no frame may have."""
        if self._frame is not None:
            return self._advance_frame(count)
        if self._head_filled:
            return self._advance_head(count)
        return self._split(count)

    def _advance_frame(self, count: int) -> list[bytearray]:
        frame = self._frame
        assert frame is not None
        self._filled += count
        if self._filled == self._size:
            self._frame = None
            return [frame]
        if self._filled == len(frame):
            # A new buffer, as the event loop may still hold a view of the full one, which then cannot grow.
            self._frame = bytearray(min(2 * len(frame), self._size))
            self._frame[: self._filled] = frame
        return []

    def _advance_head(self, count: int) -> list[bytearray]:
        self._head_filled += count
        if self._head_filled < _LENGTH.size:
            return []
        self._head_filled = 0
        return self._begin(self._length(self._head, 0), memoryview(b""))

    def _split(self, count: int) -> list[bytearray]:
        view, frames, position = self._shared, list[bytearray](), 0
        while count - position >= _LENGTH.size:
            size = self._length(view, position)
            position += _LENGTH.size
            if size > count - position:
                return frames + self._begin(size, view[position:count])
            frames.append(bytearray(view[position : position + size]))
            position += size
        if position < count:
            self._head_filled = count - position
            self._head[: self._head_filled] = view[position:count]
        return frames

    def _begin(self, size: int, have: memoryview) -> list[bytearray]:
        if size == 0:
            return [bytearray()]
        self._frame = bytearray(max(len(have), min(size, FIRST_PIECE_BYTES)))
        self._frame[: len(have)] = have
        self._size, self._filled = size, len(have)
        return []

    def _length(self, view: memoryview | bytearray, position: int) -> int:
        size: int = _LENGTH.unpack_from(view, position)[0]
        if not 0 <= size <= self._max_frame_bytes:
            hint = _other_protocol(bytes(view[position : position + _LENGTH.size]))
            raise BadLength(f"frame of {size} bytes, allowed are {self._max_frame_bytes}{hint}")
        return size


def _other_protocol(head: bytes) -> str:
    """What a length that cannot be one is likely to be: the first mistake everybody makes."""
    if head.startswith(b"\x16\x03"):
        return "; this looks like TLS, and leaselog speaks plaintext here"
    if head in _HTTP:
        return "; this looks like HTTP, and leaselog speaks Kafka's protocol here"
    return ""
