"""Whatever is called in whatever order, and whatever breaks: nothing is acknowledged that the application did not.

A core plays against the model cluster. Requests are answered late, in part or never, brokers end sessions, leases
run out. What the application said of each delivery is kept; in the end every record that ended, ended with the type
that was said of it, and everything that was said either took effect or was reported as an error. What it added to a
word arrives with that word and no other, and of what it was handed only what it gave back is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from share_cluster_model import GAP, LOCK_MS, RELEASE, RENEW, TOPIC, Arrived, ModelCluster

from leaselog.client.errors import BrokerError, ConnectionLost
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core import ShareCore
from leaselog.client.share.extras import Extra
from leaselog.client.share.node_session import NodeAsk
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.steps import Step

Where = tuple[int, int]
Word = tuple[AcknowledgeType, Extra | None]

words = st.sampled_from(list(AcknowledgeType)).map(lambda kind: (kind, None)) | st.sampled_from(
    [
        (AcknowledgeType.RELEASE, Extra(delay_ms=0)),
        (AcknowledgeType.RELEASE, Extra(delay_ms=300)),
        (AcknowledgeType.RELEASE, Extra(given_back=True)),
        (AcknowledgeType.REJECT, Extra(reason="bad")),
        (AcknowledgeType.REJECT, Extra(reason="worse")),
    ]
)


class ShareConsumerMachine(RuleBasedStateMachine):
    @initialize(
        partitions=st.integers(1, 3),
        nodes=st.integers(1, 2),
        limit=st.booleans(),
        explicit=st.booleans(),
        knows_extras=st.booleans(),
    )
    def begin(self, partitions: int, nodes: int, limit: bool, explicit: bool, knows_extras: bool) -> None:
        self.now_ms = 0
        self.explicit = explicit
        self.cluster = ModelCluster(partitions, nodes, records_a_batch=3)
        self.cluster.is_leaselogs = knows_extras
        for partition in range(partitions):
            values = [None if (i * 7 + partition) % 11 == 0 else b"v%d" % i for i in range(30)]
            self.cluster.produce(values, partition)
        config = ShareConsumerConfig.of(
            {"bootstrap.servers": "h:1", "group.id": "g"},
            max_poll_records=4,
            share_acquire_mode="record_limit" if limit else "batch_optimized",
            share_acknowledgement_mode="explicit" if explicit else "implicit",
        )
        self.core = ShareCore(config, "me", 0)
        self.core.subscribe([TOPIC], 0)
        self.flying = list[Step]()
        self.open = list[ShareRecord[Any, Any]]()
        #: said since the last poll or commit, and still open to change
        self.words = dict[ShareRecord[Any, Any], Word]()
        #: everything said of an offset for good, of whichever delivery
        self.said = dict[Where, set[Arrived]]()
        #: the deliveries that it was said of
        self.said_of = dict[tuple[int, int, Arrived], set[int]]()
        #: deliveries that the application has seen, and did not give back
        self.seen = dict[Where, set[ShareRecord[Any, Any]]]()

    # the application

    @rule(wait_ms=st.sampled_from([0, 500]), one_by_one=st.booleans())
    def poll(self, wait_ms: int, one_by_one: bool) -> None:
        if self.explicit and self.core.holdings.unacknowledged():
            return
        self.words_count()
        self.open = []
        if one_by_one and self.core.begin_next(self.now_ms):
            self.open = self.core.take_one(self.now_ms)
            self.see(self.open)
            if self.open:
                return
        self.core.begin_poll(self.now_ms)
        try:
            self.open = self.core.take_one(self.now_ms) if one_by_one else self.core.take(self.now_ms, 4)
        except BrokerError:
            self.open = []
        self.see(self.open)
        if self.open and one_by_one:
            self.core.go_one_by_one(self.now_ms)
        if self.open:
            self.core.end_poll(len(self.open))
        else:
            self.core.want_records(wait_ms, 4)
        self.send()

    @precondition(lambda self: self.explicit and self.open)
    @rule(data=st.data(), word=words)
    def acknowledge(self, data: st.DataObject, word: Word) -> None:
        self.say(data.draw(st.sampled_from(self.open), label="record"), word)

    @precondition(lambda self: self.explicit and self.open)
    @rule(word=words)
    def acknowledge_all(self, word: Word) -> None:
        for record in self.open:
            self.say(record, word)

    def say(self, record: ShareRecord[Any, Any], word: Word) -> None:
        if self.core.holdings.is_open(record):
            self.core.acknowledge(record, *word)
            self.words[record] = word

    @rule()
    def change_subscription(self) -> None:
        """And back again. What was fetched meanwhile is given back."""
        self.words_count()
        self.core.subscribe(["another"], self.now_ms)
        self.send()
        self.core.subscribe([TOPIC], self.now_ms)
        self.send()

    @rule()
    def end_sessions(self) -> None:
        """As a worker does when it is done: nobody works on what is left."""
        self.words_count()
        self.core.want_nothing()
        self.core.queue_said(self.now_ms)
        for _ in range(30):
            while self.flying:
                self.answer_first()
            self.now_ms += 20
            self.cluster.expire(self.now_ms)
            self.flying += self.met(self.core.end_sessions(self.now_ms))
            if not self.flying and not self.core.has_sessions:
                break
        self.core.holdings.forget_lost()
        self.open = [record for record in self.open if self.core.holdings.is_open(record)]

    @rule(wait_ms=st.sampled_from([0, 500]))
    def want_more(self, wait_ms: int) -> None:
        """As a worker does that has a hand free: what it says meanwhile has to wait until the fetch is answered."""
        self.core.want_records(wait_ms, 4)
        self.send()

    @rule()
    def commit(self) -> None:
        self.words_count()
        self.core.commit(self.now_ms, 5_000)
        self.send()

    @rule(working=st.booleans())
    def work(self, working: bool) -> None:
        self.core.is_worked_on = working

    def words_count(self) -> None:
        """A poll or a commit: what was said up to now is said for good."""
        if not self.explicit:
            self.words = dict.fromkeys(self.open, (AcknowledgeType.ACCEPT, None))
            self.open = []
        for record, (kind, extra) in self.words.items():
            where = (record.partition, record.offset)
            added = extra if self.cluster.is_leaselogs else None
            arrives = (
                Arrived(kind)
                if added is None
                else Arrived(kind, added.delay_ms, added.reason, added.given_back)
            )
            self.said.setdefault(where, set()).add(arrives)
            self.said_of.setdefault((*where, arrives), set()).add(record.delivery_count)
            if arrives.given_back:
                self.seen[where].discard(record)
        self.words = {}

    def see(self, records: list[ShareRecord[Any, Any]]) -> None:
        for record in records:
            self.seen.setdefault((record.partition, record.offset), set()).add(record)

    # the world

    def send(self) -> None:
        self.flying += self.met(self.core.step(self.now_ms))

    def met(self, steps: Sequence[Step]) -> Sequence[Step]:
        for step in steps:
            if isinstance(step, NodeAsk):
                self.core.met(step.node_id, knows_extras=self.cluster.is_leaselogs)
        return steps

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        step = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1), label="which"))
        self.core.heard(step, self.cluster.answer(step, self.now_ms), self.now_ms)
        self.send()

    @rule()
    def calm(self) -> None:
        """Nothing goes wrong for a while."""
        for _ in range(12):
            for step in [self.flying.pop(0) for _ in range(len(self.flying))]:
                self.core.heard(step, self.cluster.answer(step, self.now_ms), self.now_ms)
            self.now_ms += 20
            self.send()

    @precondition(lambda self: self.flying)
    @rule(arrived=st.booleans())
    def lose(self, arrived: bool) -> None:
        """A connection breaks, before or after the request was carried out."""
        step = self.flying.pop(0)
        if arrived:
            self.cluster.answer(step, self.now_ms)
        if isinstance(step, NodeAsk):
            self.cluster.disconnect(step.node_id)
        self.core.unheard(step, ConnectionLost("lost"), self.now_ms)
        self.send()

    @rule(ms=st.sampled_from([10, 100, 1_000, LOCK_MS // 2, LOCK_MS]))
    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.cluster.expire(self.now_ms)
        self.send()

    @rule(node=st.integers(1, 2))
    def restart(self, node: int) -> None:
        self.cluster.disconnect(node)

    # what holds

    @invariant()
    def nothing_ended_that_the_application_did_not_end(self) -> None:
        if not hasattr(self, "cluster"):
            return
        for partition, log in self.cluster.logs.items():
            for record in log:
                if record.ended is None:
                    continue
                if record.value is None:
                    assert record.ended == GAP
                else:
                    assert record.ended in {
                        said.kind for said in self.said.get((partition, record.offset), ())
                    }, (
                        partition,
                        record,
                    )

    @invariant()
    def what_arrived_was_said_so_or_given_back(self) -> None:
        if not hasattr(self, "cluster"):
            return
        for partition, log in self.cluster.logs.items():
            for record in log:
                allowed = self.said.get((partition, record.offset), set()) | {
                    Arrived(GAP),
                    Arrived(RELEASE, given_back=self.cluster.is_leaselogs),
                }
                assert set(record.acknowledged) <= allowed, (partition, record, allowed)

    @invariant()
    def nothing_is_said_of_what_a_lost_session_had_lent(self) -> None:
        """A lease that ran out is another matter: if its holder gets the record again, a late word is as good."""
        if not hasattr(self, "cluster"):
            return
        for partition, log in self.cluster.logs.items():
            for record in log:
                for arrived in record.acknowledged:
                    if arrived.given_back or arrived.kind == GAP or arrived == Arrived(RELEASE):
                        continue  # the client's own to say
                    deliveries = self.said_of[partition, record.offset, arrived]
                    assert deliveries - record.lost_deliveries, (partition, record, arrived)

    @invariant()
    def what_was_seen_is_counted(self) -> None:
        if not hasattr(self, "cluster"):
            return
        for (partition, offset), seen in self.seen.items():
            assert self.cluster.logs[partition][offset].delivery_count >= len(seen), (partition, offset)

    @invariant()
    def what_is_reported_as_done_is_done(self) -> None:
        if not hasattr(self, "core"):
            return
        for done in self.core.take_completed():
            for offset in () if done.error else done.offsets:
                said = self.said[done.where.partition, offset]
                kinds = {word.kind for word in said}
                arrived = set(self.cluster.logs[done.where.partition][offset].acknowledged)
                assert RENEW in kinds or arrived & said, (done, said, arrived)

    def teardown(self) -> None:
        """When the world calms down, everything said is heard of, and every record can still be finished."""
        if not hasattr(self, "core"):
            return
        self.core.is_worked_on = False
        self.core.end_poll(0)
        finished = set[Where]()
        for _ in range(400):
            while self.flying:
                self.answer_first()
            if self.explicit:
                for record in self.core.holdings.unacknowledged():
                    self.say(record, (AcknowledgeType.ACCEPT, None))
            self.words_count()
            self.core.begin_poll(self.now_ms)
            self.open = self.core.take(self.now_ms, 4)
            self.see(self.open)
            if not self.open:
                self.core.want_records(0, 4)
            self.send()
            self.now_ms += 150
            self.cluster.expire(self.now_ms)
            finished = {(p, r.offset) for p, log in self.cluster.logs.items() for r in log if r.ended is None}
            if not finished:
                break
        assert not finished, f"never finished: {sorted(finished)}"
        self.nothing_ended_that_the_application_did_not_end()
        self.what_arrived_was_said_so_or_given_back()
        self.nothing_is_said_of_what_a_lost_session_had_lent()
        self.what_was_seen_is_counted()
        self.what_is_reported_as_done_is_done()

    def answer_first(self) -> None:
        step = self.flying.pop(0)
        self.core.heard(step, self.cluster.answer(step, self.now_ms), self.now_ms)
        self.send()


ShareConsumerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestShareConsumer = ShareConsumerMachine.TestCase
