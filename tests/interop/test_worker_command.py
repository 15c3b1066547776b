"""`leaselog worker` as a shell runs it: jobs, retries, dead letters, several processes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, Sent, create_topic, numbered, produce, wait_until
from interop.test_cli import PROGRAM, Cli
from interop.test_share_librdkafka import set_group
from leaselog.cli.supervision import SAME_SIGNAL_MS
from leaselog.cli.worker_endpoint import MOST_AT_ONCE

pytestmark = pytest.mark.all_on_kafka


JOBS = """
import asyncio, os, time

def say(*words):
    with open("done.txt", "a") as file:
        print(*words, file=file)

def pack(record):
    number = record.offset
    if number == 3 and record.delivery_count == 1:
        raise ValueError("not this time")
    say("packed", number, record.delivery_count, os.getpid())

async def ship(record):
    await asyncio.sleep(0)
    pack(record)

def slow(record):
    say("begun", record.offset, record.delivery_count, os.getpid())
    time.sleep(1)
    say("packed", record.offset, record.delivery_count, os.getpid())

def hang(record):
    say("begun", record.offset, record.delivery_count, os.getpid())
    time.sleep(300)

def never(record):
    raise ValueError("never")
"""


class WorkerCommand:
    """One `leaselog worker`, in a folder with `jobs.py`."""

    def __init__(self, broker: BrokerProcess, folder: Path, handler: str, *args: str) -> None:
        self.folder = folder
        (folder / "done.txt").touch()
        self._log = folder / "worker.log"
        line = [
            PROGRAM,
            "worker",
            handler,
            "--bootstrap-server",
            broker.address,
            "--log-format",
            "json",
            *args,
        ]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(line, cwd=folder, stdout=log, stderr=log)

    def log(self, event: str) -> list[dict[str, Any]]:
        lines = self._log.read_text().splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [one for one in events if one["event"] == event]

    def text(self) -> str:
        return self._log.read_text()

    def done(self, word: str = "packed") -> list[tuple[int, int, int]]:
        """Offset, delivery and process of each."""
        lines = [line.split() for line in (self.folder / "done.txt").read_text().splitlines()]
        return [(int(n), int(delivery), int(pid)) for kind, n, delivery, pid in lines if kind == word]

    def until(self, condition: Callable[[], object], what: str) -> None:
        wait_until(lambda: condition() or self.process.poll() is not None, what)
        assert condition(), self.text()

    def until_done(self, count: int) -> None:
        self.until(lambda: len({number for number, _, _ in self.done()}) >= count, f"{count} jobs")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)

    def address(self) -> str:
        self.until(lambda: self.log("metrics"), "the address of the metrics")
        return str(self.log("metrics")[0]["address"])

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://{self.address()}{path}", timeout=WAIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def health_while_it_ends(self) -> str:
        """The last that was told."""
        told = ""
        with suppress(OSError, HTTPException):  # it is gone, maybe in the middle of an answer
            while True:
                told = self.get("/healthz")[1]
        return told


Work = Callable[..., WorkerCommand]


@pytest.fixture
def work(broker: BrokerProcess, tmp_path: Path) -> Iterator[Work]:
    """Starts workers, and sees to it that none is left."""
    (tmp_path / "jobs.py").write_text(JOBS)
    started: list[WorkerCommand] = []

    def start(handler: str, *args: str, on: BrokerProcess = broker) -> WorkerCommand:
        started.append(WorkerCommand(on, tmp_path, handler, *args))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()  # the processes that it has started hear of it
        one.process.wait()


@pytest.mark.parametrize("handler", ["pack", "ship"])
def test_a_worker_does_its_jobs_tries_again_what_failed_and_ends_well(broker, fresh, work, handler) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(10))
    delays = ("--retry-delays", "0.3", "--concurrency", "2", "--metrics", ":0")
    worker = work(f"jobs:{handler}", "--group", group, "--topic", topic, *delays)
    worker.until_done(10)
    assert Counter((number, delivery) for number, delivery, _ in worker.done()) == {
        (number, 2 if number == 3 else 1): 1 for number in range(10)
    }
    worker.until(lambda: worker.get("/healthz") == (200, "ok\n"), "health")
    assert 'leaselog_worker_records_total{outcome="processed"} 10.0\n' in worker.get("/metrics")[1]
    assert worker.get("/")[0] == 404
    assert worker.end() == 0, worker.text()
    (first,) = worker.log("working")
    assert (first["topics"], first["group"], first["retries"]) == (topic, group, "after about 0.3 s")
    assert first["dead_letters"].startswith("none, so a record that has failed 5 times is gone")
    (failed,) = worker.log("a record failed")
    facts = [failed[key] for key in ("topic", "partition", "offset", "delivery", "outcome", "reason")]
    assert facts == [topic, 0, 3, 1, "released", "ValueError: not this time"]
    assert "src/leaselog" not in failed["exception"], "the trace begins with the handler"
    (stopped,) = worker.log("stopped")
    assert (stopped["processed"], stopped["released"]) == (10, 1)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_that_is_told_to_stop_finishes_the_job_that_it_has_begun(
    broker, fresh, work, processes
) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(1))
    args = ("--group", group, "--topic", topic, "--processes", processes, "--metrics", ":0")
    worker = work("jobs:slow", *args)
    worker.until(lambda: worker.done("begun"), "the job")
    worker.process.send_signal(signal.SIGINT)
    if processes == "1":  # else one may have ended before the other
        assert worker.health_while_it_ends() == "it is stopping\n"
    assert worker.process.wait(WAIT_S) == 0, worker.text()
    assert [(number, delivery) for number, delivery, _ in worker.done()] == [(0, 1)]


def test_a_process_that_is_killed_is_started_again_and_its_job_done_by_another(
    share_broker, fresh, work
) -> None:
    topic, group = create_topic(share_broker, fresh("t")), fresh("g")
    set_group(share_broker, group, share_record_lock_duration_ms="1000")
    args = ("--group", group, "--topic", topic, "--processes", "2", "--retry-delays", "0")
    worker = work("jobs:slow", *args, on=share_broker)
    worker.until(lambda: len(worker.log("working")) == 2, "both processes")
    produce(share_broker, topic, numbered(1))
    worker.until(lambda: worker.done("begun"), "the job")
    (_, _, killed) = worker.done("begun")[0]
    os.kill(killed, signal.SIGKILL)
    worker.until(lambda: worker.done(), "the job, done by another")
    worker.until(lambda: len(worker.log("working")) == 3, "the process that was started again")
    (told,) = worker.log("a process has ended and will be started again")
    assert (told["code"], told["seconds"]) == (-signal.SIGKILL, 1.0)
    ((number, delivery, pid),) = worker.done()
    assert (number, delivery) == (0, 2)
    assert pid != killed
    assert worker.end() == 0, worker.text()


def test_a_second_signal_kills_the_processes(broker, fresh, work) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(1))
    worker = work("jobs:hang", "--group", group, "--topic", topic, "--processes", "2")
    worker.until(lambda: worker.done("begun"), "the job")
    worker.until(lambda: len(worker.log("working")) == 2, "both processes")
    worker.process.send_signal(signal.SIGTERM)
    worker.until(lambda: worker.log("stopped"), "the end of who has nothing to do")
    time.sleep(SAME_SIGNAL_MS / 1000)
    assert worker.end() == 1
    assert len(worker.log("killed")) == 1


def test_a_job_that_does_not_end_in_time_is_left_and_comes_again(broker, fresh, work) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(1))
    args = ("--group", group, "--topic", topic, "--drain-timeout", "0.5")
    worker = work("jobs:hang", *args)
    worker.until(lambda: worker.done("begun"), "the job")
    assert worker.end() == 0, worker.text()
    again = work("jobs:pack", *args)
    again.until_done(1)
    assert [(number, delivery) for number, delivery, _ in again.done()] == [(0, 2)]
    assert again.end() == 0


def test_processes_end_well_when_whoever_started_them_is_killed(broker, fresh, work) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    produce(broker, topic, numbered(1))
    worker = work("jobs:slow", "--group", group, "--topic", topic, "--processes", "2")
    worker.until(lambda: worker.done("begun"), "the job")
    worker.process.kill()
    worker.process.wait()
    wait_until(lambda: len(worker.log("stopped")) == len(worker.log("working")), "their end")
    assert [number for number, _, _ in worker.done()] == [0]


def test_what_cannot_be_started_is_told_once_and_by_the_exit_code(broker, fresh, work) -> None:
    group, topic = fresh("g"), fresh("t")
    worker = work("jobs:pakc", "--group", group, "--topic", topic, "--processes", "3")
    assert worker.process.wait(WAIT_S) == 2
    assert worker.text().count("there is no pakc in") == 1


def test_a_worker_starts_again_when_its_module_changes(broker, fresh, work, tmp_path) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    worker = work("jobs:pack", "--group", group, "--topic", topic, "--reload")
    worker.until(lambda: worker.log("working"), "the first life")
    (tmp_path / "jobs.py").write_text("def pack(record)\n")
    worker.until(lambda: worker.log("waiting for the sources to change"), "a mistake to be told")
    (tmp_path / "jobs.py").write_text(JOBS.replace('"packed"', '"mended"'))
    worker.until(lambda: len(worker.log("working")) == 2, "the second life")
    produce(broker, topic, numbered(1))
    worker.until(lambda: worker.done("mended"), "the new handler")
    assert worker.end() == 0, worker.text()


@pytest.mark.only_leaselog("dead letters came with Apache Kafka 4.4, and this one is older")
def test_a_record_that_is_given_up_is_in_the_dead_letter_topic_that_the_worker_has_made(
    broker, fresh, work, tmp_path
) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    letters = f"dlq.{fresh('d')}"
    set_group(broker, group, share_delivery_count_limit="2")
    produce(broker, topic, numbered(1))
    args = ("--group", group, "--topic", topic, "--retry-delays", "0.1", "--dead-letter-topic", letters)
    worker = work("jobs:never", *args)
    worker.until(lambda: len(worker.log("a record failed")) == 2, "the last attempt")
    assert [one.get("last", False) for one in worker.log("a record failed")] == [False, True]
    assert worker.log("working")[0]["dead_letters"] == letters
    assert worker.end() == 0, worker.text()
    cli = Cli(broker, tmp_path)
    told = ("--from-beginning", "--max-messages", "1", "--formatter-property", "print.headers=true")
    letter = cli("console-consumer", "--topic", letters, *told)
    assert "__dlq.errors.message:ValueError: never" in letter
    assert letter.rstrip().endswith(numbered(1)[0].value.decode())
    again = work("jobs:never", *args)
    again.until(lambda: len(again.log("working")) == 2, "a worker of a group that is set already")
    assert again.end() == 0
    other = work("jobs:never", *args[:-1], f"{letters}.other")
    other.until(lambda: len(other.log("working")) == 3, "a worker that wishes for another")
    assert other.log("the group has another dead-letter topic, which stays")[0]["topic"] == letters
    assert other.end() == 0


@pytest.mark.only_leaselog("dead letters came with Apache Kafka 4.4, and this one is older")
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("name", "the broker wants a name that begins with dlq."),
        ("topic", "the topic takes no dead letters, it has not errors.deadletterqueue.group.enable=true"),
    ],
)
def test_a_worker_does_not_begin_if_its_dead_letters_would_be_lost(broker, fresh, work, kind, told) -> None:
    letters = fresh("letters") if kind == "name" else create_topic(broker, f"dlq.{fresh('t')}")
    args = ("--group", fresh("g"), "--topic", fresh("t"), "--dead-letter-topic", letters)
    worker = work("jobs:pack", *args)
    assert worker.process.wait(WAIT_S) == 1
    assert f"leaselog worker: --dead-letter-topic {letters}: {told}" in worker.text()


def test_a_worker_waits_for_a_broker_says_so_and_can_be_told_to_stop(broker_factory, fresh, work) -> None:
    away = broker_factory()
    away.stop()
    worker = work("jobs:pack", "--group", fresh("g"), "--topic", fresh("t"), "--metrics", ":0", on=away)
    assert worker.get("/healthz") == (503, "no broker has answered yet\n")
    assert "leaselog_worker_healthy 0.0\n" in worker.get("/metrics")[1]
    away.start()
    worker.until(lambda: worker.get("/healthz")[0] == 200, "health")
    assert worker.end() == 0, worker.text()


def test_connections_on_which_nobody_asks_keep_an_endpoint_busy_for_seconds_only(broker, fresh, work) -> None:
    worker = work("jobs:pack", "--group", fresh("g"), "--topic", fresh("t"), "--metrics", ":0")
    host, _, port = worker.address().rpartition(":")
    with ExitStack() as stack:
        for _ in range(MOST_AT_ONCE):
            stack.enter_context(socket.create_connection((host, int(port)), WAIT_S))

        def answers() -> bool:
            with suppress(OSError, HTTPException):  # turned away
                return worker.get("/healthz")[0] in (200, 503)
            return False

        assert not answers()
        worker.until(answers, "an answer")
    assert worker.end() == 0


@pytest.mark.only_kafka("leaselog and Apache Kafka 4.4 know dead letters")
def test_a_cluster_that_knows_no_dead_letters_is_told_of(broker, fresh, work) -> None:
    group, topic = fresh("g"), create_topic(broker, fresh("t"))
    worker = work("jobs:pack", "--group", group, "--topic", topic, "--dead-letter-topic", "dlq.t")
    assert worker.process.wait(WAIT_S) == 1
    assert "--dead-letter-topic dlq.t: the cluster knows of no dead letters" in worker.text()
    worker = work("jobs:pack", "--group", group, "--topic", topic)
    worker.until(lambda: worker.log("working"), "its first line")
    assert worker.log("working")[0]["dead_letters"].endswith("is gone (the cluster knows none)")
    assert worker.end() == 0


WORKER = """
from dataclasses import dataclass
from leaselog.client import ShareRecord, Worker

