"""Share state under any sequence of commands: merging is the same in any grouping, and the log is the state.

The oracle is naive: a dictionary of offsets to (count, state, due time), where the higher holds.
"""

from __future__ import annotations

from itertools import groupby
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch, StateBatches, combine
from leaselog.coordination.share_state_commands import (
    CutStates,
    DeleteState,
    InitializeState,
    ReadState,
    ShareStateCommand,
    StateRead,
    SummarizeState,
    WriteState,
)
from leaselog.coordination.share_state_facts import ShareFact, SharePartitionKey
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.model import GroupId, Refused, TopicId, TopicIdPartition

OFFSETS = 24
BATCH = st.builds(
    lambda start, size, state, count, due_ms: StateBatch(
        start, start + size, state, count, 0 if state else due_ms
    ),
    st.integers(0, OFFSETS - 1),
    st.integers(0, 8),
    st.sampled_from([0, 2, 4]),
    st.integers(1, 3),
    st.sampled_from([0, 0, 5_000, 6_000]),
)
BATCHES = st.lists(BATCH, max_size=6)


def known(batches: list[StateBatch], start: int = NO_OFFSET) -> dict[int, tuple[int, int, int]]:
    offsets: dict[int, tuple[int, int, int]] = {}
    for batch in batches:
        for offset in range(max(batch.start, start), batch.end):
            offsets[offset] = max(batch.rank, offsets.get(offset, batch.rank))
    return offsets


def fewest(offsets: dict[int, tuple[int, int, int]]) -> tuple[StateBatch, ...]:
    """The stretches of a dictionary."""
    # In a run of likes, offset and position rise together.
    ordered = enumerate(sorted(offsets.items()))
    batches = []
    for (_, (count, state, due_ms)), run in groupby(
        ordered, key=lambda item: (item[1][0] - item[0], item[1][1])
    ):
        where = [offset for _, (offset, _) in run]
        batches.append(StateBatch(where[0], where[-1] + 1, state, count, due_ms))
    return tuple(batches)


@given(BATCHES, st.integers(NO_OFFSET, OFFSETS))
def test_merging_keeps_the_highest_of_every_offset_in_the_fewest_batches(
    batches: list[StateBatch], start: int
) -> None:
    assert combine(batches, start=start) == fewest(known(batches, start))


@given(BATCHES, BATCHES, BATCHES, st.integers(NO_OFFSET, OFFSETS))
def test_merging_in_any_grouping_and_order_gives_the_same(
    a: list[StateBatch], b: list[StateBatch], c: list[StateBatch], start: int
) -> None:
    at_once = combine(a, b, c, start=start)
    assert combine(combine(a, b), c, start=start) == at_once
    assert combine(a, combine(b, c, start=start), start=start) == at_once
    assert combine(c, a, b, start=start) == at_once


@given(st.lists(BATCHES, max_size=5), st.lists(st.integers(0, OFFSETS), max_size=5))
def test_adding_and_cutting_in_turns_is_adding_all_and_cutting_once(
    groups: list[list[StateBatch]], starts: list[int]
) -> None:
    state, cut_at, everything = StateBatches(), 0, list[StateBatch]()
    for group, start in zip(groups, [*starts, *[0] * len(groups)], strict=False):
        cut_at = max(cut_at, start)
        everything += group
        state.add(group)
        state.cut(cut_at)
        state.check()
    assert tuple(state) == fewest(known(everything, cut_at))


KEYS = [SharePartitionKey(GroupId("g"), TopicId(UUID(int=1)), i) for i in range(2)]
EPOCHS = st.integers(-1, 3)


