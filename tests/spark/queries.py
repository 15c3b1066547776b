"""A topic, a share group and the folders of a query over them, as the Spark tests use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from interop.broker_process import BrokerProcess
from interop.confluent_io import producer_of
from interop.share_state import ACKNOWLEDGED, ARCHIVED, Stored, stored_states
from leaselog.admin import Admin, NewTopic, Resource, ResourceType, ShareOffset
from leaselog.client import BrokerError
from leaselog.model import ErrorCode, TopicPartition
from spark.begun import Query


class Queue:
    def __init__(self, broker: BrokerProcess, topic: str, group: str, home: Path, partitions: int) -> None:
        self.broker = broker
        self.topic = topic
        self.group = group
        self.home = home
        self.partitions = partitions

    def begin(self, group_configs: Mapping[str, str]) -> None:
        with Admin(self.broker.address) as admin:
            admin.create_topics([NewTopic(self.topic, partitions=self.partitions)])
            configs = {name.replace("_", "."): value for name, value in group_configs.items()}
            configs.setdefault("share.renew.acknowledge.enable", "true")  # not Apache Kafka's default
            admin.alter_configs(Resource(ResourceType.GROUP, self.group), put=configs)

    def produce(self, numbers: Iterable[int]) -> None:
        """A record for each number, the number as its value, spread evenly over the partitions."""
        producer = producer_of(self.broker)
        for number in numbers:
            producer.produce(
                self.topic, b"%d" % number, key=b"k%d" % number, partition=number % self.partitions
            )
        assert producer.flush(60) == 0

    def options(self, **more: object) -> dict[str, str]:
        given = {
            **self.box_options(),
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            **more,
        }
        return {name: str(value) for name, value in given.items()}

    def box_options(self) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.broker.address,
            "kafka.share.group.id": self.group,
            "outcomesLocation": str(self.home / "outcomes"),
        }

    def read(self, spark: Any, **more: object) -> Any:
        return spark.readStream.format("kafka-share").options(**self.options(**more)).load()

    def drain(self, writer: Any) -> Any:
        """Run a query until all that is there now is done."""
        checkpoint = str(self.home / "checkpoint")
        ready = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query = Query(ready.start)
        try:
            query.wait()
        finally:
            query.stop()
        return query.running

    def members(self) -> int:
        with Admin(self.broker.address) as admin:
            return len(admin.describe_groups([self.group])[self.group].members)

    def backlog(self) -> int | None:
        """Records that are neither accepted nor archived; None while the group's coordinator does not know."""
        lags = [offset.lag if isinstance(offset, ShareOffset) else None for offset in self._offsets()]
        return sum(lag for lag in lags if lag is not None) if None not in lags else None

    def _offsets(self) -> list[object]:
        places = [TopicPartition(self.topic, number) for number in range(self.partitions)]
        with Admin(self.broker.address) as admin:
            return list(admin.list_share_group_offsets({self.group: places})[self.group].values())

    def _has_begun(self) -> bool:
        try:
            return any(isinstance(offset, ShareOffset) for offset in self._offsets())
        except BrokerError as failed:
            if failed.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            return False

    def accepted(self) -> set[tuple[int, int]]:
        """Partitions and offsets that the state topic has as done: as accepted, if none was rejected."""
        done = {place for place, state in self.states().items() if state == ACKNOWLEDGED}
        for (_, partition), stored in self._stored().items():
            done |= {(partition, offset) for offset in range(stored.start)}
        return done

    def archived(self) -> set[tuple[int, int]]:
        """Those that the state topic has as archived; what lies before the start is not told apart."""
        return {place for place, state in self.states().items() if state == ARCHIVED}

    def states(self) -> dict[tuple[int, int], int]:
        """By partition and offset: what the state topic has of each record behind the start."""
        return {
            (partition, offset): state
            for (_, partition), stored in self._stored().items()
            for offset, (state, _) in stored.records.items()
        }

    def _stored(self) -> dict[tuple[UUID, int], Stored]:
        return stored_states(self.broker, self.group) if self._has_begun() else {}
