"""The demo's second act: many workers on one partition, some jobs that fail, and the broker killed under them.

Every job says what becomes of it: most are done at once, some fail the first time and are given back, a few can never
be done and are rejected. The workers write down what was answered; that is held against what the group says in the end.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from leaselog.admin import AsyncAdmin, NewTopic, Resource, ResourceType
from leaselog.cli.arguments import CommandFailed
from leaselog.cli.demo_broker import DemoBroker
from leaselog.cli.output import Progress, print_table
from leaselog.client import AcknowledgeType, AsyncShareConsumer, BrokerError, ShareRecord
from leaselog.client.cluster import Cluster
from leaselog.client.producer import BatchProducer, ProducerSettings
from leaselog.model import TopicPartition

__all__ = ["QueueOutcome", "exercise_queue", "print_queue", "queue_as_json"]

TOPIC = "jobs"
GROUP = "workers"
WORKERS = 8
PLACE = TopicPartition(TOPIC, 0)
#: seconds that a job takes
WORK_S = 0.001
#: a new delivery comes when a dead member's lease has ended: no longer than this
LEASE_MS = 15_000
_STALL_TIMEOUT_S = 60.0
_LOOK_S = 0.1


@dataclass(slots=True)
class QueueOutcome:
    jobs: int
    #: by job, the number of deliveries that workers saw
    deliveries: Counter[int] = field(default_factory=Counter)
    #: jobs by what became of them, as far as the broker answered
    answered: dict[AcknowledgeType, set[int]] = field(
        default_factory=lambda: {kind: set[int]() for kind in AcknowledgeType}
    )
    #: acknowledged to the end, and the answer was lost with the broker
    unanswered: set[int] = field(default_factory=set)
    #: delivered once more after the broker had said that they are through
    again: set[int] = field(default_factory=set)
    by_worker: Counter[int] = field(default_factory=Counter)
    done_before_kill: int = 0
    restart_s: float = 0.0
    seconds: float = 0.0
    lag: int = -1

    @property
    def through(self) -> set[int]:
        """Jobs that the broker has said are through."""
        return self.answered[AcknowledgeType.ACCEPT] | self.answered[AcknowledgeType.REJECT]

    def broken_promises(self) -> list[str]:
        lost = set(range(self.jobs)) - self.through - self.unanswered
        found = {
            f"{len(lost)} jobs were lost": lost,
            f"{len(self.again)} jobs came again after they were through": self.again,
            f"the group says that {self.lag} jobs are left": self.lag != 0,
        }
        return [promise for promise, is_broken in found.items() if is_broken]


async def exercise_queue(broker: DemoBroker, jobs: int) -> QueueOutcome:
    async with AsyncAdmin(broker.address) as admin:
        await admin.create_topics([NewTopic(TOPIC, 1)])
        wishes = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LEASE_MS)}
        await admin.alter_configs(Resource(ResourceType.GROUP, GROUP), put=wishes)
        await _produce(broker.address, jobs)
        outcome = QueueOutcome(jobs)
        began = time.monotonic()
        workers = [asyncio.create_task(_work(n, broker.address, outcome)) for n in range(WORKERS)]
        try:
            with Progress("jobs done", jobs) as progress:
                await _watch(admin, broker, outcome, progress)
        finally:
            for worker in workers:
                worker.cancel()
            ended = await asyncio.gather(*workers, return_exceptions=True)
        for failure in ended:
            if isinstance(failure, Exception):
                raise failure
        outcome.seconds = time.monotonic() - began
    return outcome


async def _produce(address: str, jobs: int) -> None:
    async with Cluster(address) as cluster, BatchProducer(cluster, ProducerSettings()) as producer:
        for number in range(jobs):
            await producer.send(TOPIC, b"%d" % number, partition=0)


async def _watch(admin: AsyncAdmin, broker: DemoBroker, outcome: QueueOutcome, progress: Progress) -> None:
    """Kills the broker when a third is done, and returns when nothing is left."""
    deadline = time.monotonic() + _STALL_TIMEOUT_S
    is_killed = False
    while outcome.lag != 0:
        if time.monotonic() > deadline:
            raise CommandFailed(f"{outcome.lag} jobs left, and nothing moves")
        await asyncio.sleep(_LOOK_S)
        progress.at(len(outcome.through))
        if not is_killed and len(outcome.through) >= outcome.jobs // 3:
            is_killed, outcome.done_before_kill = True, len(outcome.through)
            outcome.restart_s = await broker.restart_after_kill()
        if len(outcome.through | outcome.unanswered) == outcome.jobs:
            outcome.lag = await _lag(admin)


async def _lag(admin: AsyncAdmin) -> int:
    """How many jobs the group itself says are left; -1 if it does not know yet."""
    found = (await admin.list_share_group_offsets({GROUP: None}))[GROUP].get(PLACE)
    if isinstance(found, BrokerError):
        raise found
    return -1 if found is None or found.lag is None else found.lag


async def _work(number: int, address: str, outcome: QueueOutcome) -> None:
    """One worker's life: take a few jobs, do them, say what became of each, and have that made safe."""
    async with AsyncShareConsumer(
        bootstrap_servers=address,
        group_id=GROUP,
        share_acknowledgement_mode="explicit",
        share_acquire_mode="record_limit",
        max_poll_records=5,
    ) as consumer:
        consumer.subscribe([TOPIC])
        while True:
            said: dict[int, AcknowledgeType] = {}
            for record in await consumer.poll(1.0):
                job = int(record.raw_value or b"")
                outcome.deliveries[job] += 1
                outcome.by_worker[number] += 1
                if job in outcome.through:
                    outcome.again.add(job)
                await asyncio.sleep(WORK_S)
                said[job] = _outcome_of(job, record)
                consumer.acknowledge(record, said[job])
            errors = [error for error in (await consumer.commit_sync()).values() if error is not None]
            for job, kind in said.items():
                if not errors:
                    outcome.answered[kind].add(job)
                    outcome.unanswered.discard(job)
                elif kind is not AcknowledgeType.RELEASE:
                    outcome.unanswered.add(job)


