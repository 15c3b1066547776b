"""What our tags add to acknowledgements: nothing for who does not use them, and who does not know them skips them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from leaselog.wire.codec import decode, encode
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.share_acknowledge import AcknowledgementBatch as AcknowledgeBatch
from leaselog.wire.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from leaselog.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from leaselog.wire.schema import Message
from leaselog.wire.share_extensions import (
    NO_DELAY,
    ExtendedAcknowledgementBatch,
    ExtendedAcknowledgePartition,
    ExtendedAcknowledgeTopic,
    ExtendedFetchPartition,
    ExtendedFetchTopic,
    ExtendedShareAcknowledgeRequest,
    ExtendedShareFetchRequest,
)

TOPIC = UUID(int=7)
BATCHES = [
    {"first_offset": 3, "last_offset": 9, "acknowledge_types": (2,)},
    {"first_offset": 10, "last_offset": 12, "acknowledge_types": (1, 3, 1)},
]
EXTRAS: list[dict[str, Any]] = [
    {"release_delay_ms": 0},
    {"release_delay_ms": 1 << 40},
    {"reject_reason": ""},
    {"reject_reason": "Ungültig: " + "x" * 300},
    {"given_back": True},
    {"release_delay_ms": 5, "reject_reason": "no", "given_back": True},
]


def fetch(*extras: dict[str, Any]) -> ExtendedShareFetchRequest:
    batches = [
        ExtendedAcknowledgementBatch(**b, **e) for b, e in zip(BATCHES, extras or ({}, {}), strict=False)
    ]
    partition = ExtendedFetchPartition(partition_index=2, acknowledgement_batches=batches)
    return ExtendedShareFetchRequest(
        group_id="g",
        share_session_epoch=4,
        topics=[ExtendedFetchTopic(topic_id=TOPIC, partitions=[partition])],
    )


def acknowledge(*extras: dict[str, Any]) -> ExtendedShareAcknowledgeRequest:
    batches = [
        ExtendedAcknowledgementBatch(**b, **e) for b, e in zip(BATCHES, extras or ({}, {}), strict=False)
    ]
    partition = ExtendedAcknowledgePartition(partition_index=2, acknowledgement_batches=batches)
    return ExtendedShareAcknowledgeRequest(
        group_id="g",
        share_session_epoch=4,
        topics=[ExtendedAcknowledgeTopic(topic_id=TOPIC, partitions=[partition])],
    )


PLAIN_FETCH = ShareFetchRequest(
    group_id="g",
    share_session_epoch=4,
    topics=[
        FetchTopic(
            topic_id=TOPIC,
            partitions=[
                FetchPartition(
                    partition_index=2, acknowledgement_batches=[AcknowledgementBatch(**b) for b in BATCHES]
                )
            ],
        )
    ],
)
PLAIN_ACKNOWLEDGE = ShareAcknowledgeRequest(
    group_id="g",
    share_session_epoch=4,
    topics=[
        AcknowledgeTopic(
            topic_id=TOPIC,
            partitions=[
                AcknowledgePartition(
                    partition_index=2, acknowledgement_batches=[AcknowledgeBatch(**b) for b in BATCHES]
                )
            ],
        )
    ],
)
BOTH = [(fetch, PLAIN_FETCH), (acknowledge, PLAIN_ACKNOWLEDGE)]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("make", "plain"), BOTH)
def test_acknowledgements_without_extras_have_the_bytes_that_kafka_knows(
    make: Any, plain: Message, version: int
) -> None:
    ours = make()
    assert encode(ours, version) == encode(plain, version)
    (read,) = decode(type(ours), version, encode(plain, version)).topics[0].partitions
    assert [(b.release_delay_ms, b.reject_reason, b.given_back) for b in read.acknowledgement_batches] == [
        (NO_DELAY, None, False)
    ] * 2


@pytest.mark.parametrize("extras", EXTRAS, ids=str)
@pytest.mark.parametrize(("make", "plain"), BOTH)
def test_extras_arrive_with_their_batch_and_no_other(
    make: Any, plain: Message, extras: dict[str, Any]
) -> None:
    ours = make({}, extras)
    read = decode(type(ours), 2, encode(ours, 2))
    assert read == ours
    first, second = read.topics[0].partitions[0].acknowledgement_batches
    assert (first.release_delay_ms, first.reject_reason, first.given_back) == (NO_DELAY, None, False)
    assert {name: getattr(second, name) for name in extras} == extras


@pytest.mark.parametrize("extras", EXTRAS, ids=str)
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("make", "plain"), BOTH)
def test_who_does_not_know_the_extras_skips_them(
    make: Any, plain: Message, version: int, extras: dict[str, Any]
) -> None:
    assert decode(type(plain), version, encode(make(extras, extras), version)) == plain


def test_a_fetch_may_want_ranges_alone_and_say_extras() -> None:
    request = fetch({"given_back": True}, {"reject_reason": "no"})
    request.ranges_only = True
    assert decode(ExtendedShareFetchRequest, 2, encode(request, 2)) == request


def test_an_extra_of_another_length_than_its_tag_says_is_refused() -> None:
    data = encode(acknowledge({}, {"given_back": True}), 2)
    # the tag 10002, its size and the value
    torn = data.replace(b"\x92\x4e\x01\x01", b"\x92\x4e\x02\x01")
    assert torn != data
    with pytest.raises(DecodeError):
        decode(ExtendedShareAcknowledgeRequest, 2, torn)
