"""What is to become of a few letters, once it is known which of the records they are about are still there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaselog.admin.dead_letters.letter import Letter, hops_of, put_back, redrive_hops
from leaselog.admin.dead_letters.memory import Offsets, PendingBatch
from leaselog.model import TopicPartition
from leaselog.wire.records import Record

__all__ = ["Sorted", "bytes_of", "record_of", "sort_letters", "target_of"]

#: of a letter beside key, value and headers, at most
OVERHEAD_BYTES = 256


@dataclass(frozen=True, slots=True)
class Sorted:
    #: by the letter's offset, in that order: where to, and what
    ready: Mapping[int, tuple[TopicPartition, Record]]
    #: the offsets of letters that have nothing to put back
    gone: tuple[int, ...]
    #: the offsets of those that have come back as often as they may
    too_often: tuple[int, ...]

    def batches(self, since: Mapping[TopicPartition, int]) -> tuple[PendingBatch, ...]:
        """One for each partition that something goes to."""
        offsets = dict[TopicPartition, list[int]]()
        for offset, (target, _) in self.ready.items():
            offsets.setdefault(target, []).append(offset)
        return tuple(PendingBatch(where, since[where], Offsets.of(some)) for where, some in offsets.items())


def sort_letters(
    letters: Iterable[Letter],
    originals: Mapping[int, Record],
    partitions: Mapping[str, int],
    *,
    to: str | None,
    max_hops: int | None,
    now_ms: int,
) -> Sorted:
    """``originals`` are by the letters' offsets; ``partitions`` is how many the topics have."""
    ready, gone, too_often = dict[int, tuple[TopicPartition, Record]](), list[int](), list[int]()
    for letter in letters:
        original = originals.get(letter.offset)
        record = record_of(letter, original, now_ms)
        if record is None:
            gone.append(letter.offset)
        elif max_hops is not None and redrive_hops(record.headers) > max_hops:
            too_often.append(letter.offset)
        else:
            ready[letter.offset] = target_of(letter, to, partitions), record
    return Sorted(ready, tuple(gone), tuple(too_often))


def record_of(letter: Letter, original: Record | None, now_ms: int) -> Record | None:
    """What is put back for a letter; None if there is nothing."""
    if original is None and not letter.has_content:
        return None
    return put_back(letter, original, hops_of(letter, original) + 1, now_ms)


def target_of(letter: Letter, to: str | None, partitions: Mapping[str, int]) -> TopicPartition:
    """The partition it came from, or that one's number in another topic: what has one key stays together."""
    topic = letter.source.topic if to is None else to
    return TopicPartition(topic, letter.source.partition % partitions[topic])


def bytes_of(letter: Letter) -> int:
    return OVERHEAD_BYTES + len(letter.key or b"") + len(letter.value or b"")
