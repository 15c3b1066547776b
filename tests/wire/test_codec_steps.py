"""Long messages in steps: the same as in one go, a little at a time, and not without end."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import TypeVar

import pytest

from fuzz.messages import as_read, make, protocol_messages
from leaselog.wire import codec_steps
from leaselog.wire.codec import decode, encode
from leaselog.wire.codec_steps import STEP, STEP_OF_NUMBERS, decode_steps, encode_steps, is_long
from leaselog.wire.errors import BadLength, DecodeError, EncodeError
from leaselog.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from leaselog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from leaselog.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from leaselog.wire.schema import Message

T = TypeVar("T")


def walked(steps: Generator[object, None, T]) -> tuple[T, list[object]]:
    """What came of it, and what each step said."""
    told: list[object] = []
    while True:
        try:
            told.append(next(steps))
        except StopIteration as end:
            return end.value, told


def test_every_message_is_read_and_written_the_same_in_steps() -> None:
    chance = random.Random(5)
    for kind, version in protocol_messages():
        for _ in range(3):
            data = encode(make(kind, version, chance), version)
            message = decode(as_read(kind), version, data)
            assert walked(decode_steps(as_read(kind), version, data))[0] == message
            assert b"".join(walked(encode_steps(message, version))[0]) == encode(message, version)


def partitions(count: int) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=list(range(count)))]
    )


def topics(count: int) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name="")] * count)


@pytest.mark.parametrize(
    ("message", "version", "elements"), [(topics(1000), 1, STEP), (partitions(100_000), 5, STEP_OF_NUMBERS)]
)
def test_a_step_is_small(message: Message, version: int, elements: int) -> None:
    count = 1000 if isinstance(message, MetadataRequest) else 100_000
    data = encode(message, version)
    read, steps = walked(decode_steps(type(message), version, data))
    assert read == message
    assert count / elements <= len(steps) <= count / elements + 2
    assert len(walked(encode_steps(message, version))[1]) >= count / elements


def test_a_request_has_so_many_elements_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec_steps, "MAX_ELEMENTS", 1000)
    for version in (1, 12):
        walked(decode_steps(MetadataRequest, version, encode(topics(1000), version)))
        with pytest.raises(BadLength, match="more than 1000 elements"):
            walked(decode_steps(MetadataRequest, version, encode(topics(1100), version)))


def test_few_elements_in_each_of_many_structs_count_as_what_they_are() -> None:
    many = OffsetFetchRequest(
        group_id="g",
        topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[1, 2, 3]) for _ in range(50_000)],
    )
    assert walked(decode_steps(OffsetFetchRequest, 5, encode(many, 5)))[0] == many


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_what_ends_too_early_is_refused_in_steps_too(cut: int) -> None:
    data = encode(topics(100), 12)[:-cut]
    with pytest.raises(DecodeError):
        walked(decode_steps(MetadataRequest, 12, data))


def test_what_cannot_be_written_is_told_as_such() -> None:
    with pytest.raises(EncodeError):
        walked(encode_steps(MetadataRequest(topics=[MetadataRequestTopic(name=5)] * 100), 1))  # type: ignore[arg-type]


def fetched(topics: int, partitions: int) -> FetchResponse:
    told = [PartitionData(partition_index=i) for i in range(partitions)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=told)] * topics)


def test_an_answer_is_long_if_there_is_much_in_it_at_whatever_depth() -> None:
    assert not is_long(fetched(1, 1))
    assert not is_long(fetched(5, 5))
    assert is_long(fetched(1, STEP))
    assert is_long(fetched(STEP + 1, 0))
    assert is_long(fetched(9, 8))
    assert not is_long(ShareGroupHeartbeatResponse())
    wide = Assignment(topic_partitions=[TopicPartitions(partitions=list(range(STEP)))])
    assert is_long(ShareGroupHeartbeatResponse(assignment=wide))
