"""What the codec does with memory: views are read like bytes, payloads are copied only where that is cheaper."""

from __future__ import annotations

import pytest

from leaselog.wire.codec import COPIED_PAYLOAD_BYTES, decode, encode, encode_chunks
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from leaselog.wire.messages.share_fetch import PartitionData, ShareFetchableTopicResponse, ShareFetchResponse


def acknowledge(partitions: int, batches: int, types: int) -> ShareAcknowledgeRequest:
    batch = AcknowledgementBatch(first_offset=5, last_offset=4 + types, acknowledge_types=[1] * types)
    partition = AcknowledgePartition(partition_index=3, acknowledgement_batches=[batch] * batches)
    topics = [AcknowledgeTopic(partitions=[partition] * partitions)]
    return ShareAcknowledgeRequest(group_id="grün", member_id="m", share_session_epoch=7, topics=topics)


def fetched(*records: bytes | memoryview) -> ShareFetchResponse:
    partitions = [PartitionData(partition_index=i, records=r) for i, r in enumerate(records)]
    return ShareFetchResponse(responses=[ShareFetchableTopicResponse(partitions=partitions)])


@pytest.mark.parametrize("count", [0, 1, 2, 130])
def test_arrays_of_none_one_and_many_come_back_as_they_went(count: int) -> None:
    for request in (acknowledge(count, 1, 1), acknowledge(1, count, 1), acknowledge(1, 1, count)):
        assert decode(ShareAcknowledgeRequest, 2, encode(request, 2)) == request


def test_a_view_is_read_like_the_bytes_it_shows() -> None:
    request = acknowledge(1, 1, 1)
    data = encode(request, 2)
    assert decode(ShareAcknowledgeRequest, 2, memoryview(b"???" + data)[3:]) == request


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_request_that_ends_too_early_anywhere_is_refused(count: int) -> None:
    data = encode(acknowledge(count, count, count), 2)
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            decode(ShareAcknowledgeRequest, 2, bytearray(data[:end]))


def test_small_payloads_go_into_the_buffer_and_large_ones_stay_where_they_are() -> None:
    small, large = bytes(COPIED_PAYLOAD_BYTES), memoryview(bytes(COPIED_PAYLOAD_BYTES + 1))
    assert len(encode_chunks(fetched(small, small), 2)) == 1
    chunks = encode_chunks(fetched(small, large, small), 2)
    assert [chunk is large for chunk in chunks] == [False, True, False]
    assert decode(ShareFetchResponse, 2, b"".join(chunks)) == fetched(small, bytes(large), small)
