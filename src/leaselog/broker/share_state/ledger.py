"""How the facts of a share-state owner lie in a log: what any ledger must do, and that of ``__share_group_state``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

from leaselog.broker.coordinators.log import read_back, records_of
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.portions import portions
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_state.records import decode_share_fact, encode_share_fact
from leaselog.coordination.share_state_facts import ShareFact
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record, build_batch

__all__ = ["Entry", "LoadStep", "ShareLedger", "StateTopicLedger"]

#: facts and their offsets
LoadStep: TypeAlias = list[tuple[int, ShareFact]]

#: a fact and its record, or what its record would be if it lay somewhere else
Entry: TypeAlias = tuple[ShareFact, Record]

log = StructuredLog("share state")


class ShareLedger(Protocol):
    @property
    def is_alone(self) -> bool:
        """Nobody else writes to the log, so that the offsets of records are known before they are written."""

    def load_steps(self) -> Iterator[LoadStep]:
        """All there is to replay, a step at a time. Raises ``BrokenInvariant`` if the log cannot be read."""

    def entries(self, facts: Iterable[ShareFact], now_ms: int) -> list[Entry]:
        """The facts encoded, before anything is changed by them. Raises ``Unwritable``."""

    def batches(self, entries: Sequence[Entry], now_ms: int) -> Iterator[bytearray]:
        """The facts as batches that the topic takes, to be appended at once. More than one are not atomic; each
        fact stands alone."""


class StateTopicLedger:
    """A partition of ``__share_group_state``, byte for byte as Apache Kafka has it."""

    is_alone = True

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def load_steps(self) -> Iterator[LoadStep]:
        for step in read_back(self._partition.log, lambda header: not header.is_control):
            yield [(offset, fact) for record in step for offset, fact in self._fact(record)]

    def entries(self, facts: Iterable[ShareFact], now_ms: int) -> list[Entry]:
        facts = tuple(facts)
        limit_bytes = self._partition.log.config.max_message_bytes
        records = records_of(facts, lambda fact: encode_share_fact(fact, now_ms), limit_bytes)
        return list(zip(facts, records, strict=True))

    def batches(self, entries: Sequence[Entry], now_ms: int) -> Iterator[bytearray]:
        records = (record for _, record in entries)
        for batch in portions(records, self._partition.log.config.max_message_bytes):
            yield build_batch(batch)

    def _fact(self, record: Record) -> LoadStep:
        try:
            fact = decode_share_fact(record)
        except DecodeError as bad:
            # Written by something newer than us, or not by a coordinator at all: skipping it loses one write.
            log.error("unreadable share state", partition=self._partition.name, offset=record.offset, why=bad)
            return []
        return [] if fact is None else [(record.offset, fact)]
