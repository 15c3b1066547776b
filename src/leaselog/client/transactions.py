"""The transactions of one producer: who it is to the coordinator, what it may do now, and how a transaction ends.

Errors are of three kinds, as KIP-1050 sorts them. What may be tried again is tried again here. What spoils a
transaction is raised by whatever is called next, until `abort`. What fences the producer is raised for ever: another
one has its transactional id, and this one is to be closed.

A cluster whose transaction.version is 2 adds partitions to the transaction by itself and raises the epoch at each end
(KIP-890); to an older one partitions are added before the first batch for them leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TypeVar

from leaselog.client.cluster import Cluster
from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.errors import BrokerError, ClientError, IllegalState, UnsupportedVersion, raise_for
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from leaselog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from leaselog.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from leaselog.wire.schema import Message

__all__ = ["GroupMetadata", "TransactionAborted", "Transactions", "checked_offsets"]

M = TypeVar("M", bound=Message)

GROUP_KEY, TRANSACTION_KEY = 0, 1
NOBODY = -1, -1

_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
#: another producer has the transactional id, or this one may not have it
_FATAL = frozenset({
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
})  # fmt: skip


class TransactionAborted(ClientError):
    """The record was not sent, or does not count: its transaction was aborted."""


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """The group whose offsets go with a transaction, and, for a member of it, who that is."""

    group_id: str
    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


def checked_offsets(
    offsets: Mapping[TopicPartition, CommittedOffset | int], group: GroupMetadata | str
) -> tuple[dict[TopicPartition, CommittedOffset], GroupMetadata]:
    """As the coordinator is told of them: a number is an offset, a text the name of a group."""
    named = GroupMetadata(group) if isinstance(group, str) else group
    if not named.group_id:
        raise ValueError("group: the group's id is empty")
    checked = {
        TopicPartition(*where): CommittedOffset(told) if isinstance(told, int) else told
        for where, told in offsets.items()
    }
    for where, committed in checked.items():
        if committed.offset < 0:
            raise ValueError(f"{where}: offset {committed.offset} is negative")
    return checked, named


class Batches(Protocol):
    """What a transaction asks of its producer's batches."""

    def become(self, producer_id: int, producer_epoch: int) -> None:
        """Nothing is on its way: whatever is sent next comes from this producer, and is counted from 0."""

    async def flush(self) -> None: ...

    async def drop_all(self, why: ClientError) -> None:
        """Gives up what has not left, and waits for what has."""


class _State(Enum):
    NEW = auto()
    READY = auto()
    OPEN = auto()


