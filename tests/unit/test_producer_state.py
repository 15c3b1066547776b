"""Idempotent producers of one partition, as a 4.3.1 broker treats them."""

from __future__ import annotations

import pytest

from leaselog.log import finish, producer_state
from leaselog.log.aborted_index import AbortedTransaction
from leaselog.log.producer_state import (
    KnownBatch,
    Producer,
    ProducerLimit,
    ProducerState,
    format_snapshot,
)
from leaselog.model import ErrorCode, Refused
from leaselog.wire.end_markers import EndMarker
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import MAX_SEQUENCE, BatchHeader, read_header
from leaselog.wire.records import Record, build_batch

NOW = 1_700_000_000_000
# Written by Apache Kafka 4.3.1: producer 500 with sequences 0..1 and 2..4, producer 501 (epoch 4) around the wrap.
KAFKA_SNAPSHOT = bytes.fromhex(
    "00013da053180000000200000000000001f4000000000004000000000000000400000002000001a1fe166484ffffffffffffffffffffffff"
    "00000000000001f5000400000000000000000000000600000001000001a1fe166484ffffffffffffffffffffffff"
)
KAFKA_SNAPSHOT_TIME = 1_795_264_242_820


def batch(
    sequence: int,
    *,
    count: int = 2,
    epoch: int = 0,
    producer_id: int = 100,
    offset: int = 0,
    timestamp_ms: int = NOW,
    transactional: bool = False,
    control: bool = False,
) -> BatchHeader:
    return read_header(
        build_batch(
            [Record(None, b"v", (), timestamp_ms)] * count,
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional,
            is_control=control,
        )
    )


def state_after(*batches: BatchHeader) -> ProducerState:
    state = ProducerState()
    for header in batches:
        state.replay(header)
    return state


def refused(answer: object) -> ErrorCode:
    assert isinstance(answer, Refused)
    return answer.code


def test_an_unknown_producer_may_begin_with_any_sequence() -> None:
    assert ProducerState().check(batch(5)) is None


