"""Offsets of open transactions: what was written last counts, not what was ended last."""

from __future__ import annotations

from leaselog.coordination.group_facts import CommittedOffset, TransactionalOffset
from leaselog.coordination.group_offsets import GroupOffsets
from leaselog.model import GroupId, ProducerId, TopicPartition

GROUP, PLACE = GroupId("g"), TopicPartition("t", 0)
ONE, TWO = ProducerId(1), ProducerId(2)


class Bench:
    def __init__(self) -> None:
        self.offsets = GroupOffsets()

    def pend(self, producer: ProducerId, offset: int) -> None:
        self.offsets.pending.put(TransactionalOffset(GROUP, PLACE, CommittedOffset(offset), producer, 0))

    def end(self, producer: ProducerId, *, commit: bool = True) -> int | None:
        self.offsets.end_transaction(producer, is_commit=commit)
        committed = self.offsets.of(GROUP).get(PLACE)
        return None if committed is None else committed.offset


def test_the_latest_of_one_transaction_counts() -> None:
    bench = Bench()
    bench.pend(ONE, 5)
    bench.pend(ONE, 6)
    assert bench.end(ONE) == 6
    assert bench.offsets.pending.of(GROUP) == {}


def test_what_is_aborted_never_was() -> None:
    bench = Bench()
    bench.pend(ONE, 5)
    assert bench.end(ONE, commit=False) is None
    assert bench.end(ONE) is None


def test_of_two_transactions_the_one_that_wrote_last_counts_whichever_ends_last() -> None:
    for first, second in ((ONE, TWO), (TWO, ONE)):
        bench = Bench()
        bench.pend(ONE, 5)
        bench.pend(TWO, 9)
        bench.end(first)
        assert bench.end(second) == 9


def test_a_later_one_that_is_aborted_lets_the_earlier_count() -> None:
    bench = Bench()
    bench.pend(ONE, 5)
    bench.pend(TWO, 9)
    bench.end(TWO, commit=False)
    assert bench.end(ONE) == 5


def test_a_commit_outside_of_transactions_counts_over_all_that_was_written_before_it() -> None:
    bench = Bench()
    bench.pend(ONE, 5)
    bench.offsets.commit(GROUP, PLACE, CommittedOffset(7))
    assert PLACE in bench.offsets.pending.of(GROUP)  # unstable until the end all the same
    bench.pend(TWO, 8)
    assert bench.end(ONE) == 7
    assert bench.end(TWO) == 8


def test_what_is_dropped_does_not_come_back_with_a_commit() -> None:
    bench = Bench()
    bench.pend(ONE, 5)
    assert [drop.partition for drop in bench.offsets.drops(GROUP)] == [PLACE]
    assert [drop.partition for drop in bench.offsets.drops_of_topics(frozenset({"t"}))] == [PLACE]
    bench.offsets.drop(GROUP, PLACE)
    assert bench.end(ONE) is None
