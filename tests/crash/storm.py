"""A storm of records from librdkafka whose every value says who sent it, as which, and whether it is whole.

Owns what was sent and what was acknowledged; `judge` compares that with what a broker has after its death.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Message, Producer

FLUSH_S = 15
#: gusts, not a stream: the judge has to read all of it back
BURST = 25
PAUSE_S = 0.02

_HEAD = struct.Struct(">IIQ")  # storm, partition, sequence
_CRC = struct.Struct(">I")


def value_of(storm: int, partition: int, sequence: int) -> bytes:
    """Different lengths, so that batches end anywhere in a page."""
    head = _HEAD.pack(storm, partition, sequence)
    body = head + bytes([sequence & 0xFF]) * (sequence * 37 % 400)
    return body + _CRC.pack(zlib.crc32(body))


def parse(value: bytes) -> tuple[int, int, int]:
    """(storm, partition, sequence) of a value nobody damaged."""
    body, (crc,) = value[: -_CRC.size], _CRC.unpack(value[-_CRC.size :])
    assert zlib.crc32(body) == crc, f"a record of {len(value)} bytes is damaged"
    return _HEAD.unpack(body[: _HEAD.size])


@dataclass(slots=True)
class Storm:
    """One producer in a thread of its own, until `stop`."""

    number: int
    address: str
    topic: str
    partitions: int
    idempotent: bool
    burst: int = BURST
    pause_s: float = PAUSE_S
    #: (partition, sequence) to the offset the broker answered
    acknowledged: dict[tuple[int, int], int] = field(default_factory=dict)
    #: how many sequences of each partition were ever handed to the producer
    sent: Counter[int] = field(default_factory=Counter)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Nothing is handed over any more; what the broker still answers counts, the rest is unknown."""
        self._over.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self) -> None:
        config: dict[str, Any] = {
            "bootstrap.servers": self.address,
            "acks": "all",
            "enable.idempotence": self.idempotent,
            "linger.ms": 1,
            "batch.num.messages": 50,
            "queue.buffering.max.messages": 2_000,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "log_level": 0,
        }
        producer = Producer(config)
        while not self._over.is_set():
            for partition in range(self.partitions):
                for _ in range(self.burst):
                    self._send(producer, partition)
            producer.poll(0)
            self._over.wait(self.pause_s)
        producer.flush(FLUSH_S)
        producer.purge()
        producer.flush(1)

    def _send(self, producer: Producer, partition: int) -> None:
        sequence = self.sent[partition]
        try:
            producer.produce(
                self.topic,
                value_of(self.number, partition, sequence),
                partition=partition,
                on_delivery=lambda error, message: self._delivered(error, message, sequence),
            )
        except BufferError:
            producer.poll(0.01)  # full: the broker is slow or dead
        except KafkaException:
            self._over.wait(0.01)
        else:
            self.sent[partition] += 1

    def _delivered(self, error: Any, message: Message, sequence: int) -> None:
        if error is None:
            self.acknowledged[message.partition(), sequence] = message.offset()


def judge(storms: list[Storm], stored: dict[int, list[tuple[int, bytes]]]) -> Counter[str]:
    """Fails on anything lost, invented, damaged or doubled; counts what it compared.

    `stored` has each partition's (offset, value) pairs as a consumer reads them from the start.
    """
    by_number = {storm.number: storm for storm in storms}
    found: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for partition, records in stored.items():
        assert [offset for offset, _ in records] == list(range(len(records))), "offsets are not dense"
        for offset, value in records:
            number, said, sequence = parse(value)
            assert said == partition, f"a record of partition {said} is in partition {partition}"
            assert number in by_number, f"storm {number} never was"
            assert sequence < by_number[number].sent[partition], f"sequence {sequence} was never sent"
            found[number, partition][sequence].append(offset)
    counts: Counter[str] = Counter()
    for storm in storms:
        for (partition, sequence), offset in storm.acknowledged.items():
            offsets = found[storm.number, partition].get(sequence, [])
            assert offset in offsets, (
                f"storm {storm.number} partition {partition} sequence {sequence} "
                f"was acknowledged at {offset}, found at {offsets}"
            )
        counts["acknowledged"] += len(storm.acknowledged)
        for partition in range(storm.partitions):
            copies = found[storm.number, partition]
            doubled = {sequence: offsets for sequence, offsets in copies.items() if len(offsets) > 1}
            counts["doubled"] += len(doubled)
            if storm.idempotent:
                assert not doubled, f"storm {storm.number} partition {partition} has doubles: {doubled}"
                order = [offsets[0] for _, offsets in sorted(copies.items())]
                assert order == sorted(order), f"storm {storm.number} partition {partition} is out of order"
    return counts
