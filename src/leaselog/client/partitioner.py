"""Which partition a record goes to: by its key as Java's producer decides, else to one that sticks for a batch.

The key's hash is part of the contract between producers in different languages: the same key must land in the
same partition whoever writes it.
"""

from __future__ import annotations

import struct
from random import Random

__all__ = ["Partitioner", "murmur2", "partition_for_key"]

_M = 0x5BD1E995
_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF
#: pick again until another partition comes up, but not for ever
_TRIES = 8


def murmur2(data: bytes) -> int:
    """The 32 bit MurmurHash2 of ``data`` with Kafka's seed, unsigned."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for (k,) in struct.iter_unpack("<I", data[:whole]):
        k = k * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Partitioner:
    """Records without a key fill one partition's batch at a time: fewer, larger batches than round robin.

    The partition changes after ``batch_bytes``, as in Kafka since 3.3 (KIP-794).
    """

    def __init__(self, batch_bytes: int, chance: Random) -> None:
        self._batch_bytes = batch_bytes
        self._chance = chance
        #: topic to its partition and the bytes sent there; one entry for each topic written to
        self._sticky = dict[str, tuple[int, int]]()

    def partition(self, topic: str, key: bytes | None, partitions: int, size_bytes: int) -> int:
        if key is not None:
            return partition_for_key(key, partitions)
        current, sent_bytes = self._sticky.get(topic, (-1, 0))
        if not 0 <= current < partitions or sent_bytes >= self._batch_bytes:
            current, sent_bytes = self._other_than(current, partitions), 0
        self._sticky[topic] = current, sent_bytes + size_bytes
        return current

    def _other_than(self, current: int, partitions: int) -> int:
        for _ in range(_TRIES):
            picked = self._chance.randrange(partitions)
            if picked != current:
                break
        return picked
