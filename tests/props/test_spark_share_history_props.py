"""The state topic read back: whatever the share coordinator was told, the table says no less and nothing else.

Two oracles: the coordinator itself, for what lies ahead of the start offset, and a dictionary of the words about each
offset, for what lies behind it.
"""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from leaselog.broker.share_state.records import encode_share_fact
from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch
from leaselog.coordination.share_state_commands import InitializeState, ReadState, StateRead, WriteState
from leaselog.coordination.share_state_facts import ShareDropped, SharePartitionKey
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.model import GroupId, TopicId
from leaselog.spark.share_history import PASSED, ShareHistory
from leaselog.spark.state_records import read_entry
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

KEY = SharePartitionKey(GroupId("g"), TopicId(UUID(int=7)), 0)
KEY_BYTES = encode_share_fact(ShareDropped(KEY), 0).key
TERMINAL = (2, 4)
OFFSETS = 24

BATCH = st.builds(
    lambda start, size, state, count: StateBatch(start, start + size, state, count),
    st.integers(0, OFFSETS),
    st.integers(1, 6),
    st.sampled_from([0, 2, 4]),
    st.integers(1, 3),
)
#: how far the start moves, and what is said; or where the group is set to begin anew
WRITE = st.tuples(st.integers(0, 4), st.lists(BATCH, max_size=4))
RESET = st.integers(0, OFFSETS)


class Told:
    """A coordinator, what it has written, and the dictionary."""

    def __init__(self, updates_per_snapshot: int) -> None:
        limits = ShareStateLimits(snapshot_update_records_per_snapshot=updates_per_snapshot)
        self.shard = ShareStateShard(limits)
        self.history = ShareHistory()
        self.words = dict[int, tuple[int, int]]()
        self.start = 0
        self.begun = OFFSETS
        self.epoch = -1
        self.written = 0

    def ask(self, command: InitializeState | WriteState) -> None:
        for fact in self.shard.handle(command, now_ms=0).facts:
            entry = read_entry(encode_share_fact(fact, 0))
            assert entry is not None
            self.history.add(entry)
            self.shard.replay(fact, self.written)
            self.written += 1

    def begin(self, start: int) -> None:
        self.epoch += 1
        self.ask(InitializeState(KEY, self.epoch, start))
        self.words = {offset: word for offset, word in self.words.items() if offset < start}
        self.start, self.begun = start, min(self.begun, start)

    def write(self, step: int, batches: list[StateBatch]) -> None:
        self.start += step
        self.ask(WriteState(KEY, start_offset=self.start, batches=tuple(batches)))
        for batch in batches:
            for offset in range(max(batch.start, self.start), batch.end):
                self.words[offset] = max(batch.rank, self.words.get(offset, batch.rank))


@given(st.integers(0, 3), st.lists(st.one_of(WRITE, RESET), max_size=8))
def test_the_table_says_what_was_said(
    updates_per_snapshot: int, story: list[tuple[int, list[StateBatch]] | int]
) -> None:
    told = Told(updates_per_snapshot)
    told.begin(0)
    for event in story:
        if isinstance(event, int):
            told.begin(event)
        else:
            told.write(*event)
    rows = list(told.history.records())
    by_offset = {offset: row for row in rows for offset in range(row[0].start, row[0].end)}
    assert sum(row[0].end - row[0].start for row in rows) == len(by_offset), "no offset twice"
    assert told.history.start_offset == told.start

    answer = told.shard.handle(ReadState(KEY), now_ms=0).answer
    assert isinstance(answer, StateRead)
    assert answer.start_offset == told.start != NO_OFFSET
    known = {o: (b.state, b.delivery_count) for b in answer.batches for o in range(b.start, b.end)}
    ahead = {o: (s.state, s.delivery_count) for o, (s, _) in by_offset.items() if o >= told.start}
    assert ahead == known

    for offset in range(told.begun, told.start):
        stretch, word = by_offset[offset]
        count, state, _ = told.words.get(offset, (None, None, 0))
        if state in TERMINAL:
            assert (word, stretch.state, stretch.delivery_count) == (None, state, count)
        else:
            assert word == PASSED


@given(st.binary(max_size=40), st.one_of(st.none(), st.binary(max_size=40)), st.sampled_from([0, 1]))
def test_no_other_error_escapes_from_malformed_records(rest: bytes, value: bytes | None, kind: int) -> None:
    for key in (rest, kind.to_bytes(2, "big") + rest, KEY_BYTES):
        with suppress(DecodeError):
            read_entry(Record(key, value))
