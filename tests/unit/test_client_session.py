"""The client's session, driven by scripted bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from leaselog.client.errors import UnsupportedVersion
from leaselog.client.session import Answer, Session
from leaselog.model import ErrorCode
from leaselog.wire.codec import decode, encode
from leaselog.wire.errors import BadLength, BadValue, DecodeError, Truncated
from leaselog.wire.frames import read_request_header, skip_tagged_fields
from leaselog.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from leaselog.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataResponse

HELLO_VERSION = 4
SERVED = [ApiVersion(api_key=18, max_version=4), ApiVersion(api_key=3, min_version=0, max_version=12)]


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def hello_answer(version: int = HELLO_VERSION, correlation_id: int = 0, error: int = 0) -> bytes:
    # ApiVersions answers with header version 0 whatever its own version is.
    message = ApiVersionsResponse(error_code=error, api_keys=SERVED)
    return framed(struct.pack(">i", correlation_id) + encode(message, version))


def metadata_answer(correlation_id: int, cluster_id: str) -> bytes:
    return framed(
        struct.pack(">i", correlation_id) + b"\0" + encode(MetadataResponse(cluster_id=cluster_id), 12)
    )


def feed(session: Session, data: bytes, chunk_bytes: int) -> list[Answer]:
    answers = []
    while data:
        room = session.buffer()
        count = min(chunk_bytes, len(room), len(data))
        room[:count] = data[:count]
        answers += session.received(count)
        data = data[count:]
    return answers


def requests(session: Session) -> Iterator[bytes]:
    """The requests that went out, without their lengths."""
    sent = b"".join(map(bytes, session.take_output()))
    while sent:
        size = int.from_bytes(sent[:4], "big")
        yield sent[4 : 4 + size]
        sent = sent[4 + size :]


def ready_session() -> Session:
    session = Session("test", "1.0")
    session.take_output()
    feed(session, hello_answer(), 1000)
    return session


def test_a_session_begins_with_a_hello_that_names_the_software() -> None:
    (request,) = requests(Session("test", "1.0"))
    header = read_request_header(request)
    assert (header.api_key, header.api_version, header.client_id) == (18, HELLO_VERSION, "test")
    body = skip_tagged_fields(request, header.end)
    hello = decode(ApiVersionsRequest, header.api_version, request, body)
    assert (hello.client_software_name, hello.client_software_version) == ("leaselog", "1.0")


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1_000_000])
def test_answers_come_out_the_same_however_the_bytes_are_cut(chunk_bytes: int) -> None:
    session = ready_session()
    first = session.ask(MetadataRequest(), MetadataResponse)
    second = session.ask(MetadataRequest(), MetadataResponse)
    answers = feed(session, metadata_answer(first, "a") + metadata_answer(second, "b"), chunk_bytes)
    assert [a.correlation_id for a in answers] == [first, second]
    assert [a.message.cluster_id for a in answers if isinstance(a.message, MetadataResponse)] == ["a", "b"]
    assert session.in_flight == 0


def test_requests_travel_in_the_newest_version_both_sides_speak() -> None:
    session = ready_session()
    session.ask(MetadataRequest(), MetadataResponse)
    (request,) = requests(session)
    assert read_request_header(request).api_version == 12  # we speak 13, the broker does not


def test_an_api_the_broker_does_not_serve_is_refused_before_anything_is_sent() -> None:
    session = ready_session()
    with pytest.raises(UnsupportedVersion, match="does not serve ListGroups"):
        session.ask(ListGroupsRequest(), ListGroupsResponse)
    assert session.take_output() == []


def test_an_older_broker_gets_a_humbler_hello() -> None:
    session = Session("test", "1.0")
    session.take_output()
    old = ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[ApiVersion(api_key=18, max_version=2)]
    )
    feed(session, framed(struct.pack(">i", 0) + encode(old, 0)), 3)
    (again,) = requests(session)
    header = read_request_header(again)
    assert (header.api_version, header.correlation_id, session.is_ready) == (2, 1, False)
    feed(session, hello_answer(version=2, correlation_id=1), 3)
    assert session.is_ready


def test_a_broker_that_refuses_every_hello_is_given_up() -> None:
    session = Session("test", "1.0")
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    feed(session, framed(struct.pack(">i", 0) + encode(refusal, 0)), 100)
    with pytest.raises(BadValue, match="ApiVersions v0"):
        feed(session, framed(struct.pack(">i", 1) + encode(refusal, 0)), 100)


def test_an_answer_out_of_turn_ends_the_session() -> None:
    session = ready_session()
    session.ask(MetadataRequest(), MetadataResponse)
    with pytest.raises(BadValue, match="response 9, expected 1"):
        feed(session, metadata_answer(9, "a"), 1000)


def test_an_answer_nobody_asked_for_ends_the_session() -> None:
    with pytest.raises(BadValue, match="expected none"):
        feed(ready_session(), metadata_answer(1, "a"), 1000)


def test_a_request_without_an_answer_leaves_nothing_in_flight() -> None:
    session = ready_session()
    session.ask(MetadataRequest(), None)
    assert session.in_flight == 0
    assert len(list(requests(session))) == 1


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (framed(b"\0\0"), Truncated),
        (struct.pack(">i", -1), BadLength),
        (struct.pack(">i", 2**31 - 1), BadLength),
        (framed(struct.pack(">i", 1) + b"\xff" * 20), DecodeError),
    ],
)
def test_nonsense_is_a_decode_error(data: bytes, error: type[Exception]) -> None:
    session = ready_session()
    session.ask(MetadataRequest(), MetadataResponse)
    with pytest.raises(error):
        feed(session, data, 1000)
