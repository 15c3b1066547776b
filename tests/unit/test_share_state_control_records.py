"""Share state as control records in the topic's own log: the worked example of KIP-932, record by record, and what
has to hold around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box

from leaselog.broker.broker import Broker
from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.broker.records.partition import Partition
from leaselog.broker.share_state.colocated_persister import ColocatedPersister
from leaselog.broker.share_state.control_records import (
    ControlTrail,
    ShareCheckpointValue,
    ShareDeltaValue,
    decode_control_fact,
    encode_control_fact,
)
from leaselog.broker.share_state.ledger import read_back
from leaselog.broker.share_state.owner import ShareStateCounts
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import (
    DeleteState,
    InitializeState,
    ReadState,
    ShareSummary,
    StateRead,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import (
    ShareDropped,
    ShareFact,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.coordination.share_state_shard import ShareStateLimits
from leaselog.model import GroupId, TopicId
from leaselog.wire.codec import decode
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

AVAILABLE, ACKNOWLEDGED = 0, 2
TOPIC = TopicId(UUID(int=9))
KEY = SharePartitionKey(GroupId("G1"), TOPIC, 0)


def on_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


async def topic_in(box: Box, records: int) -> tuple[SharePartitionKey, Partition]:
    """A topic with that many records, and its partition as a group sees it."""
    created = (await box.broker.cluster.create_topics([NewTopic("t", 1, 1)]))[0]
    assert isinstance(created, CreatedTopic)
    if records:
        await box.append("t", *range(1, records + 1))
    partition = box.broker.logs.partition("t", 0)
    assert partition is not None
    return SharePartitionKey(GroupId("G1"), created.topic.topic_id, 0), partition


def colocated_persister(broker: Broker, limits: ShareStateLimits) -> ColocatedPersister:
    return ColocatedPersister(broker.runtime, broker.cluster, broker.logs, ShareStateCounts(), limits)


def control_records(partition: Partition, start: int = 0) -> list[tuple[Any, ...]]:
    """What a reader of the KIP sees: type, offset, epoch, then SPSO and SPEO or the back offset, then the states."""
    seen: list[tuple[Any, ...]] = []
    for step in read_back(partition.log, lambda header: header.is_control, start):
        for record in step:
            assert record.key is not None
            assert record.value is not None
            if record.key == pack(">hh", 0, 5):
                c = decode(ShareCheckpointValue, 0, record.value, 2)
                assert c.group_id == "G1"
                told = (c.start_offset, c.end_offset)
                seen.append(("CHECKPOINT", record.offset, c.checkpoint_epoch, *told, states(c.states)))
            else:
                assert record.key == pack(">hh", 0, 6)
                d = decode(ShareDeltaValue, 0, record.value, 2)
                assert d.group_id == "G1"
                seen.append(("DELTA", record.offset, d.checkpoint_epoch, d.back_offset, states(d.states)))
    return seen


def states(found: Any) -> list[tuple[int, int, int, int]]:
    return [(s.base_offset, s.last_offset, s.state, s.delivery_count) for s in found]


def span(first: int, last: int, state: int, count: int) -> tuple[StateBatch, ...]:
    return (StateBatch(first, last + 1, state, count),)


#: what the share machine persists in the KIP's example, and the record it leads to
EXAMPLE: list[tuple[int, tuple[StateBatch, ...], tuple[Any, ...]]] = [
    # acknowledge 100-109
    (110, span(100, 109, ACKNOWLEDGED, 1), ("DELTA", 131, 1, 130, [(100, 109, 2, 1)])),
    # release 110
    (-1, span(110, 110, AVAILABLE, 1), ("DELTA", 132, 1, 131, [(110, 110, 0, 1)])),
    # acknowledge 119: of 111-118 nothing was told yet
    (
        -1,
        span(119, 119, ACKNOWLEDGED, 1),
        ("DELTA", 133, 1, 132, [(111, 118, 0, 0), (119, 119, 2, 1)]),
    ),
    # the locks of 111 and 112 elapse
    (-1, span(111, 112, AVAILABLE, 1), ("DELTA", 134, 1, 133, [(111, 112, 0, 1)])),
    # acknowledge 113-118
    (-1, span(113, 118, ACKNOWLEDGED, 1), ("DELTA", 135, 1, 134, [(113, 118, 2, 1)])),
    # acknowledge 110, delivered again
    (111, span(110, 110, ACKNOWLEDGED, 2), ("DELTA", 136, 1, 135, [(110, 110, 2, 2)])),
    # acknowledge 111 and 112, delivered again
    (120, span(111, 112, ACKNOWLEDGED, 2), ("DELTA", 137, 1, 136, [(111, 112, 2, 2)])),
]
#: where the KIP's own first row has a start of 110, against its text, its first example and its next row
FIRST = ("CHECKPOINT", 130, 1, 100, 100, [])
ALTERNATIVE = ("CHECKPOINT", 137, 2, 120, 120, [])


async def play(persister: ColocatedPersister, key: SharePartitionKey) -> None:
    assert await persister.initialize(InitializeState(key, 0, 100)) == Written()
    for start, batches, _ in EXAMPLE:
        assert await persister.write(WriteState(key, 0, 0, start, batches=batches)) == Written()


@on_a_loop
async def test_the_kips_worked_example_record_by_record() -> None:
    async with in_a_box() as box:
        key, partition = await topic_in(box, 130)
        persister = colocated_persister(box.broker, ShareStateLimits())
        await play(persister, key)
        assert control_records(partition) == [FIRST, *(row[2] for row in EXAMPLE)]
        assert await persister.read(ReadState(key)) == StateRead(0, 120)


@on_a_loop
async def test_the_kips_alternative_end_is_a_new_checkpoint() -> None:
    async with in_a_box() as box:
        key, partition = await topic_in(box, 130)
        limits = ShareStateLimits(snapshot_update_records_per_snapshot=len(EXAMPLE) - 1)
        await play(colocated_persister(box.broker, limits), key)
        assert control_records(partition) == [FIRST, *(row[2] for row in EXAMPLE[:-1]), ALTERNATIVE]


@on_a_loop
async def test_at_every_row_of_the_example_a_new_leader_finds_what_the_old_one_knew() -> None:
    async with in_a_box() as box:
        key, _ = await topic_in(box, 130)
        persister = colocated_persister(box.broker, ShareStateLimits())
        await persister.initialize(InitializeState(key, 0, 100))
        for start, batches, _ in EXAMPLE:
            await persister.write(WriteState(key, 0, 0, start, 3, batches))
            again = colocated_persister(box.broker, ShareStateLimits())
            assert await again.read(ReadState(key)) == await persister.read(ReadState(key))
            assert await again.read_summary(SummarizeState(key)) == await persister.read_summary(
                SummarizeState(key)
            )


@on_a_loop
async def test_producers_may_write_in_between() -> None:
    async with in_a_box() as box:
        key, partition = await topic_in(box, 10)
        persister = colocated_persister(box.broker, ShareStateLimits())
        await persister.initialize(InitializeState(key, 0, 0))
        for i in range(5):
            writing = persister.write(WriteState(key, 0, 0, batches=span(2 * i, 2 * i, ACKNOWLEDGED, 1)))
            await box.append("t", 1, 2, 3)
            assert await writing == Written()
        deltas = control_records(partition)[1:]
        assert [delta[3] for delta in deltas] == [10, *(delta[1] for delta in deltas[:-1])]
        again = colocated_persister(box.broker, ShareStateLimits())
        found = await again.read(ReadState(key))
        assert found == StateRead(0, 0, tuple(span(2 * i, 2 * i, ACKNOWLEDGED, 1)[0] for i in range(5)))


@on_a_loop
async def test_epochs_and_counts_are_there_for_a_new_leader() -> None:
    async with in_a_box() as box:
        key, _ = await topic_in(box, 0)
        persister = colocated_persister(box.broker, ShareStateLimits())
        await persister.initialize(InitializeState(key, 4, 7))
        await persister.read(ReadState(key, 2))
        await persister.write(WriteState(key, 4, 2, 9, 5))
        again = colocated_persister(box.broker, ShareStateLimits())
        assert await again.read_summary(SummarizeState(key)) == ShareSummary(4, 2, 9, 5)


@on_a_loop
async def test_a_deleted_state_stays_deleted() -> None:
    async with in_a_box() as box:
        key, _ = await topic_in(box, 0)
        persister = colocated_persister(box.broker, ShareStateLimits())
        await persister.initialize(InitializeState(key, 0, 7))
        await persister.delete(DeleteState(key))
        again = colocated_persister(box.broker, ShareStateLimits())
        assert await again.read_summary(SummarizeState(key)) == ShareSummary()


@on_a_loop
async def test_before_a_checkpoint_is_cut_off_it_is_written_anew() -> None:
    async with in_a_box() as box:
        key, partition = await topic_in(box, 10)
        persister = colocated_persister(box.broker, ShareStateLimits())
        await persister.initialize(InitializeState(key, 1, 7))
        await persister.write(WriteState(key, 1, 0, 8, 5, span(8, 9, AVAILABLE, 2)))
        before = partition.log.end_offset
        await persister.keep_house()
        assert await persister.make_way(partition, 10)
        assert partition.log.end_offset == before  # all is there and young
        someone_else = colocated_persister(
            box.broker, ShareStateLimits()
        )  # who never asked about this partition
        assert await someone_else.make_way(partition, before)
        partition.log.delete_records(before)
        assert control_records(partition) == [("CHECKPOINT", before, 2, 8, 10, [(8, 9, 0, 2)])]
        again = colocated_persister(box.broker, ShareStateLimits())
        assert await again.read_summary(SummarizeState(key)) == ShareSummary(1, 0, 8, 5)


@on_a_loop
async def test_a_log_is_not_cut_if_its_checkpoint_cannot_be_written_anew() -> None:
    async with in_a_box() as box:
        key, partition = await topic_in(box, 10)
        persister = colocated_persister(box.broker, ShareStateLimits())
        box.broker.logs.may_cut = persister.make_way
        await persister.initialize(InitializeState(key, 1, 7))
        partition.log.failure = OSError("no room")
        assert await box.broker.logs.make_way(partition, partition.log.end_offset) is False


@pytest.mark.parametrize(
    "fact",
    [
        ShareSnapshot(KEY, 0, 0, 0, 100, 0, 77, 77),
        ShareSnapshot(KEY, 3, 5, 6, -1, -1, 50, 77, span(3, 9, 2, 1) + span(20, 29, 4, 5)),
        ShareUpdate(KEY, 0, 0),
        ShareUpdate(KEY, 3, 6, 12, 9, span(110, 119, 0, 1) + span(130, 139, 2, 1)),
        ShareDropped(KEY),
    ],
)
def test_what_is_written_is_read(fact: ShareFact) -> None:
    record = encode_control_fact(fact, ControlTrail(1, 2, 100), 77)
    assert decode_control_fact(record, TOPIC, 0) == fact


def test_the_bytes_are_the_kips() -> None:
    fact = ShareUpdate(KEY, 0, 0, batches=span(110, 110, AVAILABLE, 1))
    record = encode_control_fact(fact, ControlTrail(130, 131, 110), 77)
    state = pack(">qqbh", 110, 110, 0, 1)
    assert record.key == pack(">hh", 0, 6)
    assert record.value == b"\x00\x00" + b"\x00\x02G1" + pack(">Hqi", 1, 131, 1) + state
    assert record.headers == ()
    snapshot = encode_control_fact(ShareSnapshot(KEY, 0, 0, 0, 100, -1, 77, 77), None, 77)
    assert snapshot.key == pack(">hh", 0, 5)
    assert snapshot.value == b"\x00\x00" + b"\x00\x02G1" + pack(">Hqqi", 1, 100, 100, 0)


def test_checkpoint_epochs_are_of_16_bits() -> None:
    fact = ShareSnapshot(KEY, 65_535, 0, 0, 0, 0, 77, 77)
    assert decode_control_fact(encode_control_fact(fact, None, 77), TOPIC, 0) == fact


def test_a_control_record_of_another_kind_is_passed_over() -> None:
    assert decode_control_fact(Record(pack(">hh", 0, 1), b"whatever"), TOPIC, 0) is None


@pytest.mark.parametrize(
    "record",
    [
        Record(None, b""),
        Record(b"\x00", b""),
        Record(pack(">hh", 0, 5), None),
        Record(pack(">hh", 0, 5), b"\x00\x01"),
        Record(pack(">hh", 0, 6), b"\x00\x00\x00"),
        Record(pack(">hh", 0, 6), b"\x00\x00\x00\x02G1" + pack(">Hqi", 1, 131, 0), (("start-offset", b"x"),)),
    ],
)
def test_bytes_that_are_no_fact_raise_the_wires_error(record: Record) -> None:
    with pytest.raises(DecodeError):
        decode_control_fact(record, TOPIC, 0)


@on_a_loop
async def test_until_when_stretches_wait_is_read_back() -> None:
    async with in_a_box() as box:
        key, _ = await topic_in(box, 130)
        persister = colocated_persister(box.broker, ShareStateLimits(snapshot_update_records_per_snapshot=1))
        assert await persister.initialize(InitializeState(key, 0, 100)) == Written()
        waiting = StateBatch(104, 106, AVAILABLE, 1, 1_795_267_794_112)
        done = StateBatch(106, 107, ACKNOWLEDGED, 1)
        assert await persister.write(WriteState(key, 0, 0, 100, batches=(waiting, done))) == Written()
        assert await persister.write(WriteState(key, 0, 0, 100, batches=span(100, 103, 2, 1))) == Written()
        for reader in (persister, colocated_persister(box.broker, ShareStateLimits())):
            read = await reader.read(ReadState(key))
            assert isinstance(read, StateRead)
            assert read.batches[1:] == (waiting, done)
