"""What two hands-on articles about share groups show on their consoles, on this broker.

Gunnar Morling, "Let's Take a Look at... KIP-932: Queues for Kafka!" (2025), and the Strimzi blog's introduction to
Kafka queues: their records, their decisions, their tables and the records of `__share_group_state` they print. They
tried the early access of Kafka 4.0; what has changed since is said where it shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest

from interop.broker_process import SHARE, BrokerProcess
from interop.confluent_io import Sent, create_topic, produce, wait_until
from interop.java_process import TIMEOUT_S, Ended
from interop.toolbox import Shell

CONSUMER = "consumer.ConsoleShareConsumer"
STATE_FORMATTER = "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter"
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


@dataclass(frozen=True, slots=True)
class Queue:
    """A topic whose values are their offsets, and a share group on it that begins with the first."""

    tool: Shell
    broker: BrokerProcess
    topic: str
    group: str

    def fill(self, count: int) -> None:
        produce(self.broker, self.topic, [Sent(value=b"%d" % n) for n in range(count)])

    def table(self, say: dict[str, str], **options: object) -> Future[Ended]:
        rules = ",".join(f"{value}={kind}" for value, kind in say.items())
        more = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return self.tool.start("interop.ShareTable", *self._place(), "--say", rules, *more)

    def console(self, *options: str) -> list[str]:
        printing = ["--formatter-property", "print.delivery=true"]
        return self.tool(CONSUMER, *self._place(), *printing, *options, "--timeout-ms", "20000").splitlines()

    def described(self) -> list[str]:
        """The one partition's row: leader epoch, start offset and lag come last."""
        printed = self.tool(
            "consumer.group.ShareGroupCommand", "--describe", "--group", self.group, "--verbose"
        )
        return printed.split("\n")[-2].split()

    def states(self) -> list[dict[str, Any]]:
        """The group's records in the state topic, as they were written: type 0 is a snapshot, 1 an update."""
        reading = ["--topic", "__share_group_state", "--from-beginning", "--timeout-ms", "3000"]
        printed = self.tool("consumer.ConsoleConsumer", *reading, "--formatter", STATE_FORMATTER)
        mine = [record for record in documents(printed) if record["key"]["data"]["groupId"] == self.group]
        assert {record["key"]["data"]["partition"] for record in mine} == {0}
        return [{"type": record["key"]["type"], **record["value"]["data"]} for record in mine]

    def _place(self) -> list[str]:
        return ["--topic", self.topic, "--group", self.group]


def printed_by(future: Future[Ended]) -> list[str]:
    ended = future.result(TIMEOUT_S)
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def documents(printed: str) -> Iterator[dict[str, Any]]:
    """JSON one after the other, with nothing in between: so the formatter prints."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(printed.rstrip()):
        found, at = decoder.raw_decode(printed, at)
        yield found


def batches(*runs: tuple[int, int, int, int]) -> list[dict[str, int]]:
    names = ("firstOffset", "lastOffset", "deliveryState", "deliveryCount")
    return [dict(zip(names, run, strict=True)) for run in runs]


def queue_on(tool: Shell, broker: BrokerProcess, fresh: Callable[[str], str]) -> Queue:
    group = fresh("group")
    entity = ["--entity-type", "groups", "--entity-name", group]
    # the longest leases there are: what is held must be held for as long as a slow machine takes
    settings = "share.auto.offset.reset=earliest,share.record.lock.duration.ms=60000"
    tool("kafka.admin.ConfigCommand", "--alter", *entity, "--add-config", settings)
    return Queue(tool, broker, create_topic(broker, fresh("topic")), group)


@pytest.fixture
def queue(share_tool, share_broker, fresh) -> Queue:
    return queue_on(share_tool, share_broker, fresh)


def test_accepted_released_rejected_and_held(queue, tmp_path) -> None:
    """Gunnar Morling's experiment.

    With 4.0 a poll presented the held ones again and again; since 4.1 polling with held ones is refused, so the
    table ends with the first ten.
    """
    queue.fill(10)
    say = {**dict.fromkeys("015", "ACCEPT"), **dict.fromkeys("3789", "RELEASE"), "6": "REJECT"}
    go_on = tmp_path / "go-on"
    first = queue.table(say, max=10, until=10, hold=go_on)
    wait_until(lambda: queue.described()[-1] == "6", "the commit")  # 0 1 5 6 are done
    # another consumer gets what is available, and not what is held
    assert queue.console("--max-messages", "4") == [f"Delivery:2\t{n}" for n in "3789"]
    go_on.touch()
    assert printed_by(first) == [
        "Record | Status | Delivery Count",
        "--------------------------------",
        "0      | ACKED  | 1",
        "1      | ACKED  | 1",
        "2      | ACQRD  | 1",
        "3      | AVAIL  | 1",
        "4      | ACQRD  | 1",
        "5      | ACKED  | 1",
        "6      | ARCHV  | 1",
        "7      | AVAIL  | 1",
        "8      | AVAIL  | 1",
        "9      | AVAIL  | 1",
    ]
    assert queue.console("--max-messages", "2") == [
        "Delivery:2\t2",
        "Delivery:2\t4",
    ]  # closing gave them back
    assert queue.described()[-1] == "0"
    snapshot, update, *others = queue.states()
    assert (snapshot["type"], snapshot["stateBatches"]) == (0, [])
    assert {state["type"] for state in (update, *others)} == {1}
    assert update["snapshotEpoch"] == 0
    assert update["leaderEpoch"] == 0
    assert update["startOffset"] == 0
    assert update["stateBatches"] == batches(
        (0, 1, ACKNOWLEDGED, 1),
        (3, 3, AVAILABLE, 1),
        (5, 5, ACKNOWLEDGED, 1),
        (6, 6, ARCHIVED, 1),
        (7, 9, AVAILABLE, 1),
    )


def test_five_deliveries_and_archived(queue) -> None:
    """The Strimzi blog's experiment: one cannot be read, four are fine, one is skipped until it may not come again."""
    queue.fill(6)
    say = {"0": "REJECT", **dict.fromkeys("1234", "ACCEPT"), "5": "RELEASE"}
    shown = printed_by(queue.table(say, max=1, until=10))[2:]
    assert shown == [
        "0      | ARCHV  | 1",
        "1      | ACKED  | 1",
        "2      | ACKED  | 1",
        "3      | ACKED  | 1",
        "4      | ACKED  | 1",
        "5      | AVAIL  | 1",
        "5      | AVAIL  | 2",
        "5      | AVAIL  | 3",
        "5      | AVAIL  | 4",
        "5      | AVAIL  | 5",
    ]
    assert queue.described()[-1] == "0"  # and nothing is left
    snapshot, *updates = queue.states()
    assert [snapshot["type"], *{state["type"] for state in updates}] == [0, 1]
    written = [(state["startOffset"], state["stateBatches"]) for state in updates]
    assert written == [
        (0, batches((0, 0, ARCHIVED, 1))),
        (1, batches((1, 1, ACKNOWLEDGED, 1))),
        (2, batches((2, 2, ACKNOWLEDGED, 1))),
        (3, batches((3, 3, ACKNOWLEDGED, 1))),
        (4, batches((4, 4, ACKNOWLEDGED, 1))),
        (5, batches((5, 5, AVAILABLE, 1))),
        (5, batches((5, 5, AVAILABLE, 2))),
        (5, batches((5, 5, AVAILABLE, 3))),
        (5, batches((5, 5, AVAILABLE, 4))),
        (5, batches((5, 5, ARCHIVED, 5))),
    ]


