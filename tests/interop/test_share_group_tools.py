"""Apache's `kafka-share-groups`, every option and every refusal, on groups whose members are librdkafka's.

What is printed was printed by Apache Kafka 4.3.1's broker too, letter for letter.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import ShareConsumer

from interop.broker_process import BrokerProcess
from interop.confluent_io import Sent, create_topic, numbered, produce, wait_until
from interop.toolbox import Shell

TOOL = "consumer.group.ShareGroupCommand"
CONSUMER = "consumer.ConsoleShareConsumer"
FORMATTER = "org.apache.kafka.tools.consumer.ShareGroupMessageFormatter"
NOW_S = 1_700_000_000


def member(broker: BrokerProcess, group: str, *topics: str, client_id: str = "worker") -> ShareConsumer:
    """A share consumer that the group knows: it has been given a record."""
    consumer = ShareConsumer(
        {"bootstrap.servers": broker.address, "group.id": group, "client.id": client_id, "log_level": 2}
    )
    consumer.subscribe(list(topics))
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        produce(broker, topics[0], numbered(1))  # the group begins at the end of the topic
        if consumer.poll(0.2):
            return consumer
    raise AssertionError(f"nobody joined {group}")


def table(printed: str) -> list[list[str]]:
    """The words of every row, the head's too."""
    return [line.split() for line in printed.splitlines() if line.strip()]


def rows(printed: str) -> list[list[str]]:
    """The table without its head."""
    return table(printed)[1:]


