"""What the reader holds, what it has still to say, and what it does with a record that comes again."""

from __future__ import annotations

import pytest

from leaselog.client import AcknowledgeType
from leaselog.spark.ledger import Leased, Ledger, Settlement
from leaselog.spark.outcomes import Decision
from leaselog.spark.runs import Run, Runs

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def run(start: int, end: int, delivery_count: int = 1) -> Run:
    return Run("t", 0, start, end, delivery_count)


def acquire(ledger: Ledger[str], lease: str, *ranges: Run) -> tuple[Runs, list[Settlement[str]]]:
    return ledger.acquire([Leased(lease, ranges)])


def test_a_record_that_was_never_seen_is_new_and_held() -> None:
    ledger = Ledger[str]()
    assert acquire(ledger, "a", run(0, 10)) == ((run(0, 10),), [])
    assert ledger.held_count == 10


def test_a_batch_that_is_over_is_settled_lease_by_lease() -> None:
    ledger = Ledger[str]()
    acquire(ledger, "a", run(0, 10))
    acquire(ledger, "b", run(10, 30))
    settlements = ledger.decide(Decision(accepted=(run(0, 20),), rejected=(run(20, 21),)))
    assert settlements == [
        Settlement("a", (run(0, 10),), ACCEPT),
        Settlement("b", (run(10, 20),), ACCEPT),
        Settlement("b", (run(20, 21),), REJECT),
    ]
    assert ledger.held_count == 9


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_finished_record_that_comes_again_is_settled_and_not_new(count: int) -> None:
    """Apache Kafka 4.2 gives it the count it had, later brokers a higher one, one that was killed a lower one."""
    ledger = Ledger[str]()
    assert ledger.decide(Decision(accepted=(run(0, 5, 2),), rejected=(run(5, 6, 2),))) == []
    new, settlements = acquire(ledger, "later", run(0, 8, count))
    assert new == (run(6, 8, count),)
    assert settlements == [
        Settlement("later", (run(0, 5, count),), ACCEPT),
        Settlement("later", (run(5, 6, count),), REJECT),
    ]


def test_what_an_earlier_process_finished_comes_again_with_a_higher_count() -> None:
    ledger = Ledger[str]()
    ledger.decide(Decision(accepted=(run(0, 5),)), is_of_before=True)
    assert acquire(ledger, "a", run(0, 5, 2)) == ((), [Settlement("a", (run(0, 5, 2),), ACCEPT)])


def test_a_settlement_that_was_not_heard_is_said_again_and_one_that_was_is_not() -> None:
    ledger = Ledger[str]()
    acquire(ledger, "a", run(0, 2))
    (settlement,) = ledger.decide(Decision(accepted=(run(0, 2),)))
    assert acquire(ledger, "b", run(0, 1, 2)) == ((), [Settlement("b", (run(0, 1, 2),), ACCEPT)])
    ledger.confirmed(settlement)
    assert ledger.unconfirmed_count == 0
    assert acquire(ledger, "c", run(0, 1, 3)) == ((run(0, 1, 3),), [])


def test_a_released_record_is_new_when_it_comes_again() -> None:
    ledger = Ledger[str]()
    acquire(ledger, "a", run(0, 4))
    assert ledger.decide(Decision(released=(run(0, 4),))) == [Settlement("a", (run(0, 4),), RELEASE)]
    assert acquire(ledger, "a", run(0, 4, 2)) == ((run(0, 4, 2),), [])


def test_a_group_that_was_set_back_while_nobody_ran_gets_its_records_anew() -> None:
    ledger = Ledger[str]()
    ledger.decide(Decision(accepted=(run(0, 10, 1),)), is_of_before=True)
    assert acquire(ledger, "a", run(0, 4, 1)) == ((run(0, 4, 1),), [])
    assert ledger.unconfirmed_count == 6
