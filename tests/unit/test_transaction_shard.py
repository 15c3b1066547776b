"""What a transaction shard decides: who a producer is, what is part of its transaction, how that ends."""

from __future__ import annotations

import pytest

from leaselog.coordination.transaction_commands import (
    AbortOverdue,
    AddPartitions,
    DescribeTransaction,
    DropExpired,
    EndTransaction,
    InitProducer,
    ListTransactions,
    MarkersWritten,
    NeedsProducerId,
    PartitionsVerified,
    ProducerAnswer,
    ProducerEpoch,
    TransactionCommand,
    TransactionDescribed,
    TransactionListing,
    Upkeep,
    VerifyPartitions,
)
from leaselog.coordination.transaction_facts import (
    LAST_EPOCH,
    Transaction,
    TransactionState,
    TransactionStored,
)
from leaselog.coordination.transaction_shard import TransactionLimits, TransactionShard
from leaselog.model import ErrorCode, ProducerId, Refused, TopicPartition, TransactionalId

ID = TransactionalId("id")
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FRESH = ProducerId(100)
TIMEOUT_MS = 60_000


class Bench:
    def __init__(self, limits: TransactionLimits | None = None, *, version: int = 2) -> None:
        self.shard = TransactionShard(limits)
        self.version = version
        self.now_ms = 1_000

    def ask(self, command: TransactionCommand) -> object:
        outcome = self.shard.handle(command, self.now_ms, version=self.version)
        for fact in outcome.facts:
            self.shard.replay(fact)
        self.shard.check()
        return outcome.answer

    def init(self, continues: tuple[int, int] | None = None, fresh: int | None = FRESH) -> object:
        named = None if continues is None else ProducerEpoch(ProducerId(continues[0]), continues[1])
        return self.ask(InitProducer(ID, TIMEOUT_MS, named, None if fresh is None else ProducerId(fresh)))

    def add(self, producer_id: int, epoch: int, *partitions: TopicPartition, version: int = 0) -> object:
        producer = ProducerEpoch(ProducerId(producer_id), epoch)
        return self.ask(AddPartitions(ID, producer, frozenset(partitions or (T0,)), version))

    def end(
        self, producer_id: int, epoch: int, *, commit: bool, version: int = 0, fresh: int | None = None
    ) -> object:
        producer = ProducerEpoch(ProducerId(producer_id), epoch)
        brought = None if fresh is None else ProducerId(fresh)
        return self.ask(EndTransaction(ID, producer, commit, version, brought))

    def mark(self) -> object:
        known = self.known
        return self.ask(MarkersWritten(ID, ProducerEpoch(known.producer_id, known.epoch)))

    def at_epoch(self, epoch: int, state: TransactionState = TransactionState.EMPTY) -> None:
        partitions = frozenset({T0}) if state is TransactionState.ONGOING else frozenset[TopicPartition]()
        known = Transaction(FRESH, epoch, TIMEOUT_MS, state, 0, 0, partitions)
        self.shard.replay(TransactionStored(ID, known))

    @property
    def known(self) -> Transaction:
        known = self.shard.find(ID)
        assert known is not None
        return known


def given(producer_id: int, epoch: int) -> ProducerAnswer:
    return ProducerAnswer(ProducerId(producer_id), epoch)


def code(answer: object) -> ErrorCode:
    assert isinstance(answer, Refused), answer
    return answer.code


def test_a_new_id_takes_a_fresh_producer_and_asks_for_one_that_was_not_brought() -> None:
    bench = Bench()
    assert bench.init(fresh=None) == NeedsProducerId()
    assert len(bench.shard) == 0
    assert bench.init() == given(FRESH, 0)


def test_each_init_raises_the_epoch_and_fences_who_was_there_before() -> None:
    bench = Bench()
    bench.init()
    assert bench.init() == given(FRESH, 1)
    assert code(bench.add(FRESH, 0)) is ErrorCode.PRODUCER_FENCED
    assert code(bench.end(FRESH, 0, commit=True)) is ErrorCode.PRODUCER_FENCED
    assert bench.add(FRESH, 1) == given(FRESH, 1)


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
def test_a_timeout_out_of_bounds_is_refused(timeout_ms: int) -> None:
    answer = Bench().ask(InitProducer(ID, timeout_ms, None, FRESH))
    assert code(answer) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_an_empty_id_is_an_invalid_request_for_whoever_comes() -> None:
    bench, nobody = Bench(), TransactionalId("")
    producer = ProducerEpoch(FRESH, 0)
    asks = (
        InitProducer(nobody, TIMEOUT_MS, None, FRESH),
        AddPartitions(nobody, producer, frozenset({T0})),
        VerifyPartitions(nobody, producer, (T0,)),
        EndTransaction(nobody, producer, True),
        EndTransaction(nobody, producer, True, 2),
        DescribeTransaction(nobody),
    )
    for ask in asks:
        assert code(bench.ask(ask)) is ErrorCode.INVALID_REQUEST


