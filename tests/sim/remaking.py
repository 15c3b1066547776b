"""A topic that is deleted and made again under its name, again and again: each time it has what it was given, no less
and no more."""

from __future__ import annotations

from leaselog.admin import AsyncAdmin, NewTopic
from leaselog.broker.broker import Broker
from leaselog.client import BrokerError
from leaselog.model import ErrorCode, TopicPartition
from leaselog.testing.sim_checks import compare_log, records_of
from leaselog.testing.sim_clients import SimProducer
from leaselog.testing.sim_stage import Stage
from leaselog.testing.sim_world import Impossible

__all__ = ["Remade"]

#: until all records of one life are answered, whatever dies meanwhile
PATIENCE_S = 400.0


class Remade:
    """Beside the stage's own topic; nobody consumes it, and its log is compared with what was answered."""

    def __init__(self, stage: Stage, *, partitions: int = 1, name: str = "again") -> None:
        self._stage = stage
        self._partitions = partitions
        self._name = name
        self._lives = 0
        self._producers: list[SimProducer] = []
        #: of this life: before which offsets records were deleted, or may have been
        self._cut: dict[int, int] = {}

    async def make(self) -> None:
        await self._stage.create(NewTopic(self._name, self._partitions))
        self._lives += 1
        self._producers, self._cut = [], {}

    async def give(self, records: int) -> None:
        """Returns when they are answered, or given up."""
        stage, name = self._stage, f"life{self._lives}-{len(self._producers)}"
        producer = SimProducer(stage.world, name, self._name, self._partitions, records, [], pause_s=0.02)
        self._producers.append(producer)
        producer.start()
        await stage.world.until(lambda: producer.is_done, f"{name} is done", PATIENCE_S)

    async def cut(self, share: float) -> None:
        """Deletes so much of the records of each partition."""
        broker = await self._broker()
        for index in range(self._partitions):
            partition = broker.logs.partition(self._name, index)
            if partition is not None and (end := partition.log.high_watermark):
                before = max(int(share * end), self._cut.get(index, 0))
                self._cut[index] = before
                where = {TopicPartition(self._name, index): before}
                await self._stage.administer(lambda admin, where=where: admin.delete_records(where))

    async def delete(self, *, compares: bool = True) -> None:
        """Compared once more before."""
        if compares:
            await self.compare()
        await self._stage.administer(self._drop)

    async def _drop(self, admin: AsyncAdmin) -> None:
        try:
            await admin.delete_topics([self._name])
        except BrokerError as failed:
            if failed.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            # It was deleted when that was asked for before, by a broker that died before it could say so.

    async def compare(self) -> None:
        """Raises ``Impossible`` for a record that is missing, is of another life, or went without being asked for."""
        broker = await self._broker()
        stored = {record: at for producer in self._producers for record, at in producer.stored.items()}
        compare_log(broker, self._name, stored, self._partitions)
        for index in range(self._partitions):
            partition = broker.logs.partition(self._name, index)
            assert partition is not None
            start = partition.log.start_offset
            if start > self._cut.get(index, 0):
                raise Impossible(f"{partition.name} begins at {start}, and nobody asked for that")
            strange = [
                record for _, record in records_of(partition) if not record.startswith(f"life{self._lives}-")
            ]
            if strange:
                raise Impossible(f"{partition.name} has records of another life: {strange[:3]}")

    async def _broker(self) -> Broker:
        """One that is up, with all partitions of the topic open."""
        world = self._stage.world

        def is_open() -> bool:
            logs = None if world.broker is None else world.broker.logs
            return (
                world.is_up
                and logs is not None
                and all(
                    (found := logs.partition(self._name, i)) is not None and found.log.failure is None
                    for i in range(self._partitions)
                )
            )

        await world.until(is_open, f"{self._name} is open", PATIENCE_S)
        assert world.broker is not None
        return world.broker
