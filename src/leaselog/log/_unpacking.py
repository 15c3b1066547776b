"""Unpacking and packing a batch: work for another thread, or done at once where it is little. Private to this room.

The codecs let go of the interpreter while they work, so that nobody else has to wait for them.
"""

from __future__ import annotations

from leaselog.model import BrokenInvariant
from leaselog.wire.compression import DEFAULT_LEVELS, Codec
from leaselog.wire.errors import BadLength, DecodeError
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader
from leaselog.wire.records import repack_batch, unpack_records

__all__ = ["Repacking", "Unpacking"]

#: packed: sooner unpacked than handed over, unless much comes of it
_LIGHT_PACKED_BYTES = 64 * 1024
_LIGHT_UNPACKED_BYTES = 256 * 1024
#: packing takes its time; a level above the default any time
_LIGHT_REPACKED_BYTES = 16 * 1024


class Unpacking:
    """A ``Heavy`` piece of work that ends with the batch's records in one piece."""

    def __init__(self, batch: Buffer, header: BatchHeader, position: int = 0) -> None:
        self._batch = batch
        self._header = header
        self._position = position
        self._records: Buffer | DecodeError | None = None

    def try_now(self) -> bool:
        """Run if that is soon done; False if it is not."""
        codec = self._header.compression
        if codec is Codec.NONE:
            self.run()
            return True
        if self._header.size_bytes > _LIGHT_PACKED_BYTES:
            return False
        try:
            self._records = unpack_records(
                self._batch, self._header, self._position, limit_bytes=_LIGHT_UNPACKED_BYTES
            )
        except BadLength:
            return False
        except DecodeError as wrong:
            self._records = wrong
        return True

    def run(self) -> None:
        try:
            self._records = unpack_records(self._batch, self._header, self._position)
        except DecodeError as wrong:
            self._records = wrong

    def records(self) -> Buffer:
        """Once it has run. Raises the ``DecodeError`` that it met."""
        if isinstance(self._records, DecodeError):
            raise self._records
        if self._records is None:
            raise BrokenInvariant("asked for records before they were unpacked")
        return self._records


class Repacking:
    """A ``Heavy`` piece of work that ends with the batch in another codec. ``header`` is changed."""

    def __init__(self, records: Buffer, header: BatchHeader, codec: Codec, level: int | None) -> None:
        self._records = records
        self._header = header
        self._codec = codec
        self._level = level
        self.batch: bytearray | None = None

    @property
    def is_light(self) -> bool:
        is_plain = self._level is None or self._level == DEFAULT_LEVELS.get(self._codec)
        return is_plain and len(self._records) <= _LIGHT_REPACKED_BYTES

    def run(self) -> None:
        self.batch = repack_batch(self._records, self._header, self._codec, level=self._level)
