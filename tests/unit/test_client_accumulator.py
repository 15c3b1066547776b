"""Batches leave in order, come back in order, and carry sequences a broker can accept."""

from __future__ import annotations

from leaselog.client.accumulator import Accumulator, Batch, BatchLimits, fit, record_bytes
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import HEADER_BYTES
from leaselog.wire.records import Record, build_batch

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
#: three of them fill a batch of `LIMITS`
RECORD = Record(b"k", b"v" * 70)
SIZE = record_bytes(RECORD)
LIMITS = BatchLimits(
    batch_bytes=HEADER_BYTES + 3 * SIZE,
    linger_ms=5,
    in_flight=2,
    delivery_timeout_ms=1000,
    buffer_bytes=20 * SIZE,
)


def accumulator(records: int = 0, *, numbered: bool = True, where: TopicPartition = P0) -> Accumulator:
    made = Accumulator(LIMITS, numbered=numbered)
    for _ in range(records):
        made.append(where, RECORD, SIZE, now_ms=0)
    return made


def take(batches: Accumulator, *, now_ms: int = 0, flush: bool = True) -> Batch | None:
    for batch in batches.ready(now_ms, flush=flush):
        batches.take(batch)
        return batch
    return None


def took(batches: Accumulator, *, now_ms: int = 0) -> Batch:
    batch = take(batches, now_ms=now_ms)
    assert batch is not None
    return batch


def begun(records: int) -> Accumulator:
    """The broker has the first batch of the partition, of a single record with the number 0."""
    made = accumulator(1)
    made.settle(took(made), written=True)
    for _ in range(records):
        made.append(P0, RECORD, SIZE, now_ms=0)
    return made


def test_a_record_takes_no_more_room_than_was_reckoned() -> None:
    odd = Record(b"key" * 50, b"v" * 9000, (("h", b"x" * 300), ("ü", None)), 2**40)
    one = len(build_batch([odd]))
    assert one <= HEADER_BYTES + record_bytes(odd)


def test_a_batch_waits_for_company_until_it_is_full_or_has_lingered() -> None:
    batches = accumulator(1)
    assert take(batches, now_ms=4, flush=False) is None
    assert batches.next_ready_ms(4) == 5
    assert take(batches, now_ms=5, flush=False) is not None
    full = accumulator(3)
    assert take(full, now_ms=0, flush=False) is not None


def test_a_flush_waits_for_nobody() -> None:
    assert take(accumulator(1), now_ms=0, flush=True) is not None


def test_batches_of_a_partition_are_numbered_one_after_the_other() -> None:
    batches = begun(5)
    assert [took(batches).base_sequence, took(batches).base_sequence] == [1, 4]


def test_the_first_batch_of_an_epoch_goes_alone_as_a_broker_takes_any_number_for_the_first() -> None:
    batches = accumulator(6)
    first = took(batches)
    assert take(batches) is None
    batches.retry(first, at_ms=0, may_be_written=False)
    assert took(batches) is first
    batches.settle(first, written=True)
    assert (took(batches).base_sequence, take(batches)) == (3, None)
    assert took(accumulator(6, numbered=False)).base_sequence == -1


def test_batches_without_idempotence_carry_no_sequence() -> None:
    assert took(accumulator(1, numbered=False)).base_sequence == -1


def test_only_so_many_batches_of_a_partition_are_in_flight() -> None:
    batches = begun(9)
    first, _ = took(batches), took(batches)
    assert take(batches) is None
    batches.settle(first, written=True)
    assert take(batches) is not None


def test_a_batch_sent_again_keeps_its_sequence_and_holds_back_what_is_new() -> None:
    batches = begun(9)
    first, second = took(batches), took(batches)
    batches.retry(second, at_ms=10, may_be_written=True)
    assert take(batches, now_ms=99) is None  # the first has not been answered yet
    batches.retry(first, at_ms=10, may_be_written=True)
    assert take(batches, now_ms=9) is None
    assert took(batches, now_ms=10) is first
    assert take(batches, now_ms=10) is None  # one at a time, so that the order is certain
    batches.settle(first, written=True)
    assert took(batches, now_ms=10) is second
    assert (first.base_sequence, second.base_sequence) == (1, 4)


def test_partitions_do_not_wait_for_each_other() -> None:
    batches = accumulator(3)
    batches.append(P1, RECORD, SIZE, now_ms=0)
    batches.retry(took(batches), at_ms=10**6, may_be_written=False)
    assert took(batches).where == P1


def test_giving_a_batch_up_numbers_the_rest_anew() -> None:
    batches = begun(6)
    first, second = took(batches), took(batches)
    batches.settle(first, written=False)
    assert not batches.must_renumber  # the second is still in flight under the old epoch
    batches.retry(second, at_ms=0, may_be_written=False)
    assert batches.must_renumber
    batches.renumbered()
    assert took(batches) is second
    assert second.base_sequence == 0


def test_a_batch_that_may_be_written_is_settled_under_its_old_number_first() -> None:
    batches = begun(6)
    first, second = took(batches), took(batches)
    batches.settle(first, written=False)
    batches.retry(second, at_ms=0, may_be_written=True)
    assert not batches.must_renumber
    assert took(batches) is second
    assert second.base_sequence == 4
    batches.settle(second, written=True)
    assert batches.must_renumber


