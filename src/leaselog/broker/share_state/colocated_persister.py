"""The persister of KIP-932's older design: state lies in the log of the partition it is about.

The partition's leader writes it where the records are, as control records that no consumer is shown, and reads it
back when it is first asked: the newest SHARE_CHECKPOINT of a group and every SHARE_DELTA after it. Whoever is not the
leader cannot write it, and a topic that goes takes it along. To find it the headers of all batches of the log are read,
in steps beside other work: the KIP's index of checkpoints is not kept.

Retention and DeleteRecords may take the part of the log that a checkpoint is in, so they ask first: `make_way` writes
new ones behind what is to go. `keep_house` does so for groups whose checkpoint has become old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from leaselog.broker.cluster.cluster import Cluster, is_internal
from leaselog.broker.coordinators.log import read_back, records_of
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.portions import portions
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_state.control_records import ControlTrail, decode_control_fact, encode_control_fact
from leaselog.broker.share_state.ledger import Entry, LoadStep
from leaselog.broker.share_state.owner import ShareStateCounts, ShareStateOwner
from leaselog.broker.share_state.persister import AskingPersister
from leaselog.coordination.share_state_commands import KeyedCommand, ShareStateAnswer, ShareSummary
from leaselog.coordination.share_state_facts import ShareDropped, ShareFact, SharePartitionKey
from leaselog.coordination.share_state_shard import ShareStateLimits
from leaselog.model import ErrorCode, Refused, TopicPartition
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record, build_batch

__all__ = ["ColocatedPersister", "ControlRecordLedger"]

log = StructuredLog("share state")

SOME_TRAIL = ControlTrail(0, 0, 0)


class ControlRecordLedger:
    #: producers write here: where a record will lie is known at the moment it is appended
    is_alone = False

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._trails: dict[SharePartitionKey, ControlTrail] = {}

    def load_steps(self) -> Iterator[LoadStep]:
        self._trails.clear()
        for step in read_back(self._partition.log, lambda header: header.is_control):
            yield [(record.offset, fact) for record in step if (fact := self._fact(record)) is not None]

    def entries(self, facts: Iterable[ShareFact], now_ms: int) -> list[Entry]:
        """Trails have one size wherever they lead: what can be encoded at one, can be at all."""
        facts = tuple(facts)
        limit_bytes = self._partition.log.config.max_message_bytes
        records = records_of(facts, lambda fact: encode_control_fact(fact, SOME_TRAIL, now_ms), limit_bytes)
        return list(zip(facts, records, strict=True))

    def batches(self, entries: Sequence[Entry], now_ms: int) -> Iterator[bytearray]:
        offset = self._partition.log.end_offset
        records = []
        for fact, _ in entries:
            records.append(encode_control_fact(fact, self._trails.get(fact.key), now_ms))
            self._put(fact, offset)
            offset += 1
        for batch in portions(records, self._partition.log.config.max_message_bytes):
            yield build_batch(batch, is_control=True)

    def earliest_checkpoint(self) -> int | None:
        """The KIP's Earliest Share Offset: control records before it may be cleaned, those behind it must not."""
        return min((trail.checkpoint_at for trail in self._trails.values()), default=None)

    def _put(self, fact: ShareFact, offset: int) -> None:
        if isinstance(fact, ShareDropped):
            self._trails.pop(fact.key, None)
            return
        before = self._trails.get(fact.key, ControlTrail(offset, offset, fact.start_offset))
        self._trails[fact.key] = before.after(fact, offset)

    def _fact(self, record: Record) -> ShareFact | None:
        try:
            fact = decode_control_fact(record, self._partition.topic_id, self._partition.name.partition)
        except DecodeError as bad:
            log.error("unreadable share state", partition=self._partition.name, offset=record.offset, why=bad)
            return None
        if fact is not None:
            self._put(fact, record.offset)
        return fact


class ColocatedPersister(AskingPersister):
    """One owner for each partition that was ever asked about."""

    def __init__(
        self,
        runtime: Runtime,
        cluster: Cluster,
        logs: LogStore,
        counts: ShareStateCounts,
        limits: ShareStateLimits,
    ) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._logs = logs
        self._counts = counts
        self._limits = replace(limits, tells_passed=True)
        self._owners: dict[TopicPartition, tuple[ShareStateOwner, ControlRecordLedger]] = {}

    def stop(self) -> None:
        for owner, _ in self._owners.values():
            owner.stop()

    async def keep_house_every(self, interval_s: float) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.keep_house()

    async def keep_house(self) -> None:
        """New checkpoints where the old are old; to be called every so often."""
        self._let_go()
        for owner, _ in list(self._owners.values()):
            await owner.snapshot_cold()

    async def make_way(self, partition: Partition, before: int) -> bool:
        """Before the log loses what lies before an offset. False: state in there could not be written anew."""
        if is_internal(partition.name.topic):
            return True
        owner, ledger = self._owner_of(partition)
        if owner.is_loading:
            await owner.loaded()
        if _holds_on(ledger, before):
            await owner.snapshot_cold(all_keys=True)
        # also when somebody else has decided on the new ones: they count once they are safe
        if await owner.settled() and not _holds_on(ledger, before):
            return True
        log.warning("share state keeps the log from being cut", partition=partition.name, before=before)
        return False

    def kept_keys(self) -> list[SharePartitionKey]:
        return [key for owner, _ in self._owners.values() for key in owner.kept_keys()]

    def kept(self, key: SharePartitionKey) -> ShareSummary | None:
        topic = self._cluster.topic_name_of(key.topic_id)
        known = None if topic is None else self._owners.get(TopicPartition(topic, key.partition))
        return None if known is None else known[0].summary(key)

    def _ask(self, command: KeyedCommand) -> asyncio.Future[ShareStateAnswer]:
        owner = self._owner(command.key)
        if owner is None:
            answer: asyncio.Future[ShareStateAnswer] = asyncio.get_running_loop().create_future()
            answer.set_result(
                Refused(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
                )
            )
            return answer
        if owner.is_loading:
            return asyncio.ensure_future(self._ask_when_loaded(owner, command))
        return owner.ask(command)

    @staticmethod
    async def _ask_when_loaded(owner: ShareStateOwner, command: KeyedCommand) -> ShareStateAnswer:
        await owner.loaded()
        return await owner.ask(command)

    def _owner(self, key: SharePartitionKey) -> ShareStateOwner | None:
        topic = self._cluster.topic_name_of(key.topic_id)
        partition = None if topic is None else self._logs.partition(topic, key.partition)
        return None if partition is None or partition.is_gone else self._owner_of(partition)[0]

    def _owner_of(self, partition: Partition) -> tuple[ShareStateOwner, ControlRecordLedger]:
        known = self._owners.get(partition.name)
        if known is None or known[0].partition is not partition:
            self._let_go()
            ledger = ControlRecordLedger(partition)
            owner = ShareStateOwner(
                partition,
                ledger,
                self._limits,
                now_ms=self._runtime.now_ms,
                counts=self._counts,
                write_timeout_s=self._runtime.config.share_coordinator_write_timeout_ms / 1000,
            )
            owner.load()
            known = self._owners[partition.name] = (owner, ledger)
        return known

    def _let_go(self) -> None:
        """Of the owners whose partitions are gone."""
        gone = [name for name, (owner, _) in self._owners.items() if owner.partition.is_gone]
        for name in gone:
            self._owners.pop(name)[0].stop()


def _holds_on(ledger: ControlRecordLedger, before: int) -> bool:
    earliest = ledger.earliest_checkpoint()
    return earliest is not None and earliest < before
