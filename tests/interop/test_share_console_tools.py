"""Apache's console share consumer, its benchmark and its verifier, with every option they have."""

from __future__ import annotations

import json
import re

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import Sent, create_topic, numbered, produce, wait_until
from interop.java_process import TIMEOUT_S
from interop.toolbox import Shell

CONSUMER = "consumer.ConsoleShareConsumer"
GROUPS = "consumer.group.ShareGroupCommand"
#: long enough for a machine with other things to do; what is awaited ends a tool sooner
PATIENCE = ["--timeout-ms", "20000"]
TIME_MS = 1_700_000_000_000


def group_of(tool: Shell, name: str, **settings: str) -> str:
    """A group that begins with the first record; underscores stand for dots."""
    wishes = {"share.auto.offset.reset": "earliest", **{k.replace("_", "."): v for k, v in settings.items()}}
    added = ",".join(f"{key}={value}" for key, value in wishes.items())
    entity = ["--entity-type", "groups", "--entity-name", name]
    tool("kafka.admin.ConfigCommand", "--alter", *entity, "--add-config", added)
    return name


def lag(tool: Shell, group: str) -> str:
    """Of the group's last partition."""
    return tool(GROUPS, "--describe", "--group", group).split()[-1]


def properties(option: str, **values: object) -> list[str]:
    pairs = [f"{key.replace('_', '.')}={value}" for key, value in values.items()]
    return [word for pair in pairs for word in (option, pair)]


@pytest.fixture
def topic(share_broker: BrokerProcess, fresh) -> str:
    """Four records with everything that can be printed."""
    name = create_topic(share_broker, fresh("topic"))
    records = [Sent(b"k%d" % n, b"v%d" % n, (("h", b"x"),), timestamp_ms=TIME_MS + n) for n in range(4)]
    produce(share_broker, name, records)
    return name


def test_everything_about_a_record_is_printed(share_tool, topic, fresh) -> None:
    every = ("timestamp", "key", "offset", "delivery", "epoch", "partition", "headers", "value")
    shown = properties("--formatter-property", **{f"print.{name}": "true" for name in every})
    group = group_of(share_tool, fresh("group"))
    ended = share_tool.ended(
        CONSUMER, "--topic", topic, "--group", group, *shown, "--max-messages", "4", *PATIENCE
    )
    assert ended.out.splitlines() == [
        f"CreateTime:{TIME_MS + n}\tPartition:0\tOffset:{n}\tDelivery:1\tEpoch:NOT_PRESENT\th:x\tk{n}\tv{n}"
        for n in range(4)
    ]
    assert "Processed a total of 4 messages" in ended.err
    assert lag(share_tool, group) == "0"


def test_separators_and_words_for_nothing_are_the_users(share_tool, share_broker, fresh) -> None:
    topic, group = create_topic(share_broker, fresh("topic")), group_of(share_tool, fresh("group"))
    produce(share_broker, topic, [Sent(value=b"v"), Sent(key=b"k")])
    ours = properties(
        "--formatter-property",
        print_key="true",
        key_separator="|",
        line_separator=";",
        null_literal="nothing",
    )
    printed = share_tool(
        CONSUMER, "--topic", topic, "--group", group, *ours, "--max-messages", "2", *PATIENCE
    )
    assert printed == "nothing|v;k|nothing;"


def test_what_is_released_comes_five_times_and_is_archived(share_tool, topic, fresh) -> None:
    group = group_of(share_tool, fresh("group"))
    shown = properties("--formatter-property", print_delivery="true", print_offset="true")
    asked = ["--topic", topic, "--group", group, "--release", *shown, "--max-messages", "20", *PATIENCE]
    printed = share_tool(CONSUMER, *asked).splitlines()
    expected = [f"Offset:{n}\tDelivery:{delivery}\tv{n}" for delivery in range(1, 6) for n in range(4)]
    assert sorted(printed) == sorted(expected)
    assert lag(share_tool, group) == "0"


def test_what_is_rejected_comes_once(share_tool, topic, fresh) -> None:
    group = group_of(share_tool, fresh("group"))
    asked = [
        "--topic",
        topic,
        "--group",
        group,
        "--reject",
        "--property",
        "print.offset=true",
        "--max-messages",
        "4",
    ]
    printed = share_tool(CONSUMER, *asked, *PATIENCE).splitlines()
    assert [line for line in printed if "deprecated" not in line] == [f"Offset:{n}\tv{n}" for n in range(4)]
    assert lag(share_tool, group) == "0"


def test_what_is_beyond_the_wanted_number_is_given_back(share_tool, topic, fresh) -> None:
    group = group_of(share_tool, fresh("group"))
    asked = ["--topic", topic, "--group", group, "--max-messages", "2", *PATIENCE]
    assert share_tool(CONSUMER, *asked).split() == ["v0", "v1"]
    shown = properties("--formatter-property", print_delivery="true")
    again = share_tool(CONSUMER, *asked, *shown, "--enable-systest-events").splitlines()
    assert again == ["Delivery:2\tv2", "Delivery:2\tv3"]


def test_without_records_it_ends_in_time(share_tool, share_broker, fresh) -> None:
    topic = create_topic(share_broker, fresh("topic"))
    ended = share_tool.ended(
        CONSUMER, "--topic", topic, "--timeout-ms", "500"
    )  # and with the group it has for all
    assert (ended.out, ended.err.strip()) == ("", "Processed a total of 0 messages")
    assert "console-share-consumer" in share_tool(GROUPS, "--list").split()


