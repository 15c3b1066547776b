"""The tags of ours in ShareFetch: nothing changes for who does not use them, and who does not know them skips them."""

from __future__ import annotations

import pytest

from leaselog.wire.codec import decode, encode
from leaselog.wire.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from leaselog.wire.share_extensions import ExtendedShareFetchRequest
from leaselog.wire.share_fetch_ranges import (
    RangesPartitionData,
    RangesShareFetchResponse,
    wants_ranges_only,
    without_records,
)

REQUEST = {"group_id": "g", "member_id": "m", "max_records": 5, "share_session_epoch": 1}


def answer() -> ShareFetchResponse:
    acquired = [AcquiredRecords(first_offset=3, last_offset=9, delivery_count=2)]
    data = PartitionData(
        partition_index=4, records=b"x" * 300, acquired_records=acquired, acknowledge_error_code=7
    )
    return ShareFetchResponse(throttle_time_ms=5, responses=[ShareFetchableTopicResponse(partitions=[data])])


@pytest.mark.parametrize("version", [1, 2])
def test_a_request_that_wants_records_has_the_bytes_that_kafka_knows(version: int) -> None:
    plain, ours = ShareFetchRequest(**REQUEST), ExtendedShareFetchRequest(**REQUEST)
    assert encode(ours, version) == encode(plain, version)
    assert not wants_ranges_only(decode(ExtendedShareFetchRequest, version, encode(plain, version)))


@pytest.mark.parametrize("version", [1, 2])
def test_who_does_not_know_the_tag_of_the_request_skips_it(version: int) -> None:
    data = encode(ExtendedShareFetchRequest(ranges_only=True, **REQUEST), version)
    assert wants_ranges_only(decode(ExtendedShareFetchRequest, version, data))
    assert decode(ShareFetchRequest, version, data) == ShareFetchRequest(**REQUEST)


@pytest.mark.parametrize("version", [1, 2])
def test_an_answer_without_records_says_how_large_they_are_and_all_else(version: int) -> None:
    lean = without_records(answer())
    assert decode(RangesShareFetchResponse, version, encode(lean, version)) == lean
    (data,) = lean.responses[0].partitions
    assert isinstance(data, RangesPartitionData)
    assert (data.records, data.left_out_bytes) == (b"", 300)
    as_others_see_it = answer()
    as_others_see_it.responses[0].partitions[0].records = b""
    assert decode(ShareFetchResponse, version, encode(lean, version)) == as_others_see_it


def test_an_answer_of_a_broker_that_does_not_know_the_tag_has_its_records() -> None:
    read = decode(RangesShareFetchResponse, 2, encode(answer(), 2))
    (data,) = read.responses[0].partitions
    assert isinstance(data, RangesPartitionData)
    assert (data.records, data.left_out_bytes) == (b"x" * 300, 0)