def _outcome_of(job: int, record: ShareRecord[bytes, bytes]) -> AcknowledgeType:
    if job % 40 == 7:
        return AcknowledgeType.REJECT  # can never be done
    if job % 8 == 3 and record.delivery_count == 1:
        return AcknowledgeType.RELEASE  # fails the first time
    return AcknowledgeType.ACCEPT


def print_queue(outcome: QueueOutcome) -> None:
    retried = sum(1 for count in outcome.deliveries.values() if count > 1)
    unanswered = outcome.unanswered - outcome.through
    rows = [
        ("done", f"{len(outcome.answered[AcknowledgeType.ACCEPT]):,}"),
        ("rejected", f"{len(outcome.answered[AcknowledgeType.REJECT]):,}"),
        ("through, the answer lost with the broker", f"{len(unanswered):,}"),
        ("delivered more than once", f"{retried:,}"),
        ("delivered again after they were through", f"{len(outcome.again):,}"),
        ("left", f"{outcome.lag:,}"),
    ]
    print_table((f"{outcome.jobs:,} jobs", "Number"), rows, right=("Number",))
    print(
        f"by {WORKERS} workers on one partition in {outcome.seconds:.1f} s, with the broker killed after"
        f" {outcome.done_before_kill:,} jobs and back {outcome.restart_s:.1f} s later"
    )


def queue_as_json(outcome: QueueOutcome) -> dict[str, object]:
    return {
        "jobs": outcome.jobs,
        "workers": WORKERS,
        "accepted": len(outcome.answered[AcknowledgeType.ACCEPT]),
        "rejected": len(outcome.answered[AcknowledgeType.REJECT]),
        "unanswered": len(outcome.unanswered - outcome.through),
        "redelivered": sum(1 for count in outcome.deliveries.values() if count > 1),
        "deliveredAgainAfterTheEnd": len(outcome.again),
        "left": outcome.lag,
        "doneBeforeKill": outcome.done_before_kill,
        "restartSeconds": round(outcome.restart_s, 3),
        "seconds": round(outcome.seconds, 3),
    }