def test_settings_come_from_files_and_from_the_line(share_tool, topic, fresh, tmp_path) -> None:
    client, formatter = tmp_path / "client.properties", tmp_path / "formatter.properties"
    client.write_text("client.id=from-a-file\nmax.poll.records=1\nshare.acquire.mode=record_limit\n")
    formatter.write_text("print.offset=true\nprint.key=true\n")
    group = group_of(share_tool, fresh("group"))
    asked = [
        "--topic",
        topic,
        "--group",
        group,
        "--formatter-config",
        str(formatter),
        "--timeout-ms",
        "30000",
    ]
    running = share_tool.start(
        CONSUMER,
        *asked,
        *("--command-config", str(client)),
        *properties("--command-property", client_id="from-the-line"),
        *properties("--formatter-property", print_key="false"),
        *("--max-messages", "5"),
    )

    def clients() -> list[str]:
        printed = share_tool(GROUPS, "--describe", "--group", group, "--members")
        return [line.split()[3] for line in printed.splitlines() if line.startswith(group)]

    wait_until(lambda: lag(share_tool, group) == "0", "the four records")
    assert clients() == ["from-the-line"]
    share_tool("ConsoleProducer", "--topic", topic, stdin="the fifth\n")
    assert running.result(TIMEOUT_S).out.splitlines() == [
        *(f"Offset:{n}\tv{n}" for n in range(4)),
        "Offset:4\tthe fifth",
    ]


def test_what_cannot_be_read_ends_it_or_is_rejected(share_tool, topic, fresh) -> None:
    integers = ["--value-deserializer", "org.apache.kafka.common.serialization.LongDeserializer"]
    place = ["--topic", topic, *integers]
    ending = group_of(share_tool, fresh("ending"))
    share_tool.ended(CONSUMER, *place, "--group", ending, *PATIENCE, code=1)
    rejecting = group_of(share_tool, fresh("rejecting"))
    share_tool(
        CONSUMER, *place, "--group", rejecting, "--reject-message-on-error", "--max-messages", "4", *PATIENCE
    )
    assert lag(share_tool, rejecting) == "0"


@pytest.mark.parametrize(
    ("formatter", "printed"), [("NoOpMessageFormatter", ""), ("LoggingMessageFormatter", "v0v1v2v3")]
)
def test_other_formatters(share_tool, topic, fresh, formatter: str, printed: str) -> None:
    named = ["--formatter", f"org.apache.kafka.tools.consumer.{formatter}"]
    asked = [
        "--topic",
        topic,
        "--group",
        group_of(share_tool, fresh("group")),
        "--max-messages",
        "4",
        *PATIENCE,
    ]
    assert "".join(share_tool(CONSUMER, *asked, *named).split()) == printed


#: what it refuses, and how
MISUSES = {
    "--topic t --release --reject": "At most one of --reject and --release may be specified.",
    "--group g": "--topic is a required argument",
    "--topic t --property a=b --formatter-property a=b": "Options --property and --formatter-property cannot be",
    "--topic t --consumer-property a=b --command-property a=b": "Options --consumer-property and --command-property",
    "--topic t --from-beginning": "from-beginning is not a recognized option",
}


def test_misuse_is_told(share_tool) -> None:
    for asked, told in MISUSES.items():
        assert told in share_tool.ended(CONSUMER, *asked.split(), code=1).err, asked


def test_the_benchmark_counts_what_it_was_given(share_tool, share_broker, fresh) -> None:
    topic, group = (
        create_topic(share_broker, fresh("topic"), partitions=2),
        group_of(share_tool, fresh("group")),
    )
    for partition in range(2):
        produce(share_broker, topic, numbered(2_500, partition, size=100))
    asked = [
        "--topic",
        topic,
        "--group",
        group,
        "--num-records",
        "5000",
        "--threads",
        "2",
        "--timeout",
        "20000",
    ]
    more = [
        "--show-detailed-stats",
        "--show-consumer-stats",
        "--print-metrics",
        "--reporting-interval",
        "1000",
    ]
    printed = share_tool(
        "ShareConsumerPerformance", *asked, *more, *properties("--command-property", client_id="bench")
    )
    head, *lines = printed.splitlines()
    assert head.startswith(
        "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg"
    )
    each = [line for line in lines if line.startswith("Share consumer ")]
    total = next(line for line in lines if re.match(r"\d{4}-", line) and "for share consumer" not in line)
    counts = [int(line.split(", ")[-2]) for line in each]
    assert len(counts) == 2
    assert sum(counts) == int(total.split(", ")[-2]) == 5_000
    assert re.search(r"acknowledgements-error-total:\{client-id=bench\S*\}\s*: 0\.000", printed)
    wait_until(lambda: lag(share_tool, group) == "0", "nothing left")


def test_the_verifier_is_told_of_every_acknowledgement(share_tool, topic, fresh) -> None:
    for mode in ("auto", "sync", "async"):
        group = fresh(mode)
        asked = ["--topic", topic, "--group-id", group, "--max-messages", "4", "--verbose"]
        asked += ["--acknowledgement-mode", mode, "--offset-reset-strategy", "earliest"]
        events = [json.loads(line) for line in share_tool("VerifiableShareConsumer", *asked).splitlines()]
        read = [event["offset"] for event in events if event["name"] == "record_data"]
        assert read == [0, 1, 2, 3]
        acknowledged = [event for event in events if event["name"] == "offsets_acknowledged"]
        assert all(event["success"] for event in acknowledged)
        assert sorted(o for e in acknowledged for p in e["partitions"] for o in p["offsets"]) == [0, 1, 2, 3]
        assert events[-1]["name"] == "shutdown_complete"
        assert lag(share_tool, group) == "0"
