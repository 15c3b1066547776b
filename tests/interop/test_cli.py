"""Our own command line as a shell runs it, one process a command, judged by what it prints and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import consumer_of, wait_until

PROGRAM = os.environ.get("LEASELOG") or str(Path(sys.executable).with_name("leaselog"))
LIMIT_S = 30


class Cli:
    """Runs a command against the broker, and insists on its exit code."""

    def __init__(self, broker: BrokerProcess, folder: Path) -> None:
        self._broker = broker
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []

    def __call__(self, command: str, *args: str, stdin: str = "", code: int = 0) -> str:
        return self.ended(command, "--bootstrap-server", self._broker.address, *args, stdin=stdin, code=code)[
            0
        ]

    def json(self, command: str, *args: str) -> object:
        return json.loads(self(command, *args, "--json"))

    @staticmethod
    def ended(command: str, *args: str, stdin: str = "", code: int = 0) -> tuple[str, str]:
        """What a command without a broker printed to stdout and stderr."""
        line = [PROGRAM, command, *args]
        ended = subprocess.run(
            line, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert ended.returncode == code, (
            f"{line} ended with {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        )
        return ended.stdout, ended.stderr

    def consumer(self, *args: str) -> Printing:
        """A console consumer that goes on until it is told to end."""
        quick = ("--consumer-property", "heartbeat.interval.ms=300")  # which tells of a rebalance
        return self.printing("console-consumer", *args, *quick)

    def printing(self, command: str, *args: str) -> Printing:
        """A command that goes on until it is told to end."""
        out = self._folder / f"consumer-{len(self._running)}.out"
        line = [PROGRAM, command, "--bootstrap-server", self._broker.address, *args]
        with out.open("wb") as to, out.with_suffix(".err").open("wb") as errors:
            process = subprocess.Popen(line, stdout=to, stderr=errors, stdin=subprocess.DEVNULL)
        self._running.append(process)
        return Printing(process, out)

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()


class Printing:
    def __init__(self, process: subprocess.Popen[bytes], out: Path) -> None:
        self._process = process
        self._out = out

    def lines(self) -> list[str]:
        return self._out.read_text().split()

    def end(self, number: signal.Signals, code: int) -> str:
        """End it politely; what it said on stderr."""
        self._process.send_signal(number)
        assert self._process.wait(LIMIT_S) == code
        return self._out.with_suffix(".err").read_text()


@pytest.fixture
def cli(broker: BrokerProcess, tmp_path: Path) -> Iterator[Cli]:
    with closing(Cli(broker, tmp_path)) as made:
        yield made


@pytest.fixture
def topic(cli: Cli, fresh: Callable[[str], str]) -> str:
    """A topic of four partitions, made by the command."""
    name = fresh("topic").replace(".", "-")
    assert cli("topics", "--create", "--topic", name, "--partitions", "4") == f"Created topic {name}.\n"
    return name


def send(cli: Cli, topic: str, lines: str, *args: str) -> None:
    cli("console-producer", "--topic", topic, *args, stdin=lines)


def test_topics_are_created_grown_listed_described_and_deleted(cli: Cli, topic: str) -> None:
    assert cli.json("topics", "--list", "--topic", topic) == [topic]
    cli("topics", "--alter", "--topic", topic, "--partitions", "6")
    (shown,) = cli.json("topics", "--describe", "--topic", topic)
    assert (shown["topic"], shown["partitionCount"], shown["replicationFactor"]) == (topic, 6, 1)
    assert [p["partition"] for p in shown["partitions"]] == list(range(6))
    plain = cli("topics", "--describe", "--topic", topic).splitlines()
    assert plain[0].startswith(f"Topic: {topic}\tTopicId: {shown['topicId']}\tPartitionCount: 6\t")
    assert len(plain) == 7
    cli("topics", "--delete", "--topic", topic)
    assert cli("topics", "--list", "--topic", topic) == ""


def test_what_the_broker_refuses_ends_with_1_and_one_line(
    cli: Cli, topic: str, broker: BrokerProcess
) -> None:
    server = ("--bootstrap-server", broker.address)
    for args, complaint in [
        (("--create", "--topic", topic), "TOPIC_ALREADY_EXISTS"),
        (("--create", "--topic", "n-" + topic, "--replication-factor", "2"), "INVALID_REPLICATION_FACTOR"),
        (("--alter", "--topic", topic, "--partitions", "2"), "INVALID_PARTITIONS"),
        (("--describe", "--topic", "n-" + topic), "does not exist"),
    ]:
        out, err = cli.ended("topics", *server, *args, code=1)
        assert out == ""
        assert complaint in err
        assert err.count("\n") == 1
    cli("topics", "--create", "--topic", topic, "--if-not-exists")
    cli("topics", "--delete", "--topic", "n-" + topic, "--if-exists")


def test_nobody_there_ends_with_1_and_nonsense_with_2(cli: Cli) -> None:
    _, err = cli.ended("topics", "--bootstrap-server", "127.0.0.1:1", "--list", code=1)
    assert err == "leaselog topics: 127.0.0.1:1: Connection refused\n"
    assert "is required" in cli.ended("topics", "--bootstrap-server", "127.0.0.1:1", code=2)[1]
    assert "unknown command 'tpoics'" in cli.ended("tpoics", code=2)[1]


def test_configs_are_set_shown_and_unset(cli: Cli, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    cli("configs", "--alter", *entity, "--add-config", "retention.ms=3600000,cleanup.policy=[compact,delete]")
    (shown,) = cli.json("configs", "--describe", "--topic", topic)
    assert {c["name"]: c["value"] for c in shown["configs"]} == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "3600000",
    }
    assert "  retention.ms=3600000 sensitive=false" in cli("configs", "--describe", *entity)
    cli("configs", "--alter", *entity, "--delete-config", "retention.ms,cleanup.policy")
    assert cli.json("configs", "--describe", *entity)[0]["configs"] == []
    cli("configs", "--alter", "--topic", topic, "--add-config", "retention.ms=soon", code=1)


def test_records_come_out_as_they_went_in_with_keys_and_headers(cli: Cli, topic: str) -> None:
    lines = "a:1,b:\tk1\tv1\nNO\tNO\tv2\nh:Grüße\tk3\tNO\n"
    properties = ("parse.key=true", "parse.headers=true", "null.marker=NO")
    send(cli, topic, lines, *(arg for p in properties for arg in ("--reader-property", p)))
    reading = ("--topic", topic, "--from-beginning", "--max-messages", "3")
    shown = ("print.key=true", "print.headers=true", "null.literal=NO")
    out = cli("console-consumer", *reading, *(arg for p in shown for arg in ("--formatter-property", p)))
    assert sorted(out.splitlines()) == sorted(["a:1,b:\tk1\tv1", "NO_HEADERS\tNO\tv2", "h:Grüße\tk3\tNO"])
    records = [json.loads(line) for line in cli("console-consumer", *reading, "--json").splitlines()]
    assert {(r["key"], r["value"]) for r in records} == {("k1", "v1"), (None, "v2"), ("k3", None)}


def test_a_partition_is_read_from_an_offset(cli: Cli, topic: str) -> None:
    send(cli, topic, "".join(f"k\t{i}\n" for i in range(10)), "--reader-property", "parse.key=true")
    out = cli("console-consumer", "--topic", topic, "--from-beginning", "--json", "--max-messages", "1")
    where = ("--topic", topic, "--partition", str(json.loads(out)["partition"]))
    assert cli("console-consumer", *where, "--offset", "7", "--max-messages", "3").split() == ["7", "8", "9"]
    assert cli("console-consumer", *where, "--offset", "latest", "--timeout-ms", "300") == ""


def test_a_partition_that_is_not_there_is_one_line(cli: Cli, broker: BrokerProcess, topic: str) -> None:
    asked = ("--bootstrap-server", broker.address, "--topic", topic, "--partition", "99")
    out, err = cli.ended("console-consumer", *asked, "--offset", "earliest", code=1)
    assert (out, err) == ("", f"leaselog console-consumer: topic {topic} has no partition 99\n")


def test_a_consumer_of_an_idle_topic_ends_when_its_reader_has_left(
    cli: Cli, broker: BrokerProcess, topic: str
) -> None:
    line = [PROGRAM, "console-consumer", "--bootstrap-server", broker.address, "--topic", topic]
    send(cli, topic, "only\n")
    with subprocess.Popen(
        [*line, "--from-beginning"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"only\n"
            process.stdout.close()
            assert process.wait(LIMIT_S) == 141
        finally:
            process.kill()


def test_two_consumers_of_a_group_share_the_partitions_and_their_commits_stay(
    cli: Cli, topic: str, fresh: Callable[[str], str]
) -> None:
    reading = ("--topic", topic, "--group", fresh("group"), "--from-beginning")
    members = [cli.consumer(*reading), cli.consumer(*reading)]
    sent: list[str] = []

    def both_print() -> bool:
        batch = [f"v{len(sent) + i}" for i in range(40)]
        send(
            cli,
            topic,
            "".join(f"{value}\t{value}\n" for value in batch),
            "--reader-property",
            "parse.key=true",
        )
        sent.extend(batch)
        return all(member.lines() for member in members)

    wait_until(both_print, "both members to get records")
    wait_until(lambda: sum(len(m.lines()) for m in members) >= len(sent), "everything to be printed")
    ends = [members[0].end(signal.SIGTERM, 143), members[1].end(signal.SIGINT, 130)]
    assert sorted(members[0].lines() + members[1].lines()) == sorted(sent)
    assert [f"of {len(m.lines())} messages" in end for m, end in zip(members, ends, strict=True)] == [
        True
    ] * 2
    send(cli, topic, "last\n")
    assert cli("console-consumer", *reading, "--max-messages", "1") == "last\n"


def test_a_group_is_shared_with_a_client_of_another_make(
    cli: Cli, broker: BrokerProcess, topic: str, fresh: Callable[[str], str]
) -> None:
    group = fresh("group")
    with closing(consumer_of(broker, group)) as stranger:
        stranger.subscribe([topic])
        ours = cli.consumer("--topic", topic, "--group", group, "--from-beginning")

        def is_shared() -> bool:
            stranger.consume(100, 0.05)
            return len(stranger.assignment()) == 2

        wait_until(is_shared, "each to hold two of four partitions")
        ours.end(signal.SIGTERM, 143)

        def is_alone() -> bool:
            stranger.consume(100, 0.05)
            return len(stranger.assignment()) == 4

        wait_until(is_alone, "the one who stays to hold all four")


def test_a_group_keeps_its_place_and_its_members_outlive_a_restart_of_the_broker(
    broker_factory: Callable[[], BrokerProcess], tmp_path: Path
) -> None:
    broker = broker_factory()
    with closing(Cli(broker, tmp_path)) as cli:
        cli("topics", "--create", "--topic", "orders-1")
        send(cli, "orders-1", "".join(f"{i}\n" for i in range(10)))
        stays = cli.consumer("--topic", "orders-1", "--group", "stays", "--from-beginning")
        returns = ("--include", "orders-.", "--group", "returns", "--from-beginning")
        first = cli("console-consumer", *returns, "--max-messages", "3")
        wait_until(lambda: len(stays.lines()) == 10, "the first records")
        broker.stop()
        broker.start()
        rest = cli("console-consumer", *returns, "--max-messages", "7")
        assert (first + rest).split() == [str(i) for i in range(10)]
        send(cli, "orders-1", "10\n")
        wait_until(lambda: len(stays.lines()) == 11, "the record after the restart")
        stays.end(signal.SIGTERM, 143)
        assert stays.lines() == [str(i) for i in range(11)]


def test_the_perf_test_keeps_to_less_than_a_record_a_second(cli: Cli, topic: str) -> None:
    began = time.monotonic()
    rate = ("--num-records", "2", "--throughput", "0.5", "--payload-monotonic")
    assert cli("producer-perf-test", "--topic", topic, *rate).startswith("2 records sent, 0.")
    assert time.monotonic() - began >= 1.9
    out = cli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "2")
    assert sorted(out.split()) == ["0", "1"]


def test_the_perf_test_sends_as_fast_as_it_can(cli: Cli, topic: str) -> None:
    load = ("--num-records", "20000", "--throughput", "-1", "--record-size", "100")
    out = cli("producer-perf-test", "--topic", topic, *load, "--producer-props", "linger.ms=5", "acks=all")
    assert out.startswith("20000 records sent, ")
    assert "99.9th" in out


def test_dump_log_shows_what_the_broker_wrote(cli: Cli, broker: BrokerProcess, topic: str) -> None:
    send(cli, topic, "k\tv\n", "--reader-property", "parse.key=true")
    records = cli("console-consumer", "--topic", topic, "--from-beginning", "--json", "--max-messages", "1")
    folder = broker.log_dir / f"{topic}-{json.loads(records)['partition']}"
    out, err = cli.ended("dump-log", "--files", str(folder / f"{0:020}.log"), "--print-data-log")
    assert err == ""
    assert "baseOffset: 0 lastOffset: 0 count: 1 " in out
    assert "isvalid: true" in out
    assert "key: k payload: v\n" in out


def test_dump_log_reads_the_logs_a_broker_keeps_for_itself(
    cli: Cli, broker: BrokerProcess, topic: str, fresh: Callable[[str], str]
) -> None:
    group = fresh("group")
    send(cli, topic, "v\n")
    cli("console-consumer", "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "1")
    logs = ",".join(map(str, sorted(broker.log_dir.glob("__consumer_offsets-*/*.log"))))
    assert f'"group":"{group}"' in cli.ended("dump-log", "--files", logs, "--offsets-decoder")[0]
    (metadata,) = broker.log_dir.glob("__cluster_metadata-0/*0.log")
    out, _ = cli.ended("dump-log", "--files", str(metadata), "--cluster-metadata-decoder")
    assert f'"name":"{topic}"' in out


@pytest.mark.only_leaselog("starts a broker of its own")
def test_the_demo_proves_itself() -> None:
    out, _ = Cli.ended("demo", "--num-records", "10000", "--num-jobs", "400", "--json")
    shown = json.loads(out)
    assert shown["intact"] is True
    assert sum(partition["consumed"] for partition in shown["partitions"]) == 10_000
    queue = shown["queue"]
    assert (queue["left"], queue["deliveredAgainAfterTheEnd"]) == (0, 0)
    assert queue["accepted"] + queue["rejected"] + queue["unanswered"] == 400
    assert queue["rejected"] + queue["unanswered"] >= 10
    assert queue["redelivered"] >= 50, "an eighth is given back the first time"
    assert 0 < queue["doneBeforeKill"] < 400