def test_an_unknown_id_has_no_mapping_to_a_producer() -> None:
    bench = Bench()
    assert code(bench.add(FRESH, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert code(bench.end(FRESH, 0, commit=True)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert code(bench.end(FRESH, 0, commit=True, version=2)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert code(bench.ask(DescribeTransaction(ID))) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


# KIP-360: a producer goes on after an error


def test_a_producer_goes_on_with_its_id_and_epoch_and_a_repetition_is_told_the_same() -> None:
    bench = Bench()
    bench.init()
    assert bench.init((FRESH, 0)) == given(FRESH, 1)
    assert bench.init((FRESH, 0)) == given(FRESH, 1)


def test_a_producer_that_was_fenced_does_not_go_on() -> None:
    bench = Bench()
    bench.init()
    bench.init()
    assert code(bench.init((FRESH, 0))) is ErrorCode.PRODUCER_FENCED
    assert code(bench.init((FRESH + 1, 1))) is ErrorCode.PRODUCER_FENCED


def test_a_producer_goes_on_under_an_id_that_the_coordinator_has_forgotten() -> None:
    assert Bench().init((55, 9)) == given(FRESH, 0)


def test_an_open_transaction_is_aborted_before_its_id_is_given_again() -> None:
    for version, last in ((0, -1), (2, 0)):
        bench = Bench(version=version)
        bench.init()
        bench.add(FRESH, 0)
        assert code(bench.init()) is ErrorCode.CONCURRENT_TRANSACTIONS
        assert bench.known.state is TransactionState.PREPARE_ABORT
        assert (bench.known.epoch, bench.known.last_epoch) == (1, last)
        assert code(bench.init()) is ErrorCode.CONCURRENT_TRANSACTIONS
        bench.mark()
        assert bench.init() == given(FRESH, 2)


# The end of the epochs


def test_a_producer_without_epochs_left_is_followed_by_another() -> None:
    bench = Bench()
    bench.at_epoch(LAST_EPOCH)
    assert bench.init(fresh=None) == NeedsProducerId()
    assert bench.init(fresh=200) == given(200, 0)
    assert bench.known.previous_producer_id == FRESH


def test_a_repetition_of_the_call_that_changed_the_producer_is_known() -> None:
    bench = Bench()
    bench.at_epoch(LAST_EPOCH)
    assert bench.init((FRESH, LAST_EPOCH), fresh=200) == given(200, 0)
    assert bench.init((FRESH, LAST_EPOCH)) == given(200, 0)


def test_an_end_without_epochs_left_names_the_next_producer_and_its_repetition_too() -> None:
    bench = Bench()
    bench.at_epoch(LAST_EPOCH, TransactionState.ONGOING)
    assert bench.end(FRESH, LAST_EPOCH, commit=True, version=2) == NeedsProducerId()
    assert bench.end(FRESH, LAST_EPOCH, commit=True, version=2, fresh=200) == given(200, 0)
    assert (bench.known.producer_id, bench.known.epoch) == (FRESH, LAST_EPOCH + 1)
    repeated = bench.end(FRESH, LAST_EPOCH, commit=True, version=2)
    assert code(repeated) is ErrorCode.CONCURRENT_TRANSACTIONS
    bench.mark()
    assert (bench.known.producer_id, bench.known.epoch) == (200, 0)
    assert bench.end(FRESH, LAST_EPOCH, commit=True, version=2) == given(200, 0)


@pytest.mark.parametrize("version", [0, 2])
def test_the_epoch_that_fences_the_last_producer_is_nobodys(version: int) -> None:
    bench = Bench(version=version)
    bench.at_epoch(LAST_EPOCH, TransactionState.ONGOING)
    bench.init()
    assert bench.known.epoch == LAST_EPOCH + 1
    bench.mark()
    assert code(bench.add(FRESH, LAST_EPOCH + 1)) is ErrorCode.PRODUCER_FENCED
    stolen = bench.end(FRESH, LAST_EPOCH + 1, commit=False, version=2, fresh=300)
    assert code(stolen) is ErrorCode.PRODUCER_FENCED
    assert bench.init(fresh=200) == given(200, 0)


def test_who_goes_on_behind_the_last_epoch_gets_another_producer() -> None:
    bench = Bench()
    bench.at_epoch(LAST_EPOCH, TransactionState.ONGOING)
    bench.init()
    bench.mark()
    assert bench.init((FRESH, LAST_EPOCH), fresh=200) == given(200, 0)


# Partitions


def test_a_transaction_begins_with_its_first_partition_and_takes_more() -> None:
    bench = Bench()
    bench.init()
    bench.now_ms = 5_000
    bench.add(FRESH, 0, T0)
    bench.now_ms = 6_000
    bench.add(FRESH, 0, T1)
    assert bench.known.partitions == {T0, T1}
    assert (bench.known.state, bench.known.started_ms) == (TransactionState.ONGOING, 5_000)


def test_what_is_part_of_it_already_is_not_written_again() -> None:
    bench = Bench()
    bench.init()
    bench.add(FRESH, 0, T0, T1)
    again = AddPartitions(ID, ProducerEpoch(FRESH, 0), frozenset({T1}))
    assert bench.shard.handle(again, 0).facts == ()


def test_verifying_tells_each_partition_that_is_not_part_of_it() -> None:
    bench = Bench()
    bench.init()
    producer = ProducerEpoch(FRESH, 0)
    nothing = PartitionsVerified((ErrorCode.TRANSACTION_ABORTABLE,))
    assert bench.ask(VerifyPartitions(ID, producer, (T0,))) == nothing
    bench.add(FRESH, 0, T0)
    both = PartitionsVerified((ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE))
    assert bench.ask(VerifyPartitions(ID, producer, (T0, T1))) == both
    stale = VerifyPartitions(ID, ProducerEpoch(FRESH, 1), (T0,))
    assert code(bench.ask(stale)) is ErrorCode.PRODUCER_FENCED


# Ends of clients that keep their epochs


@pytest.mark.parametrize("commit", [True, False])
def test_an_old_clients_end_keeps_its_epoch_and_may_be_repeated_for_ever(commit: bool) -> None:
    bench = Bench()
    bench.init()
    bench.add(FRESH, 0)
    assert bench.end(FRESH, 0, commit=commit) == given(FRESH, 0)
    assert code(bench.end(FRESH, 0, commit=commit)) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert code(bench.end(FRESH, 0, commit=not commit)) is ErrorCode.INVALID_TXN_STATE
    assert code(bench.add(FRESH, 0)) is ErrorCode.CONCURRENT_TRANSACTIONS
    bench.mark()
    assert bench.end(FRESH, 0, commit=commit) == given(FRESH, 0)
    assert code(bench.end(FRESH, 0, commit=not commit)) is ErrorCode.INVALID_TXN_STATE
    assert bench.known.partitions == frozenset()


def test_an_old_client_does_not_end_what_has_not_begun() -> None:
    bench = Bench()
    bench.init()
    assert code(bench.end(FRESH, 0, commit=True)) is ErrorCode.INVALID_TXN_STATE
    assert code(bench.end(FRESH, 0, commit=False)) is ErrorCode.INVALID_TXN_STATE


# Ends that raise the epoch (KIP-890)


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_raises_the_epoch_and_its_repetition_is_told_the_same(commit: bool) -> None:
    bench = Bench()
    bench.init()
    bench.add(FRESH, 0, version=2)
    assert bench.end(FRESH, 0, commit=commit, version=2) == given(FRESH, 1)
    assert code(bench.end(FRESH, 0, commit=commit, version=2)) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert code(bench.end(FRESH, 0, commit=not commit, version=2)) is ErrorCode.INVALID_TXN_STATE
    assert code(bench.end(FRESH, 1, commit=commit, version=2)) is ErrorCode.PRODUCER_FENCED
    bench.mark()
    assert bench.end(FRESH, 0, commit=commit, version=2) == given(FRESH, 1)
    assert code(bench.end(FRESH, 0, commit=not commit, version=2)) is ErrorCode.INVALID_TXN_STATE
    assert code(bench.add(FRESH, 0, version=2)) is ErrorCode.PRODUCER_FENCED
    assert bench.add(FRESH, 1, version=2) == given(FRESH, 1)


def test_an_abort_of_nothing_raises_the_epoch_too_and_a_commit_of_nothing_is_refused() -> None:
    bench = Bench()
    bench.init()
    assert code(bench.end(FRESH, 0, commit=True, version=2)) is ErrorCode.INVALID_TXN_STATE
    assert bench.end(FRESH, 0, commit=False, version=2) == given(FRESH, 1)
    assert bench.known.state is TransactionState.PREPARE_ABORT
    bench.mark()
    assert code(bench.end(FRESH, 1, commit=True, version=2)) is ErrorCode.INVALID_TXN_STATE
    assert bench.end(FRESH, 1, commit=False, version=2) == given(FRESH, 2)


def test_markers_of_an_earlier_life_complete_nothing() -> None:
    bench = Bench()
    bench.init()
    bench.add(FRESH, 0, version=2)
    bench.end(FRESH, 0, commit=True, version=2)
    late = MarkersWritten(ID, ProducerEpoch(FRESH, 0))
    assert code(bench.ask(late)) is ErrorCode.INVALID_TXN_STATE
    bench.mark()
    assert code(bench.mark()) is ErrorCode.INVALID_TXN_STATE


# Time and bounds


def test_a_transaction_that_is_overdue_is_aborted_with_an_epoch_that_fences_its_producer() -> None:
    bench = Bench()
    bench.init()
    bench.add(FRESH, 0)
    bench.now_ms += TIMEOUT_MS
    assert bench.ask(AbortOverdue()) == Upkeep(0, False)
    bench.now_ms += 1
    assert bench.ask(AbortOverdue()) == Upkeep(1, False)
    assert (bench.known.state, bench.known.epoch) == (TransactionState.PREPARE_ABORT, 1)


def test_upkeep_takes_so_many_at_a_time_and_says_that_there_is_more() -> None:
    bench = Bench()
    for number in range(3):
        name = TransactionalId(f"id {number}")
        bench.ask(InitProducer(name, TIMEOUT_MS, None, ProducerId(number)))
    bench.now_ms += bench.shard.limits.id_expiration_ms
    assert bench.ask(DropExpired(2)) == Upkeep(2, True)
    assert bench.ask(DropExpired(2)) == Upkeep(1, False)
    assert len(bench.shard) == 0


def test_an_id_in_a_transaction_does_not_expire() -> None:
    bench = Bench(TransactionLimits(id_expiration_ms=10))
    bench.init()
    bench.add(FRESH, 0)
    bench.now_ms += 11
    assert bench.ask(DropExpired()) == Upkeep(0, False)
    bench.end(FRESH, 0, commit=True)
    bench.now_ms += 11
    assert bench.ask(DropExpired()) == Upkeep(0, False)
    bench.mark()
    bench.now_ms += 11
    assert bench.ask(DropExpired()) == Upkeep(1, False)


def test_ids_are_refused_where_too_much_is_held_and_those_there_are_go_on() -> None:
    bench = Bench(TransactionLimits(held_bytes_max=1_000))
    bench.init()
    more = InitProducer(TransactionalId("x" * 300), TIMEOUT_MS, None, ProducerId(5))
    assert code(bench.ask(more)) is ErrorCode.POLICY_VIOLATION
    assert bench.init() == given(FRESH, 1)


def test_a_transaction_has_a_bound_of_partitions() -> None:
    bench = Bench(TransactionLimits(partitions_max=1))
    bench.init()
    bench.add(FRESH, 0, T0)
    assert code(bench.add(FRESH, 0, T1)) is ErrorCode.POLICY_VIOLATION
    assert bench.known.partitions == {T0}


def test_listing_filters_by_state_producer_and_duration() -> None:
    bench = Bench()
    bench.init()
    bench.add(FRESH, 0)
    other = TransactionalId("other")
    bench.ask(InitProducer(other, TIMEOUT_MS, None, ProducerId(7)))

    def names(ask: ListTransactions) -> list[str]:
        listing = bench.ask(ask)
        assert isinstance(listing, TransactionListing)
        return [name for name, _ in listing.transactions]

    assert sorted(names(ListTransactions())) == ["id", "other"]
    assert names(ListTransactions(states=frozenset({TransactionState.ONGOING}))) == ["id"]
    assert names(ListTransactions(producer_ids=frozenset({7}))) == ["other"]
    bench.now_ms += 50
    ongoing = frozenset({TransactionState.ONGOING})
    assert names(ListTransactions(ongoing, longer_than_ms=49)) == ["id"]
    assert names(ListTransactions(ongoing, longer_than_ms=50)) == []


def test_describing_tells_the_transaction_as_it_is() -> None:
    bench = Bench()
    bench.init()
    assert bench.ask(DescribeTransaction(ID)) == TransactionDescribed(bench.known)
    assert [state.label for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
