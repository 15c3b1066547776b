"""Which assigned partition is fetched from which broker, and when to look that up again. Pure.

The coordinator assigns by topic id; names and leaders come from metadata, and from brokers that say who leads in their
place. What is not known yet is looked up soon, what is known after ``metadata.max.age.ms``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from leaselog.client.errors import BrokerError, refusal
from leaselog.client.share.acknowledgements import TopicIdPartition
from leaselog.client.share.backoff import backoff_ms
from leaselog.client.topology import Topology
from leaselog.model import TopicId

__all__ = ["Routes"]


class Routes:
    def __init__(
        self, now_ms: int, *, max_age_ms: int, backoff_ms: int, patience_ms: int, user: str | None = None
    ) -> None:
        #: whom an error names
        self._user = user
        self._max_age_ms = max_age_ms
        self._backoff_ms = backoff_ms
        #: between looks for a topic that does not exist, and between two that failed, at most
        self._patience_ms = patience_ms
        #: looks in a row that were not answered
        self._failures = 0
        self._topics = frozenset[str]()
        self._names = dict[TopicId, str]()
        self._leaders = dict[TopicIdPartition, int]()
        #: partitions to fetch, by the broker that leads them
        self.by_node: Mapping[int, Sequence[TopicIdPartition]] = {}
        #: what `by_node` was made from; None if something changed since
        self._assignment: frozenset[tuple[TopicId, int]] | None = None
        self._is_asking = False
        self._ask_at_ms = now_ms

    def subscribe(self, topics: frozenset[str], now_ms: int) -> None:
        self._topics = topics
        self._assignment = None
        self._ask_at_ms = now_ms

    def where(self, topic_id: UUID, partition: int) -> TopicIdPartition:
        known = TopicId(topic_id)
        return TopicIdPartition(self._names.get(known, ""), partition, known)

    @property
    def next_ms(self) -> int | None:
        """When `take_question` may have one."""
        return self._ask_at_ms if self._topics and not self._is_asking else None

    def take_question(self, now_ms: int) -> tuple[str, ...] | None:
        """The topics to ask the cluster about now; `learned` or `learned_nothing` is the answer."""
        at_ms = self.next_ms
        if at_ms is None or now_ms < at_ms:
            return None
        self._is_asking = True
        return tuple(sorted(self._topics))

    def learned(self, asked: Sequence[str], found: Topology, now_ms: int) -> dict[str, BrokerError]:
        """Takes metadata in; returns what the application has to know about its topics, by their names."""
        self._is_asking = False
        self._failures = 0
        for info in found.topics.values():
            topic_id = TopicId(info.topic_id)
            self._names[topic_id] = info.name
            for partition in info.partitions:
                self._leaders[TopicIdPartition(info.name, partition.partition, topic_id)] = partition.leader
        self._assignment = None
        if not self._topics.issubset(asked):  # the subscription changed meanwhile
            self._ask_at_ms = now_ms
        elif self._topics <= found.topics.keys():
            self._ask_at_ms = now_ms + self._max_age_ms
        else:
            self._ask_at_ms = now_ms + min(self._patience_ms, self._max_age_ms)
        errors = {
            topic: refusal(code, f"Topic '{topic}'", f"DESCRIBE topic '{topic}'", self._user)
            for topic, code in found.errors.items()
        }
        return {topic: error for topic, error in errors.items() if not error.is_retriable}

    def learned_nothing(self, now_ms: int) -> None:
        self._is_asking = False
        self._failures += 1
        self._ask_at_ms = now_ms + backoff_ms(self._failures, self._backoff_ms, self._patience_ms)

    def doubt(self, now_ms: int) -> None:
        """Something is not as it was: look it up soon."""
        self._ask_at_ms = min(self._ask_at_ms, now_ms + self._backoff_ms)

    def led_by(self, where: TopicIdPartition, leader: int, now_ms: int) -> None:
        """Somebody who should know says that the leader is another one, or with -1 does not know."""
        self._leaders[where] = leader
        self._assignment = None
        self.doubt(now_ms)

    def follow(self, assignment: frozenset[tuple[TopicId, int]], now_ms: int) -> None:
        """Brings ``by_node`` in line with the assignment and with what is known."""
        if assignment == self._assignment:
            return
        by_node, is_known = dict[int, list[TopicIdPartition]](), True
        for topic_id, partition in sorted(assignment, key=lambda pair: (pair[0].bytes, pair[1])):
            where = self.where(topic_id, partition)
            leader = self._leaders.get(where, -1)
            if leader < 0:
                is_known = False
            elif where.topic in self._topics:
                by_node.setdefault(leader, []).append(where)
        self.by_node, self._assignment = by_node, assignment
        if not is_known:
            self.doubt(now_ms)
