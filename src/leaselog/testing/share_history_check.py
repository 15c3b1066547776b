"""Was what the clients saw possible? The rules of a share group, looked up one by one in a history.

Dull on purpose: for every record everything that happened to it is gathered, and each rule is a plain question about
that. Only what is certain counts. A lease that may have begun before an answer was known proves nothing, and neither
does an acknowledgement whose answer never came; so a history without violations is not proof, but a violation is.

    invented      a record that was never sent, or not there, or two at one offset
    undone        delivered again although its acceptance or rejection had been answered
    forgotten     delivered with a count that a release, answered before, had already reached
    early         delivered again before a record that was released may be
    over limit    delivered more often than the group allows, as the broker counts
    two holders   leased to two consumers at once
    stolen        acknowledged by one consumer, and taken for good, while another certainly had it
    overdue       acknowledged, and taken for good, when the lease had certainly ended and nobody had finished it
    while paused  asked for and got while the group was paused
    lost          through according to the broker, and nobody ever finished it; or answered to a producer and not there;
                  or neither accepted by anybody nor a dead letter, where the group has such
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple, assert_never

from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    BrokerDied,
    Closing,
    Delivered,
    Disconnected,
    Event,
    Kind,
    Paused,
    Resuming,
    Sent,
    Stored,
)

__all__ = ["RecordPosition", "Rules", "Verdict", "Violation", "judge"]

_NS_PER_MS = 1_000_000
#: what leaves a record to be delivered again
_RETURNS = ("release", "give back")
#: clocks of whole milliseconds, on both sides
_ROUNDING_MS = 2
_FOR_EVER = 1 << 63


class RecordPosition(NamedTuple):
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Rules:
    delivery_count_limit: int
    #: the shortest that a lease may have been
    lock_duration_ms: int
    #: the longest, with what the broker may be late; None if nobody can say, as where leases are renewed
    longest_lock_ms: int | None = field(default=None, kw_only=True)
    #: how long a record that was released after so many deliveries waits at least
    shortest_wait_ms: Callable[[int], float] | None = field(default=None, kw_only=True)
    #: when somebody set the broker's clock: a wait across that may be of any length
    clock_set_ns: Sequence[int] = field(default=(), kw_only=True)
    #: by partition: the broker says that it is done with everything below. None if nobody asked
    through: Mapping[int, int] | None = None
    #: archived by the broker for being out of deliveries; a consumer that closes may never have seen the last one
    out_of_deliveries: Collection[RecordPosition] = ()
    #: by partition: where the log begins now; what retention or an administrator took nobody has to finish
    log_starts: Mapping[int, int] = field(default_factory=dict)
    #: the records that dead letters are about, by the place they name; None for a group without a dead-letter topic
    dead_letters: Mapping[RecordPosition, Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    place: RecordPosition
    story: str


@dataclass(frozen=True, slots=True)
class Verdict:
    violations: tuple[Violation, ...]
    #: how much was looked at, so that nobody is pleased with an empty history
    seen: Counter[str]


@dataclass(slots=True)
class _Call:
    """One acknowledgement, with the delivery it is about."""

    consumer: str
    kind: Kind
    at_ns: int
    delivery: Delivered | None
    ok: bool | None = None
    answered_ns: int = 0


@dataclass(slots=True)
class _Story:
    """All that happened to the record at one place."""

    stored: str | None = None
    deliveries: list[Delivered] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)

    def __str__(self) -> str:
        told = [(d.at_ns, str(d)) for d in self.deliveries]
        told += [(c.at_ns, f"{c.consumer} {c.kind} ok={c.ok} {c.at_ns}..{c.answered_ns}") for c in self.calls]
        return "; ".join(what for _, what in sorted(told))


@dataclass(slots=True)
class _History:
    sent: set[tuple[str, int]] = field(default_factory=set)
    stories: dict[RecordPosition, _Story] = field(default_factory=lambda: defaultdict(_Story))
    closings: dict[str, int] = field(default_factory=dict)
    deaths: list[int] = field(default_factory=list)
    #: from when it was paused for certain until somebody may have resumed it
    pauses: list[tuple[int, int]] = field(default_factory=list)
    #: by consumer: when the broker may have thought that it had gone
    breaks: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


def judge(events: Iterable[Event], rules: Rules) -> Verdict:
    """All that cannot have been. The events of one consumer must be in their order; consumers may be mixed anyhow."""
    history, seen = _gather(events)
    violations: list[Violation] = []
    for place, story in sorted(history.stories.items()):
        found = [
            *_invented(history, place, story),
            *_undone(history, story, rules),
            *_forgotten(history, story, rules),
            *_early(history, story, rules),
            *_over_limit(story, rules),
            *_two_holders(history, story, rules),
            *_stolen(history, place, story, rules),
            *_overdue(place, story, rules),
            *_while_paused(history, story),
            *_lost(place, story, rules),
            *_wrong_letters(history, place, story, rules),
        ]
        violations += [Violation(rule, place, f"{why}: {story}") for rule, why in found]
        seen["records"] += story.stored is not None
        seen["redelivered"] += any(d.delivery_count > 1 for d in story.deliveries)
        seen["out of deliveries"] += any(
            d.delivery_count >= rules.delivery_count_limit for d in story.deliveries
        )
        seen["more than one consumer"] += len({d.consumer for d in story.deliveries}) > 1
        seen["dead letters"] += len((rules.dead_letters or {}).get(place, ()))
        seen["records with dead letters"] += place in (rules.dead_letters or {})
    return Verdict(tuple(violations), seen)


def _gather(events: Iterable[Event]) -> tuple[_History, Counter[str]]:
    history, seen = _History(), Counter[str]()
    held: dict[tuple[str, RecordPosition], Delivered] = {}
    called: dict[tuple[str, RecordPosition], _Call] = {}
    for event in events:
        match event:
            case Sent():
                history.sent.add((event.record, event.partition))
            case Stored():
                history.stories[RecordPosition(event.partition, event.offset)].stored = event.record
            case Delivered():
                place = RecordPosition(event.partition, event.offset)
                history.stories[place].deliveries.append(event)
                held[event.consumer, place] = event
                seen["deliveries"] += 1
            case Acknowledging():
                place = RecordPosition(event.partition, event.offset)
                delivery = held.get((event.consumer, place))
                call = _Call(event.consumer, event.kind, event.at_ns, delivery)
                called[event.consumer, place] = call
                history.stories[place].calls.append(call)
            case Answered():
                call = called[event.consumer, RecordPosition(event.partition, event.offset)]
                call.ok, call.answered_ns = event.ok, event.at_ns
                seen[f"{call.kind} {'answered' if event.ok else 'refused'}"] += 1
            case Closing():
                history.closings[event.consumer] = event.at_ns
                seen["closed consumers"] += 1
            case Disconnected():
                history.breaks[event.consumer].append(event.at_ns)
            case BrokerDied():
                history.deaths.append(event.at_ns)
                seen["broker deaths"] += 1
            case Paused() | Resuming():
                _note_pause(history, event)
                seen["pauses"] += isinstance(event, Paused)
            case _:
                assert_never(event)
    return history, seen


def _note_pause(history: _History, event: Paused | Resuming) -> None:
    is_open = bool(history.pauses) and history.pauses[-1][1] == _FOR_EVER
    if isinstance(event, Resuming) and is_open:
        history.pauses[-1] = history.pauses[-1][0], event.at_ns
    elif isinstance(event, Paused) and not is_open:
        history.pauses.append((event.at_ns, _FOR_EVER))


Found = Iterator[tuple[str, str]]


def _invented(history: _History, place: RecordPosition, story: _Story) -> Found:
    for delivery in story.deliveries:
        if (delivery.record, place.partition) not in history.sent:
            yield "invented", f"{delivery.record} was never sent to the partition"
    records = {delivery.record for delivery in story.deliveries}
    if story.stored is not None:
        records.add(story.stored)
    if len(records) > 1:
        yield "invented", f"{sorted(records)} at one place"


def _undone(history: _History, story: _Story, rules: Rules) -> Found:
    for call in story.calls:
        if call.ok and call.kind not in _RETURNS and not _was_given_up(history, call, rules):
            for delivery in story.deliveries:
                if delivery.after_ns > call.answered_ns:
                    yield "undone", f"{call.kind} of {call.consumer} was answered, {delivery.consumer} got it"


def _was_given_up(history: _History, call: _Call, rules: Rules) -> bool:
    """Its last lease may have ended before: it was archived then, and all that is asked of it is answered well.

    As in Apache Kafka that stands even if it could not be written, and a leader to come knows nothing of it.
    """
    is_last = call.delivery is not None and call.delivery.delivery_count >= rules.delivery_count_limit
    return is_last and not _was_in_time(history, call, rules)


def _forgotten(history: _History, story: _Story, rules: Rules) -> Found:
    for call in story.calls:
        if call.kind not in _RETURNS or call.delivery is None or not _was_in_time(history, call, rules):
            continue
        lowest = call.delivery.delivery_count + (call.kind == "release")
        for delivery in story.deliveries:
            is_later = delivery.after_ns > call.answered_ns
            if is_later and delivery.delivery_count < lowest:
                yield "forgotten", f"{call.kind} of {call.consumer} with count {call.delivery.delivery_count}"


def _early(history: _History, story: _Story, rules: Rules) -> Found:
    if rules.shortest_wait_ms is None:
        return
    for call in story.calls:
        if call.kind != "release" or call.delivery is None or not _was_in_time(history, call, rules):
            continue
        wait_ms = rules.shortest_wait_ms(call.delivery.delivery_count) - _ROUNDING_MS
        for delivery in story.deliveries:
            is_next = delivery.at_ns > call.at_ns
            is_excused = any(call.at_ns <= at_ns <= delivery.at_ns for at_ns in rules.clock_set_ns)
            if is_next and not is_excused and delivery.at_ns < call.at_ns + wait_ms * _NS_PER_MS:
                yield "early", f"{call.consumer} released it, and it was to wait for {wait_ms} ms"


def _over_limit(story: _Story, rules: Rules) -> Found:
    for delivery in story.deliveries:
        if not 1 <= delivery.delivery_count <= rules.delivery_count_limit:
            yield "over limit", f"delivery {delivery.delivery_count} of {rules.delivery_count_limit}"


def _two_holders(history: _History, story: _Story, rules: Rules) -> Found:
    leases = [(d, end) for d in story.deliveries if (end := _certain_end(history, story, d, rules)) > d.at_ns]
    for (one, one_end), (other, other_end) in combinations(leases, 2):
        if one.consumer != other.consumer and max(one.at_ns, other.at_ns) < min(one_end, other_end):
            yield "two holders", f"{one.consumer} and {other.consumer}"


def _stolen(history: _History, place: RecordPosition, story: _Story, rules: Rules) -> Found:
    """Of a record that the log has lost everything is taken for good, as by Apache Kafka, from whomever it comes."""
    if place.offset < rules.log_starts.get(place.partition, 0):
        return
    for call in story.calls:
        if not call.ok:
            continue
        for delivery in story.deliveries:
            if delivery.consumer == call.consumer or delivery.at_ns > call.at_ns:
                continue
            if _certain_end(history, story, delivery, rules) > call.answered_ns:
                yield (
                    "stolen",
                    f"{call.consumer} was told that its {call.kind} is done, {delivery.consumer} had it",
                )


def _overdue(place: RecordPosition, story: _Story, rules: Rules) -> Found:
    """Of a record that the start may have passed everything is taken for good; so of those that somebody finished or
    that are gone nothing is said."""
    is_gone = place.offset < rules.log_starts.get(place.partition, 0)
    if rules.longest_lock_ms is None or rules.through is None or is_gone or _is_over(place, story, rules):
        return
    for call in story.calls:
        if not call.ok or call.delivery is None:
            continue
        ended_ns = call.delivery.at_ns + rules.longest_lock_ms * _NS_PER_MS
        others = [other for other in story.calls if other is not call and other.kind not in _RETURNS]
        if call.at_ns > ended_ns and not others and not _is_leased_again(story, call):
            yield "overdue", f"{call.consumer} was told that its {call.kind} is done, and its lease was over"


def _is_leased_again(story: _Story, call: _Call) -> bool:
    """The consumer may have had a new lease already, and not have heard of it: to the broker the call is about that."""
    return any(
        d is not call.delivery
        and d.consumer == call.consumer
        and d.after_ns < call.answered_ns
        and d.at_ns > call.at_ns
        for d in story.deliveries
    )


def _is_over(place: RecordPosition, story: _Story, rules: Rules) -> bool:
    """It may have been archived for its number of deliveries."""
    return place in rules.out_of_deliveries or any(
        d.delivery_count >= rules.delivery_count_limit for d in story.deliveries
    )


def _certain_end(history: _History, story: _Story, delivery: Delivered, rules: Rules) -> int:
    """Until when the consumer has certainly held it: neither asked to end it nor out of time, its broker alive and
    in touch."""
    ends = [delivery.after_ns + (rules.lock_duration_ms - _ROUNDING_MS) * _NS_PER_MS]
    ends += [call.at_ns for call in story.calls if call.delivery is delivery]
    ends += [death for death in history.deaths if death > delivery.after_ns]
    ends += [at for at in history.breaks.get(delivery.consumer, ()) if at > delivery.after_ns]
    if delivery.consumer in history.closings:
        ends.append(history.closings[delivery.consumer])
    return min(ends)


def _while_paused(history: _History, story: _Story) -> Found:
    """What was asked for before the pause may have been on its way."""
    for delivery in story.deliveries:
        if any(start < delivery.after_ns and delivery.at_ns < end for start, end in history.pauses):
            yield "while paused", f"{delivery.consumer} asked for it and got it"


def _lost(place: RecordPosition, story: _Story, rules: Rules) -> Found:
    if rules.through is None:
        return
    through = rules.through.get(place.partition, 0)
    if place.offset >= through:
        yield "lost", f"it lies beyond {through}, where the broker says that the partition ends"
        return
    is_gone = place.offset < rules.log_starts.get(place.partition, 0)
    if (
        not _is_over(place, story, rules)
        and not is_gone
        and not any(call.kind not in _RETURNS for call in story.calls)
    ):
        yield "lost", "nobody accepted or rejected it, and it had deliveries left"


def _wrong_letters(history: _History, place: RecordPosition, story: _Story, rules: Rules) -> Found:
    if rules.dead_letters is None:
        return
    letters = rules.dead_letters.get(place, ())
    for letter in letters:
        if story.stored is not None and letter != story.stored:
            yield "invented", f"a dead letter says that it is {letter}"
    if letters and any(call.kind == "accept" and _was_in_time(history, call, rules) for call in story.calls):
        yield "undone", "its acceptance was answered, and it is a dead letter"
    is_gone = place.offset < rules.log_starts.get(place.partition, 0)
    # an acceptance whose answer was an error may have got through
    may_be_accepted = any(call.kind == "accept" for call in story.calls)
    if rules.through is not None and not letters and not is_gone and not may_be_accepted:
        yield "lost", "nobody accepted it, and there is no dead letter of it"


def _was_in_time(history: _History, call: _Call, rules: Rules) -> bool:
    """Answered well, and certainly before the lease ended: what comes late may be answered so and change nothing."""
    if not call.ok or call.delivery is None:
        return False
    since = call.delivery.after_ns
    ends = [since + (rules.lock_duration_ms - _ROUNDING_MS) * _NS_PER_MS]
    ends += [at for at in (*history.deaths, *history.breaks.get(call.consumer, ())) if at > since]
    return call.answered_ns < min(ends)
