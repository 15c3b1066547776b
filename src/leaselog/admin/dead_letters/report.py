"""What is in a group's dead letters: by cause, with counts, times and samples. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from leaselog.admin.dead_letters.letter import Letter, own_headers
from leaselog.model import TopicPartition
from leaselog.wire.records import Record, RecordHeader

__all__ = [
    "MAX_CAUSES",
    "OTHER_CAUSES",
    "DeadLetterCause",
    "DeadLetterReport",
    "DeadLetterSample",
    "Findings",
]

#: Whoever rejects may say why, and may say something else each time: what comes after so many is counted together.
MAX_CAUSES = 1_000
OTHER_CAUSES = "(other causes)"


@dataclass(frozen=True, slots=True)
class DeadLetterSample:
    """One letter, with the record that it is about as far as that is known."""

    #: where the letter lies
    place: TopicPartition
    offset: int
    #: where the record lay
    source: TopicPartition
    source_offset: int
    delivery_count: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    #: the record's own; None if it is not in its log any more, for letters have none of them
    headers: tuple[RecordHeader, ...] | None
    #: key and value are known: copied into the letter, or still in the log
    has_content: bool


@dataclass(frozen=True, slots=True)
class DeadLetterCause:
    cause: str
    letters: int
    #: how many of them are settled: put back, or with nothing left to put back
    settled: int
    first_ms: int
    last_ms: int
    #: letters by the topics that their records lay in
    sources: Mapping[str, int]
    samples: tuple[DeadLetterSample, ...]


@dataclass(frozen=True, slots=True)
class DeadLetterReport:
    group_id: str
    #: where the letters lie
    topic: str
    #: the most frequent first
    causes: tuple[DeadLetterCause, ...]

    @property
    def letters(self) -> int:
        return sum(cause.letters for cause in self.causes)

    @property
    def settled(self) -> int:
        return sum(cause.settled for cause in self.causes)


@dataclass(slots=True)
class _Pile:
    letters: int = 0
    settled: int = 0
    first_ms: int = 2**63
    last_ms: int = -1
    sources: dict[str, int] = field(default_factory=dict)
    samples: list[Letter] = field(default_factory=list)


class Findings:
    """Letters one after the other; keeps a few of each cause."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._piles = dict[str, _Pile]()

    def add(self, letter: Letter, *, is_settled: bool) -> None:
        """The samples are of those that are not settled, as long as there are some."""
        cause = letter.cause if letter.cause in self._piles or len(self._piles) < MAX_CAUSES else OTHER_CAUSES
        pile = self._piles.setdefault(cause, _Pile())
        if not is_settled and pile.settled == pile.letters:
            pile.samples.clear()
        if len(pile.samples) < self._samples and not (is_settled and pile.settled < pile.letters):
            pile.samples.append(letter)
        pile.letters += 1
        pile.settled += is_settled
        pile.first_ms = min(pile.first_ms, letter.time_ms)
        pile.last_ms = max(pile.last_ms, letter.time_ms)
        pile.sources[letter.source.topic] = pile.sources.get(letter.source.topic, 0) + 1

    def sampled(self) -> dict[TopicPartition, list[Letter]]:
        """The samples, by the partition that they lie in."""
        found = dict[TopicPartition, list[Letter]]()
        for pile in self._piles.values():
            for letter in pile.samples:
                found.setdefault(letter.place, []).append(letter)
        return found

    def report(
        self, group_id: str, topic: str, originals: Mapping[tuple[TopicPartition, int], Record]
    ) -> DeadLetterReport:
        """``originals`` are by place and offset of the letters."""
        causes = [
            DeadLetterCause(
                cause,
                pile.letters,
                pile.settled,
                pile.first_ms,
                pile.last_ms,
                dict(sorted(pile.sources.items())),
                tuple(_sample(x, originals.get((x.place, x.offset))) for x in pile.samples),
            )
            for cause, pile in self._piles.items()
        ]
        return DeadLetterReport(
            group_id, topic, tuple(sorted(causes, key=lambda one: (-one.letters, one.cause)))
        )


def _sample(letter: Letter, original: Record | None) -> DeadLetterSample:
    made = DeadLetterSample(
        letter.place,
        letter.offset,
        letter.source,
        letter.source_offset,
        letter.delivery_count,
        letter.time_ms,
        letter.key,
        letter.value,
        None,
        letter.has_content,
    )
    if original is None:
        return made
    headers: Sequence[RecordHeader] = own_headers(original.headers)
    return replace(made, key=original.key, value=original.value, headers=tuple(headers), has_content=True)