class Transactions:
    def __init__(self, cluster: Cluster, batches: Batches, transactional_id: str, timeout_ms: int) -> None:
        self._cluster = cluster
        self._batches = batches
        self._name = transactional_id
        self._timeout_ms = timeout_ms
        self._producer = NOBODY
        self._state = _State.NEW
        #: why this transaction cannot be committed, and why there can be no other
        self._spoiled: ClientError | None = None
        self._fatal: ClientError | None = None
        #: something was sent that the coordinator may know of
        self._is_begun = False
        #: a commit was asked for, and nobody has answered
        self._is_in_doubt = False
        self._joined = set[TopicPartition]()
        self._joining = asyncio.Lock()
        self._coordinators = dict[tuple[str, int], Node]()

    # what the application calls

    async def init(self) -> None:
        """Takes the transactional id over: whoever had it is fenced, and what it has left open is aborted."""
        self._check_alive()
        if self._state is not _State.NEW:
            raise IllegalState("init_transactions was called before.")
        await self._init(NOBODY)
        self._state = _State.READY

    def begin(self) -> None:
        self._check_alive()
        if self._state is _State.NEW:
            raise IllegalState("Call init_transactions before the first transaction.")
        if self._state is _State.OPEN:
            raise IllegalState("A transaction is open already: commit or abort it first.")
        self._state = _State.OPEN

    async def commit(self) -> None:
        """Raises what spoiled the transaction, which is to be aborted then."""
        self.check_open()
        await self._batches.flush()
        self.check_open()
        await self._end(commit=True)

    async def abort(self) -> None:
        self._check_alive()
        if self._state is not _State.OPEN:
            raise IllegalState("No transaction is open.")
        if self._is_in_doubt:
            raise IllegalState("The transaction may be committed already: call commit_transaction again.")
        await self._batches.drop_all(TransactionAborted("the transaction was aborted"))
        await self._end(commit=False)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupMetadata
    ) -> None:
        """They count for the group once the transaction is committed."""
        self.check_open()
        if not offsets:
            return
        try:
            if not await self._raises_epochs():
                await self._retrying(lambda: self._add_offsets(group))
            self._is_begun = True
            await self._retrying(lambda: self._commit_offsets(offsets, group))
        except ClientError as failed:
            self.failed(failed)
            raise

    # what the batches ask

    def check_open(self) -> None:
        """Raises unless records may be sent now."""
        self._check_alive()
        if self._state is not _State.OPEN:
            raise IllegalState("No transaction is open: call begin_transaction first.")
        if self._spoiled is not None:
            raise self._spoiled

    async def join(self, places: Collection[TopicPartition]) -> None:
        """They are part of the transaction when this returns, or will be by being written to."""
        if await self._raises_epochs():
            self._is_begun = True
            return
        async with self._joining:
            fresh = sorted(set(places) - self._joined)
            if fresh:
                await self._retrying(lambda: self._add_partitions(fresh))
                self._joined.update(fresh)
                self._is_begun = True

    @property
    def may_abort(self) -> bool:
        """A transaction is open and not decided, and the producer is not fenced."""
        return self._state is _State.OPEN and self._fatal is None and not self._is_in_doubt

    @property
    def spoiled(self) -> ClientError | None:
        """Why nothing more is to be sent in this transaction."""
        return self._fatal or self._spoiled

    def failed(self, error: ClientError) -> None:
        """A record was given up, or a request refused: the transaction cannot be committed."""
        if isinstance(error, UnsupportedVersion) or (isinstance(error, BrokerError) and error.code in _FATAL):
            self._fatal = self._fatal or error
        elif self._state is _State.OPEN:
            self._spoiled = self._spoiled or error

    def _check_alive(self) -> None:
        if self._fatal is not None:
            raise self._fatal

    # the ends

    async def _end(self, *, commit: bool) -> None:
        try:
            if self._is_begun:
                await self._retrying(lambda: self._ask_end(commit=commit))
            if not commit and self._spoiled is not None and not await self._raises_epochs():
                # Nobody knows what the broker has of the transaction: the next epoch begins from nothing (KIP-360).
                await self._init(self._producer)
        except ClientError as failed:
            if failed.is_retriable:
                self._is_in_doubt = commit
            else:
                self.failed(failed)
            raise
        self._state, self._spoiled, self._is_begun = _State.READY, None, False
        self._is_in_doubt = False
        self._joined.clear()

    async def _ask_end(self, *, commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            committed=commit,
        )
        answer = await self._ask(request, EndTxnResponse, self._name, TRANSACTION_KEY)
        self._check(answer.error_code)
        if answer.producer_id != -1:
            self._become(answer.producer_id, answer.producer_epoch)

    async def _init(self, continues: tuple[int, int]) -> None:
        request = InitProducerIdRequest(
            transactional_id=self._name,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=continues[0],
            producer_epoch=continues[1],
        )

        async def attempt() -> None:
            answer = await self._ask(request, InitProducerIdResponse, self._name, TRANSACTION_KEY)
            self._check(answer.error_code)
            self._become(answer.producer_id, answer.producer_epoch)

        try:
            await self._retrying(attempt)
        except ClientError as failed:
            self.failed(failed)
            raise

    def _become(self, producer_id: int, producer_epoch: int) -> None:
        self._producer = producer_id, producer_epoch
        self._batches.become(producer_id, producer_epoch)

    # requests

    async def _raises_epochs(self) -> bool:
        return (await self._cluster.any_connection()).transaction_version >= 2

    async def _add_partitions(self, places: Collection[TopicPartition]) -> None:
        topics = dict[str, list[int]]()
        for topic, partition in places:
            topics.setdefault(topic, []).append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=self._producer[0],
            v3_and_below_producer_epoch=self._producer[1],
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=ids) for name, ids in topics.items()
            ],
        )
        answer = await self._ask(request, AddPartitionsToTxnResponse, self._name, TRANSACTION_KEY)
        codes = [
            p.partition_error_code
            for t in answer.results_by_topic_v3_and_below
            for p in t.results_by_partition
        ]
        attempted = [code for code in codes if code != ErrorCode.OPERATION_NOT_ATTEMPTED]
        self._check(next(filter(None, attempted), 0))

    async def _add_offsets(self, group: GroupMetadata) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            group_id=group.group_id,
        )
        answer = await self._ask(request, AddOffsetsToTxnResponse, self._name, TRANSACTION_KEY)
        self._check(answer.error_code)

    async def _commit_offsets(
        self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupMetadata
    ) -> None:
        topics = dict[str, list[TxnOffsetCommitRequestPartition]]()
        for where, committed in offsets.items():
            topics.setdefault(where.topic, []).append(
                TxnOffsetCommitRequestPartition(
                    partition_index=where.partition,
                    committed_offset=committed.offset,
                    committed_metadata=committed.metadata,
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self._name,
            group_id=group.group_id,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            generation_id_or_member_epoch=group.generation,
            member_id=group.member_id,
            group_instance_id=group.instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()
            ],
        )
        answer = await self._ask(request, TxnOffsetCommitResponse, group.group_id, GROUP_KEY)
        codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
        self._check(next(filter(None, codes), 0))

    async def _ask(self, request: Message, kind: type[M], key: str, key_type: int) -> M:
        place = key, key_type
        if place not in self._coordinators:
            self._coordinators[place] = await self._cluster.coordinator(key, key_type)
        try:
            return await self._cluster.request(request, kind, node=self._coordinators[place])
        except ClientError:
            self._coordinators.clear()
            raise

    def _check(self, code: int) -> None:
        if code in _MOVED:
            self._coordinators.clear()
        raise_for(code)

    async def _retrying(self, attempt: Callable[[], Awaitable[None]]) -> None:
        await self._cluster.retrying(attempt)
