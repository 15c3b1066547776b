"""Whatever a client sends, it gets an answer or its connection ends, and the broker goes on.

Three kinds of clients: one that sends noise, one that sends well-formed requests full of odd values, and one whose
requests were damaged on the way. All meet a real broker in memory through a real connection without a socket; a
handler that lets an exception escape fails the test.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.socketless import Escaped, send
from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.net import connection as connection_module
from leaselog.broker.net.api import Api, apis, load_handlers
from leaselog.broker.net.dispatch import Unanswerable, receive
from leaselog.broker.runtime.client import Client
from leaselog.wire.codec import encode, is_flexible
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Field, Message

load_handlers()

BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
TOPIC = "t"
BATCH = bytes(build_batch([Record(b"k", b"v", timestamp_ms=1_700_000_000_000)]))
STRINGS = st.sampled_from(
    ["", TOPIC, "u", "g", "m", "a b", "__consumer_offsets", "é" * 300, "0", "retention.ms", "consumer"]
)
UUIDS = st.sampled_from([UUID(int=0), UUID(int=7)])
BYTES = st.sampled_from([b"", b"\x00", b"\xff" * 9, BATCH])
RECORDS = st.sampled_from([b"", BATCH, BATCH + BATCH, BATCH[:-1], b"\x00" * 61, BATCH[:20]])


def whole_numbers(kind: str) -> st.SearchStrategy[int]:
    bits, low = BITS[kind], 0 if kind.startswith("u") else -(1 << BITS[kind] - 1)
    top = (1 << bits) - 1 + low
    return st.sampled_from([0, 1, 0, 1, 2, 5, 100, max(low, -1), max(low, -2), low, top])


def values(field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.array:
        one: st.SearchStrategy[Any] = st.lists(_one(field, version), max_size=2)
    else:
        one = _one(field, version)
    return st.one_of(st.none(), one) if version in field.nullable else one


def _one(field: Field, version: int) -> st.SearchStrategy[Any]:
    kind = field.kind
    if not isinstance(kind, str):
        return messages(kind, version)
    if kind in BITS:
        return whole_numbers(kind)
    return {
        "bool": st.booleans(),
        "float64": st.sampled_from([0.0, 1.5, -1.0, float("nan"), float("inf")]),
        "string": STRINGS,
        "uuid": UUIDS,
        "bytes": BYTES,
        "records": RECORDS,
    }[kind]


def messages(kind: type[Message], version: int) -> st.SearchStrategy[Message]:
    fields = {f.name: values(f, version) for f in kind.FIELDS if version in f.versions}
    return st.builds(kind, **fields)


def frame_of(api: Api, version: int, message: Message, correlation_id: int = 7) -> bytes:
    head = struct.pack(">hhihc", api.key, version, correlation_id, 1, b"c")
    return head + (b"\x00" if is_flexible(api.request, version) else b"") + encode(message, version)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    api = draw(st.sampled_from(apis()))
    version = draw(st.integers(api.versions.first, api.versions.last))
    return frame_of(api, version, draw(messages(api.request, version)))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    frame = bytearray(draw(requests()))
    for _ in range(draw(st.integers(1, 3))):
        frame[draw(st.integers(0, len(frame) - 1))] = draw(st.integers(0, 255))
    return bytes(frame[: draw(st.sampled_from([len(frame), len(frame) - 1, len(frame) // 2]))])


@st.composite
def noise(draw: st.DrawFn) -> bytes:
    """Now and then with a header that would do."""
    rest = draw(st.binary(max_size=60))
    api = draw(st.sampled_from(apis()))
    return rest if draw(st.booleans()) else struct.pack(">hhih", api.key, api.versions.last, 7, -1) + rest


@pytest.fixture(scope="module")
def box() -> Iterator[tuple[asyncio.Runner, Box]]:
    """One broker for all examples: what one client breaks, another shows."""
    with asyncio.Runner() as runner:
        context = in_a_box(**{"group.initial.rebalance.delay.ms": "0"})
        made = runner.run(context.__aenter__())
        runner.run(made.broker.cluster.create_topics([NewTopic(TOPIC, 2)]))
        runner.run(made.broker.groups.start())
        yield runner, made
        runner.run(made.broker.groups.stop())
        runner.run(context.__aexit__(None, None, None))


@pytest.fixture(autouse=True)
def _nothing_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def escaped(event: str, **facts: object) -> None:
        raise Escaped(f"{event}: {facts}") from sys.exc_info()[1]

    monkeypatch.setattr(connection_module.log, "exception", escaped)
    monkeypatch.setattr(connection_module.log, "warning", lambda event, **facts: None)


def check(box: tuple[asyncio.Runner, Box], *frames: bytes) -> None:
    runner, made = box
    transport = runner.run(send(made.broker, *frames))
    sent = bytes(transport.sent)
    while sent:
        size = int.from_bytes(sent[:4], "big")
        assert 4 <= size <= len(sent) - 4, "an answer is whole or not there"
        sent = sent[4 + size :]
    assert len(made.broker.waiting_room) == 0, "who has gone waits for nothing"


quick = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# with CI=true, hypothesis would draw the same clients each time
long = settings(quick, max_examples=20_000, derandomize=False)


@quick
@given(frame=st.one_of(noise(), damaged()))
def test_a_frame_is_a_call_an_answer_or_unanswerable(box: tuple[asyncio.Runner, Box], frame: bytes) -> None:
    with suppress(Unanswerable):
        receive(bytearray(frame), box[1].broker, Client(1, "10.0.0.1", 5555), 0.0)


@quick
@given(frames=st.lists(requests(), min_size=1, max_size=3))
def test_odd_requests_are_answered_or_end_their_connection(
    box: tuple[asyncio.Runner, Box], frames: list[bytes]
) -> None:
    check(box, *frames)


@quick
@given(frames=st.lists(st.one_of(damaged(), noise(), requests()), min_size=1, max_size=3))
def test_damaged_requests_are_answered_or_end_their_connection(
    box: tuple[asyncio.Runner, Box], frames: list[bytes]
) -> None:
    check(box, *frames)


@pytest.mark.deep
@pytest.mark.timeout(3000)
@long
@given(frames=st.lists(st.one_of(requests(), requests(), damaged(), noise()), min_size=1, max_size=4))
def test_a_long_stream_of_odd_clients_harms_nobody(
    box: tuple[asyncio.Runner, Box], frames: list[bytes]
) -> None:
    check(box, *frames)
