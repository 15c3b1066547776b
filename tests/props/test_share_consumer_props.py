"""Whatever is called in whatever order, and whatever breaks: nothing is acknowledged that the application did not.

A core plays against the model cluster. Requests are answered late, in part or never, brokers end sessions, leases
run out. What the application said of each delivery is kept; in the end every record that ended, ended with the type
that was said of it, and everything that was said either took effect or was reported as an error.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from share_cluster_model import GAP, LOCK_MS, TOPIC, ModelCluster

from leaselog.client.errors import BrokerError, ConnectionLost
from leaselog.client.share.acknowledgements import AcknowledgeType
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core import NodeAsk, ShareCore, Step
from leaselog.client.share.record import ShareRecord

Where = tuple[int, int]


class ShareConsumerMachine(RuleBasedStateMachine):
    @initialize(
        partitions=st.integers(1, 3), nodes=st.integers(1, 2), limit=st.booleans(), explicit=st.booleans()
    )
    def begin(self, partitions: int, nodes: int, limit: bool, explicit: bool) -> None:
        self.now_ms = 0
        self.explicit = explicit
        self.cluster = ModelCluster(partitions, nodes, records_a_batch=3)
        for partition in range(partitions):
            values = [None if (i * 7 + partition) % 5 == 0 else b"v%d" % i for i in range(30)]
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
        self.words = dict[ShareRecord[Any, Any], AcknowledgeType]()
        #: every type said of an offset for good, of whichever delivery
        self.said = dict[Where, set[int]]()

    # the application

    @rule(wait_ms=st.sampled_from([0, 500]))
    def poll(self, wait_ms: int) -> None:
        if self.explicit and self.core.holdings.unacknowledged():
            return
        self.words_count()
        self.open = []
        self.core.begin_poll(self.now_ms)
        try:
            self.open = self.core.take(self.now_ms, 4)
        except BrokerError:
            self.open = []
        if self.open:
            self.core.end_poll(len(self.open))
        else:
            self.core.want_records(wait_ms, 4)
        self.send()

    @precondition(lambda self: self.explicit and self.open)
    @rule(data=st.data(), kind=st.sampled_from(list(AcknowledgeType)))
    def acknowledge(self, data: st.DataObject, kind: AcknowledgeType) -> None:
        record = data.draw(st.sampled_from(self.open), label="record")
        if self.core.holdings.is_open(record):
            self.core.acknowledge(record, kind)
            self.words[record] = kind

    @precondition(lambda self: self.explicit and self.open)
    @rule(kind=st.sampled_from(list(AcknowledgeType)))
    def acknowledge_all(self, kind: AcknowledgeType) -> None:
        for record in self.open:
            if self.core.holdings.is_open(record):
                self.core.acknowledge(record, kind)
                self.words[record] = kind

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
            self.words = dict.fromkeys(self.open, AcknowledgeType.ACCEPT)
            self.open = []
        for record, kind in self.words.items():
            self.said.setdefault((record.partition, record.offset), set()).add(kind)
        self.words = {}

    # the world

    def send(self) -> None:
        self.flying += self.core.step(self.now_ms)

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
                    assert record.ended in self.said.get((partition, record.offset), set()), (
                        partition,
                        record,
                    )

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
                    self.core.acknowledge(record, AcknowledgeType.ACCEPT)
                    self.words[record] = AcknowledgeType.ACCEPT
            self.words_count()
            self.core.begin_poll(self.now_ms)
            self.open = self.core.take(self.now_ms, 4)
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

    def answer_first(self) -> None:
        step = self.flying.pop(0)
        self.core.heard(step, self.cluster.answer(step, self.now_ms), self.now_ms)
        self.send()


ShareConsumerMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestShareConsumer = ShareConsumerMachine.TestCase
