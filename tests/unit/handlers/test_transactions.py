"""Transactions through the wire: from an id to a producer, to records that count together or not at all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from broker_in_a_box import Box, in_a_box, run, until_quiet

from handlers.test_produce import a_topic, asked
from leaselog.coordination.transaction_commands import AbortOverdue
from leaselog.log import PartitionLog
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from leaselog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from leaselog.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from leaselog.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from leaselog.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from leaselog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from leaselog.wire.messages.produce import ProduceResponse
from leaselog.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from leaselog.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from leaselog.wire.records import Record, build_batch

ONE = {"transaction_state_log_num_partitions": "1", "offsets_topic_num_partitions": "1"}
TRANSACTION_KEY, GROUP_KEY = 1, 0
#: the newest versions, and those of clients of before KIP-890
NEW, OLD = True, False


@dataclass(slots=True)
class Producer:
    """As a client would be: it keeps what it was told of itself."""

    box: Box
    new: bool = NEW
    name: str = "id"
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[int, int] = field(default_factory=dict)

    async def init(self, *, continues: bool = False) -> int:
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=60_000)
        if continues:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        answer = await self.box.ask(request, InitProducerIdResponse, 5)
        if not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer.error_code

    async def add(self, *indexes: int, topic: str = "t") -> int:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=indexes)],
        )
        answer = await self.box.ask(request, AddPartitionsToTxnResponse, 3)
        return answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code

    async def produce(self, index: int = 0, *, version: int | None = None) -> int:
        batch = build_batch(
            [Record(b"k", b"v", timestamp_ms=self.box.broker.now_ms())],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequences.get(index, 0),
            is_transactional=True,
        )
        request = asked((index, bytes(batch)), transactional_id=self.name)
        answer = await self.box.ask(request, ProduceResponse, version or (12 if self.new else 9))
        code = answer.responses[0].partition_responses[0].error_code
        self.sequences[index] = self.sequences.get(index, 0) + (not code)
        return code

    async def commit_offset(self, offset: int, group: str = "g") -> int:
        topics = [
            TxnOffsetCommitRequestTopic(
                name="t",
                partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)],
            )
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=topics,
        )
        answer = await self.box.ask(request, TxnOffsetCommitResponse, 5 if self.new else 3)
        return answer.topics[0].partitions[0].error_code

    async def add_offsets(self, group: str = "g") -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        return (await self.box.ask(request, AddOffsetsToTxnResponse, 3)).error_code

    async def end(self, *, commit: bool) -> int:
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        answer = await self.box.ask(request, EndTxnResponse, 5 if self.new else 3)
        if self.new and not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer.error_code


async def find(box: Box, key_type: int = TRANSACTION_KEY, key: str = "id") -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    answer = await box.ask(request, FindCoordinatorResponse, 4)
    assert answer.coordinators[0].error_code == 0


async def a_producer(box: Box, *, new: bool = NEW, name: str = "id") -> Producer:
    await find(box)
    await find(box, GROUP_KEY, "g")
    producer = Producer(box, new, name)
    assert await producer.init() == 0
    return producer


async def committed(
    box: Box, *, stable: bool = False, group: str = "g", everything: bool = False
) -> tuple[int, int]:
    topics = None if everything else [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=stable
    )
    answer = await box.ask(request, OffsetFetchResponse, 9)
    found = answer.groups[0].topics[0].partitions[0]
    return found.error_code, found.committed_offset


async def commit_plainly(box: Box, offset: int) -> int:
    topics = [
        OffsetCommitRequestTopic(
            name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
        )
    ]
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=topics)
    answer = await box.ask(request, OffsetCommitResponse, 9)
    return answer.topics[0].partitions[0].error_code


def log_of(box: Box, topic: str = "t", index: int = 0) -> PartitionLog:
    partition = box.broker.logs.partition(topic, index)
    assert partition is not None
    return partition.log


def markers(box: Box, index: int = 0) -> int:
    """Offsets that no record of the tests took."""
    return log_of(box, index=index).end_offset


async def state(box: Box, name: str = "id") -> str:
    request = DescribeTransactionsRequest(transactional_ids=[name])
    answer = await box.ask(request, DescribeTransactionsResponse, 0)
    return answer.transaction_states[0].transaction_state


@pytest.mark.parametrize("new", [NEW, OLD])
@pytest.mark.parametrize("commit", [True, False])
def test_what_was_written_in_several_partitions_ends_in_all_of_them(commit: bool, new: bool) -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box, new=new)
            for _ in range(2):
                if not new:
                    assert await producer.add(0, 1) == 0
                assert [await producer.produce(0), await producer.produce(1)] == [0, 0]
                assert log_of(box).last_stable_offset < log_of(box).high_watermark
                assert await producer.end(commit=commit) == 0
                await until_quiet()
                for index in (0, 1):
                    log = log_of(box, index=index)
                    assert log.last_stable_offset == log.high_watermark
                    assert len(log.aborted_in(0, log.end_offset)) == (0 if commit else log.end_offset // 2)
                assert await state(box) == ("CompleteCommit" if commit else "CompleteAbort")
            assert (markers(box, 0), markers(box, 1)) == (4, 4)

    run(body())


def test_an_end_raises_the_epoch_and_what_was_sent_before_it_is_kept_out() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert await producer.produce() == 0
            late = Producer(box, NEW, "id", producer.producer_id, producer.epoch, {0: 1})
            assert await producer.end(commit=True) == 0
            assert producer.epoch == late.epoch + 1
            await until_quiet()
            assert await late.produce() == ErrorCode.INVALID_PRODUCER_EPOCH
            assert await late.commit_offset(5) == ErrorCode.INVALID_PRODUCER_EPOCH
            assert log_of(box).end_offset == 2

    run(body())


def test_the_next_transaction_waits_for_the_end_of_the_one_before() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            for _ in range(3):
                assert await producer.produce() == 0
                assert await producer.end(commit=True) == 0
            await until_quiet()
            assert log_of(box).end_offset == 6

    run(body())


def test_a_batch_outside_of_its_transaction_is_refused_and_hangs_nowhere() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box, new=OLD)
            assert await producer.produce(version=10) == ErrorCode.INVALID_TXN_STATE
            assert await producer.produce(version=11) == ErrorCode.TRANSACTION_ABORTABLE
            assert await producer.add(1) == 0
            assert await producer.produce(0, version=11) == ErrorCode.TRANSACTION_ABORTABLE
            assert await producer.produce(1, version=11) == 0
            assert await producer.end(commit=True) == 0
            await until_quiet()
            # A request of the transaction that has ended comes late: the old client keeps its epoch.
            assert await producer.produce(1, version=11) == ErrorCode.TRANSACTION_ABORTABLE
            assert [log_of(box, index=index).end_offset for index in (0, 1)] == [0, 2]

    run(body())


def test_without_verification_an_old_batch_is_written_as_it_comes() -> None:
    async def body() -> None:
        async with in_a_box(transaction_partition_verification_enable="false", **ONE) as box:
            await a_topic(box)
            producer = await a_producer(box, new=OLD)
            assert await producer.produce(version=11) == 0

    run(body())


def test_a_batch_of_a_transaction_needs_a_transactional_id() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            producer.name = ""
            assert await producer.produce() == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    run(body())


def test_a_second_producer_fences_the_first_and_aborts_what_it_has_begun() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            first = await a_producer(box)
            assert await first.produce() == 0
            second = Producer(box)
            assert await second.init() == ErrorCode.CONCURRENT_TRANSACTIONS
            await until_quiet()
            assert await second.init() == 0
            assert await first.produce() == ErrorCode.INVALID_PRODUCER_EPOCH
            assert await first.end(commit=True) == ErrorCode.PRODUCER_FENCED
            assert len(log_of(box).aborted_in(0, 9)) == 1

    run(body())


def test_a_producer_goes_on_after_an_error() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            producer = await a_producer(box)
            assert await producer.init(continues=True) == 0
            assert producer.epoch == 1
            zombie = Producer(box, NEW, "id", producer.producer_id, 5)
            assert await zombie.init(continues=True) == ErrorCode.PRODUCER_FENCED

    run(body())


def test_an_overdue_transaction_is_aborted_by_the_coordinator() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert await producer.produce() == 0
            now_ms = box.broker.runtime.now_ms
            box.broker.runtime.now_ms = lambda: now_ms() + 61_000  # type: ignore[method-assign]
            box.broker.transactions._owners.made()[0]._now_ms = box.broker.runtime.now_ms
            await box.broker.transactions.upkeep(AbortOverdue())
            await until_quiet()
            assert await state(box) == "CompleteAbort"
            assert log_of(box).last_stable_offset == 2
            assert await producer.end(commit=True) != 0

    run(body())


def test_a_deleted_topic_needs_no_marker() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            topic_id: Any = await a_topic(box)
            producer = await a_producer(box)
            assert await producer.produce() == 0
            await box.broker.cluster.delete_topics([topic_id])
            assert await producer.end(commit=True) == 0
            await until_quiet()
            assert await state(box) == "CompleteCommit"

    run(body())


def test_all_or_none_of_the_partitions_of_a_request_are_added() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            request = AddPartitionsToTxnRequest(
                transactions=[
                    AddPartitionsToTxnTransaction(
                        transactional_id="id",
                        producer_id=producer.producer_id,
                        producer_epoch=producer.epoch,
                        topics=[AddPartitionsToTxnTopic(name="t", partitions=[0, 9])],
                    ),
                    AddPartitionsToTxnTransaction(
                        transactional_id="id",
                        producer_id=producer.producer_id,
                        producer_epoch=producer.epoch,
                        verify_only=True,
                        topics=[AddPartitionsToTxnTopic(name="t", partitions=[0, 9])],
                    ),
                ]
            )
            answer = await box.ask(request, AddPartitionsToTxnResponse, 5)
            found = [
                [p.partition_error_code for topic in result.topic_results for p in topic.results_by_partition]
                for result in answer.results_by_transaction
            ]
            assert found == [
                [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
                [ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
            ]
            assert await state(box) == "Empty"

    run(body())


# Offsets


@pytest.mark.parametrize("new", [NEW, OLD])
@pytest.mark.parametrize(("commit", "offset"), [(True, 7), (False, 3)])
def test_offsets_count_with_their_transaction(commit: bool, offset: int, new: bool) -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box, new=new)
            assert await commit_plainly(box, 3) == 0
            if not new:
                assert await producer.commit_offset(7) == ErrorCode.INVALID_TXN_STATE
                assert await producer.add_offsets() == 0
            assert await producer.commit_offset(7) == 0
            assert await committed(box) == (0, 3)
            unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT, -1
            assert await committed(box, stable=True) == unstable
            assert await committed(box, stable=True, everything=True) == unstable
            assert await producer.end(commit=commit) == 0
            await until_quiet()
            assert await committed(box, stable=True) == (0, offset)

    run(body())


def test_an_offset_that_was_committed_meanwhile_stays() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert await producer.commit_offset(7) == 0
            assert await commit_plainly(box, 9) == 0
            assert await producer.end(commit=True) == 0
            await until_quiet()
            assert await committed(box, stable=True) == (0, 9)

    run(body())


def test_a_group_that_is_deleted_takes_pending_offsets_along() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert await producer.commit_offset(7) == 0
            gone = await box.ask(DeleteGroupsRequest(groups_names=["g"]), DeleteGroupsResponse, 2)
            assert gone.results[0].error_code == 0
            assert await producer.end(commit=True) == 0
            await until_quiet()
            assert await committed(box, stable=True) == (0, -1)

    run(body())


# Restarts


@pytest.mark.parametrize("commit", [True, False])
def test_pending_offsets_and_their_end_are_read_back(tmp_path: Path, commit: bool) -> None:
    async def body() -> None:
        async with in_a_box(str(tmp_path / "data"), **ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert await producer.commit_offset(7) == 0
            told = producer.producer_id, producer.epoch
        async with in_a_box(str(tmp_path / "data"), **ONE) as box:
            await box.broker.groups.start()
            await box.broker.transactions.start()
            assert await committed(box, stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
            assert await Producer(box, NEW, "id", *told).end(commit=commit) == 0
            await until_quiet()
        async with in_a_box(str(tmp_path / "data"), **ONE) as box:
            await box.broker.groups.start()
            await box.broker.transactions.start()
            assert await committed(box, stable=True) == (0, 7 if commit else -1)

    run(body())


@pytest.mark.parametrize("commit", [True, False])
def test_a_decision_whose_markers_are_missing_is_carried_out_at_the_next_start(
    tmp_path: Path, commit: bool
) -> None:
    async def body() -> None:
        async with in_a_box(str(tmp_path / "data"), **ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert [
                await producer.produce(0),
                await producer.produce(1),
                await producer.commit_offset(7),
            ] == [0] * 3

            owner = box.broker.transactions._owners.made()[0]
            owner._write_markers = _never
            assert await producer.end(commit=commit) == 0
            half = box.broker.logs.partition("t", 0)
            assert half is not None
            await half.write_marker(
                producer.producer_id, 1, 0, commit, now_ms=box.broker.now_ms(), transaction_version=2
            )
            owner.stop()
        async with in_a_box(str(tmp_path / "data"), **ONE) as box:
            await box.broker.groups.start()
            await box.broker.transactions.start()
            await until_quiet()
            assert await state(box) == ("CompleteCommit" if commit else "CompleteAbort")
            assert await committed(box, stable=True) == (0, 7 if commit else -1)
            for index in (0, 1):
                log = log_of(box, index=index)
                assert log.last_stable_offset == log.high_watermark
                assert len(log.aborted_in(0, 9)) == (not commit)

    run(body())


async def _never(_: object) -> None:
    await asyncio.Event().wait()


# Administration


def test_markers_from_outside_end_what_hangs() -> None:
    async def body() -> None:
        async with in_a_box(transaction_partition_verification_enable="false", **ONE) as box:
            await a_topic(box)
            producer = await a_producer(box, new=OLD)
            assert await producer.produce(version=11) == 0
            marker = WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0, 9])],
            )
            request = WriteTxnMarkersRequest(markers=[marker])
            answer = await box.ask(request, WriteTxnMarkersResponse, 1)
            codes = [p.error_code for p in answer.markers[0].topics[0].partitions]
            assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            assert log_of(box).last_stable_offset == 2
            assert len(log_of(box).aborted_in(0, 2)) == 1

    run(body())


def test_transactions_are_described_and_listed() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            await a_producer(box, name="other")
            assert await producer.produce(1) == 0
            request = DescribeTransactionsRequest(transactional_ids=["id", "nope", ""])
            answer = await box.ask(request, DescribeTransactionsResponse, 0)
            found, unknown, empty = answer.transaction_states
            assert (found.transaction_state, found.producer_epoch) == ("Ongoing", 0)
            assert [(topic.topic, list(topic.partitions)) for topic in found.topics] == [("t", [1])]
            assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            assert empty.error_code == ErrorCode.INVALID_REQUEST

            async def listed(**filters: Any) -> tuple[int, list[str], list[str]]:
                request = ListTransactionsRequest(**filters)
                answer = await box.ask(request, ListTransactionsResponse, 2)
                names = sorted(state.transactional_id for state in answer.transaction_states)
                return answer.error_code, names, list(answer.unknown_state_filters)

            assert await listed() == (0, ["id", "other"], [])
            assert await listed(state_filters=["Ongoing", "Odd"]) == (0, ["id"], ["Odd"])
            assert await listed(state_filters=["Odd"]) == (0, [], ["Odd"])
            assert await listed(producer_id_filters=[producer.producer_id]) == (0, ["id"], [])
            assert await listed(state_filters=["Ongoing"], duration_filter=100_000) == (0, [], [])
            assert await listed(transactional_id_pattern="o.*r") == (0, ["other"], [])
            bad = await listed(transactional_id_pattern="(ab")
            assert bad == (ErrorCode.INVALID_REGULAR_EXPRESSION, [], [])

    run(body())


def test_a_partition_of_the_offsets_topic_is_in_the_transaction_by_its_first_commit() -> None:
    async def body() -> None:
        async with in_a_box(**ONE) as box:
            await a_topic(box)
            producer = await a_producer(box)
            assert await producer.commit_offset(1) == 0
            known = box.broker.transactions.find(producer.name)  # type: ignore[arg-type]
            assert known is not None
            assert known.partitions == {TopicPartition("__consumer_offsets", 0)}

    run(body())
