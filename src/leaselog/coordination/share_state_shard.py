"""The share partitions of one partition of ``__share_group_state``: how far each group has come with each.

One owner calls ``handle``, writes the facts of the outcome, replays them here at once with the offsets they get, and
gives the answer when the write is safe. If it is not, the owner throws the shard away and builds a new one from what
was written before. Only ``replay`` changes anything.

Epochs fence. A state epoch rises when an administrator sets the group's offsets: the leader that worked on the old
ones can write no more. A leader epoch rises when a new leader reads: the old leader can write no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch, StateBatches, combine
from leaselog.coordination.share_state_commands import (
    NO_EPOCH,
    CutStates,
    DeleteState,
    DropTopicState,
    InitializeState,
    ReadState,
    ShareStateCommand,
    ShareStateOutcome,
    ShareSummary,
    StateCut,
    StateRead,
    StatesCut,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import (
    NO_COUNT,
    ShareDropped,
    ShareFact,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.model import BrokenInvariant, ErrorCode, RecordState, Refused, TopicId, TopicIdPartition

__all__ = ["ShareStateLimits", "ShareStateShard"]


#: Kafka's words
_WORDS = {
    ErrorCode.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the broker.",
    ErrorCode.FENCED_STATE_EPOCH: "The share coordinator rejected the request because the share-group state epoch "
    "did not match.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
}
#: one for all
_WRITTEN = Written()
#: what the count of finished records counts
_FINISHED = frozenset({RecordState.ACKNOWLEDGED.value, RecordState.ARCHIVED.value})


@dataclass(frozen=True, slots=True)
class ShareStateLimits:
    """Kafka's settings of these names, with its defaults, and what is ours at the end."""

    #: 0 writes nothing but snapshots
    snapshot_update_records_per_snapshot: int = 500
    cold_partition_snapshot_interval_ms: int = 300_000
    #: what one snapshot may hold: 20 bytes each must fit in a record. Kafka finds out when it writes.
    batches_max: int = 45_000
    #: updates also say what became of records that the start has passed; the older design has it so
    tells_passed: bool = False


@dataclass(slots=True)
class _State:
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int
    written_ms: int
    batches: StateBatches
    #: where the log must still be read from for this key
    snapshot_at: int
    #: the highest epochs seen since the key came to be: a new beginning writes lower ones, and opens no old door
    state_fence: int
    leader_fence: int
    #: since the last snapshot, of whatever kind
    updates: int = 0

    @property
    def is_cold(self) -> bool:
        """The snapshot repeats an older one, and there is nothing to gain from another."""
        return self.created_ms != self.written_ms

    @property
    def end(self) -> int:
        """Of nothing from here on it says anything."""
        return max(self.start_offset, self.batches.end)