def test_the_next_sequence_is_accepted_and_a_gap_is_not() -> None:
    state = state_after(batch(5))
    assert state.check(batch(7)) is None
    assert refused(state.check(batch(8))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_repeated_batch_is_known_by_where_it_went() -> None:
    state = state_after(batch(5, offset=31), batch(7, offset=33))
    assert state.check(batch(5, timestamp_ms=NOW - 999)) == KnownBatch(5, 6, 31, 33, NOW)


def test_the_same_sequence_with_another_length_is_out_of_order_rather_than_known() -> None:
    state = state_after(batch(5))
    assert refused(state.check(batch(5, count=3))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_five_batches_are_remembered_and_the_sixth_last_is_out_of_order() -> None:
    state = state_after(*(batch(n * 2, offset=n * 2) for n in range(6)))
    assert isinstance(state.check(batch(2)), KnownBatch)
    assert refused(state.check(batch(0))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_to_zero_within_a_batch_and_between_two() -> None:
    within = state_after(batch(MAX_SEQUENCE))
    assert within.check(batch(1)) is None
    assert isinstance(within.check(batch(MAX_SEQUENCE)), KnownBatch)
    between = state_after(batch(MAX_SEQUENCE - 1))
    assert between.check(batch(0)) is None


def test_a_new_epoch_begins_at_sequence_zero() -> None:
    state = state_after(batch(5))
    assert refused(state.check(batch(7, epoch=1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert state.check(batch(0, epoch=1)) is None


def test_a_new_epoch_forgets_the_batches_of_the_old() -> None:
    state = state_after(batch(0, epoch=1), batch(0, epoch=2))
    assert refused(state.check(batch(0, epoch=1))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert isinstance(state.check(batch(0, epoch=2)), KnownBatch)


def test_an_older_epoch_is_refused() -> None:
    state = state_after(batch(0, epoch=3))
    assert refused(state.check(batch(2, epoch=2))) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_coordinators_batch_is_judged_by_its_epoch_alone() -> None:
    state = state_after(batch(0, epoch=3))
    assert state.check(batch(77, epoch=3), sequenced=False) is None
    assert refused(state.check(batch(77, epoch=2), sequenced=False)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_checking_changes_nothing() -> None:
    state = state_after(batch(0))
    before = state.snapshot()
    for header in (batch(2), batch(0, epoch=1), batch(9), batch(0)):
        state.check(header)
    assert state.snapshot() == before


def test_a_batch_without_a_producer_leaves_no_trace() -> None:
    assert len(state_after(batch(-1, producer_id=-1, epoch=-1))) == 0


def test_silence_forgets_a_producer_and_it_may_begin_anywhere_again() -> None:
    state = state_after(batch(0), batch(0, producer_id=101, timestamp_ms=NOW + 1))
    assert finish(state.expire(NOW + 86_400_000 - 1)) == 0
    assert finish(state.expire(NOW + 86_400_000)) == 1
    assert state.check(batch(40)) is None
    assert [producer.producer_id for producer in state] == [101]


def test_beyond_the_bound_the_producer_silent_for_longest_is_forgotten() -> None:
    state = ProducerState(limit=2)
    for producer_id, sequence in ((1, 0), (2, 0), (1, 2), (3, 0)):
        state.replay(batch(sequence, producer_id=producer_id))
    assert sorted(producer.producer_id for producer in state) == [1, 3]


def test_an_open_transaction_is_described_holds_the_stable_offset_and_outlives_silence() -> None:
    state = state_after(batch(0, offset=10, transactional=True), batch(2, offset=12, transactional=True))
    (producer,) = state
    assert (producer.transaction_start, state.stable_end(14)) == (10, 10)
    assert state.is_in_transaction(100, 0)
    assert not state.is_in_transaction(100, 1)
    assert refused(state.check(batch(4))) is ErrorCode.INVALID_TXN_STATE
    assert finish(state.expire(NOW * 2)) == 0


def test_a_marker_ends_the_transaction_and_tells_the_coordinators_epoch() -> None:
    state = state_after(batch(0, offset=10, transactional=True))
    marker = batch(-1, count=1, offset=12, control=True, transactional=True, epoch=1)
    assert state.replay(marker, EndMarker(is_commit=True, coordinator_epoch=6)) is None
    (producer,) = state
    assert (producer.transaction_start, producer.coordinator_epoch, producer.epoch) == (-1, 6, 1)
    assert (producer.last_sequence, state.stable_end(12), state.stable_end(13)) == (-1, 10, 13)
    assert not state.is_in_transaction(100, 1)
    assert state.check(batch(0, epoch=1)) is None
    assert refused(state.check(batch(3, epoch=1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_snapshot_of_apache_kafka_is_read_and_written_byte_for_byte() -> None:
    state = ProducerState()
    state.restore(KAFKA_SNAPSHOT, KAFKA_SNAPSHOT_TIME)
    assert state.snapshot() == KAFKA_SNAPSHOT
    assert state.check(batch(5, producer_id=500)) is None
    assert state.check(batch(2, count=3, producer_id=500)) == KnownBatch(2, 4, 2, 5, KAFKA_SNAPSHOT_TIME)
    assert state.check(batch(1, producer_id=501, epoch=4)) is None


def test_replaying_the_last_batches_gives_the_snapshot_apache_kafka_wrote() -> None:
    at = KAFKA_SNAPSHOT_TIME
    state = state_after(
        batch(2, producer_id=500, count=3, offset=2, timestamp_ms=at),
        batch(MAX_SEQUENCE, producer_id=501, epoch=4, offset=5, timestamp_ms=at),
    )
    assert state.snapshot() == KAFKA_SNAPSHOT


def test_a_snapshot_keeps_every_remembered_batch_and_a_repetition_of_each_is_known_again() -> None:
    sent = [batch(2 * at, offset=2 * at) for at in range(7)]
    state = state_after(*sent, batch(0, producer_id=101))
    restored = ProducerState()
    restored.restore(format_snapshot(tuple(state)), NOW)
    assert list(restored) == list(state)
    for header in sent[2:]:
        assert isinstance(restored.check(header), KnownBatch)
    assert refused(restored.check(sent[1])) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_of_several_entries_of_a_producer_only_those_of_its_last_epoch_count() -> None:
    older, newer = state_after(batch(0), batch(2, offset=2)), state_after(batch(0, epoch=1, offset=4))
    restored = ProducerState()
    restored.restore(format_snapshot((*older, *newer)), NOW)
    assert list(restored) == list(newer)


def test_a_snapshot_leaves_out_who_has_expired_by_now() -> None:
    state = ProducerState(expiration_ms=1000)
    state.restore(KAFKA_SNAPSHOT, KAFKA_SNAPSHOT_TIME + 1000)
    assert len(state) == 0


def test_a_producer_known_only_by_a_marker_survives_the_snapshot() -> None:
    state = ProducerState()
    state.replay(batch(-1, count=1, control=True, epoch=4), EndMarker(is_commit=False, coordinator_epoch=3))
    restored = ProducerState()
    restored.restore(state.snapshot(), NOW)
    assert list(restored) == [Producer(100, 4, 3, NOW, -1)]


def test_a_control_batch_that_compaction_has_emptied_says_nothing() -> None:
    state = state_after(batch(0, offset=10, transactional=True), batch(-1, count=1, control=True, epoch=4))
    assert [(producer.epoch, producer.transaction_start) for producer in state] == [(0, 10)]


def marked(state: ProducerState, epoch: int, *, coordinator: int = 0, bumped: bool = False) -> object:
    header = batch(-1, count=1, control=True, transactional=True, epoch=epoch)
    return state.check_marker(header, EndMarker(True, coordinator), is_bumped=bumped)


def test_a_marker_of_an_epoch_before_is_refused_and_one_of_a_coordinator_before_is_fenced() -> None:
    state = state_after(batch(0, offset=10, transactional=True, epoch=3))
    assert marked(state, 3) is None
    assert refused(marked(state, 2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    state.replay(batch(-1, count=1, offset=12, control=True, epoch=3), EndMarker(True, 6))
    assert refused(marked(state, 3, coordinator=5)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert marked(state, 3, coordinator=6) is None


def test_a_marker_that_bumps_the_epoch_needs_a_newer_one_unless_it_is_the_same_marker_again() -> None:
    state = state_after(batch(0, offset=10, transactional=True, epoch=3))
    assert refused(marked(state, 3, bumped=True)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert marked(state, 4, bumped=True) is None
    state.replay(batch(-1, count=1, offset=12, control=True, epoch=4), EndMarker(True, 0))
    assert marked(state, 4, bumped=True) is None
    assert refused(marked(state, 3, bumped=True)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_last_epoch_there_is_ends_a_transaction_of_its_own() -> None:
    state = state_after(batch(0, offset=10, transactional=True, epoch=2**15 - 1))
    assert marked(state, 2**15 - 1, bumped=True) is None


def test_an_open_transaction_is_never_forgotten_and_too_many_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producer_state, "MAX_OPEN_TRANSACTIONS", 2)
    state = ProducerState(limit=2, in_all=ProducerLimit(2))
    for producer_id in (1, 2):
        state.replay(batch(0, producer_id=producer_id, offset=10 * producer_id, transactional=True))
    assert (
        refused(state.check(batch(0, producer_id=3, transactional=True))) is ErrorCode.CONCURRENT_TRANSACTIONS
    )
    assert state.check(batch(2, producer_id=2, transactional=True)) is None
    for producer_id in (3, 4, 5):
        state.replay(batch(0, producer_id=producer_id))
    assert {producer.producer_id for producer in state} >= {1, 2}
    assert state.stable_end(100) == 10


def test_what_a_snapshot_restores_holds_readers_back_where_it_did() -> None:
    state = state_after(
        batch(0, producer_id=1, offset=10, transactional=True),
        batch(0, producer_id=2, offset=12, transactional=True),
    )
    restored = ProducerState()
    restored.restore(state.snapshot(), NOW)
    assert restored.stable_end(50) == 10
    marker = batch(-1, producer_id=1, count=1, offset=14, control=True, transactional=True)
    aborted = restored.replay(marker, EndMarker(is_commit=False, coordinator_epoch=0))
    assert aborted == AbortedTransaction(1, 10, 14, 12)
    assert restored.stable_end(15) == 12


def test_a_damaged_snapshot_is_a_decode_error_and_changes_nothing() -> None:
    state = state_after(batch(0))
    before = state.snapshot()
    damaged = [KAFKA_SNAPSHOT[:size] for size in range(len(KAFKA_SNAPSHOT))]
    damaged += [b"\x00\x02" + KAFKA_SNAPSHOT[2:], KAFKA_SNAPSHOT + b"\x00"]
    for at in range(len(KAFKA_SNAPSHOT)):
        damaged.append(KAFKA_SNAPSHOT[:at] + bytes([KAFKA_SNAPSHOT[at] ^ 1]) + KAFKA_SNAPSHOT[at + 1 :])
    for data in damaged:
        with pytest.raises(DecodeError):
            state.restore(data, NOW)
    assert state.snapshot() == before


# -- how many there may be -----------------------------------------------------------------------------------


def filled(in_all: ProducerLimit, first: int, count: int) -> ProducerState:
    state = ProducerState(in_all=in_all)
    for producer_id in range(first, first + count):
        state.replay(batch(0, producer_id=producer_id))
    return state


def test_who_brings_many_producers_to_a_partition_does_not_make_others_forget_theirs() -> None:
    in_all = ProducerLimit(100)
    honest = filled(in_all, 0, 10)
    hostile = filled(in_all, 1000, 1000)
    assert len(in_all) == len(honest) + len(hostile) <= 100
    assert [producer.producer_id for producer in honest] == list(range(10))
    assert hostile.check(batch(7, producer_id=1999)) is not None, "the last one is known"


def test_a_partition_with_few_producers_takes_one_more_from_who_has_the_most() -> None:
    in_all = ProducerLimit(100)
    hostile = filled(in_all, 1000, 100)
    honest = filled(in_all, 0, 10)
    assert len(honest) == 10
    assert len(in_all) <= 100
    assert len(hostile) < 100


def test_a_log_that_goes_takes_its_producers_out_of_the_count() -> None:
    in_all = ProducerLimit(100)
    state = filled(in_all, 0, 60)
    state.clear()
    assert len(in_all) == 0
    state.restore(filled(ProducerLimit(), 0, 60).snapshot(), NOW)
    assert len(in_all) == 60
    assert finish(state.expire(NOW * 2)) == 60
    assert len(in_all) == 0


def test_expiry_lets_others_have_their_turn_and_spares_who_writes_meanwhile() -> None:
    state = filled(ProducerLimit(), 0, 10_000)
    steps = state.expire(NOW + 86_400_000)
    for _ in range(3):
        next(steps)
    state.replay(batch(2, producer_id=9_999, timestamp_ms=NOW + 86_400_000))
    assert len(list(steps)) > 1
    assert [producer.producer_id for producer in state] == [9_999]
