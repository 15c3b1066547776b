"""A stream of bytes in, whole frames out, with no copy of large ones and no memory for idle connections.

Kafka frames are a four-byte length and so many bytes. Bytes are received into a buffer that all connections of a
server share. Frames are cut from it when somebody takes them, one at a time; what nobody has taken when another
connection may want the buffer is `keep`-ed apart, as it is: a thousand tiny frames are as many bytes as they came in.

A large frame is received straight into memory of its own. The system gives that memory page by page as the bytes
come, so a length alone costs a stranger nothing and must cost us nothing.
"""

from __future__ import annotations

import mmap
import struct
import sys
from typing import cast

from leaselog.wire.errors import BadLength

__all__ = ["LARGE_BYTES", "FrameReader"]

_LENGTH = struct.Struct(">i")
#: how a request line begins
_HTTP = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"CONN", b"PATC", b"PRI ")
#: a frame from here on has memory of its own while it arrives
LARGE_BYTES = 128 * 1024
#: and so much of it may arrive at once: reading is a turn of the loop, too
PIECE_BYTES = 1 << 20


class FrameReader:
    """One connection's place in its stream.

    ``buffer()`` is where the next bytes belong; ``received(n)`` says that n of them came, ``take()`` gives the frames
    that are complete, one by one. ``shared`` may be used by another reader once ``keep()`` was called.
    """

    __slots__ = ("_at", "_kept", "_large", "_shared", "held_bytes", "max_frame_bytes")

    def __init__(self, shared: memoryview, max_frame_bytes: int) -> None:
        self._shared = shared
        #: what a frame may have; another number counts from the next frame on
        self.max_frame_bytes = max_frame_bytes
        #: received and not taken: from here on in what was kept, or in the shared buffer if nothing was
        self.held_bytes = 0
        self._at = 0
        #: what was kept, followed by what came since
        self._kept: bytearray | None = None
        #: a large frame that is still arriving: all that is held is its beginning
        self._large: mmap.mmap | None = None

    def buffer(self) -> memoryview:
        if self._large is not None:
            return memoryview(self._large)[self.held_bytes : self.held_bytes + PIECE_BYTES]
        return self._shared

    def received(self, count: int) -> None:
        if self._kept is not None:
            self._kept += self._shared[:count]
        elif self._large is None:
            self._at = 0
        self.held_bytes += count

    def advance(self, count: int) -> list[bytearray]:
        """All frames that ``count`` more bytes complete. Raises BadLength."""
        self.received(count)
        frames = []
        while (frame := self.take()) is not None:
            frames.append(frame)
        self.keep()
        return frames

    def take(self) -> bytearray | None:
        """The next frame, if all of it is here. Raises BadLength for a length no frame may have."""
        if self._large is not None:
            return self._take_large()
        held = self.held_bytes
        if held < _LENGTH.size:
            return None
        source, at = (self._shared if self._kept is None else self._kept), self._at
        size: int = _LENGTH.unpack_from(source, at)[0]
        start = at + _LENGTH.size
        if not 0 <= size <= self.max_frame_bytes:
            self._refuse(size, bytes(source[at:start]))
        end = start + size
        if end > at + held:
            if size >= LARGE_BYTES and held > _LENGTH.size:
                self._begin_large(size, source[start : at + held])
            return None
        self._at = end
        self.held_bytes = held - _LENGTH.size - size
        if self._kept is None:
            return bytearray(source[start:end])
        frame = self._kept[start:end]
        self._forget_taken()
        return frame

    def keep(self) -> None:
        """Moves what nobody has taken to memory of its own."""
        if self.held_bytes and self._kept is None and self._large is None:
            self._kept = bytearray(self._shared[self._at : self._at + self.held_bytes])
            self._at = 0

    def clear(self) -> None:
        """Forgets all that nobody has taken."""
        self.held_bytes = 0
        self._kept = self._large = None

    def _forget_taken(self) -> None:
        """Gives memory back now and then: often enough to matter, and not for every frame."""
        assert self._kept is not None
        if not self.held_bytes:
            self._kept = None
        elif self._at > self.held_bytes:
            del self._kept[: self._at]
            self._at = 0

    def _begin_large(self, size: int, have: memoryview | bytearray) -> None:
        self._large = _memory_as_it_is_filled(size)
        self.held_bytes = len(have)
        self._large[: len(have)] = bytes(have)
        self._kept = None

    def _take_large(self) -> bytearray | None:
        large = self._large
        if large is None or self.held_bytes < len(large):
            return None
        self._large, self.held_bytes = None, 0
        # It is read as a bytearray is: indexed, sliced, unpacked and viewed.
        return cast(bytearray, large)

    def _refuse(self, size: int, head: bytes) -> None:
        hint = _other_protocol(head)
        raise BadLength(f"frame of {size} bytes, allowed are {self.max_frame_bytes}{hint}")


def _memory_as_it_is_filled(size: int) -> mmap.mmap:
    """Zeros that take no memory before they are written over. A bytearray would be written to in full at once."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # one byte would otherwise take two megabytes on some systems
    return memory


def _other_protocol(head: bytes) -> str:
    """What a length that cannot be one is likely to be: the first mistake everybody makes."""
    if head.startswith(b"\x16\x03"):
        return "; this looks like TLS, and leaselog speaks plaintext here"
    if head in _HTTP:
        return "; this looks like HTTP, and leaselog speaks Kafka's protocol here"
    return ""
