"""An idempotent, batching producer: drives the ``Accumulator`` with a cluster's connections.

One task decides what to send; each request in flight is a task of its own. Records are acknowledged by the batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import TracebackType
from uuid import UUID

from leaselog.client.accumulator import Accumulator, Batch, BatchLimits, fit, record_bytes
from leaselog.client.cluster import RETRY_BACKOFF_MAX_MS, RETRY_BACKOFF_MS, Cluster
from leaselog.client.connection import Connection
from leaselog.client.errors import (
    AuthorizationFailed,
    BrokerError,
    ClientError,
    ConnectionLost,
    IllegalState,
    RequestTimedOut,
    UnsupportedVersion,
    Unwritable,
    refusal,
)
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.machine import new_chance, wall_ms
from leaselog.client.partitioner import Partitioner
from leaselog.client.topology import TopicInfo
from leaselog.client.transactions import TransactionAborted, Transactions
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.compression import Codec
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from leaselog.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from leaselog.wire.records import Record, RecordHeader, build_batch

__all__ = ["BatchProducer", "Delivered", "ProducerSettings"]

ACKS_ALL = -1
#: the broker and the producer disagree about sequences: only a new epoch helps
_LOST_COUNT = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
#: errors after which the records may nevertheless be in the log
_IN_DOUBT = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """Names and defaults are the Java producer's, as of Kafka 4."""

    acks: int = ACKS_ALL
    enable_idempotence: bool = True
    compression: Codec = Codec.NONE
    max_request_bytes: int = 1_048_576
    max_block_ms: int = 60_000
    retries: int = 2**31 - 1
    #: None for records that count by themselves
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    limits: BatchLimits = field(default_factory=BatchLimits)

    @property
    def is_idempotent(self) -> bool:
        return self.enable_idempotence and self.acks == ACKS_ALL


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of one batch. With an ``error`` its records are given up; one or more may still be in the log."""

    where: TopicPartition
    #: of the first record; -1 if the broker does not say (acks=0, a duplicate)
    base_offset: int
    records: Sequence[Record]
    error: ClientError | None = None
    #: of its records, if they were handed over with any
    tags: Sequence[object] = ()


class BatchProducer:
    """Use as ``async with BatchProducer(cluster) as producer``; leaving it waits for what was sent.

    ``on_delivered`` is told of every batch, in the loop's thread; it must not raise. ``on_failed`` hears why nothing
    can be sent any more, ``on_abandoned`` that the loop is ending and nobody has called `stop`.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: ProducerSettings | None = None,
        *,
        on_delivered: Callable[[Delivered], None] | None = None,
        on_failed: Callable[[BaseException], None] | None = None,
        on_abandoned: Callable[[BaseException], None] | None = None,
        chance: Random | None = None,
    ) -> None:
        self._cluster = cluster
        self._settings = settings or ProducerSettings()
        self._on_delivered = on_delivered
        self._on_failed = on_failed
        self._on_abandoned = on_abandoned
        self._stopped = False
        limits = self._settings.limits
        self._batches = Accumulator(limits, numbered=self._settings.is_idempotent)
        self._partitioner = Partitioner(limits.batch_bytes, chance or new_chance())
        self._topics = dict[str, TopicInfo]()
        #: topics whose leaders have to be looked up again
        self._stale = set[str]()
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        self._flushing = 0
        self._requests = dict[asyncio.Task[None], None]()  # an ordered set
        self._requests_of = dict[int, int]()
        self._wake = asyncio.Event()
        #: set and replaced whenever a batch is settled, which makes room and may end a flush
        self._settled = asyncio.Event()
        #: why nothing can be sent any more
        self._failure: BaseException | None = None
        self._sender: asyncio.Task[None] | None = None
        self._transactions: Transactions | None = None
        if self._settings.transactional_id is not None:
            self._transactions = Transactions(
                cluster, self, self._settings.transactional_id, self._settings.transaction_timeout_ms
            )

    @property
    def transactions(self) -> Transactions:
        """Raises ``IllegalState`` without a transactional id."""
        if self._transactions is None:
            raise IllegalState("The producer has no transactional.id.")
        return self._transactions

    async def __aenter__(self) -> BatchProducer:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await self.flush()
        finally:
            await self.stop()

    def start(self) -> None:
        """Begin to send, in this loop; `stop` when done."""
        self._sender = asyncio.create_task(self._send_batches(), name="producer")
        self._sender.add_done_callback(self._finished)

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        headers: Sequence[RecordHeader] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        tag: object = None,
    ) -> None:
        """Hand a record over. Waits for metadata and for room, not for its delivery.

        Raises ``BrokerError`` for an unknown topic or partition or a record over ``max_request_bytes``, and
        ``RequestTimedOut`` if there is no room after ``max_block_ms``. With a transactional id there has to be a
        transaction, and one that can still be committed.
        """
        if self._transactions is not None:
            self._transactions.check_open()
        info = self._topics.get(topic) or await self.look_up(topic)
        timestamp_ms = wall_ms() if timestamp_ms is None else timestamp_ms
        record = Record(key, value, headers, timestamp_ms)
        size_bytes = record_bytes(record)
        if size_bytes > self._settings.max_request_bytes:
            limit = self._settings.max_request_bytes
            raise BrokerError(
                ErrorCode.MESSAGE_TOO_LARGE, f"record of {size_bytes} bytes, max.request.size is {limit}"
            )
        if partition is None:
            partition = self._partitioner.partition(topic, key, len(info.partitions), size_bytes)
        elif not 0 <= partition < len(info.partitions):
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Partition {topic}-{partition}")
        if not self._batches.has_room(size_bytes):
            await self._wait_room(size_bytes)
        if self._failure is not None:
            raise self._failure
        batch = self._batches.append(TopicPartition(topic, partition), record, size_bytes, _now_ms())
        if tag is not None:
            batch.tags.append(tag)
        if len(batch.records) == 1 or batch.size_bytes >= self._settings.limits.batch_bytes:
            self._wake.set()

    async def flush(self) -> None:
        """Wait until every record handed over is delivered or given up."""
        self._flushing += 1
        self._wake.set()
        try:
            while not self._batches.is_empty and self._failure is None:
                await self._settled.wait()
        finally:
            self._flushing -= 1
        if self._failure is not None and not self._batches.is_empty:
            raise self._failure

    def become(self, producer_id: int, producer_epoch: int) -> None:
        """Nothing is on its way: whatever is sent next comes from this producer, and is counted from 0."""
        self._producer_id, self._producer_epoch = producer_id, producer_epoch
        self._batches.renumbered()
        self._wake.set()

    async def drop_all(self, why: ClientError) -> None:
        """Gives up what has not left, and waits for what has, which may come back to be given up, too."""
        while not self._batches.is_empty and self._failure is None:
            self._drop(why)
            if not self._batches.is_empty:
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_BACKOFF_MS / 1000):
                        await self._settled.wait()

    def _drop(self, why: ClientError) -> None:
        for batch in self._batches.drop():
            self._tell(Delivered(batch.where, -1, batch.records, why, batch.tags))

    def hurry(self, change: int) -> None:
        """With 1 batches go out without lingering, until as many calls with -1."""
        self._flushing += change
        self._wake.set()

    async def stop(self) -> None:
        """What has not been delivered by now is forgotten; who still waits to hand something over is told."""
        self._stopped = True
        self._failure = self._failure or ConnectionLost("the producer was closed")
        self._announce()
        tasks = [*self._requests, *([self._sender] if self._sender else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def knows(self, topic: str) -> bool:
        """Whether a record to it need not wait until the cluster has told of it."""
        return topic in self._topics

    async def look_up(self, topic: str) -> TopicInfo:
        """Waits until there is such a topic. Raises ``BrokerError`` when there will be none."""
        found = (await self._cluster.topology([topic], auto_create=True)).topic(topic)
        self._topics[topic] = found
        return found

    async def _wait_room(self, size_bytes: int) -> None:
        try:
            async with asyncio.timeout(self._settings.max_block_ms / 1000):
                while not self._batches.has_room(size_bytes) and self._failure is None:
                    self._wake.set()
                    await self._settled.wait()
        except TimeoutError:
            raise RequestTimedOut(f"no room to send in {self._settings.max_block_ms} ms") from None

    # the sender

    async def _send_batches(self) -> None:
        while True:
            self._wake.clear()
            now_ms = _now_ms()
            for batch in self._batches.expired(now_ms):
                late = RequestTimedOut(f"{batch.where}: not delivered in {now_ms - batch.created_ms} ms")
                self._tell(Delivered(batch.where, -1, batch.records, late, batch.tags))
            if self._transactions is not None and (spoiled := self._transactions.spoiled) is not None:
                self._drop(TransactionAborted(f"the transaction cannot be committed: {spoiled}"))
            try:
                await self._renew_identity()
                await self._renew_leaders()
            except ClientError as failed:
                if isinstance(failed, AuthorizationFailed) and self._transactions is None:
                    self._drop(failed)  # the right may come back: what is handed over next asks anew
                    await self._wait_work(_now_ms())
                    continue
                if not failed.is_retriable:
                    self._fail(failed)
                    return
                await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
                continue
            dispatched_ms = _now_ms()  # looking up the leaders took its time
            self._dispatch(dispatched_ms)
            await self._wait_work(dispatched_ms)

    async def _wait_work(self, dispatched_ms: int) -> None:
        """Returns when something happened, or a batch is due that was not at ``dispatched_ms``."""
        due_ms = self._batches.next_ready_ms(dispatched_ms)
        timeout = None if due_ms is None else max(due_ms - _now_ms(), 1) / 1000
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _renew_identity(self) -> None:
        if not self._settings.is_idempotent or self._transactions is not None:
            return
        if self._producer_id != NO_PRODUCER_ID and not self._batches.must_renumber:
            return
        if self._producer_id == NO_PRODUCER_ID and self._batches.is_empty:
            return
        connection = await self._cluster.any_connection()
        keeps_id = connection.version_for(InitProducerIdRequest) >= 3  # KIP-360: same id, next epoch
        # Without a transactional id every broker hands out ids; Kafka's ask the controller for a block of them.
        answer = await connection.request(
            InitProducerIdRequest(
                transactional_id=None,
                transaction_timeout_ms=2**31 - 1,
                producer_id=self._producer_id if keeps_id else NO_PRODUCER_ID,
                producer_epoch=self._producer_epoch if keeps_id else NO_PRODUCER_EPOCH,
            ),
            InitProducerIdResponse,
            timeout_ms=self._cluster.request_timeout_ms,
        )
        if answer.error_code:
            right = "write idempotently to any topic (WRITE of one, or IDEMPOTENT_WRITE of the cluster)"
            raise refusal(answer.error_code, None, right, self._cluster.security.user)
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._batches.renumbered()

    async def _renew_leaders(self) -> None:
        if not self._stale:
            return
        found = await self._cluster.fetch_topology(sorted(self._stale))
        self._topics.update(found.topics)
        self._stale.clear()

    def _dispatch(self, now_ms: int) -> None:
        """Send what is ready: to each leader in one request, as long as it has requests to spare."""
        while True:
            by_leader = dict[int, list[Batch]]()
            for batch in self._batches.ready(now_ms, flush=self._flushing > 0):
                leader = self._leader(batch.where)
                if leader is None:
                    self._stale.add(batch.where.topic)
                    self._batches.take(batch)
                    self._try_again(batch, in_doubt=False)
                elif self._requests_of.get(leader, 0) < self._settings.limits.in_flight:
                    by_leader.setdefault(leader, []).append(batch)
            if not by_leader:
                return
            for leader, batches in by_leader.items():
                chosen = fit(batches, self._settings.max_request_bytes)
                for batch in chosen:
                    self._batches.take(batch)
                self._requests_of[leader] = self._requests_of.get(leader, 0) + 1
                task = asyncio.create_task(self._deliver(leader, chosen))
                self._requests[task] = None
                task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """A task that broke instead of ending leaves batches unsettled: say so rather than wait for ever."""
        self._requests.pop(task, None)
        if task.cancelled() and task is self._sender and not self._stopped and self._on_abandoned is not None:
            self._on_abandoned(ConnectionLost("the event loop ended before the producer was closed"))
        if not task.cancelled() and (broken := task.exception()) is not None:
            self._fail(broken)

    def _leader(self, where: TopicPartition) -> int | None:
        info = self._topics.get(where.topic)
        if info is None or where.partition >= len(info.partitions):
            return None
        leader = info.partitions[where.partition].leader
        return leader if leader >= 0 else None

    async def _deliver(self, leader: int, batches: list[Batch]) -> None:
        """One produce request and what follows from its answer, or from there being none."""
        try:
            connection = await self._cluster.connection(leader)
            if self._transactions is not None:
                await self._transactions.join({batch.where for batch in batches})
            batches = [batch for batch in batches if not self._batches.holds_back(batch)]
            encoded = self._encode_all(batches)
            batches = list(encoded)
            if not batches:
                return
            answers = await self._produce(connection, encoded)
            for batch in batches:
                self._settle(batch, answers.get(batch.where))
        except ClientError as failed:
            for batch in batches:
                self._stale.add(batch.where.topic)
                if failed.is_retriable:
                    self._try_again(batch, in_doubt=True)
                else:
                    self._give_up(batch, failed)
        finally:
            self._requests_of[leader] -= 1
            self._wake.set()

    async def _produce(
        self, connection: Connection, batches: Mapping[Batch, bytearray]
    ) -> dict[TopicPartition, PartitionProduceResponse]:
        request = ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._cluster.request_timeout_ms,
            topic_data=self._topic_data(batches),
        )
        if self._settings.acks == 0:
            await connection.tell(request)
            return {
                b.where: PartitionProduceResponse(index=b.where.partition, base_offset=-1) for b in batches
            }
        answer = await connection.request(
            request, ProduceResponse, timeout_ms=self._cluster.request_timeout_ms + 1_000
        )
        names = {self._topics[b.where.topic].topic_id: b.where.topic for b in batches}
        return {
            TopicPartition(topic.name or names.get(topic.topic_id, ""), partition.index): partition
            for topic in answer.responses
            for partition in topic.partition_responses
        }

    def _topic_data(self, batches: Mapping[Batch, bytearray]) -> list[TopicProduceData]:
        by_topic = dict[str, list[PartitionProduceData]]()
        for batch, encoded in batches.items():
            data = PartitionProduceData(index=batch.where.partition, records=encoded)
            by_topic.setdefault(batch.where.topic, []).append(data)
        return [
            TopicProduceData(name=name, topic_id=self._topic_id(name), partition_data=data)
            for name, data in by_topic.items()
        ]

    def _topic_id(self, name: str) -> UUID:
        return self._topics[name].topic_id

    def _encode_all(self, batches: list[Batch]) -> dict[Batch, bytearray]:
        """Those of the batches that can be written. What cannot be is the end of its records, and of no others."""
        encoded = dict[Batch, bytearray]()
        for batch in batches:
            try:
                encoded[batch] = self._encode(batch, batch.records)
            except Exception as broken:  # noqa: BLE001 - whatever was handed over, it is in this batch alone
                self._leave_out_unwritable(batch, broken)
        return encoded

    def _leave_out_unwritable(self, batch: Batch, broken: Exception) -> None:
        """The records at fault are given up, the others go once more: the batch has never left."""
        wrong = [at for at, record in enumerate(batch.records) if not self._is_writable(batch, record)]
        error = Unwritable(f"{batch.where}: {type(broken).__name__}: {broken}")
        error.__cause__ = broken
        if not wrong or len(wrong) == len(batch.records):
            self._give_up(batch, error)
            return
        records, tags = self._batches.leave_out(batch, wrong)
        self._batches.retry(batch, _now_ms(), may_be_written=False)
        self._batches.ask_renumbering()  # numbers were given to what will not come
        self._tell(Delivered(batch.where, -1, records, error, tags))

    def _is_writable(self, batch: Batch, record: Record) -> bool:
        try:
            self._encode(batch, [record])
        except Exception:  # noqa: BLE001 - the same as broke the batch
            return False
        return True

    def _encode(self, batch: Batch, records: Sequence[Record]) -> bytearray:
        return build_batch(
            records,
            codec=self._settings.compression,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=self._transactions is not None,
        )

    # outcomes

    def _settle(self, batch: Batch, answer: PartitionProduceResponse | None) -> None:
        if answer is None:
            self._give_up(
                batch, BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{batch.where}: not in the answer")
            )
            return
        code = answer.error_code
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._batches.settle(batch, written=True)
            self._tell(Delivered(batch.where, answer.base_offset, batch.records, tags=batch.tags))
        elif (
            code in _LOST_COUNT
            and self._settings.is_idempotent
            and not (self._transactions is not None and self._is_oldest(batch))
        ):
            if self._may_try_again(batch):
                self._batches.retry_lost_count(batch, self._retry_at_ms(batch))
        elif (failed := self._refusal(batch, code, answer.error_message)).is_retriable:
            self._stale.add(batch.where.topic)
            self._try_again(batch, in_doubt=code in _IN_DOUBT)
        else:
            self._give_up(batch, failed)

    def _is_oldest(self, batch: Batch) -> bool:
        """Of a transaction: no older batch explains why the broker counts otherwise, so the transaction is spoiled."""
        return not self._batches.follows_another(batch)

    def _refusal(self, batch: Batch, code: int, message: str | None) -> BrokerError:
        return refusal(code, message, f"WRITE topic '{batch.where.topic}'", self._cluster.security.user)

    def _try_again(self, batch: Batch, *, in_doubt: bool) -> None:
        if self._may_try_again(batch):
            in_doubt = in_doubt or batch.may_be_written
            self._batches.retry(batch, self._retry_at_ms(batch), may_be_written=in_doubt)

    def _may_try_again(self, batch: Batch) -> bool:
        """Whether it has tries left; if not it is given up."""
        if batch.tries > self._settings.retries:
            self._give_up(batch, RequestTimedOut(f"{batch.where}: given up after {batch.tries} tries"))
            return False
        self._wake.set()
        return True

    def _retry_at_ms(self, batch: Batch) -> int:
        return _now_ms() + min(RETRY_BACKOFF_MS << min(batch.tries - 1, 10), RETRY_BACKOFF_MAX_MS)

    def _give_up(self, batch: Batch, error: ClientError) -> None:
        self._batches.settle(batch, written=False)
        self._tell(Delivered(batch.where, -1, batch.records, error, batch.tags))
        if isinstance(error, UnsupportedVersion):
            self._fail(error)

    def _tell(self, delivered: Delivered) -> None:
        if self._transactions is not None and delivered.error is not None:
            self._transactions.failed(delivered.error)
        if self._on_delivered is not None:
            self._on_delivered(delivered)
        self._announce()

    def _fail(self, why: BaseException) -> None:
        """Nothing can be sent any more, and what waits will not be."""
        self._failure = self._failure or why
        if self._on_failed is not None:
            self._on_failed(why)
        self._announce()

    def _announce(self) -> None:
        self._settled.set()
        self._settled = asyncio.Event()