@dataclass
class Job:
    number: int

worker = Worker(concurrency=2, retry_delays=(0.1,))

@worker.handler({topic!r})
def pack(job: Job, record: ShareRecord):
    with open("done.txt", "a") as file:
        print("packed", job.number, record.delivery_count, 0, file=file)
"""


@pytest.mark.only_leaselog("dead letters came with Apache Kafka 4.4, and this one is older")
def test_a_worker_with_handlers_of_its_own_is_run_and_what_nobody_can_read_is_a_dead_letter(
    broker, fresh, work, tmp_path
) -> None:
    topic, group = create_topic(broker, fresh("t")), fresh("g")
    (tmp_path / "shop.py").write_text(WORKER.format(topic=topic))
    produce(broker, topic, [Sent(value=b'{"number": %d}' % n) for n in range(5)] + [Sent(value=b"{}")])
    letters = f"dlq.{fresh('d')}"
    worker = work("shop:worker", "--group", group, "--dead-letter-topic", letters, "--metrics", ":0")
    worker.until_done(5)
    worker.until(lambda: worker.log("a record failed"), "the record that is no job")
    (failed,) = worker.log("a record failed")
    assert (failed["outcome"], failed["offset"]) == ("rejected", 5)
    assert failed["reason"].endswith("Misfit: payload: number missing (Job)")
    (first,) = worker.log("working")
    told = (first["topics"], first["group"], first["concurrency"], first["retries"], first["dead_letters"])
    assert told == (topic, group, 2, "after about 0.1 s", letters)
    assert 'leaselog_worker_records_total{outcome="processed"} 5.0\n' in worker.get("/metrics")[1]
    assert worker.end() == 0, worker.text()