def in_doubt(batches: Accumulator, count: int) -> list[Batch]:
    """So many batches were sent, and their answers lost."""
    lost = [took(batches) for _ in range(count)]
    for batch in lost:
        batches.retry(batch, at_ms=0, may_be_written=True)
    return lost


def test_a_younger_batch_that_is_written_tells_nothing_of_an_older_one_that_is_in_doubt() -> None:
    """A broker that lost its log may have begun with the younger one: the older one is in no log then."""
    batches = begun(9)
    first, second = in_doubt(batches, 2)
    assert took(batches) is first
    batches.retry_lost_count(first, at_ms=0)
    assert not batches.must_renumber  # the second may be known under its number
    assert took(batches) is second
    assert second.base_sequence == 4
    batches.settle(second, written=True)
    assert batches.must_renumber
    batches.renumbered()
    assert took(batches) is first
    assert first.base_sequence == 0
    assert not batches.is_empty


def test_a_batch_never_sent_waits_behind_an_older_one_that_came_back_meanwhile() -> None:
    batches = begun(6)
    first, second = took(batches), took(batches)
    assert not batches.holds_back(second), "nothing came back yet"
    batches.retry(first, at_ms=0, may_be_written=True)
    assert batches.holds_back(second)
    assert took(batches) is first
    batches.settle(first, written=True)
    assert took(batches) is second
    assert (second.base_sequence, second.tries) == (4, 1)


def test_a_batch_in_doubt_is_tried_again_before_an_older_one_that_gets_a_new_number() -> None:
    batches = begun(6)
    first, second = in_doubt(batches, 2)
    assert took(batches) is first
    batches.retry_lost_count(first, at_ms=0)
    assert took(batches) is second
    assert not batches.holds_back(second)


def test_a_broker_that_knows_none_of_several_in_doubt_gets_them_under_new_numbers() -> None:
    batches = begun(6)
    lost = in_doubt(batches, 2)
    for batch in lost:
        assert took(batches) is batch
        batches.retry_lost_count(batch, at_ms=0)
    assert batches.must_renumber
    batches.renumbered()
    assert took(batches) is lost[0]
    batches.settle(lost[0], written=True)
    assert took(batches) is lost[1]
    assert [batch.base_sequence for batch in lost] == [0, 3]


def test_a_number_too_early_is_tried_again_behind_the_one_before_it() -> None:
    batches = begun(6)
    first, second = took(batches), took(batches)
    batches.retry(first, at_ms=0, may_be_written=False)
    batches.retry_lost_count(second, at_ms=0)
    assert not batches.must_renumber
    assert took(batches) is first
    batches.settle(first, written=True)
    assert took(batches) is second


def test_a_batch_that_was_refused_is_not_written_because_a_younger_one_is() -> None:
    batches = begun(6)
    first, second = took(batches), took(batches)
    batches.retry(first, at_ms=0, may_be_written=False)
    batches.settle(second, written=True)
    assert took(batches) is first


def test_nothing_new_is_numbered_while_the_count_is_lost() -> None:
    batches = accumulator(3)
    batches.settle(took(batches), written=False)
    batches.append(P1, RECORD, SIZE, now_ms=0)
    assert take(batches) is None
    batches.renumbered()
    assert took(batches).base_sequence == 0


def test_sequences_wrap_to_zero() -> None:
    batches = accumulator(3)
    batches._lanes[P0].next_sequence = 2**31 - 2
    first = took(batches)
    assert first.base_sequence == 2**31 - 2
    batches.settle(first, written=True)
    batches.append(P0, RECORD, SIZE, now_ms=0)
    assert took(batches).base_sequence == 1


def test_the_buffer_has_an_end_and_delivery_makes_room() -> None:
    batches = accumulator(20)
    assert not batches.has_room(SIZE)
    batches.settle(took(batches), written=True)
    assert batches.has_room(3 * SIZE)
    assert not batches.has_room(4 * SIZE)


def test_an_empty_buffer_takes_a_record_of_any_size() -> None:
    assert accumulator().has_room(10**9)


def test_batches_too_old_are_given_up_and_those_in_flight_are_not() -> None:
    batches = accumulator(6)
    in_flight = took(batches)
    assert batches.expired(999) == []
    assert [len(b.records) for b in batches.expired(1000)] == [3]
    assert not batches.is_empty
    batches.settle(in_flight, written=True)
    assert batches.is_empty


def test_only_what_is_too_old_is_given_up_and_oldest_first() -> None:
    batches = accumulator(6)
    for _ in range(3):
        batches.append(P0, RECORD, SIZE, now_ms=500)
    batches.append(P1, RECORD, SIZE, now_ms=400)
    assert [(b.where, b.created_ms) for b in batches.expired(1000)] == [(P0, 0), (P0, 0)]
    assert [(b.where, b.created_ms) for b in batches.expired(1500)] == [(P0, 500), (P1, 400)]
    assert batches.is_empty


def test_time_alone_makes_nothing_ready_while_an_answer_is_awaited() -> None:
    batches = begun(9)
    second = [took(batches), took(batches)][1]
    batches.retry(second, at_ms=10, may_be_written=True)
    # Neither the retry nor the lingering head counts, only the time-out of what waits.
    assert batches.next_ready_ms(now_ms=500) == LIMITS.delivery_timeout_ms


def test_a_request_holds_what_fits_and_at_least_one_batch() -> None:
    batches = [Batch(P0, i, 0, size_bytes=60) for i in range(3)]
    assert fit(batches, 130) == batches[:2]
    assert fit(batches, 10) == batches[:1]
