"""What a consumer says about records it holds, and how that is written: leases, acknowledgements, commits. Pure.

A *lease* is what one fetch acquired from one partition. A *bundle* is acknowledgements of one lease that succeed or
fail together; the broker decides a partition at once, so a bundle never spans two leases: records whose lease ran
out do not take those of a younger lease down with them. A *commit* collects what became of several bundles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leaselog.client.errors import ClientError
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.extras import Extra
from leaselog.model import TopicId, TopicPartition

__all__ = [
    "GAP",
    "Bundle",
    "Commit",
    "Held",
    "Lease",
    "SessionLife",
    "TopicIdPartition",
    "WireBatch",
    "wire_batches",
]


#: An acquired offset without a record: compacted away, or a transaction's marker. Never the application's to say.
GAP = 0
NO_EXTRAS: Mapping[int, Extra] = {}
#: runs of one type at least this long travel as one type, shorter ones share an array
_LONG_RUN = 10


class WireBatch(NamedTuple):
    first: int
    last: int
    #: one that holds for all offsets, or one for each
    types: tuple[int, ...]
    extra: Extra | None = None


class TopicIdPartition(NamedTuple):
    """A partition of one life of a topic. A topic deleted and made again has the same name and another id."""

    topic: str
    partition: int
    topic_id: TopicId

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True, eq=False)
class SessionLife:
    """One life of the share session with a broker. When it ends the broker takes back what was acquired in it."""

    ended: ClientError | None = None


@dataclass(slots=True, eq=False)
class Held:
    """What an application holds of one partition; offsets in ``said`` are in ``open``."""

    #: `ShareRecord`s, which know their lease, as a lease knows this
    open: dict[int, Any] = field(default_factory=dict)
    said: dict[int, int] = field(default_factory=dict)
    #: what was added to some of what was said
    extras: dict[int, Extra] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Lease:
    where: TopicIdPartition
    #: acknowledgements go to the broker that leased the records, whoever leads now
    node_id: int
    life: SessionLife
    #: when the records come free by themselves, by our clock and at the latest
    deadline_ms: int
    #: when the records were handed to the application; renewing on its behalf ends some time after this
    delivered_ms: int = 0
    #: a renewal on the application's behalf is on its way
    is_renewing: bool = False
    #: the broker has not refused to renew it
    is_renewable: bool = True
    #: where its records are held once they are delivered
    held: Held | None = None
    #: after how many deliveries the group gives up a record; None: nobody has asked
    delivery_limit: int | None = None


@dataclass(slots=True, eq=False)
class Commit:
    """What became of the bundles that went out together; a partition is listed when it had any."""

    waiting: set[Bundle] = field(default_factory=set)
    results: dict[TopicIdPartition, ClientError | None] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return not self.waiting

    def settle(self, bundle: Bundle, error: ClientError | None) -> None:
        """One failure is the partition's result, whatever else went well there."""
        self.waiting.discard(bundle)
        where = bundle.lease.where
        if error is not None or where not in self.results:
            self.results[where] = error

    def give_up(self, error: ClientError) -> None:
        """Nobody waits any longer: what is not known by now has this result."""
        for bundle in tuple(self.waiting):
            self.settle(bundle, error)


@dataclass(slots=True, eq=False)
class Bundle:
    lease: Lease
    types: dict[int, int]
    #: until when a failure that may pass is tried again
    deadline_ms: int
    commit: Commit | None = None
    #: goes out at once instead of riding on the next fetch
    is_urgent: bool = False
    #: until when it waits for a fetch to ride on
    rides_until_ms: int = 0
    #: the application said it, and wants to hear what became of it
    is_visible: bool = True
    #: failed in company: is tried without, so that one stale lease harms itself only
    is_alone: bool = False
    not_before_ms: int = 0
    #: how often it was refused for something that may pass
    failures: int = 0
    #: what was added to some of the types
    extras: Mapping[int, Extra] = field(default_factory=dict)

    @property
    def renews(self) -> bool:
        return AcknowledgeType.RENEW in self.types.values()


def wire_batches(types: Mapping[int, int], extras: Mapping[int, Extra] = NO_EXTRAS) -> Iterator[WireBatch]:
    """What was said, ascending and without overlap, as brokers demand it; a extra holds for all of its batch."""
    for stretch in _stretches(sorted(types.items()), extras):
        extra = extras.get(stretch[0][0])
        start = 0
        for at, end in _long_runs(stretch):
            yield from _batch(stretch[start:at], extra)
            yield from _batch(stretch[at:end], extra)
            start = end
        yield from _batch(stretch[start:], extra)


def _batch(part: list[tuple[int, int]], extra: Extra | None) -> Iterable[WireBatch]:
    if not part:
        return ()
    said = tuple(kind for _, kind in part)
    uniform = said.count(said[0]) == len(said)
    return (WireBatch(part[0][0], part[-1][0], said[:1] if uniform else said, extra),)


def _stretches(pairs: list[tuple[int, int]], extras: Mapping[int, Extra]) -> Iterator[list[tuple[int, int]]]:
    """Maximal parts without a hole between their offsets, and with one extra or none."""
    start = 0
    for at in range(1, len(pairs) + 1):
        if (
            at == len(pairs)
            or pairs[at][0] != pairs[at - 1][0] + 1
            or (extras and extras.get(pairs[at][0]) != extras.get(pairs[start][0]))
        ):
            yield pairs[start:at]
            start = at


def _long_runs(stretch: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start = 0
    for at in range(1, len(stretch) + 1):
        if at == len(stretch) or stretch[at][1] != stretch[start][1]:
            if at - start >= _LONG_RUN:
                yield start, at
            start = at
