"""Whatever array of whatever request a stranger fills: its cost grows no faster than it, and others have turns."""

from __future__ import annotations

import asyncio
import gc
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from broker_in_a_box import Box, in_a_box, run

from fuzz.crowds import TOPIC, Crowd, crowded, crowds
from fuzz.socketless import Transport
from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.config.listeners import Listener
from leaselog.broker.net.api import apis, load_handlers
from leaselog.broker.net.connection import Connection
from leaselog.broker.net.server import Server
from leaselog.broker.runtime.turns import Turns
from leaselog.wire import codec

FEW, MANY = 1_000, 10_000
#: ten times the elements; a quadratic cost gives a hundred
MOST_TIMES = 30.0
BASE_S = 0.02
#: of processor time, for one piece of a request, where counting to `COUNTED` takes `COUNTING_S`: machines differ, and
#: one with others on it is another one every second. What asks for no turns takes more for so many elements.
LONGEST_S = 0.008
COUNTED, COUNTING_S = 100_000, 0.003
_CLUSTER = "a change of the cluster is decided as a whole"
_GROUP = "what one request changes of a group is decided as a whole"
_SESSION = "a share session changes as a whole"
_SHARE_STATE = "the share coordinator decides one command after the other"
#: pieces that are known to be longer: what they decide they decide at once, in the order of the connection
AT_ONCE = {
    "AlterClientQuotas": _CLUSTER,
    "AlterConfigs": _CLUSTER,
    "AlterShareGroupOffsets": _GROUP,
    "CreatePartitions": _CLUSTER,
    "CreateTopics": _CLUSTER,
    "DeleteShareGroupState": _SHARE_STATE,
    "IncrementalAlterConfigs": _CLUSTER,
    "InitializeShareGroupState": _SHARE_STATE,
    "LeaveGroup": _GROUP,
    "Produce": "appends are in the order of the connection, whose next produce may start",
    "ReadShareGroupState": _SHARE_STATE,
    "ReadShareGroupStateSummary": _SHARE_STATE,
    "ShareAcknowledge": _SESSION,
    "ShareFetch": _SESSION,
    "UpdateFeatures": _CLUSTER,
    "WriteShareGroupState": _SHARE_STATE,
}

load_handlers()


class Cost(NamedTuple):
    seconds: float
    longest_s: float
    #: of the machine at that moment
    slowness: float


def slowness() -> float:
    """How many times as long as `COUNTING_S` this machine takes now; 1 at least."""
    began_s = time.thread_time()
    count = 0
    for number in range(COUNTED):
        count += number
    return max(1.0, (time.thread_time() - began_s) / COUNTING_S)


async def ask(box: Box, frame: bytes) -> None:
    server, transport = Server(box.broker), Transport()
    server.admit = lambda connection: 1  # type: ignore[method-assign]
    server.dismiss = lambda connection: None  # type: ignore[method-assign]
    connection = Connection(server, Listener.plaintext("", 9092))
    connection.connection_made(transport)  # type: ignore[arg-type]
    while frame and not transport.is_closed:
        room = connection.get_buffer(-1)
        piece, frame = frame[: len(room)], frame[len(room) :]
        room[: len(piece)] = piece
        connection.buffer_updated(len(piece))
        await asyncio.sleep(0)
    async with asyncio.timeout(30):
        while not transport.sent and not transport.is_closed:  # noqa: ASYNC110 - nobody tells a transport
            await asyncio.sleep(0)
    connection.connection_lost(None)
    for _ in range(3):
        await asyncio.sleep(0)


def framed(crowd: Crowd, count: int, box: Box) -> bytes:
    topic = box.broker.cluster.topic(TOPIC)
    assert topic is not None
    request, version = crowded(crowd, count, topic.topic_id), crowd.api.versions.last
    head = struct.pack(">hhih", crowd.api.key, version, 1, -1)
    if codec.is_flexible(type(request), version):
        head += b"\0"
    frame = head + codec.encode(request, version)
    return struct.pack(">i", len(frame)) + frame


@contextmanager
def nothing_collected() -> Iterator[None]:
    """A full collection looks at all that pytest and the tests before have made; a broker has it frozen."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def cost(crowd: Crowd, count: int) -> Cost:
    few = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
    async with in_a_box(durability="os", **few) as box:
        await box.broker.share_coordinator.start()
        await box.broker.groups.start()
        await box.broker.cluster.create_topics([NewTopic(TOPIC, 3)])
        turns = box.broker.turns = box.broker.runtime.turns = Turns(time.thread_time)
        frame = framed(crowd, count, box)
        slow = slowness()
        began_s = time.thread_time()
        await ask(box, frame)
        took_s = time.thread_time() - began_s
        return Cost(took_s, max(turns.longest.values(), default=0.0), max(slow, slowness()))


@pytest.mark.parametrize("api", apis(), ids=lambda api: api.name)
def test_a_crowd_costs_in_proportion_and_lets_others_have_their_turns(api: object) -> None:
    for crowd in crowds(api):  # type: ignore[arg-type]
        measured: list[tuple[Cost, Cost]] = []
        # A busy machine may spoil a measurement, but makes nothing good that is not.
        while not measured or not _is_good(crowd, *measured[-1]):
            assert len(measured) < 12, (str(crowd), measured)
            with nothing_collected():
                measured.append((run(cost(crowd, FEW)), run(cost(crowd, MANY))))


def _is_good(crowd: Crowd, few: Cost, many: Cost) -> bool:
    is_short = many.longest_s < LONGEST_S * many.slowness or crowd.api.name in AT_ONCE
    return is_short and many.seconds < BASE_S + MOST_TIMES * few.seconds
