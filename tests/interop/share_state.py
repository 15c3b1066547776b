"""What a broker says of a share group's offsets, and what it has written down in `__share_group_state`.

The topic is read as any consumer reads it and merged offset by offset, without the merging of ours that it judges.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, consumer_of
from interop.raw_requests import connected
from leaselog.broker.share_state.records import decode_share_fact
from leaselog.coordination.share_state_facts import ShareDropped, ShareFact, ShareSnapshot
from leaselog.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from leaselog.wire.records import Record

STATE_TOPIC = "__share_group_state"
NOT_SAID = -1
#: a coordinator that has just begun: loading, not available, not the one
NOT_YET = (14, 15, 16)
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


@dataclass(frozen=True, slots=True)
class Offsets:
    start: int
    lag: int


@dataclass(frozen=True, slots=True)
class Stored:
    """One share partition as the state topic has it."""

    start: int = NOT_SAID
    complete_count: int = NOT_SAID
    #: offset to state and delivery count
    records: dict[int, tuple[int, int]] = field(default_factory=dict)
    snapshot_epoch: int = NOT_SAID
    state_epoch: int = NOT_SAID


def offsets_of(broker: BrokerProcess, group: str) -> dict[tuple[str, int], Offsets]:
    """By topic and partition: everything the group has begun with. Nothing for a group that is not there."""
    request = DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)]
    )
    deadline = time.monotonic() + WAIT_S
    with connected(broker) as connection:
        (found,) = connection.ask(request, 1, DescribeShareGroupOffsetsResponse).groups
        while found.error_code in NOT_YET:
            assert time.monotonic() < deadline, (found.error_code, found.error_message)
            time.sleep(0.1)
            (found,) = connection.ask(request, 1, DescribeShareGroupOffsetsResponse).groups
    assert found.error_code == 0, found.error_message
    told: dict[tuple[str, int], Offsets] = {}
    for topic in found.topics:
        for p in topic.partitions:
            assert p.error_code == 0, p.error_message
            told[topic.topic_name, p.partition_index] = Offsets(p.start_offset, p.lag)
    return told


def share_facts(broker: BrokerProcess, group: str) -> Iterator[ShareFact]:
    """Everything the state topic still has of the group, in the order of each of its partitions."""
    consumer = consumer_of(broker, "reads-share-state", enable_partition_eof=True)
    try:
        topic = consumer.list_topics(STATE_TOPIC, timeout=WAIT_S).topics[STATE_TOPIC]
        for partition in topic.partitions:
            consumer.assign([TopicPartition(STATE_TOPIC, partition, OFFSET_BEGINNING)])
            for message in _until_end(consumer):
                record = Record(message.key(), message.value(), timestamp_ms=message.timestamp()[1])
                fact = decode_share_fact(record)
                if fact is not None and fact.key.group_id == group:
                    yield fact
    finally:
        consumer.close()


def _until_end(consumer: Consumer) -> Iterator[Message]:
    """What is pruned meanwhile is left out: it was superfluous, or it would not have been pruned."""
    while True:
        message = consumer.poll(WAIT_S)
        assert message is not None, f"neither a record nor the end in {WAIT_S} s"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            return
        yield message


def stored_states(broker: BrokerProcess, group: str) -> dict[tuple[UUID, int], Stored]:
    """By topic id and partition; what was dropped is not there."""
    states: dict[tuple[UUID, int], Stored] = {}
    for fact in share_facts(broker, group):
        at = (fact.key.topic_id, fact.key.partition)
        if isinstance(fact, ShareDropped):
            states.pop(at, None)
        else:
            states[at] = _after(Stored() if isinstance(fact, ShareSnapshot) else states[at], fact)
    return states


def _after(state: Stored, fact: ShareFact) -> Stored:
    assert not isinstance(fact, ShareDropped)
    start = state.start if fact.start_offset == NOT_SAID else fact.start_offset
    records = dict(state.records)
    for low, high, kind, count, _ in fact.batches:
        for offset in range(low, high):
            # what was delivered more often is newer; of the same delivery, what is further along
            records[offset] = max(
                records.get(offset, (kind, count)), (kind, count), key=lambda r: (r[1], r[0])
            )
    state_epoch = fact.state_epoch if isinstance(fact, ShareSnapshot) else state.state_epoch
    return replace(
        state,
        start=start,
        complete_count=fact.delivery_complete_count,
        records={offset: record for offset, record in records.items() if offset >= start},
        snapshot_epoch=fact.snapshot_epoch,
        state_epoch=state_epoch,
    )