def documents(printed: str) -> Iterator[dict[str, Any]]:
    """JSON one after the other, with nothing in between: so the formatter prints."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(printed.rstrip()):
        found, at = decoder.raw_decode(printed, at)
        yield found


@pytest.fixture
def filled(share_broker, fresh) -> tuple[str, str]:
    """Two topics: three partitions with two records each, a second apart; one with one record."""
    wide, narrow = (
        create_topic(share_broker, fresh("wide"), partitions=3),
        create_topic(share_broker, fresh("narrow")),
    )
    records = [Sent(value=b"v", partition=n % 3, timestamp_ms=(NOW_S + n // 3) * 1_000) for n in range(6)]
    produce(share_broker, wide, records)
    produce(share_broker, narrow, numbered(1))
    return wide, narrow


def test_groups_are_listed_by_state(share_tool, share_broker, fresh, filled) -> None:
    wide, _ = filled
    live, empty = fresh("live"), fresh("empty")
    reset(share_tool, empty, "--topic", wide, "--to-earliest")
    with closing(member(share_broker, live, wide)):
        assert {live, empty} <= set(share_tool(TOOL, "--list").split())
        everything = table(share_tool(TOOL, "--list", "--state"))
        assert everything[0] == ["GROUP", "STATE"]
        assert [live, "Stable"] in everything
        assert [empty, "Empty"] in everything
        for states, found in (("Stable", {live}), ("empty", {empty}), ("EMPTY,stable", {live, empty})):
            listed = {row[0] for row in rows(share_tool(TOOL, "--list", "--state", states))}
            assert listed & {live, empty} == found, states
        assert rows(share_tool(TOOL, "--list", "--state", "Dead")) == []


def reset(tool: Shell, group: str, *scope: str) -> list[list[str]]:
    printed = tool(TOOL, "--reset-offsets", "--group", group, *scope, "--execute")
    return sorted(row for row in table(printed) if row[0] == group)  # a warning may stand above the table


def test_a_live_group_is_described(share_tool, share_broker, fresh, filled) -> None:
    wide, narrow = filled
    group = fresh("group")
    describe = ["--describe", "--group", group]
    with closing(member(share_broker, group, wide, narrow)):
        (head, state) = table(share_tool(TOOL, *describe, "--state"))
        assert head == ["GROUP", "COORDINATOR", "(ID)", "STATE", "#MEMBERS"]
        assert state == [group, share_broker.address, "(0)", "Stable", "1"]
        (head, state) = table(share_tool(TOOL, *describe, "--state", "--verbose"))
        assert head[3:] == ["STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"]
        assert state[3] == "Stable"
        assert state[4] == state[5]  # what was last assigned is the group's newest
        (head, one) = table(share_tool(TOOL, *describe, "--members"))
        assert head == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
        assigned = ";".join(sorted([f"{wide}:0,1,2", f"{narrow}:0"]))
        assert [one[0], *one[2:5]] == [group, "/127.0.0.1", "worker", "4"]
        assert ";".join(sorted(one[5].split(";"))) == assigned
        (head, one) = table(share_tool(TOOL, *describe, "--members", "--verbose"))
        assert head[4:] == ["#PARTITIONS", "MEMBER-EPOCH", "ASSIGNMENT"]
        assert one[5] == state[4]


def test_the_members_of_a_group_divide_its_partitions(share_tool, share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("topic"), partitions=4), fresh("group")
    for _ in range(2):
        share_tool.start(CONSUMER, "--topic", topic, "--group", group, "--timeout-ms", "20000")
    wait_until(lambda: group in share_tool(TOOL, "--list").split(), "the group")

    def shares() -> list[str]:
        return [row[4] for row in rows(share_tool(TOOL, "--describe", "--group", group, "--members"))]

    wait_until(lambda: shares() == ["2", "2"], "two partitions each")


def test_a_group_without_members_is_described(share_tool, fresh, filled) -> None:
    wide, narrow = filled
    group = fresh("group")
    reset(share_tool, group, "--topic", f"{wide}:0,2", "--topic", narrow, "--to-earliest")
    complaint = f"Share group '{group}' has no active members."
    state = share_tool.ended(TOOL, "--describe", "--group", group, "--state")
    assert rows(state.out)[0][3:] == ["Empty", "0"]
    assert complaint in state.err
    members = share_tool.ended(TOOL, "--describe", "--group", group, "--members")
    assert (members.out.strip(), members.err.strip()) == ("", complaint)
    for asked in ([], ["--offsets"]):
        (head, *found) = table(share_tool(TOOL, "--describe", "--group", group, *asked))
        assert head == ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
        assert sorted(found) == sorted(
            [[group, wide, "0", "0", "2"], [group, wide, "2", "0", "2"], [group, narrow, "0", "0", "1"]]
        )
    (head, *found) = table(share_tool(TOOL, "--describe", "--group", group, "--offsets", "--verbose"))
    assert head == ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"]
    assert [group, wide, "2", "0", "0", "2"] in found


def test_partitions_nobody_has_read_stand_nowhere(share_tool, share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("topic")), fresh("group")
    idle = share_tool.start(CONSUMER, "--topic", topic, "--group", group, "--timeout-ms", "20000")
    wait_until(lambda: group in share_tool(TOOL, "--list").split(), "the group")

    def described() -> list[list[str]]:
        return rows(share_tool(TOOL, "--describe", "--group", group))

    wait_until(lambda: described() == [[group, topic, "0", "-", "-"]], "a partition that stands nowhere")
    assert not idle.done()


def test_offsets_are_reset_to_either_end_and_to_a_time(share_tool, fresh, filled) -> None:
    wide, narrow = filled
    group = fresh("group")
    scope = ["--topic", f"{wide}:0,2", "--topic", narrow]
    planned = share_tool(TOOL, "--reset-offsets", "--group", group, *scope, "--to-latest", "--dry-run")
    latest = [[group, narrow, "0", "1"], [group, wide, "0", "2"], [group, wide, "2", "2"]]
    assert table(planned)[0] == ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
    assert sorted(rows(planned)) == latest
    assert group not in share_tool(TOOL, "--list").split()  # a plan makes no group
    assert reset(share_tool, group, *scope, "--to-latest") == latest
    earliest = [[*row[:3], "0"] for row in latest]
    assert reset(share_tool, group, "--all-topics", "--to-earliest") == earliest
    second = datetime.fromtimestamp(NOW_S + 1, UTC).strftime("%Y-%m-%dT%H:%M:%S.000")
    assert reset(share_tool, group, "--topic", wide, "--to-datetime", second) == [
        [group, wide, str(n), "1"] for n in range(3)
    ]
    beyond = reset(share_tool, group, "--topic", narrow, "--to-datetime", "2100-01-01T00:00:00.000")
    assert beyond == [[group, narrow, "0", "1"]]  # nothing so young: the end
    described = rows(share_tool(TOOL, "--describe", "--group", group))
    assert sorted(described) == sorted(
        [*([group, wide, str(n), "1", "1"] for n in range(3)), [group, narrow, "0", "1", "0"]]
    )
    assert reset(share_tool, fresh("nobody"), "--all-topics", "--to-earliest") == []


def test_what_was_reset_is_where_the_members_begin(share_tool, share_broker, fresh, filled) -> None:
    wide, _ = filled
    group = fresh("group")
    reset(share_tool, group, "--topic", f"{wide}:1", "--to-earliest")
    consumer = ShareConsumer({"bootstrap.servers": share_broker.address, "group.id": group, "log_level": 2})
    with closing(consumer):
        consumer.subscribe([wide])
        got: list[tuple[int, int]] = []

        def both() -> bool:
            got.extend((m.partition(), m.offset()) for m in consumer.poll(0.2))
            return len(got) >= 2

        wait_until(both, "the records of partition 1")
        assert got == [(1, 0), (1, 1)]


def test_offsets_are_deleted_by_topic(share_tool, fresh, filled) -> None:
    wide, narrow = filled
    group, unknown = fresh("group"), fresh("unknown")
    reset(share_tool, group, "--topic", wide, "--topic", narrow, "--to-earliest")
    deletion = ["--delete-offsets", "--group", group]
    printed = share_tool(TOOL, *deletion, "--topic", wide, "--topic", unknown)
    assert table(printed)[0] == ["TOPIC", "STATUS"]
    assert [wide, "Successful"] in rows(printed)
    assert re.search(
        rf"{re.escape(unknown)}\s+Error: This server does not host this topic-partition.", printed
    )
    assert rows(share_tool(TOOL, "--describe", "--group", group)) == [[group, narrow, "0", "0", "1"]]
    assert "Error: There is no offset information to delete." in share_tool(TOOL, *deletion, "--topic", wide)
    share_tool(TOOL, *deletion, "--topic", narrow)
    described = share_tool(TOOL, "--describe", "--group", group)
    assert described.strip() == f"Share group '{group}' has no offset information."


def test_groups_are_deleted_and_what_was_not_is_told(share_tool, share_broker, fresh, filled) -> None:
    wide, _ = filled
    live, empty, unknown = fresh("live"), fresh("empty"), fresh("unknown")
    reset(share_tool, empty, "--topic", wide, "--to-earliest")
    with closing(member(share_broker, live, wide)):
        named = [word for group in (live, empty, unknown) for word in ("--group", group)]
        printed = share_tool(TOOL, "--delete", *named)
        assert "Error: Deletion of some share groups failed:" in printed
        assert f"* Group '{live}' could not be deleted due to:" in printed
        assert f"Share group '{live}' is not EMPTY." in printed
        assert f"Group '{unknown}' is not a share group." in printed
        assert f"These share groups were deleted successfully: '{empty}'" in printed
        refused = share_tool.ended(
            TOOL, "--reset-offsets", "--group", live, "--topic", wide, "--to-earliest", "--execute", code=1
        )
        assert f"Share group '{live}' is not empty." in refused.err
        assert "Error: The group is not empty." in share_tool(
            TOOL, "--delete-offsets", "--group", live, "--topic", wide
        )
    described = rows(share_tool(TOOL, "--describe", "--group", live, "--state"))
    assert described[0][3] == "Empty"  # closing leaves the group at once
    printed = share_tool(TOOL, "--delete", "--group", live)
    assert f"Deletion of requested share groups ('{live}') was successful." in printed
    assert not {live, empty} & set(share_tool(TOOL, "--list").split())


def test_all_groups_of_a_broker_are_described_and_deleted(toolbox, broker_factory, fresh, tmp_path) -> None:
    broker = broker_factory()
    tool = Shell(toolbox, broker)
    topic, groups = create_topic(broker, fresh("topic")), [fresh("a"), fresh("b")]
    for group in groups:
        reset(tool, group, "--topic", topic, "--to-earliest")
    settings = tmp_path / "client.properties"
    settings.write_text("client.id=told-by-a-file\n")
    more = ["--command-config", str(settings), "--timeout", "20000"]
    printed = tool(TOOL, "--describe", "--all-groups", *more)
    assert [row for row in table(printed) if row[0] in groups] == [
        [group, topic, "0", "0", "0"] for group in groups
    ]
    printed = tool(TOOL, "--describe", "--all-groups", "--state")
    assert [row[3] for row in table(printed) if row[0] in groups] == ["Empty", "Empty"]
    printed = tool(TOOL, "--delete", "--all-groups")
    assert all(f"'{group}'" in printed for group in groups)
    assert "was successful" in printed
    assert tool(TOOL, "--list").split() == []


#: what the tool refuses before it asks anybody
MISUSES = {
    "": "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets.",
    "--describe": "Option [describe] takes one of these options: [all-groups], [group]",
    "--describe --group g --members --state": "takes at most one of these options: [members], [offsets], [state]",
    "--describe --group g --state Empty": "Option [describe] does not take a value for [state]",
    "--describe --group g --topic t": 'Option "[topic]" can\'t be used with option "[describe]"',
    "--describe --group g --all-groups": 'Option "[group]" can\'t be used with option "[all-groups]"',
    "--delete": "Option [delete] takes the options [group] or [all-groups]",
    "--delete --group g --all-groups": "Option [delete] takes either [group] or [all-groups], not both.",
    "--delete --group g --topic t": "Option [delete] does not take the option: [topic]",
    "--delete-offsets --group g": "Option [delete-offsets] takes the following options: [group], [topic]",
    "--delete-offsets --topic t": "Option [delete-offsets] takes the following options: [group], [topic]",
    "--reset-offsets --group g --topic t --to-latest": "takes the option: [execute] or [dry-run]",
    "--reset-offsets --group g --topic t --to-latest --dry-run --execute": "only accepts one of",
    "--reset-offsets --group g --topic t --execute": "one of these options: [to-datetime], [to-earliest], [to-latest]",
    "--reset-offsets --group g --to-latest --execute": "takes one of these options: [all-topics], [topic]",
    "--reset-offsets --topic t --to-latest --execute": "Option [reset-offsets] takes the option: [group]",
    "--reset-offsets --group g --topic t --to-latest --to-earliest --execute": "can't be used with option",
    "--reset-offsets --group g --topic t:x --to-latest --execute": "Invalid partition 'x' specified in topic arg 't:x'",
    "--list --group g": 'Option "[group]" can\'t be used with option "[list]"',
    "--list --verbose": "Option(s) [verbose] are unavailable given other options on the command line",
    "--list --state Sleeping": "Invalid state list 'Sleeping'. Valid states are: ",
    "--list --state Empty,Sleeping": "Invalid state list 'Empty,Sleeping'.",
    "--shuffle": "shuffle is not a recognized option",
}


def test_misuse_is_told(share_tool) -> None:
    for asked, told in MISUSES.items():
        assert told in share_tool.ended(TOOL, *asked.split(), code=1).err, asked


#: what the broker refuses, in the tool's words; GROUP and TOPIC are nobody's
REFUSALS = {
    "--describe --group GROUP": "GroupIdNotFoundException: Group GROUP not found.",
    "--describe --group GROUP --members": "GroupIdNotFoundException: Group GROUP not found.",
    "--describe --group GROUP --state": "GroupIdNotFoundException: Group GROUP not found.",
    "--delete --group GROUP": "Group 'GROUP' is not a share group.",
    "--delete-offsets --group GROUP --topic TOPIC": "Error: Group GROUP not found.",
    "--reset-offsets --group GROUP --topic TOPIC --to-latest --execute": "does not host this topic-partition.",
    "--reset-offsets --group GROUP --topic TOPIC:0 --to-latest --dry-run": "does not host this topic-partition.",
    "--reset-offsets --group GROUP --topic THERE:9 --to-latest --execute": 'The partitions "THERE-9" do not exist',
    "--reset-offsets --group GROUP --topic THERE --to-datetime noon --execute": "It does not contain a 'T'",
}


def test_what_is_not_there_is_told(share_tool, share_broker, fresh) -> None:
    names = {
        "GROUP": fresh("group"),
        "TOPIC": fresh("topic"),
        "THERE": create_topic(share_broker, fresh("there")),
    }

    def named(text: str) -> str:
        return re.sub("GROUP|TOPIC|THERE", lambda found: names[found[0]], text)

    for asked, told in REFUSALS.items():
        assert named(told) in share_tool(TOOL, *named(asked).split()), asked


def test_a_group_of_another_kind_is_not_a_share_group(share_tool, share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("topic")), fresh("group")
    offsets = ["--group", group, "--topic", topic, "--to-earliest", "--execute"]
    share_tool("consumer.ConsoleConsumer", "--topic", topic, "--group", group, "--timeout-ms", "1500")
    assert group not in share_tool(TOOL, "--list").split()
    assert f"Group {group} is not a share group." in share_tool(TOOL, "--describe", "--group", group)
    assert f"Group '{group}' is not a share group." in share_tool(TOOL, "--delete", "--group", group)
    refused = share_tool(TOOL, "--reset-offsets", *offsets)
    assert "Error:" in refused


def test_kafkas_formatter_reads_the_records_of_a_group(share_tool, share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("topic"), partitions=3), fresh("group")
    with closing(member(share_broker, group, topic)):
        pass
    printed = share_tool(
        "consumer.ConsoleConsumer",
        *("--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "3000"),
        *("--formatter", FORMATTER),
    )
    mine = [r for r in documents(printed) if r["key"]["data"].get("groupId") == group]
    kinds = {record["key"]["type"] for record in mine}
    assert kinds == {10, 11, 12, 13, 14, 15}
    targets = [r["value"]["data"] for r in mine if r["key"]["type"] == 13 and r["value"]]
    assert targets[-1]["topicPartitions"][0]["partitions"] == [0, 1, 2]
    states = [r["value"]["data"] for r in mine if r["key"]["type"] == 15]
    assert [p["partitions"] for p in states[-1]["initializedTopics"]] == [[0, 1, 2]]
    assert mine[-1]["value"]["data"]["epoch"] > 2
