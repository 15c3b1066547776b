"""Transactions as chance makes them, with a coordinator that dies between any two records.

A naive book beside the shard knows what was decided of each transaction, and which of its markers are written. A crash
leaves the records up to some point behind the last that somebody was answered for.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from leaselog.broker.transactions.records import decode_transaction_fact, encode_transaction_fact
from leaselog.coordination.transaction_commands import (
    AbortOverdue,
    AddPartitions,
    EndTransaction,
    InitProducer,
    MarkersWritten,
    ProducerAnswer,
    ProducerEpoch,
    TransactionAnswer,
    TransactionCommand,
)
from leaselog.coordination.transaction_facts import LAST_EPOCH, TransactionState, TransactionStored
from leaselog.coordination.transaction_shard import TransactionShard
from leaselog.model import ProducerId, TopicPartition, TransactionalId
from leaselog.wire.records import Record

NAME = TransactionalId("id")
PLACES = st.frozensets(
    st.sampled_from([TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]), min_size=1
)


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.shard = TransactionShard()
        self.log: list[Record] = []
        #: how many of them are safe: somebody was answered for them
        self.safe = 0
        self.now_ms = 1_000
        self.last_id = 0
        #: producers as they were told of themselves, the latest last
        self.told: list[ProducerEpoch] = []
        #: what was decided of the transaction that each marker ends, by the marker's producer and epoch
        self.decided: dict[ProducerEpoch, bool] = {}
        self.commits_answered: set[ProducerEpoch] = set()

    def ask(self, command: TransactionCommand, *, answered: bool = True) -> TransactionAnswer:
        outcome = self.shard.handle(command, self.now_ms)
        for fact in outcome.facts:
            self.shard.replay(fact)
            self.log.append(encode_transaction_fact(fact, self.now_ms, version=2))
            assert isinstance(fact, TransactionStored)
            known = fact.transaction
            assert known.epoch <= LAST_EPOCH + 1
            if known.state.is_prepared:
                marker = ProducerEpoch(known.producer_id, known.epoch)
                if known.client_version == 2:
                    assert marker not in self.decided, "one epoch ends two transactions"
                self.decided[marker] = known.state.is_commit
        if answered:
            self.safe = len(self.log)
        if isinstance(outcome.answer, ProducerAnswer) and answered:
            self.told.append(ProducerEpoch(*outcome.answer))
        return outcome.answer

    def fresh(self) -> ProducerId:
        self.last_id += 1
        return ProducerId(self.last_id)

    @rule(answered=st.booleans())
    def init(self, answered: bool) -> None:
        answer = self.ask(InitProducer(NAME, 500, None, self.fresh()), answered=answered)
        if isinstance(answer, ProducerAnswer):
            assert answer.epoch <= LAST_EPOCH

    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        if self.told:
            self.ask(InitProducer(NAME, 500, data.draw(st.sampled_from(self.told)), self.fresh()))

    @rule(places=PLACES, version=st.sampled_from([0, 2]), answered=st.booleans(), back=st.integers(1, 3))
    def add(self, places: frozenset[TopicPartition], version: int, answered: bool, back: int) -> None:
        """By the latest producer, or by a zombie."""
        if self.told:
            producer = self.told[-min(back, len(self.told))]
            self.ask(AddPartitions(NAME, producer, places, version), answered=answered)

    @rule(
        commit=st.booleans(), version=st.sampled_from([0, 2]), answered=st.booleans(), back=st.integers(1, 3)
    )
    def end(self, commit: bool, version: int, answered: bool, back: int) -> None:
        if not self.told:
            return
        producer = self.told[-min(back, len(self.told))]
        command = EndTransaction(NAME, producer, commit, version, self.fresh())
        answer = self.ask(command, answered=answered)
        known = self.shard.find(NAME)
        if isinstance(answer, ProducerAnswer) and answered and known is not None:
            assert known.state.is_commit == commit, "an answer says what did not happen"
            if known.state is TransactionState.PREPARE_COMMIT:
                self.commits_answered.add(ProducerEpoch(known.producer_id, known.epoch))

    @rule(answered=st.booleans())
    def complete(self, answered: bool) -> None:
        """The decision is safe before a marker is written; then whatever completes it may be lost."""
        for _, known in self.shard.unfinished():
            self.safe = len(self.log)
            marker = ProducerEpoch(known.producer_id, known.epoch)
            assert self.decided[marker] == known.state.is_commit
            self.ask(MarkersWritten(NAME, marker), answered=False)
        if answered:
            self.safe = len(self.log)

    @rule()
    def overdue(self) -> None:
        self.now_ms += 501
        self.ask(AbortOverdue())

    @rule()
    def use_up_epochs(self) -> None:
        known = self.shard.find(NAME)
        if known is None or known.state is not TransactionState.EMPTY or known.epoch > LAST_EPOCH:
            return
        used = TransactionStored(NAME, replace(known, epoch=LAST_EPOCH, last_epoch=-1))
        self.shard.replay(used)
        self.log.append(encode_transaction_fact(used, self.now_ms, version=2))
        self.safe = len(self.log)
        self.told.append(ProducerEpoch(known.producer_id, LAST_EPOCH))

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        left = data.draw(st.integers(self.safe, len(self.log)))
        lost = self.log[left:]
        for record in lost:
            fact = decode_transaction_fact(record)
            if isinstance(fact, TransactionStored) and fact.transaction.state.is_prepared:
                marker = ProducerEpoch(fact.transaction.producer_id, fact.transaction.epoch)
                assert marker not in self.commits_answered, "an answered commit is lost"
                self.decided.pop(marker, None)
        del self.log[left:]
        self.shard = TransactionShard()
        for record in self.log:
            fact = decode_transaction_fact(record)
            assert fact is not None
            self.shard.replay(fact)

    @invariant()
    def is_sound(self) -> None:
        self.shard.check()

    @invariant()
    def is_what_a_restart_would_find(self) -> None:
        again = TransactionShard()
        for record in self.log:
            fact = decode_transaction_fact(record)
            assert fact is not None
            again.replay(fact)
        live = {name: replace(known, last_epoch=-1) for name, known in self.shard.transactions().items()}
        assert again.transactions() == live


TestTransactionMachine = TransactionMachine.TestCase
TestTransactionMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
