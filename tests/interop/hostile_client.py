"""One client that means harm, in a process of its own: ``python hostile_client.py NAME PORT SECONDS``.

Each attack is a function with a name of its own; `test_hostile_client.py` runs them all, while somebody else does jobs.
An attack says what it does to the broker and nothing of what becomes of it. A connection that the broker closes is
made again: whoever means harm does not give up.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import cramjam

from leaselog.wire import codec
from leaselog.wire.frames import API_VERSIONS
from leaselog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from leaselog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest
from leaselog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from leaselog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from leaselog.wire.record_batch import BatchHeader, seal, write_header
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

FOR_EVER_MS = 2**31 - 1
MUCH = 2**31 - 1
#: of its own, so that it fills nobody else's
TOPIC = "hostile"
HEADER_BYTES = 61

Attack = Callable[["Target"], None]
ATTACKS: dict[str, Attack] = {}


def attack(work: Attack) -> Attack:
    ATTACKS[work.__name__.replace("_", " ")] = work
    return work


class Target:
    def __init__(self, port: int, seconds: float) -> None:
        self._port = port
        self._ends_s = time.monotonic() + seconds
        self._correlation_ids = itertools.count(1)

    def is_on(self) -> bool:
        return time.monotonic() < self._ends_s

    def connect(self, *, reads: bool = True) -> socket.socket:
        made = socket.create_connection(
            ("127.0.0.1", self._port), timeout=max(self._ends_s - time.monotonic(), 0.1)
        )
        if reads:
            threading.Thread(target=_read_all, args=(made,), daemon=True).start()
        return made

    def request(self, message: Message, version: int) -> bytes:
        return self.frame(
            message.API_KEY,
            version,
            codec.encode(message, version),
            codec.is_flexible(type(message), version),
        )

    def frame(self, key: int, version: int, body: bytes, flexible: bool = False) -> bytes:
        head = struct.pack(">hhih", key, version, next(self._correlation_ids), -1) + (
            b"\0" if flexible else b""
        )
        return struct.pack(">i", len(head) + len(body)) + head + body

    def ask(self, message: Message, version: int) -> bytes:
        """On a connection of its own: the answer, whatever it is."""
        with self.connect(reads=False) as asking:
            asking.sendall(self.request(message, version))
            answer = b""
            while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
                piece = asking.recv(1 << 16)
                if not piece:
                    break
                answer += piece
            return answer

    def make_topic(self, partitions: int = 1) -> None:
        made = CreatableTopic(name=TOPIC, num_partitions=partitions, replication_factor=1)
        self.ask(CreateTopicsRequest(topics=[made], timeout_ms=10_000), 7)

    def repeat(self, data: bytes, connections: int = 1) -> None:
        """Sends the data again and again on so many connections, each of which reads its answers."""
        threads = [
            threading.Thread(target=self._repeat, args=(data,), daemon=True) for _ in range(connections)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _repeat(self, data: bytes) -> None:
        while self.is_on():
            with suppress(OSError), self.connect() as sending:
                while self.is_on():
                    sending.sendall(data)

    def linger(self) -> None:
        while self.is_on():
            time.sleep(0.05)


def _read_all(reading: socket.socket) -> None:
    with suppress(OSError):
        while reading.recv(1 << 20):
            pass


def _produce(batch: bytes | bytearray, *, partition: int = 0, acks: int = 1) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=memoryview(batch))
    return ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])]
    )


def _fetch(partitions: int = 1, *, offset: int = 0, waits: bool) -> FetchRequest:
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=FOR_EVER_MS if waits else 0,
        min_bytes=MUCH if waits else 1,
        max_bytes=MUCH,
        session_epoch=-1,
        topics=[
            FetchTopic(
                topic=TOPIC,
                partitions=[
                    FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=MUCH)
                    for p in range(partitions)
                ],
            )
        ],
    )


def _now_ms() -> int:
    return int(time.time() * 1000)


def _records(count: int, size: int = 10) -> bytearray:
    return build_batch([Record(b"k", b"v" * size, timestamp_ms=_now_ms())] * count)


# -- many small requests


@attack
def pipelined_requests(target: Target) -> None:
    target.repeat(target.frame(API_VERSIONS, 0, b"") * 10_000, connections=4)


@attack
def pipelined_lookups(target: Target) -> None:
    request = ListOffsetsRequest(replica_id=-1)
    target.repeat(target.request(request, 7) * 5_000, connections=50)


@attack
def produces_that_want_no_answer(target: Target) -> None:
    target.make_topic()
    target.repeat(target.request(_produce(_records(1), acks=0), 11) * 1_000, connections=4)


@attack
def requests_of_those_who_hang_up(target: Target) -> None:
    """The other side is closed for sending while thousands of its requests are still to be answered."""
    data = target.frame(API_VERSIONS, 0, b"") * 5_000
    while target.is_on():
        with suppress(OSError), target.connect() as half:
            half.sendall(data)
            half.shutdown(socket.SHUT_WR)
            time.sleep(0.02)


# -- bytes held


@attack
def lengths_without_their_frames(target: Target) -> None:
    silent = []
    for _ in range(500):
        silent.append(target.connect(reads=False))
        silent[-1].sendall((100_000_000).to_bytes(4, "big") + b"\0")
    target.linger()


@attack
def frames_that_never_end(target: Target) -> None:
    """A hundred of four megabytes each, then a byte of each now and then."""
    slow = []
    for _ in range(100):
        slow.append(target.connect(reads=False))
        slow[-1].setblocking(False)
        slow[-1].send((90_000_000).to_bytes(4, "big"))
    junk = bytes(1 << 16)
    for _ in range(64):
        for frame in slow:
            with suppress(BlockingIOError):
                frame.send(junk)
    while target.is_on():
        for frame in slow:
            with suppress(OSError):
                frame.send(b"\0")
        time.sleep(0.1)


@attack
def bytes_one_by_one(target: Target) -> None:
    slow = [target.connect(reads=False) for _ in range(300)]
    data = target.frame(API_VERSIONS, 0, b"")
    while target.is_on():
        for byte in data:
            for connection in slow:
                connection.send(bytes((byte,)))
            time.sleep(0.05)


@attack
def large_frames_behind_a_parked_fetch(target: Target) -> None:
    target.make_topic()
    junk = bytes(1 << 20)
    parked = []
    for _ in range(5):
        parked.append(target.connect(reads=False))
        parked[-1].sendall(target.request(_fetch(waits=True), 12))
        parked[-1].setblocking(False)
    while target.is_on():
        for connection in parked:
            with suppress(OSError):
                connection.send((40_000_000).to_bytes(4, "big") + junk)
        time.sleep(0.001)


@attack
def answers_that_nobody_reads(target: Target) -> None:
    target.make_topic()
    for _ in range(20):
        target.ask(_produce(_records(1, 900_000)), 11)
    fetches = target.request(_fetch(waits=False), 12) * 20
    deaf = []
    for _ in range(100):
        deaf.append(target.connect(reads=False))
        deaf[-1].setblocking(False)
    while target.is_on():
        for connection in deaf:
            with suppress(OSError):
                connection.send(fetches)
        time.sleep(0.01)


# -- connections


@attack
def connections_without_end(target: Target) -> None:
    while target.is_on():
        with suppress(OSError), target.connect(reads=False) as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@attack
def a_crowd_at_once(target: Target) -> None:
    crowd = []
    for _ in range(2_000):
        made = socket.socket()
        made.setblocking(False)
        with suppress(OSError):
            made.connect_ex(("127.0.0.1", target._port))
        crowd.append(made)
    target.linger()


@attack
def other_protocols(target: Target) -> None:
    chance = random.Random(7)
    openings = (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(4) * 1000,
        b"\xff" * 64,
    )
    while target.is_on():
        with suppress(OSError), target.connect(reads=False) as made:
            made.sendall(chance.choice(openings) + chance.randbytes(1000))
            made.recv(100)


# -- requests that are work


@attack
def arrays_of_nothing(target: Target) -> None:
    count = 2_000_000
    names = target.frame(3, 1, struct.pack(">i", count) + b"\0\0" * count)
    tags = target.frame(
        API_VERSIONS, 3, b"\x01\x01" + codec.encode_uvarint(count) + b"\x05\x00" * count, flexible=True
    )
    target.repeat(names + tags)


@attack
def one_partition_asked_for_a_million_times(target: Target) -> None:
    target.make_topic()
    partition = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=-1)
    topic = ListOffsetsTopic(name=TOPIC, partitions=[partition] * 300_000)
    target.repeat(target.request(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7))


@attack
def parked_fetches_of_many_partitions(target: Target) -> None:
    count = 2_000
    target.make_topic(count)
    parked = [target.connect() for _ in range(20)]
    for connection in parked:
        connection.sendall(target.request(_fetch(count, waits=True), 12))
    batch = _records(1)
    target.repeat(b"".join(target.request(_produce(batch, partition=p), 11) for p in range(count)))


@attack
def topics_that_make_themselves(target: Target) -> None:
    for turn in itertools.count():
        if not target.is_on():
            return
        names = [MetadataRequestTopic(name=f"{TOPIC}-{turn}-{n}") for n in range(1_000)]
        with suppress(OSError):
            target.ask(MetadataRequest(topics=names, allow_auto_topic_creation=True), 4)


@attack
def groups_with_long_names(target: Target) -> None:
    target.ask(FindCoordinatorRequest(key=TOPIC), 2)
    name = "g" * 32_700
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=name)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition] * 10)
    commit = OffsetCommitRequest(
        group_id=name, member_id="", generation_id_or_member_epoch=-1, topics=[topic]
    )
    join = codec.encode(
        ShareGroupHeartbeatRequest(
            group_id="", member_id="m", member_epoch=0, subscribed_topic_names=[TOPIC]
        ),
        1,
    )
    # no encoder makes a name of more than 32,767 bytes
    long = codec.encode_uvarint(len(name) * 2 + 1) + name.encode() * 2 + join[1:]
    beats = target.frame(ShareGroupHeartbeatRequest.API_KEY, 1, long, flexible=True)
    target.repeat(target.request(commit, 7) + beats, connections=2)


@attack
def producers_without_end(target: Target) -> None:
    target.make_topic()
    init = target.request(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4) * 100
    ids = iter(range(10**9))
    while target.is_on():
        with suppress(OSError), target.connect() as sending:
            while target.is_on():
                sending.sendall(init)
                for producer in itertools.islice(ids, 100):
                    batch = build_batch(
                        [Record(None, b"v", timestamp_ms=_now_ms())],
                        producer_id=producer,
                        producer_epoch=0,
                        base_sequence=0,
                    )
                    sending.sendall(target.request(_produce(batch), 11))


# -- batches that lie


@attack
def batches_of_claimed_records(target: Target) -> None:
    """Eight bytes that are said to be two thousand million records, and the question which of them is the newest."""
    target.make_topic()
    now_ms, count = _now_ms(), 2**31 - 1
    header = BatchHeader(0, HEADER_BYTES + 8, -1, 2, 0, 8, count - 1, now_ms, now_ms, -1, -1, -1, count)
    batch = bytearray(write_header(header)) + b"x" * 8
    header.crc = seal(batch, 0, len(batch))
    batch[:HEADER_BYTES] = write_header(header)
    newest = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=-3)
    topic = ListOffsetsTopic(name=TOPIC, partitions=[newest])
    target.repeat(
        target.request(_produce(batch), 11)
        + target.request(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
    )


@attack
def batches_that_unpack_to_much(target: Target) -> None:
    """A million records in 30 KB of zstd, with a timestamp that makes the broker look at each of them."""
    target.make_topic()
    count, now_ms = 1_000_000, _now_ms()
    record = b"\x0c\0\0\0\0\x01\0"
    packed = bytes(cramjam.zstd.compress(record * count, 3))
    header = BatchHeader(
        0, HEADER_BYTES + len(packed), -1, 2, 0, 4, count - 1, now_ms, now_ms + 7_200_000, -1, -1, -1, count
    )
    batch = bytearray(write_header(header)) + packed
    header.crc = seal(batch, 0, len(batch))
    batch[:HEADER_BYTES] = write_header(header)
    target.repeat(target.request(_produce(batch), 11))


def main(name: str, port: str, seconds: str) -> None:
    target = Target(int(port), float(seconds))
    with suppress(OSError):
        ATTACKS[name](target)
    os._exit(0)  # threads that still send are of no use to anybody


if __name__ == "__main__":
    main(*sys.argv[1:])
