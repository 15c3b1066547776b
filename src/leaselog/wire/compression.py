"""The five codecs of a batch's records."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Codec"]


class Codec(IntEnum):
    """A batch's compression, by the number its attributes carry."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