def test_a_snapshot_holds_all_there_is(toolbox, broker_factory, fresh) -> None:
    """The first record the Strimzi blog prints. Their broker wrote a snapshot now and then, this one always does."""
    broker = broker_factory({**SHARE, "share.coordinator.snapshot.update.records.per.snapshot": "0"})
    queue = queue_on(Shell(toolbox, broker), broker, fresh)
    queue.fill(11)
    say = {"0": "RELEASE", **dict.fromkeys("12346789", "ACCEPT"), "5": "REJECT", "10": "RELEASE"}
    printed_by(queue.table(say, max=11, until=11))
    states = queue.states()
    assert {state["type"] for state in states} == {0}
    assert [state["snapshotEpoch"] for state in states] == list(range(len(states)))
    last = states[-1]
    assert (last["leaderEpoch"], last["startOffset"]) == (0, 0)
    assert last["createTimestamp"] <= last["writeTimestamp"]
    assert last["stateBatches"] == batches(
        (0, 0, AVAILABLE, 1),
        (1, 4, ACKNOWLEDGED, 1),
        (5, 5, ARCHIVED, 1),
        (6, 9, ACKNOWLEDGED, 1),
        (10, 10, AVAILABLE, 1),
    )


def test_three_consumers_on_two_partitions(share_tool, share_broker, fresh) -> None:
    """The Strimzi blog's comparison: more consumers than partitions, and all of them are given records."""
    topic, group = create_topic(share_broker, fresh("topic"), partitions=2), fresh("group")
    place = ["--topic", topic, "--group", group]
    show = ["--formatter-property", "print.offset=true", "--formatter-property", "print.partition=true"]
    limited = [
        "--command-property",
        "share.acquire.mode=record_limit",
        "--command-property",
        "max.poll.records=1",
    ]
    # each is to take ten: so all of them must be given some, whatever the others do
    consumers = [
        share_tool.start(CONSUMER, *place, *show, *limited, "--max-messages", "10", "--timeout-ms", "60000")
        for _ in range(3)
    ]
    describe = ["--describe", "--group", group]

    def members() -> list[list[str]]:
        printed = share_tool("consumer.group.ShareGroupCommand", *describe, "--members")
        return [line.split() for line in printed.splitlines() if line.startswith(group)]

    def offsets() -> list[list[str]]:
        printed = share_tool("consumer.group.ShareGroupCommand", *describe)
        return [line.split() for line in printed.splitlines() if line.startswith(group)]

    wait_until(lambda: len(members()) == 3 and all(row[4] != "0" for row in members()), "three members")
    assert {part for row in members() for part in row[5].partition(":")[2].split(",")} == {"0", "1"}
    # the group begins at the end, which a partition's first fetch decides: until then a record may be missed
    wait_until(lambda: len(offsets()) == 2, "both partitions")
    produce(share_broker, topic, [Sent(value=b"m%d" % n, partition=n % 2) for n in range(30)])
    printed = [line for consumer in consumers for line in printed_by(consumer)]
    assert len(printed) == len(set(printed)) == 30
    assert {line.split("\t")[0] for line in printed} == {"Partition:0", "Partition:1"}
