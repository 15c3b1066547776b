"""Fetch sessions against a naive model: whatever fetchers do, each is told what it does not know, and no more.

The model keeps a plain dict for each session: what is followed, and what was last told. The broker's side is the
real cache and the real handler's way of asking and telling, without a log.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from leaselog.broker.fetching import sessions as fetch_sessions
from leaselog.broker.fetching.sessions import FINAL_EPOCH, FetchSession, FetchSessions, FollowedPartition
from leaselog.model import ErrorCode

SLOTS, EVICT_AFTER_MS, MAX_FOLLOWED = 3, 100, 12
KEYS = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3))
CHANGES = st.dictionaries(KEYS, st.integers(0, 3), max_size=6)
Key = tuple[str, int]
#: error, high watermark, log start
State = tuple[int, int, int]


@dataclass
class ModelSession:
    epoch: int
    used_ms: int
    ids: bool
    offsets: dict[Key, int] = field(default_factory=dict)
    told: dict[Key, State] = field(default_factory=dict)


class FetchSessionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache = FetchSessions(
            slots=SLOTS, evict_after_ms=EVICT_AFTER_MS, new_id=itertools.count(1).__next__
        )
        self.model: dict[int, ModelSession] = {}
        self.world: dict[Key, State] = {}
        self.now_ms = 0

    @rule(ms=st.integers(1, 90))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms

    @rule(key=KEYS, error=st.sampled_from([0, 0, 3]), high=st.integers(0, 3), start=st.integers(0, 1))
    def a_log_changes(self, key: Key, error: int, high: int, start: int) -> None:
        self.world[key] = (error, high, start)

    @rule(old=st.integers(0, 12), asked=CHANGES, ids=st.booleans())
    def a_full_fetch_opens_a_session(self, old: int, asked: dict[Key, int], ids: bool) -> None:
        session = self.cache.enter(old, 0, uses_topic_ids=ids, now_ms=self.now_ms)
        assert isinstance(session, FetchSession)
        self.model.pop(old, None)
        if session.id:
            assert session.id not in self.model
            if len(self.model) == SLOTS:
                self.evict()
            self.model[session.id] = ModelSession(0, self.now_ms, ids)
        else:
            assert len(self.model) == SLOTS, "a free slot is given"
            assert min(s.used_ms for s in self.model.values()) >= self.now_ms - EVICT_AFTER_MS
        self.serve(session, asked, [], ModelSession(0, self.now_ms, ids))

    @rule(old=st.integers(0, 12), asked=CHANGES)
    def a_final_fetch_closes_its_session(self, old: int, asked: dict[Key, int]) -> None:
        session = self.cache.enter(old, FINAL_EPOCH, uses_topic_ids=True, now_ms=self.now_ms)
        assert isinstance(session, FetchSession)
        assert not session.is_incremental
        self.model.pop(old, None)
        self.serve(session, asked, [], ModelSession(0, self.now_ms, True))

    @rule(
        pick=st.integers(0, 12),
        skew=st.sampled_from([0, 0, 0, 0, 1, -1]),
        ids=st.booleans(),
        asked=CHANGES,
        forgotten=st.lists(KEYS, max_size=4),
    )
    def a_session_goes_on(
        self, pick: int, skew: int, ids: bool, asked: dict[Key, int], forgotten: list[Key]
    ) -> None:
        known = sorted(self.model)
        session_id = known[pick % len(known)] if known and pick < 10 else 1000 + pick
        model = self.model.get(session_id)
        epoch = 1 + skew if model is None else model.epoch + 1 + skew
        if epoch <= 0:
            return
        got = self.cache.enter(session_id, epoch, uses_topic_ids=ids, now_ms=self.now_ms)
        if model is None:
            assert got is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        elif skew:
            assert got is ErrorCode.INVALID_FETCH_SESSION_EPOCH
        elif model.ids != ids:
            assert got is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        else:
            assert isinstance(got, FetchSession)
            model.epoch, model.used_ms = epoch, self.now_ms
            self.serve(got, asked, forgotten, model)

    def serve(
        self, session: FetchSession, asked: dict[Key, int], forgotten: list[Key], model: ModelSession
    ) -> None:
        """One request's changes and its answer, on both sides."""
        model = self.model.get(session.id, model)
        for (topic, index), offset in asked.items():
            session.follow(FollowedPartition(topic, index, offset, 100, -1, -1))
        session.forget(forgotten)
        was_kept = session.is_incremental
        self.cache.settle(session)
        model.offsets |= asked
        for key in forgotten:
            model.offsets.pop(key, None)
            model.told.pop(key, None)
        if was_kept and not session.is_incremental:
            fits = sum(len(s.offsets) for s in self.model.values()) <= MAX_FOLLOWED
            assert not model.offsets or not fits, "a session is not ended without a reason"
            del self.model[next(i for i, s in self.model.items() if s is model)]
        assert {key: p.fetch_offset for key, p in session.partitions.items()} == model.offsets
        self.tell(session, model)

    def tell(self, session: FetchSession, model: ModelSession) -> None:
        order = list(session.partitions)
        served = []
        for (topic, index), partition in session.partitions.items():
            key = (str(topic), index)
            error, high, start = self.world.get(key, (3, -1, -1))
            has_records = not error and partition.fetch_offset < high
            news = partition.tell(
                error=error, high_watermark=high, start_offset=start, has_records=has_records
            )
            expected = model.told.get(key) != (error, high, start) or bool(error) or has_records
            # Told before anything was: as if of an empty log without offsets.
            if key not in model.told and (error, high, start) == (0, -1, -1):
                expected = has_records
            assert news == expected
            model.told[key] = (error, high, start)
            if has_records:
                served.append((topic, index))
        for served_key in served:
            session.served(served_key)
        assert list(session.partitions) == [k for k in order if k not in served] + served

    def evict(self) -> None:
        oldest = min(self.model, key=lambda i: self.model[i].used_ms)
        ties = [i for i, s in self.model.items() if s.used_ms == self.model[oldest].used_ms]
        gone = [i for i in ties if i not in self.cache._sessions]
        assert len(gone) == 1, "the one unused for longest makes room"
        assert self.now_ms - self.model[gone[0]].used_ms > EVICT_AFTER_MS
        del self.model[gone[0]]

    @invariant()
    def the_cache_holds_what_the_model_holds(self) -> None:
        assert set(self.cache._sessions) == set(self.model)
        assert len(self.cache) <= SLOTS
        assert self.cache.partition_count == sum(len(s.offsets) for s in self.model.values()) <= MAX_FOLLOWED


@pytest.fixture(autouse=True)
def _a_low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MAX_FOLLOWED", MAX_FOLLOWED)


TestFetchSessions = FetchSessionMachine.TestCase
TestFetchSessions.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
