"""A process full of share consumers of librdkafka that write down every call and every answer.

    share_worker.py ADDRESS TOPIC GROUP NAME CONSUMERS DIRECTORY SEED

One thread and one file of history for each consumer; ends when its standard input does. What they do with a record is
up to chance: accept, release, reject, be late with it, or close with the record in hand. `ShareWorker.java` does the
same with Apache's consumer, so what is changed here is to be changed there.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from crash.storm import parse
from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    Closing,
    Delivered,
    Event,
    Kind,
    to_line,
)

TYPES: dict[Kind, AcknowledgeType] = {
    "accept": AcknowledgeType.ACCEPT,
    "release": AcknowledgeType.RELEASE,
    "reject": AcknowledgeType.REJECT,
}
KINDS: list[Kind] = ["accept", "release", "reject"]
WEIGHTS = [55, 35, 10]
POLL_S = 0.2
COMMIT_S = 10.0
#: librdkafka 2.16's close comes back late or never when a broker died at the wrong moment, Apache Kafka's too
CLOSE_S = 40.0
#: the exit code of a process in which one consumer has not come back from close, and one more for each other one
STUCK_IN_CLOSE = 100
#: records come from a fetch that may have been answered while an earlier poll was waiting, and not read by the next
POLLS_AHEAD = 4
MAX_RECORDS = 10
CLOSES, DAWDLES, COMMITS = 0.01, 0.02, 0.8
#: longer than the leases of the test
DAWDLE_S = 2.3
WORK_S = 0.02


@dataclass(slots=True)
class Worker:
    address: str
    topic: str
    group: str
    name: str
    chance: random.Random
    history: TextIO
    over: threading.Event
    is_closing: bool = False

    def run(self) -> None:
        life = 0
        while not self.over.is_set():
            self._live(f"{self.name}.{life}")
            life += 1

    def _live(self, name: str) -> None:
        consumer = self._consumer()
        asked = deque([time.monotonic_ns()], maxlen=POLLS_AHEAD)
        closes = False
        while not closes and not self.over.is_set():
            asked.append(time.monotonic_ns())
            messages = self._poll(consumer)
            for message in messages:
                self._note_delivery(name, message, asked[0])
            closes = self.chance.random() < CLOSES
            if messages and not closes:
                self._work(name, consumer, messages)
        self._write(Closing(name, time.monotonic_ns()))
        self.is_closing = True
        consumer.close()
        self.is_closing = False

    def _consumer(self) -> ShareConsumer:
        consumer = ShareConsumer(
            {
                "bootstrap.servers": self.address,
                "group.id": self.group,
                "share.acknowledgement.mode": "explicit",
                "max.poll.records": MAX_RECORDS,
                "reconnect.backoff.ms": 100,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.ms": 50,
                "retry.backoff.max.ms": 200,
                "socket.timeout.ms": 10_000,
                "log_level": 0,
            }
        )
        consumer.subscribe([self.topic])
        return consumer

    def _poll(self, consumer: ShareConsumer) -> list[Message]:
        try:
            return [message for message in consumer.poll(timeout=POLL_S) if message.error() is None]
        except KafkaException as problem:
            print(f"{self.name}: {problem}", file=sys.stderr)
            return []

    def _work(self, name: str, consumer: ShareConsumer, messages: list[Message]) -> None:
        time.sleep(DAWDLE_S if self.chance.random() < DAWDLES else self.chance.random() * WORK_S)  # the work
        for message in messages:
            (kind,) = self.chance.choices(KINDS, WEIGHTS)
            self._write(Acknowledging(name, message.partition(), message.offset(), kind, time.monotonic_ns()))
            consumer.acknowledge(message, TYPES[kind])
        if self.chance.random() < COMMITS:  # or else the next poll takes them along, and nobody tells
            self._commit(name, consumer, messages)

    def _commit(self, name: str, consumer: ShareConsumer, messages: list[Message]) -> None:
        try:
            outcomes = consumer.commit_sync(COMMIT_S)
        except KafkaException as problem:
            print(f"{name}: {problem}", file=sys.stderr)
            return
        at_ns = time.monotonic_ns()
        told = {where.partition: error for where, error in outcomes.items()}
        for message in messages:
            if message.partition() in told:
                ok = told[message.partition()] is None
                self._write(Answered(name, message.partition(), message.offset(), ok, at_ns))

    def _note_delivery(self, name: str, message: Message, after_ns: int) -> None:
        number, partition, sequence = parse(message.value())
        self._write(
            Delivered(
                consumer=name,
                partition=message.partition(),
                offset=message.offset(),
                record=f"{number}/{partition}/{sequence}",
                delivery_count=message.delivery_count(),
                after_ns=after_ns,
                at_ns=time.monotonic_ns(),
            )
        )

    def _write(self, event: Event) -> None:
        self.history.write(to_line(event) + "\n")


def main() -> None:
    faulthandler.register(signal.SIGUSR1)  # whoever will not end can be asked where it is
    address, topic, group, name, consumers, directory, seed = sys.argv[1:]
    over = threading.Event()
    workers, threads = list[Worker](), list[threading.Thread]()
    for number in range(int(consumers)):
        path = Path(directory) / f"{name}-{number}.jsonl"
        worker = Worker(
            address,
            topic,
            group,
            f"{name}-{number}",
            random.Random(f"{seed}-{name}-{number}"),
            path.open("w", buffering=1),
            over,
        )
        workers.append(worker)
        threads.append(threading.Thread(target=worker.run, daemon=True))
    for thread in threads:
        thread.start()
    sys.stdin.read()
    over.set()
    deadline = time.monotonic() + CLOSE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    stuck = [worker for worker, thread in zip(workers, threads, strict=True) if thread.is_alive()]
    if stuck:
        at_work = [worker.name for worker in stuck if not worker.is_closing]
        print(
            f"{name}: {len(stuck)} consumers have not ended in {CLOSE_S} s, of these not in close: {at_work}",
            file=sys.stderr,
            flush=True,
        )
        # What they saw is written down, and their histories say that they were closing.
        os._exit(1 if at_work else STUCK_IN_CLOSE + len(stuck) - 1)


if __name__ == "__main__":
    main()
