"""What a row has to work with: a broker, Java clients, fresh names, groups that are there, a clock on the processor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from confluent_kafka import KafkaException

from bench.brokers import Broker
from bench.jvm import JavaClients
from bench.setting import configure_group, delete_topics, make_topic
from interop.broker_process import BrokerProcess
from interop.share_member import begin

__all__ = ["Spent", "Stage"]

T = TypeVar("T")


@dataclass(slots=True)
class Spent:
    """Seconds of the broker's processor; known when the block has ended."""

    seconds: float = 0.0


@dataclass(slots=True)
class Stage:
    broker: Broker
    java: JavaClients
    home: Path
    is_quick: bool = False
    #: of a broker that other rows have been on, the names that are left
    names: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _made: dict[str, str] = field(default_factory=dict)
    _topics: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.broker.address

    def size(self, full: T, quick: T) -> T:
        """How much of it: enough for a figure, or just enough to see that the row works."""
        return quick if self.is_quick else full

    def fresh(self, stem: str) -> str:
        return f"{stem}-{next(self.names)}"

    def topic(self, partitions: int = 1, **config: str) -> str:
        """Underscores in ``config`` stand for dots."""
        name = self.fresh("topic")
        make_topic(
            self.address, name, partitions, {key.replace("_", "."): value for key, value in config.items()}
        )
        self._topics.append(name)
        return name

    def clear(self) -> None:
        """The row is over: the next one finds no records of its topics, unless the broker will not have it."""
        with suppress(KafkaException):
            delete_topics(self.address, self._topics)

    def once(self, what: str, make: Callable[[], str]) -> str:
        """The topic that all cases of the row read from; made by the first."""
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]

    def group(self, topic: str, partitions: int = 1, **wishes: str) -> str:
        """One that has no members and begins with the topic's first record; underscores in ``wishes`` stand for dots.

        Its state is there, so that a member gets its partitions with the first heartbeat.
        """
        name = self.fresh("group")
        named = {key.replace("_", "."): value for key, value in wishes.items()}
        configure_group(self.address, name, {"share.auto.offset.reset": "earliest", **named})
        begin(self.for_raw_requests(), name, [topic], partitions)
        return name

    def for_raw_requests(self) -> BrokerProcess:
        """Of a broker they want its port alone."""
        return cast(BrokerProcess, self.broker)

    @contextmanager
    def processor(self) -> Iterator[Spent]:
        spent, before = Spent(), self.broker.processor_s()
        yield spent
        spent.seconds = self.broker.processor_s() - before