class ShareStateShard:
    def __init__(self, limits: ShareStateLimits) -> None:
        self.limits = limits
        self._states: dict[SharePartitionKey, _State] = {}
        #: the same keys by topic
        self._keys_of: dict[TopicId, dict[SharePartitionKey, None]] = {}

    def __len__(self) -> int:
        return len(self._states)

    def replay(self, fact: ShareFact, offset: int) -> None:
        """Make it so; ``offset`` is the record's. The same whether it was written just now or is read back."""
        match fact:
            case ShareUpdate():  # first: nearly all are
                # The snapshot may have been cut off with a tombstone still to come.
                state = self._states.get(fact.key)
                if state is not None:
                    _update(state, fact)
            case ShareSnapshot():
                self._states[fact.key] = _restored(fact, offset, self._states.get(fact.key))
                self._keys_of.setdefault(fact.key.topic_id, {})[fact.key] = None
            case ShareDropped(key):
                self._drop(key)
            case _:
                assert_never(fact)

    def handle(self, command: ShareStateCommand, now_ms: int, *, exists: bool = True) -> ShareStateOutcome:
        """What the command leads to. ``exists``: the cluster has this topic partition now.

        Replay the facts before the next command.
        """
        match command:
            case WriteState():
                return self._write(command, now_ms, exists)
            case ReadState():
                return self._read(command, now_ms, exists)
            case InitializeState():
                return self._initialize(command, now_ms, exists)
            case DeleteState(key):
                return self._delete(key, exists)
            case SummarizeState():
                return ShareStateOutcome(self._summarize(command, exists))
            case DropTopicState(topic_id):
                gone = tuple(map(ShareDropped, self._keys_of.get(topic_id, ())))
                return ShareStateOutcome(_WRITTEN, gone)
            case CutStates():
                return self._cut(command, now_ms)
            case _:
                assert_never(command)

    def _drop(self, key: SharePartitionKey) -> None:
        if self._states.pop(key, None) is not None:
            keys = self._keys_of[key.topic_id]
            del keys[key]
            if not keys:
                del self._keys_of[key.topic_id]

    # Commands. The order of the checks is Kafka's: a client sees which of two faults is told.

    def _initialize(self, ask: InitializeState, now_ms: int, exists: bool) -> ShareStateOutcome:
        state = self._states.get(ask.key)
        if state is not None and NO_EPOCH != ask.state_epoch < state.state_fence:
            return _refused(ErrorCode.FENCED_STATE_EPOCH)
        if not exists:
            return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        snapshot = ShareSnapshot(
            ask.key,
            snapshot_epoch=0 if state is None else state.snapshot_epoch + 1,
            state_epoch=ask.state_epoch,
            leader_epoch=0,
            start_offset=ask.start_offset,
            delivery_complete_count=NO_COUNT if ask.start_offset == NO_OFFSET else 0,
            created_ms=now_ms,
            written_ms=now_ms,
        )
        return ShareStateOutcome(_WRITTEN, (snapshot,))

    def _write(self, ask: WriteState, now_ms: int, exists: bool) -> ShareStateOutcome:
        state = self._states.get(ask.key)
        if state is None:
            return _uninitialized("Write")
        if NO_EPOCH != ask.leader_epoch < state.leader_fence:
            return _refused(ErrorCode.FENCED_LEADER_EPOCH)
        if NO_EPOCH != ask.state_epoch < state.state_fence:
            return _refused(ErrorCode.FENCED_STATE_EPOCH)
        if not exists:
            return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        start, count = ask.start_offset, ask.delivery_complete_count
        if NO_OFFSET != start < state.start_offset:
            # An older write, tried again after a newer one: what was passed is done with, and stays so.
            start, count = state.start_offset, state.delivery_complete_count
        update = ShareUpdate(
            ask.key,
            state.snapshot_epoch,
            # Not the asker's: a leader makes itself known by reading.
            state.leader_epoch,
            start,
            count,
            combine(ask.batches, start=NO_OFFSET if self.limits.tells_passed else start),
        )
        return self._change(state, update, now_ms, _WRITTEN)

    def _read(self, ask: ReadState, now_ms: int, exists: bool) -> ShareStateOutcome:
        state = self._states.get(ask.key)
        if state is None:
            return _uninitialized("Read")
        if NO_EPOCH != ask.leader_epoch < state.leader_fence:
            return _refused(ErrorCode.FENCED_LEADER_EPOCH)
        if not exists:
            return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        answer = StateRead(state.state_epoch, state.start_offset, tuple(state.batches))
        if ask.leader_epoch in (NO_EPOCH, state.leader_fence):
            return ShareStateOutcome(answer)
        update = ShareUpdate(
            ask.key,
            state.snapshot_epoch,
            ask.leader_epoch,
            state.start_offset,
            state.delivery_complete_count,
        )
        return ShareStateOutcome(answer, self._change(state, update, now_ms, answer).facts)

    def _change(
        self, state: _State, update: ShareUpdate, now_ms: int, answer: Written | StateRead
    ) -> ShareStateOutcome:
        """The update, or, when enough of them have been written, a snapshot with it in."""
        # One batch splits at most one stretch in two, and lies between them.
        most = len(state.batches) + 2 * len(update.batches)
        if most > self.limits.batches_max < len(_with(state.batches, update.batches, NO_OFFSET)):
            return _refused(
                ErrorCode.UNKNOWN_SERVER_ERROR, f"the state is over {self.limits.batches_max} batches"
            )
        if state.updates < self.limits.snapshot_update_records_per_snapshot:
            return ShareStateOutcome(answer, (update,))
        start = state.start_offset if update.start_offset == NO_OFFSET else update.start_offset
        snapshot = ShareSnapshot(
            update.key,
            state.snapshot_epoch + 1,
            state.state_epoch,
            update.leader_epoch,
            start,
            update.delivery_complete_count,
            created_ms=now_ms,
            written_ms=now_ms,
            batches=_with(state.batches, update.batches, start),
        )
        return ShareStateOutcome(answer, (snapshot,))

    def _delete(self, key: SharePartitionKey, exists: bool) -> ShareStateOutcome:
        if not exists:
            return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return ShareStateOutcome(_WRITTEN, (ShareDropped(key),) if key in self._states else ())

    def _summarize(self, ask: SummarizeState, exists: bool) -> ShareSummary | Refused:
        state = self._states.get(ask.key)
        if not exists:
            return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _WORDS[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        return ShareSummary() if state is None else _summary(state)

    def _cut(self, ask: CutStates, now_ms: int) -> ShareStateOutcome:
        """A snapshot for each: nothing of what was written before can bring back what is cut off."""
        cuts, facts = list[StateCut](), list[ShareFact]()
        for key, state in self._states.items():
            end = ask.ends.get(TopicIdPartition(key.topic_id, key.partition))
            if end is not None and end < state.end:
                cuts.append(StateCut(key, state.end, end))
                facts.append(_cut_snapshot(key, state, end, now_ms))
        return ShareStateOutcome(StatesCut(tuple(cuts)), tuple(facts))

    # Keeping the log short

    def cold_keys(self, now_ms: int) -> list[SharePartitionKey]:
        """Keys without a snapshot younger than the interval: `snapshot_again` lets the log be cut behind theirs.

        None while all are cold: they would be written again for ever.
        """
        if all(state.is_cold for state in self._states.values()):
            return []
        before_ms = now_ms - self.limits.cold_partition_snapshot_interval_ms
        return [key for key, state in self._states.items() if state.written_ms <= before_ms]

    def snapshot_again(self, key: SharePartitionKey, now_ms: int) -> ShareSnapshot | None:
        """The state as it is, in a new snapshot; None if it is gone."""
        state = self._states.get(key)
        if state is None:
            return None
        return replace(_snapshot(key, state), snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)

    def needed_from(self, end: int) -> int:
        """Where the log, which ends at ``end``, must still be read from to get all this back."""
        return min((state.snapshot_at for state in self._states.values()), default=end)

    # What is there, for tests and for whoever shows it

    def topic_ids(self) -> set[TopicId]:
        return set(self._keys_of)

    def state_epochs(self) -> Iterator[tuple[SharePartitionKey, int]]:
        """Of every key."""
        return ((key, state.state_epoch) for key, state in self._states.items())

    def kept_keys(self) -> list[SharePartitionKey]:
        return list(self._states)

    def summary(self, key: SharePartitionKey) -> ShareSummary | None:
        """None if nothing is kept."""
        state = self._states.get(key)
        return None if state is None else _summary(state)

    def snapshots(self) -> dict[SharePartitionKey, ShareSnapshot]:
        """Every state, as the snapshot it amounts to."""
        return {key: _snapshot(key, state) for key, state in self._states.items()}

    def check(self) -> None:
        """Raise ``BrokenInvariant`` unless every state is sound."""
        for key, state in self._states.items():
            state.batches.check()
            first = next(iter(state.batches), None)
            if first is not None and first.start < state.start_offset:
                raise BrokenInvariant(f"{key} starts at {state.start_offset} and knows of {first}")


def _restored(fact: ShareSnapshot, offset: int, before: _State | None) -> _State:
    return _State(
        fact.snapshot_epoch,
        fact.state_epoch,
        fact.leader_epoch,
        fact.start_offset,
        fact.delivery_complete_count,
        fact.created_ms,
        fact.written_ms,
        StateBatches(fact.batches),
        offset,
        fact.state_epoch if before is None else max(fact.state_epoch, before.state_fence),
        fact.leader_epoch if before is None else max(fact.leader_epoch, before.leader_fence),
    )


def _summary(state: _State) -> ShareSummary:
    return ShareSummary(
        state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count
    )


def _snapshot(key: SharePartitionKey, state: _State) -> ShareSnapshot:
    return ShareSnapshot(
        key,
        state.snapshot_epoch,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.delivery_complete_count,
        state.created_ms,
        state.written_ms,
        tuple(state.batches),
    )


def _cut_snapshot(key: SharePartitionKey, state: _State, end: int, now_ms: int) -> ShareSnapshot:
    batches = tuple(batch._replace(end=min(batch.end, end)) for batch in state.batches if batch.start < end)
    finished = sum(batch.end - batch.start for batch in batches if batch.state in _FINISHED)
    return replace(
        _snapshot(key, state),
        snapshot_epoch=state.snapshot_epoch + 1,
        start_offset=min(state.start_offset, end),
        delivery_complete_count=NO_COUNT if state.delivery_complete_count == NO_COUNT else finished,
        created_ms=now_ms,
        written_ms=now_ms,
        batches=batches,
    )


def _update(state: _State, fact: ShareUpdate) -> None:
    state.leader_epoch = fact.leader_epoch
    if fact.leader_epoch > state.leader_fence:
        state.leader_fence = fact.leader_epoch
    state.delivery_complete_count = fact.delivery_complete_count
    state.batches.add(fact.batches)
    if fact.start_offset != NO_OFFSET:
        state.start_offset = fact.start_offset
    if state.start_offset != NO_OFFSET:
        state.batches.cut(state.start_offset)
    state.updates += 1


def _with(batches: StateBatches, more: tuple[StateBatch, ...], start: int) -> tuple[StateBatch, ...]:
    merged = batches.copy()
    merged.add(more)
    if start != NO_OFFSET:
        merged.cut(start)
    return tuple(merged)


def _refused(code: ErrorCode, message: str | None = None) -> ShareStateOutcome:
    return ShareStateOutcome(Refused(code, message or _WORDS.get(code)))


def _uninitialized(operation: str) -> ShareStateOutcome:
    return _refused(
        ErrorCode.INVALID_REQUEST, f"{operation} operation on uninitialized share partition not allowed."
    )
