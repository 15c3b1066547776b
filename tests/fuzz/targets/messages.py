"""The body of every request and response, read and written at once and in steps, and what a share consumer makes of an
answer."""

from __future__ import annotations

import struct
from collections.abc import Generator
from contextlib import suppress
from typing import Any, TypeVar

from fuzz.messages import as_read, protocol_messages
from fuzz.targets.target import TOPIC_ID, Unwanted
from leaselog.client.share.acknowledgements import Lease, SessionLife, TopicIdPartition
from leaselog.client.share.acquired import Acquired, Decoding, leased_ranges
from leaselog.client.share.deserializers import as_bytes
from leaselog.wire.codec import decode, decode_prefix, encode
from leaselog.wire.codec_steps import decode_steps, encode_steps
from leaselog.wire.errors import DecodeError
from leaselog.wire.schema import Message
from leaselog.wire.share_fetch_ranges import RangesShareFetchResponse

T = TypeVar("T")

__all__ = ["requests", "responses", "take_acquired"]

_MESSAGES = {
    (kind.API_KEY, kind.NAME.endswith("Response"), version): as_read(kind)
    for kind, version in protocol_messages()
}
_MESSAGE_HEAD = struct.Struct(">hB")


def requests(data: bytes) -> None:
    """Three bytes for the API and its version, then the request's body."""
    _message(data, is_answer=False)


def responses(data: bytes) -> None:
    _message(data, is_answer=True)


def _message(data: bytes, *, is_answer: bool) -> None:
    if len(data) < _MESSAGE_HEAD.size:
        raise Unwanted
    api_key, version = _MESSAGE_HEAD.unpack_from(data)
    kind = _MESSAGES.get((api_key, is_answer, version))
    if kind is None:
        raise Unwanted
    message = _read(kind, version, data)
    if message is None:
        return
    once = encode(message, version)
    assert b"".join(_walked(encode_steps(message, version))) == once, f"{kind.NAME} v{version} in steps"
    again = encode(decode(kind, version, once), version)
    assert again == once, f"{kind.NAME} v{version} is not read as it is written"
    if isinstance(message, RangesShareFetchResponse):
        _take(message)


def _read(kind: type[Message], version: int, data: bytes) -> Message | None:
    """The message, if both ways of reading it find one."""
    in_steps, steps = None, decode_steps(kind, version, data, _MESSAGE_HEAD.size)
    with suppress(DecodeError):
        in_steps = _walked(steps)
    try:
        at_once, _ = decode_prefix(kind, version, data, _MESSAGE_HEAD.size, is_request=True)
    except DecodeError:
        at_once = None
    assert in_steps == at_once, f"{kind.NAME} v{version} is another one in steps"
    try:
        return decode(kind, version, data, _MESSAGE_HEAD.size)
    except DecodeError:
        return None


def _walked(steps: Generator[object, None, T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            walked: T = end.value
            return walked


def _take(answer: RangesShareFetchResponse) -> None:
    """What a share consumer makes of it."""
    for topic in answer.responses:
        for told in topic.partitions:
            with suppress(DecodeError):
                leased = [(r.first_offset, r.last_offset, r.delivery_count) for r in told.acquired_records]
                take_acquired(told.records or b"", leased)


def take_acquired(records: Any, leased: list[tuple[int, int, int]]) -> None:
    ranges = list(leased_ranges(leased))
    acquired = Acquired(_lease(), records, ranges)
    asked = sum(end - start for start, end, _ in ranges)
    got = 0
    while not acquired.is_empty:
        taken = acquired.take(100, _DECODING)
        got += len(taken.records) + len(taken.settled)
        assert got <= asked, "nothing is handed out twice"
    assert got == asked, "everything leased is handed out or settled"


_DECODING = Decoding(as_bytes, as_bytes)


def _lease() -> Lease:
    return Lease(TopicIdPartition("t", 0, TOPIC_ID), 1, SessionLife(), 60_000)
