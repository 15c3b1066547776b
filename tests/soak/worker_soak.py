"""Jobs whose handlers fail in every way, workers that are told to stop every few seconds, and a broker that goes away.

`soak` plays it and says what came of it: which jobs' side effects happened, which became dead letters, what is left.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from interop.broker_process import SHARE, BrokerProcess
from interop.confluent_io import create_topic
from interop.share_state import offsets_of
from interop.test_share_librdkafka import set_group
from leaselog.client import Producer, ShareConsumer
from soak.worker_life import is_rejected

SCRIPT = Path(__file__).with_name("worker_life.py")
FLAVOURS = ("worker", "run")
LOCK_MS = 1_000
#: A worker that is killed while it says goodbye is a member until this is over, and its partitions wait.
SETTINGS = {**SHARE, "group.share.min.session.timeout.ms": "1000", "group.share.session.timeout.ms": "2000"}
LOOK_EVERY_S = 0.1


@dataclass(slots=True)
class Report:
    jobs: int
    #: side effects by job: at least once each, and more where a lease was lost
    done: Counter[int] = field(default_factory=Counter)
    letters: set[int] = field(default_factory=set)
    lag: int = 0
    #: exit codes of the workers' lives
    ends: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def wanted(self) -> set[int]:
        return {number for number in range(self.jobs) if not is_rejected(number)}

    def __str__(self) -> str:
        again = sum(count - 1 for count in self.done.values())
        return (
            f"{self.jobs} jobs in {self.seconds:.0f} s: {len(self.done)} done, {again} times more than once,"
            f" {len(self.letters)} dead letters, {self.lag} left; lives of workers by exit code: {dict(self.ends)}"
        )


class _Lives:
    """One worker at a time; another begins when one ends."""

    def __init__(self, broker: BrokerProcess, topic: str, group: str, home: Path) -> None:
        self.path = home / "done.txt"
        self.path.touch()
        self.ends = Counter[int]()
        self._command = [sys.executable, str(SCRIPT), broker.address, topic, group, str(self.path)]
        self._log = (home / "workers.log").open("ab")
        self._count = 0
        self._process = self._begin()

    def _begin(self) -> subprocess.Popen[bytes]:
        flavour = FLAVOURS[self._count % len(FLAVOURS)]
        self._count += 1
        self._is_asked = False
        return subprocess.Popen([*self._command, flavour], stdout=self._log, stderr=self._log)

    def look(self) -> None:
        if (code := self._process.poll()) is not None:
            self.ends[code] += 1
            self._process = self._begin()

    def ask_to_stop(self) -> None:
        """Each life once: a second signal is for who is impatient, and what then dies leaves its group to find out."""
        if not self._is_asked:
            self._is_asked = True
            self._process.terminate()

    def end(self) -> None:
        self.ask_to_stop()
        try:
            self.ends[self._process.wait(60)] += 1
        finally:
            self._process.kill()
            self._process.wait()
            self._log.close()

    def done(self) -> Counter[int]:
        return Counter(map(int, self.path.read_text().split()))


def soak(
    home: Path,
    *,
    jobs: int,
    stops: int,
    stop_every_s: float,
    away_at_s: float,
    away_s: float,
    patience_s: float,
) -> Report:
    broker = BrokerProcess(home / "broker", SETTINGS)
    broker.start()
    try:
        topic, letters = create_topic(broker, "jobs", 3), "dlq.jobs"
        create_topic(broker, letters, 1, {"errors.deadletterqueue.group.enable": "true"})
        group = set_group(
            broker,
            "soak",
            share_record_lock_duration_ms=str(LOCK_MS),
            errors_deadletterqueue_topic_name=letters,
            errors_deadletterqueue_copy_record_enable="true",
        )
        with Producer(broker.address) as producer:
            for number in range(jobs):
                producer.send(topic, b"%d" % number)
        report = Report(jobs)
        began_s = time.monotonic()
        lives = _Lives(broker, topic, group, home)
        try:
            _play(broker, lives, report, group, stops, stop_every_s, away_at_s, away_s, patience_s)
        finally:
            lives.end()
        report.seconds = time.monotonic() - began_s
        report.done, report.ends = lives.done(), lives.ends
        report.letters = _values(broker, letters, sum(map(is_rejected, range(jobs))))
        return report
    finally:
        broker.stop()


def _play(
    broker: BrokerProcess,
    lives: _Lives,
    report: Report,
    group: str,
    stops: int,
    stop_every_s: float,
    away_at_s: float,
    away_s: float,
    patience_s: float,
) -> None:
    began_s = asked_s = time.monotonic()
    was_away = False
    while time.monotonic() - began_s < patience_s:
        lives.look()
        now_s = time.monotonic()
        if stops and now_s - asked_s >= stop_every_s:
            lives.ask_to_stop()
            stops, asked_s = stops - 1, now_s
        if not was_away and now_s - began_s >= away_at_s:
            broker.stop()
            time.sleep(away_s)
            broker.start()
            was_away = True
        if was_away and lives.done().keys() >= report.wanted:
            report.lag = sum(max(0, told.lag) for told in offsets_of(broker, group).values())
            if not report.lag:
                return
        time.sleep(LOOK_EVERY_S)


def _values(broker: BrokerProcess, topic: str, count: int) -> set[int]:
    """Of all records of a topic, waited for; and of one more, if there is one that should not be."""
    found = set[int]()
    with ShareConsumer(broker.address, group_id="reader") as consumer:
        consumer.subscribe([topic])
        set_group(broker, "reader", share_auto_offset_reset="earliest")
        deadline_s = time.monotonic() + 30
        last_s = time.monotonic()
        while time.monotonic() < deadline_s and (len(found) < count or time.monotonic() - last_s < 1.0):
            if records := consumer.poll(0.2):
                found |= {int(record.value) for record in records}
                last_s = time.monotonic()
    return found