class ShareStateMachine(RuleBasedStateMachine):
    """One shard with its log, which is cut, snapshot and read back at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = ShareStateLimits(
            snapshot_update_records_per_snapshot=3, cold_partition_snapshot_interval_ms=5
        )
        self.shard = ShareStateShard(self.limits)
        self.log: list[ShareFact] = []
        self.start = 0
        self.now_ms = 0
        #: what each key's writes amount to since it began
        self.oracle: dict[SharePartitionKey, list[StateBatch]] = {}
        self.starts: dict[SharePartitionKey, int] = {}

    def write(self, *facts: ShareFact) -> None:
        for fact in facts:
            self.shard.replay(fact, len(self.log))
            self.log.append(fact)

    def do(self, command: ShareStateCommand) -> bool:
        """Whether it was done; if it was refused, nothing has changed."""
        before = self.shard.snapshots()
        outcome = self.shard.handle(command, self.now_ms)
        assert self.shard.snapshots() == before
        if isinstance(outcome.answer, Refused):
            assert not outcome.facts
        self.write(*outcome.facts)
        return not isinstance(outcome.answer, Refused)

    @rule(key=st.sampled_from(KEYS), epoch=EPOCHS, start=st.integers(-1, 5))
    def initialize(self, key: SharePartitionKey, epoch: int, start: int) -> None:
        if self.do(InitializeState(key, epoch, start)):
            self.oracle[key] = []
            self.starts[key] = start

    @rule(key=st.sampled_from(KEYS), state=EPOCHS, leader=EPOCHS, further=st.integers(-4, 4), batches=BATCHES)
    def write_state(
        self, key: SharePartitionKey, state: int, leader: int, further: int, batches: list[StateBatch]
    ) -> None:
        """Also one from before the last, which was tried again and comes late."""
        start = max(self.starts.get(key, -1) + further, 0) if further else NO_OFFSET
        if self.do(WriteState(key, state, leader, start, 7, tuple(batches))):
            self.starts[key] = max(self.starts[key], start)
            kept = known([*self.oracle[key], *batches], self.starts[key])
            self.oracle[key] = list(fewest(kept))

    @rule(key=st.sampled_from(KEYS), leader=EPOCHS)
    def read(self, key: SharePartitionKey, leader: int) -> None:
        assert self.do(ReadState(key, leader)) or key not in self.oracle or leader != -1

    @rule(key=st.sampled_from(KEYS))
    def delete(self, key: SharePartitionKey) -> None:
        assert self.do(DeleteState(key))
        self.oracle.pop(key, None)

    @rule(end=st.integers(0, OFFSETS))
    def the_log_has_lost_records(self, end: int) -> None:
        """Nothing is told of what lies behind its end, which is given out again."""
        self.do(CutStates({TopicIdPartition(KEYS[0].topic_id, KEYS[0].partition): end}))
        if KEYS[0] in self.oracle:
            self.starts[KEYS[0]] = min(self.starts[KEYS[0]], end)
            kept = {o: rank for o, rank in known(self.oracle[KEYS[0]]).items() if o < end}
            self.oracle[KEYS[0]] = list(fewest(kept))

    @rule(ms=st.integers(0, 10))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms
        for key in self.shard.cold_keys(self.now_ms):
            again = self.shard.snapshot_again(key, self.now_ms)
            assert again is not None
            self.write(again)

    @rule()
    def cut_the_log(self) -> None:
        needed_from = self.shard.needed_from(len(self.log))
        assert needed_from >= self.start
        self.start = needed_from

    @rule()
    def restart(self) -> None:
        self.shard = self.read_back()

    def read_back(self) -> ShareStateShard:
        shard = ShareStateShard(self.limits)
        for offset in range(self.start, len(self.log)):
            shard.replay(self.log[offset], offset)
        return shard

    @invariant()
    def the_state_is_what_was_written(self) -> None:
        self.shard.check()
        assert set(self.shard.snapshots()) == set(self.oracle)
        for key, batches in self.oracle.items():
            read = self.shard.handle(ReadState(key), self.now_ms).answer
            assert isinstance(read, StateRead)
            assert read.start_offset == self.starts[key]
            assert read.batches == tuple(batches)

    @invariant()
    def the_log_gives_it_back(self) -> None:
        again = self.read_back()
        assert again.snapshots() == self.shard.snapshots()
        for key in KEYS:
            asked = SummarizeState(key)
            assert again.handle(asked, 0).answer == self.shard.handle(asked, 0).answer


ShareStateMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestShareState = ShareStateMachine.TestCase
