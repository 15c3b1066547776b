"""Any sequence of reads, acknowledgements, lost writes, ended sessions and new leaders leaves a share partition sound.

The machine is compared with the naive oracle after every step (INV-10: compressed state expands to exactly the
oracle's), and what neither of them could know is checked from outside: INV-1 to INV-9, INV-11 and INV-12, by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from leaselog.model import MemberId, Refused, Span
from leaselog.share import (
    Acknowledge,
    Acknowledged,
    AcknowledgementBatch,
    AcknowledgementDetails,
    AcknowledgeType,
    Acquire,
    Acquired,
    AcquireMode,
    Command,
    DeadLettersEnded,
    Expire,
    Limits,
    MoveLogStart,
    Persist,
    Persisted,
    RecordState,
    ReleaseMember,
    RetryBackoff,
    SharePartition,
    StateSpan,
    StoredState,
    WakeFetchers,
    WriteDeadLetters,
    inflight,
)
from leaselog.share.record_state import TERMINAL
from leaselog.testing.oracle import Letters, Oracle, Record, Written
from leaselog.testing.oracle_picks import acquire

MEMBERS = st.sampled_from([MemberId("a"), MemberId("b"), MemberId("c")])
LOCK_MS = 100
LONGEST_BATCH = 6
TYPES = st.one_of(
    st.sampled_from([1, 2, 2, 2, 3, 0, 4]).map(lambda kind: [kind]),
    st.lists(st.sampled_from(AcknowledgeType), min_size=2, max_size=6),
)
#: what a client may say beside; 40 is within a lease, and the last beyond what the group allows
DETAILS = st.sampled_from(
    [
        *[AcknowledgementDetails()] * 4,
        *[AcknowledgementDetails(is_given_back=True, delay_ms=40)] * 2,
        *[AcknowledgementDetails(delay_ms=delay) for delay in (0, 40, 10**9)],
        AcknowledgementDetails(reason="no such customer"),
    ]
)
BACKOFFS = st.sampled_from(
    [None, None, RetryBackoff(30, 2.0, 300, 0.2), RetryBackoff(2 * LOCK_MS, 1.0, 2 * LOCK_MS, 0.0)]
)
DELAY_MAX_MS = 5 * LOCK_MS
ACTIONS = [
    *["acquire"] * 8,
    *["acknowledge"] * 8,
    *["write_ends"] * 7,
    *["letters_end"] * 3,
    *["tick"] * 4,
    *["fail"] * 3,
    *["take_back"] * 3,
    *["append", "compact", "read_log", "session_ends", "log_start_moves", "leader_restarts"],
]


class ShareMachine(RuleBasedStateMachine):
    @initialize(
        limit=st.integers(2, 7),
        locks=st.integers(4, 20),
        log_start=st.integers(0, 50),
        chunk=st.sampled_from([2, 4, 256]),
        has_dead_letters=st.booleans(),
        backoff=BACKOFFS,
    )
    def start(
        self,
        limit: int,
        locks: int,
        log_start: int,
        chunk: int,
        has_dead_letters: bool,
        backoff: RetryBackoff | None,
    ) -> None:
        inflight.CHUNK = chunk
        self.limits = Limits(limit, LOCK_MS, locks, has_dead_letters, backoff, DELAY_MAX_MS)
        self.now = 0
        #: the chance in pauses
        self.chance = 0.0
        self.log: list[Span] = []
        self.log_start = self.log_end = log_start
        self.partition = SharePartition(log_start, self.limits)
        self.oracle = Oracle(log_start, self.limits)
        self.writes: list[Persist] = []
        #: dead letters on their way; those that must have been written, and those that were
        self.letters: list[WriteDeadLetters] = []
        self.doomed: set[int] = set()
        self.lettered: set[int] = set()
        self.stored: Written = {}
        self.stored_start = log_start
        #: offsets whose acceptance was persisted
        self.accepted: set[int] = set()
        self.counts: dict[int, int] = {}
        self.low = log_start
        self.read: tuple[int, tuple[Span, ...]] = (log_start, ())

    def teardown(self) -> None:
        inflight.CHUNK = 256

    # the world outside

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """One of the actions, the more likely the more often it is named: switching rules off at random, as Hypothesis
        likes to, would leave most runs without a delivery."""
        self.chance = (self.chance + 0.37) % 1
        getattr(self, data.draw(st.sampled_from(ACTIONS)))(data)

    def append(self, data: st.DataObject) -> None:
        sizes = data.draw(st.lists(st.integers(1, LONGEST_BATCH), min_size=1, max_size=4))
        self.log_end += data.draw(st.sampled_from([0, 0, 0, 3]))
        for size in sizes:
            self.log.append(Span(self.log_end, self.log_end + size))
            self.log_end += size

    def compact(self, data: st.DataObject) -> None:
        if len(self.log) > 2:
            del self.log[data.draw(st.integers(0, len(self.log) - 2))]

    def read_log(self, data: st.DataObject) -> None:
        batches = data.draw(st.integers(1, 5))
        offset = self.partition.next_fetch_offset
        self.read = (offset, tuple(span for span in self.log if span.end > offset)[:batches])

    # commands

    def tick(self, data: st.DataObject) -> None:
        self.now += data.draw(st.sampled_from([0, 1, 40, LOCK_MS, 3 * LOCK_MS]))
        self.do(Expire())

    def acquire(self, data: st.DataObject) -> None:
        """Usually with a fresh read; late, with one from before whatever happened since."""
        if self.log_end <= self.partition.end:
            self.append(data)
        if data.draw(st.sampled_from([True, True, True, False])):
            self.read_log(data)
        member, mode = data.draw(MEMBERS), data.draw(st.sampled_from(AcquireMode))
        most, size = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 4, 9]))
        aborted = data.draw(st.sampled_from([None, None, None, None, 0, 1]))
        offset, spans = self.read
        gone = spans[aborted : aborted + 1] if aborted is not None else ()
        command = Acquire(member, offset, spans, most, size, mode, gone)
        before = self.oracle.start, dict(self.oracle.records)
        answer, written = self.do(command)
        assert isinstance(answer, Acquired)
        got = {o: r.delivery_count for r in answer.ranges for o in range(r.span.start, r.span.end)}
        want: dict[int, int] = {}
        if spans:
            taken = acquire(self.oracle, offset, spans, most, size, mode)
            lost = [o for o in taken if any(o in span for span in gone)]
            persist = self.expect(self.oracle.archive(lost, self.token(written)), written)
            assert persist is None or persist.start_offset <= min(lost)
            want = self.oracle.lease([o for o in taken if o not in lost], member, self.now + LOCK_MS)
        self.settle_down()
        assert got == want
        assert len(got) == answer.record_count
        assert [r.span for r in answer.ranges] == sorted(r.span for r in answer.ranges)
        if mode is AcquireMode.RECORD_LIMIT:
            assert len(got) <= most
        for o, count in got.items():
            assert o not in self.accepted, f"INV-5: {o} was accepted"
            old = before[1].get(o)
            assert count == 1 + (old.count if old is not None else 0), "INV-3"
            assert count <= self.limits.delivery_count_limit, "INV-3"
            assert old is None or old.deadline is None or old.deadline <= self.now, f"INV-12: {o} is not due"
        event("acquired" if got else "acquired nothing")
        if any(count > 3 for count in got.values()):
            event("acquired what failed three times")

    def acknowledge(self, data: st.DataObject) -> None:
        if not self.oracle.records:
            return
        types = data.draw(TYPES)
        member = data.draw(MEMBERS)
        is_theirs = data.draw(st.sampled_from([True, True, True, False]))
        if is_theirs:
            held = [o for o, r in self.oracle.records.items() if r.owner is not None]
            first = data.draw(st.sampled_from(held or [self.oracle.start]))
            member = getattr(self.oracle.records[first], "owner", None) or member
        else:
            first = data.draw(st.integers(max(0, self.oracle.start - 3), self.oracle.end + 1))
        count = len(types) if len(types) > 1 else data.draw(st.integers(1, 4))
        self.do(Expire())
        self.settle_down()
        before = self.partition.runs()
        details = data.draw(DETAILS)
        batch = AcknowledgementBatch(first, first + count, tuple(types), details)
        answer, written = self.do(Acknowledge(member, (batch,)))
        wanted = {first + i: types[i if len(types) > 1 else 0] for i in range(count)}
        wanted = {o: kind for o, kind in wanted.items() if o >= self.oracle.start}
        if not self.oracle.may_acknowledge(member, wanted):
            assert isinstance(answer, Refused)
            assert self.partition.runs() == before, "INV-9"
            assert not written, "INV-9"
            event("acknowledge refused")
            return
        assert isinstance(answer, Acknowledged)
        persist = self.expect(
            self.oracle.acknowledge(wanted, self.token(written), self.now, LOCK_MS, self.chance, details),
            written,
        )
        assert answer.token == (persist.token if persist else None)
        self.settle_down()
        event("given back" if details.is_given_back and AcknowledgeType.RELEASE in types else "acknowledged")

    def fail(self, data: st.DataObject) -> None:
        """A consumer that takes and never answers: how counts get high."""
        self.acquire(data)
        self.now += LOCK_MS
        self.do(Expire())
        self.settle_down()

    def session_ends(self, data: st.DataObject) -> None:
        member = data.draw(MEMBERS)
        _, written = self.do(ReleaseMember(member))
        self.expect(self.oracle.release(member, self.token(written), self.now, self.chance), written)
        self.settle_down()
        held = [r for r in self.oracle.records.values() if r.owner == member]
        assert all(record.write is not None for record in held)

    def take_back(self, data: st.DataObject) -> None:
        """A write that fails while its records' leases go on: they are what they were, and end when they would have."""
        self.acquire(data)
        self.acknowledge(data)
        self.now += data.draw(st.sampled_from([1, 40, LOCK_MS - 1]))
        self.do(Expire())
        self.settle_down()
        while self.writes:
            self.write_is_over(ok=False)
        if data.draw(st.booleans()):
            self.now += LOCK_MS
            self.do(Expire())
            self.settle_down()

    def write_ends(self, data: st.DataObject) -> None:
        if self.writes:
            self.write_is_over(ok=data.draw(st.sampled_from([True, True, False])))

    def write_is_over(self, *, ok: bool) -> None:
        write = self.writes.pop(0)
        if ok:
            self.store(write)
        _, written = self.do(Persisted(write.token, ok))
        self.expect(self.oracle.settle(write.token, ok, self.now, self.token(written), self.chance), written)
        self.expect_letters()
        self.settle_down()

    def letters_end(self, data: st.DataObject) -> None:
        """In any order: some take longer, or are tried again."""
        if not self.letters:
            return
        letters = self.letters.pop(data.draw(st.integers(0, len(self.letters) - 1)))
        self.lettered |= {o for one in letters.letters for o in range(one.start, one.end)}
        _, written = self.do(DeadLettersEnded(letters.token))
        self.expect(self.oracle.letters_ended(letters.token, self.token(written)), written)
        self.settle_down()
        event("dead letters")

    def log_start_moves(self, data: st.DataObject) -> None:
        self.log_start = data.draw(st.integers(self.log_start, min(self.log_end, self.log_start + 8)))
        self.log = [span for span in self.log if span.end > self.log_start]
        self.do(MoveLogStart(self.log_start))
        self.oracle.move_log_start(self.log_start)
        self.settle_down()

    def leader_restarts(self, data: st.DataObject) -> None:
        """Some of the writes in flight made it, in their order; leases did not. The clock by which due times are kept
        may have been set in between."""
        durable = data.draw(st.integers(0, 5))
        for write in self.writes[:durable]:
            self.store(write)
        self.writes, self.letters = [], []
        off_ms = data.draw(st.sampled_from([0, 0, -(10**6), -70, 70, 10**6]))
        states = {
            o: (state, count, None if due is None else due + off_ms)
            for o, (state, count, due) in self.stored.items()
            if o >= self.stored_start
        }
        # a lease's last end stands without its write: such a record is delivered again, and may end otherwise
        self.doomed = {o for o, (state, _, _) in states.items() if state is RecordState.ARCHIVING}
        batches = tuple(StateSpan(o, o + 1, *s) for o, s in sorted(states.items()))
        self.partition = SharePartition.from_state(
            StoredState(self.stored_start, batches),
            log_start=self.log_start,
            reset_to=0,
            limits=self.limits,
            now_ms=self.now,
        )
        self.oracle = Oracle(self.stored_start, self.limits)
        self.oracle.load(states, self.log_start, self.now)
        self.oracle.advance()
        self.low = self.partition.start
        self.read = (self.low, ())
        self.do(Expire())
        self.expect_letters()
        assert not any(o in self.accepted and r.is_free for o, r in self.oracle.records.items()), "INV-5"

    # the comparison

    def do(self, command: Command) -> tuple[object, list[Persist]]:
        """One command, and the leases that end first, in the machine and (these alone) in the oracle."""
        outcome = self.partition.handle(command, self.now, self.chance)
        written = [effect for effect in outcome.effects if isinstance(effect, Persist)]
        self.free = {o for o, r in self.oracle.records.items() if r.is_free}
        self.was_woken = WakeFetchers() in outcome.effects
        self.writes += written
        self.new_letters = [effect for effect in outcome.effects if isinstance(effect, WriteDeadLetters)]
        self.letters += self.new_letters
        self.expect(self.oracle.expire(self.now, self.token(written), self.chance), written)
        return outcome.answer, written

    def token(self, written: list[Persist]) -> int:
        return written[0].token if written else -1

    def expect(self, states: Written, written: list[Persist]) -> Persist | None:
        """INV-8: a write names what the oracle changed, all of it and nothing else."""
        if not states:
            return None
        write = written.pop(0)
        got = {o: (b.state, b.delivery_count, b.due_ms) for b in write.spans for o in range(b.start, b.end)}
        assert got == states, "INV-8"
        assert write.start_offset == self.oracle.start
        done = [r for r in self.oracle.records.values() if r.state in TERMINAL or r.target in TERMINAL]
        assert write.delivery_complete_count == len(done)
        return write

    def expect_letters(self) -> None:
        """INV-11: the letters that are asked for are those the oracle names, once each."""
        want = self.oracle.send(self.new_letters[0].token if self.new_letters else -1)
        got: Letters = {}
        for one in (one for effect in self.new_letters for one in effect.letters):
            for offset in range(one.start, one.end):
                assert offset not in got, "INV-11"
                got[offset] = (one.delivery_count, one.cause)
        assert got == want, "INV-11"
        self.doomed |= got.keys()

    def settle_down(self) -> None:
        self.oracle.advance()
        woke = {o for o, r in self.oracle.records.items() if r.is_free} - self.free
        assert self.was_woken or not woke, f"nobody was told of {woke}"

    def store(self, write: Persist) -> None:
        self.stored_start = max(self.stored_start, write.start_offset)
        for batch in write.spans:
            for offset in range(batch.start, batch.end):
                if batch.state is RecordState.ARCHIVED and offset in self.doomed:
                    assert offset in self.lettered, "INV-11: archived before its dead letter"
                self.stored[offset] = (batch.state, batch.delivery_count, batch.due_ms)
                if batch.state is RecordState.ACKNOWLEDGED:
                    self.accepted.add(offset)

    @invariant()
    def sound(self) -> None:
        if not hasattr(self, "partition"):
            return
        self.oracle.advance()
        partition, oracle = self.partition, self.oracle
        partition.verify()  # INV-1 and INV-2: the runs tile the window, each with one holder
        expanded = {
            offset: Record(
                c.state, c.delivery_count, c.holder, c.deadline_ms, c.write, c.target, c.cause, c.due_ms
            )
            for start, end, c in partition.runs()
            for offset in range(start, end)
        }
        assert expanded == oracle.records, "INV-10"
        assert (partition.start, partition.end) == (oracle.start, oracle.end), "INV-10"
        assert partition.finished_counts == (oracle.accepted, oracle.failed, oracle.given_up)
        assert partition.start >= self.low, "INV-4"
        self.low = partition.start
        leased = [r for r in oracle.records.values() if r.state is RecordState.ACQUIRED and r.write is None]
        assert all(r.deadline is not None and r.deadline > self.now for r in leased), "INV-6"
        next_ms = partition.next_deadline_ms
        assert next_ms is None or not leased or next_ms <= min(r.deadline or 0 for r in leased), "INV-6"
        assert next_ms is not None or not leased, "INV-6"
        due = [r.deadline for r in oracle.records.values() if r.state is RecordState.AVAILABLE and r.deadline]
        assert all(self.now < at <= self.now + self.limits.longest_wait_ms + 1024 for at in due), "INV-12"
        assert not due or (next_ms is not None and next_ms <= min(due)), "INV-12"
        assert partition.waiting_count == len(due), "INV-12"
        in_flight = sum(not r.is_hole for r in oracle.records.values())
        loaded = max(self.stored, default=0) + 1 - oracle.start
        assert in_flight <= max(self.limits.max_record_locks + LONGEST_BATCH - 1, loaded), "INV-7"
        free = sorted(o for o, r in oracle.records.items() if r.is_free)
        assert partition.next_fetch_offset == (free[0] if free else oracle.end)


