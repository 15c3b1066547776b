"""How long a text may be: 32,767 bytes, in every version, as in Kafka's own classes."""

from __future__ import annotations

import pytest

from leaselog.wire.codec import decode, decode_prefix, encode
from leaselog.wire.errors import BadLength, EncodeError
from leaselog.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from leaselog.wire.messages.group_records import ShareGroupMemberMetadataValue
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from leaselog.wire.primitives import LONGEST_TEXT_BYTES, encode_uvarint


def beat(group_id: str, *topics: str) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(group_id=group_id, member_id="m", subscribed_topic_names=list(topics))


@pytest.mark.parametrize("text", ["x" * LONGEST_TEXT_BYTES, "é" * (LONGEST_TEXT_BYTES // 2), "😀" * 8_191])
def test_the_longest_text_there_may_be_goes_through(text: str) -> None:
    sent = beat(text, text)
    assert decode_prefix(ShareGroupHeartbeatRequest, 1, encode(sent, 1), is_request=True)[0] == sent


@pytest.mark.parametrize(
    "text", ["x" * (LONGEST_TEXT_BYTES + 1), "é" * 16_384, "😀" * 8_192, "x" * 3_000_000]
)
def test_a_longer_one_is_not_written_wherever_it_is(text: str) -> None:
    for message in (beat(text), beat("g", "t", text)):
        with pytest.raises(EncodeError, match="of text"):
            encode(message, 1)


def too_long(where: str) -> bytes:
    """A heartbeat with a text of 32,768 bytes, as somebody sends it who does not keep to what is agreed."""
    kept = encode(beat("GROUP", "TOPIC"), 1)
    at = kept.index(where.encode())
    size = LONGEST_TEXT_BYTES + 1
    return kept[: at - 1] + encode_uvarint(size + 1) + b"x" * size + kept[at + len(where) :]


@pytest.mark.parametrize("where", ["GROUP", "TOPIC"])
def test_a_longer_one_in_a_request_is_refused_wherever_it_is(where: str) -> None:
    with pytest.raises(BadLength, match="32768 bytes of text"):
        decode_prefix(ShareGroupHeartbeatRequest, 1, too_long(where), is_request=True)


def test_what_lies_on_a_disk_is_read_as_it_is() -> None:
    kept = encode(ShareGroupMemberMetadataValue(client_id="CLIENT", subscribed_topic_names=["t"]), 0)
    at, size = kept.index(b"CLIENT"), LONGEST_TEXT_BYTES + 1
    longer = kept[: at - 1] + encode_uvarint(size + 1) + b"x" * size + kept[at + 6 :]
    assert decode(ShareGroupMemberMetadataValue, 0, longer).client_id == "x" * size


@pytest.mark.parametrize("name", ["x" * 32_767, "é" * 16_383, "😀" * 8_191])
@pytest.mark.parametrize("version", [0, 4])
def test_what_went_wrong_is_not_said_to_its_end_if_that_is_too_far(name: str, version: int) -> None:
    sent = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_message=f"no room for {name}")])
    version += 1  # the first that says anything
    said = decode(CreateTopicsResponse, version, encode(sent, version)).topics[0].error_message
    assert said is not None
    assert f"no room for {name}".startswith(said)
    assert 32_764 <= len(said.encode()) <= 32_767
