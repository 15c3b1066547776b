"""What is remembered of a partition of dead letters: which of them are settled, and what is being put back now. Pure.

It is the metadata of a committed offset, which brokers bound (``offset.metadata.max.bytes``, 4096), so it is not a list
of letters. A *walk* is a selection and how far the letters were gone through with it: what it selects before that is
settled. The few that a walk went by all the same (too often put back, refused by the target) are named, in runs.

*Pending* batches are written down before they are sent. Whoever finds some sends them again, to the byte of what makes
a broker know them: producer id, epoch and number of records (ADR 0015).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from leaselog.admin.dead_letters.letter import Letter
from leaselog.admin.dead_letters.selection import EVERYTHING, Selection
from leaselog.model import TopicPartition

__all__ = ["MAX_TEXT", "Memory", "Offsets", "PendingBatch", "PendingWindow", "Walk", "read_memory"]

#: of a memory as text: what Kafka allows, less some air
MAX_TEXT = 4_000
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Offsets:
    """A set of offsets, as few runs. Half-open, sorted, none touching another."""

    runs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, offsets: Iterable[int]) -> Offsets:
        runs: list[tuple[int, int]] = []
        for offset in sorted(set(offsets)):
            if runs and runs[-1][1] == offset:
                runs[-1] = (runs[-1][0], offset + 1)
            else:
                runs.append((offset, offset + 1))
        return cls(tuple(runs))

    def __iter__(self) -> Any:
        return (offset for start, end in self.runs for offset in range(start, end))

    def __contains__(self, offset: int) -> bool:
        return any(start <= offset < end for start, end in self.runs)

    def __bool__(self) -> bool:
        return bool(self.runs)

    @property
    def text(self) -> str:
        """``5,9+3``: 5, 9, 10 and 11."""
        return ",".join(str(a) if b == a + 1 else f"{a}+{b - a}" for a, b in self.runs)

    @classmethod
    def read(cls, text: str) -> Offsets:
        runs = []
        for part in filter(None, text.split(",")):
            start, _, count = part.partition("+")
            runs.append((int(start), int(start) + int(count or 1)))
        return cls(tuple(runs))


@dataclass(frozen=True, slots=True)
class Walk:
    """Every letter before ``end`` that ``selection`` holds of is settled, but for those that are left."""

    selection: Selection
    end: int


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """One batch to one partition, of the letters at these offsets, in their order."""

    target: TopicPartition
    #: the target's log has nothing of it before this
    since: int
    letters: Offsets


@dataclass(frozen=True, slots=True)
class PendingWindow:
    producer_id: int
    epoch: int
    batches: tuple[PendingBatch, ...]

    @property
    def letters(self) -> frozenset[int]:
        return frozenset(offset for batch in self.batches for offset in batch.letters)


@dataclass(frozen=True, slots=True)
class Memory:
    """As of when what is pending has been done."""

    walks: tuple[Walk, ...] = ()
    #: gone by, and not settled
    left: Offsets = Offsets()
    pending: PendingWindow | None = None

    def is_settled(self, letter: Letter) -> bool:
        """Put back, or nothing was left to put back. What is pending counts as done."""
        if letter.offset in self.left:
            return False
        return any(letter.offset < walk.end and walk.selection.holds_of(letter) for walk in self.walks)

    def start_of(self, selection: Selection, earliest: int) -> int:
        """The first letter that a walk with this selection has to look at."""
        came_to = max(
            (walk.end for walk in self.walks if walk.selection in (selection, EVERYTHING)), default=0
        )
        first_left = self.left.runs[0][0] if self.left else came_to
        return max(earliest, min(came_to, first_left))

    def walked(self, selection: Selection, end: int) -> Memory:
        """A walk with this selection has come to ``end``. One with everything takes those that it overtakes with it."""
        others = [walk for walk in self.walks if walk.selection != selection]
        before = max((walk.end for walk in self.walks if walk.selection == selection), default=0)
        mine = Walk(selection, max(before, end))
        if selection == EVERYTHING:
            others = [walk for walk in others if walk.end > mine.end]
        return replace(self, walks=(*others, mine))

    def without_walks_before(self, earliest: int) -> Memory:
        """Of letters that the log has forgotten nothing needs to be remembered."""
        kept = tuple(walk for walk in self.walks if walk.end > earliest)
        left = Offsets(tuple((max(a, earliest), b) for a, b in self.left.runs if b > earliest))
        return replace(self, walks=kept, left=left)

    def leaving(self, *, more: Iterable[int] = (), less: Iterable[int] = ()) -> Memory:
        return replace(self, left=Offsets.of({*self.left, *more}.difference(less)))

    @property
    def text(self) -> str:
        said: dict[str, Any] = {"v": _VERSION}
        said["walks"] = [{"where": walk.selection.texts, "end": walk.end} for walk in self.walks]
        if self.left:
            said["left"] = self.left.text
        if self.pending is not None:
            window = self.pending
            said["pending"] = {
                "producer": window.producer_id,
                "epoch": window.epoch,
                "batches": [[*b.target, b.since, b.letters.text] for b in window.batches],
            }
        return json.dumps(said, separators=(",", ":"))


def read_memory(offset: int, text: str) -> Memory:
    """What was committed. Somebody who set the offset by hand means: what lies before it is settled.

    Raises ``ValueError`` for a text that only a newer version can have written.
    """
    if not text:
        return Memory((Walk(EVERYTHING, offset),)) if offset > 0 else Memory()
    try:
        said: Mapping[str, Any] = json.loads(text)
        if said["v"] != _VERSION:
            raise ValueError
        walks = tuple(Walk(Selection.of(walk["where"]), int(walk["end"])) for walk in said["walks"])
        return Memory(walks, Offsets.read(said.get("left", "")), _pending(said.get("pending")))
    except (ValueError, KeyError, TypeError, IndexError):
        raise ValueError(f"not what this version of leaselog remembers of a redrive: {text[:200]}") from None


def _pending(said: Mapping[str, Any] | None) -> PendingWindow | None:
    if said is None:
        return None
    batches = tuple(
        PendingBatch(TopicPartition(topic, partition), since, Offsets.read(letters))
        for topic, partition, since, letters in said["batches"]
    )
    return PendingWindow(said["producer"], said["epoch"], batches)