TestShareMachine = ShareMachine.TestCase
TestShareMachine.settings = settings(
    max_examples=200,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # of the machine it runs on, not of the test
)


class DeepShareMachine(ShareMachine):
    pass


TestShareMachineDeep = pytest.mark.deep(DeepShareMachine.TestCase)
TestShareMachineDeep.settings = settings(
    max_examples=int(os.environ.get("LEASELOG_DEEP_RUNS", "5000")),
    stateful_step_count=80,
    deadline=None,
    derandomize=False,  # with CI=true, hypothesis would play the same five thousand for ever
)


def steps(records: int) -> tuple[int, float]:
    """Calls made inside ``leaselog.share``: to acquire 500 runs and accept 250, and to expire, for each run.

    Every record is a run of its own. Calls and not seconds: they are the same on a busy machine.
    """
    partition = SharePartition(0, Limits(delivery_count_limit=25, max_record_locks=2 * records))
    a, b, log = MemberId("a"), MemberId("b"), (Span(0, records),)
    partition.handle(Acquire(a, 0, log, records), 0)
    types = [AcknowledgeType.RENEW, AcknowledgeType.RELEASE] * (records // 2)
    release = Acknowledge(a, (AcknowledgementBatch(0, records, types),))
    settle(partition, release, 0)
    assert partition.run_count == records
    accept = Acknowledge(b, tuple(AcknowledgementBatch(o, o + 1, (1,)) for o in range(1, 501, 2)))
    take = Acquire(b, 1, log, 500, mode=AcquireMode.RECORD_LIMIT)
    touched = calls_of(lambda: (partition.handle(take, 1), settle(partition, accept, 2)))
    expired = calls_of(lambda: partition.handle(Expire(), 10**6))
    return touched, expired / records


def settle(partition: SharePartition, command: Acknowledge, now_ms: int) -> None:
    answer = partition.handle(command, now_ms).answer
    assert isinstance(answer, Acknowledged)
    assert answer.token is not None
    partition.handle(Persisted(answer.token, ok=True), now_ms)


def calls_of(act: Callable[[], object]) -> int:
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return calls


def test_a_touched_run_costs_the_same_in_a_window_ten_times_as_long() -> None:
    (few, few_expired), (many, many_expired) = steps(2_000), steps(20_000)
    assert many <= 1.2 * few
    assert many_expired <= 1.2 * few_expired
