"""The demo's first act: a log is filled, its broker killed in the middle, read back, and compared record by record."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field

from leaselog.admin import NewTopic, create_topics, settle
from leaselog.cli.arguments import CommandFailed
from leaselog.cli.demo_broker import DemoBroker
from leaselog.cli.output import Progress, print_table
from leaselog.client import EARLIEST, ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import Fetcher, list_offsets
from leaselog.client.producer import BatchProducer, Delivered, ProducerSettings
from leaselog.model import TopicPartition
from leaselog.wire.compression import Codec

__all__ = ["LogOutcome", "exercise_log", "log_as_json", "print_log"]

TOPIC = "orders"
PARTITIONS = 3
_STALL_TIMEOUT_S = 15.0


@dataclass(slots=True)
class Fingerprint:
    """Which records a partition should hold, or does: their number, and a digest of all of them in order."""

    count: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, key: bytes | None, value: bytes | None) -> None:
        self.count += 1
        for part in (key, value):
            self.digest.update(b"\0" if part is None else b"\1%d:" % len(part) + part)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fingerprint):
            return NotImplemented
        return (self.count, self.digest.digest()) == (other.count, other.digest.digest())


@dataclass(slots=True)
class LogOutcome:
    produced: dict[int, Fingerprint]
    consumed: dict[int, Fingerprint]
    produce_s: float
    consume_s: float
    restart_s: float
    #: acknowledged when the broker was killed
    before_kill: int
    disk_bytes: int

    @property
    def is_intact(self) -> bool:
        return self.produced == self.consumed


async def exercise_log(broker: DemoBroker, records: int) -> LogOutcome:
    async with Cluster(broker.address) as cluster:
        settle(await create_topics(cluster, [NewTopic(TOPIC, PARTITIONS)]))
        began = time.monotonic()
        producing = _Production(broker, records)
        produced = await producing.run(cluster)
        produce_s = time.monotonic() - began
        began = time.monotonic()
        consumed = await _consume(cluster, sum(p.count for p in produced.values()))
        consume_s = time.monotonic() - began
    disk_bytes = broker.disk_bytes(TOPIC)
    return LogOutcome(
        produced, consumed, produce_s, consume_s, producing.restart_s, producing.before_kill, disk_bytes
    )


class _Production:
    """Sends every record once, a fifth with each codec, and kills the broker half way with records under way."""

    def __init__(self, broker: DemoBroker, records: int) -> None:
        self._broker, self._records = broker, records
        self._acknowledged = 0
        self._lost: ClientError | None = None
        self.before_kill = 0
        self.restart_s = 0.0

    async def run(self, cluster: Cluster) -> dict[int, Fingerprint]:
        produced = {partition: Fingerprint() for partition in range(PARTITIONS)}
        codecs = list(Codec)
        bounds = [self._records * i // len(codecs) for i in range(len(codecs) + 1)]
        restart: asyncio.Task[None] | None = None
        with Progress("produced", self._records) as progress:
            for codec, start, end in zip(codecs, bounds, bounds[1:], strict=False):
                settings = ProducerSettings(compression=codec)
                async with BatchProducer(cluster, settings, on_delivered=self._delivered) as producer:
                    for i in range(start, end):
                        partition = i % PARTITIONS
                        key, value = b"customer-%d" % (i % 977), _order(i)
                        await producer.send(TOPIC, value, key, partition=partition)
                        produced[partition].add(key, value)
                        if i == self._records // 2:
                            restart = asyncio.create_task(self._restart())
                        if i % 200 == 0:
                            await asyncio.sleep(0)
                            progress.at(i)
        if restart is not None:
            await restart
        if self._lost is not None:
            raise CommandFailed(f"records were not delivered: {self._lost}")
        return produced

    async def _restart(self) -> None:
        """The producer goes on meanwhile: what is not acknowledged it sends again, and nothing twice."""
        self.before_kill = self._acknowledged
        self.restart_s = await self._broker.restart_after_kill()

    def _delivered(self, batch: Delivered) -> None:
        if batch.error is None:
            self._acknowledged += len(batch.records)
        else:
            self._lost = batch.error


def _order(number: int) -> bytes:
    return b'{"order":%d,"item":"sku-%d","quantity":%d,"cents":%d}' % (
        number, number * 7919 % 5003, number % 9 + 1, number * 104729 % 99991,
    )  # fmt: skip


async def _consume(cluster: Cluster, expected: int) -> dict[int, Fingerprint]:
    """Everything in the topic: reading goes on to the end of the log, so that a record too many shows as well."""
    places = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
    consumed = {place.partition: Fingerprint() for place in places}
    fetcher = Fetcher(cluster)
    for place, offset in (await list_offsets(cluster, dict.fromkeys(places, EARLIEST))).items():
        fetcher.assign(place, offset)
    count, last_news = 0, time.monotonic()
    try:
        with Progress("consumed", expected) as progress:
            while True:
                fetched = await fetcher.poll(500)
                for part in fetched:
                    for record in part.records():
                        consumed[part.where.partition].add(record.key, record.value)
                        count += 1
                progress.at(count)
                now = time.monotonic()
                last_news = now if fetched else last_news
                if (count >= expected and not fetched) or now - last_news > _STALL_TIMEOUT_S:
                    return consumed
    finally:
        await fetcher.close()


def print_log(outcome: LogOutcome) -> None:
    rows = [
        (
            f"{TOPIC}-{p}",
            f"{made.count:,}",
            f"{outcome.consumed[p].count:,}",
            _verdict(made, outcome.consumed[p]),
        )
        for p, made in outcome.produced.items()
    ]
    produced = sum(p.count for p in outcome.produced.values())
    consumed = sum(p.count for p in outcome.consumed.values())
    rows.append(("all", f"{produced:,}", f"{consumed:,}", "equal" if outcome.is_intact else "DIFFERENT"))
    print_table(("Partition", "Produced", "Consumed", "Content"), rows, right=("Produced", "Consumed"))
    print(
        f"produced in {outcome.produce_s:.1f} s ({produced / outcome.produce_s:,.0f} records/s), with the broker"
        f" killed after {outcome.before_kill:,} acknowledged records and back {outcome.restart_s:.1f} s later\n"
        f"consumed in {outcome.consume_s:.1f} s ({consumed / outcome.consume_s:,.0f} records/s),"
        f" {outcome.disk_bytes:,} bytes on disk"
    )


def _verdict(produced: Fingerprint, consumed: Fingerprint) -> str:
    return "equal" if produced == consumed else "DIFFERENT"


def log_as_json(outcome: LogOutcome) -> dict[str, object]:
    return {
        "intact": outcome.is_intact,
        "partitions": [
            {"partition": p, "produced": made.count, "consumed": outcome.consumed[p].count}
            for p, made in outcome.produced.items()
        ],
        "acknowledgedBeforeKill": outcome.before_kill,
        "produceSeconds": round(outcome.produce_s, 3),
        "consumeSeconds": round(outcome.consume_s, 3),
        "restartSeconds": round(outcome.restart_s, 3),
        "diskBytes": outcome.disk_bytes,
    }
