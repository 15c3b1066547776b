"""`consumer-groups`: its tables letter for letter, and its actions on a broker in a box."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from admin_cluster import BoxCluster, box_cluster
from broker_in_a_box import run

from leaselog.admin import (
    CommittedOffset,
    GroupDescription,
    GroupListing,
    GroupState,
    GroupType,
    MemberDescription,
    NewTopic,
    create_topics,
    settle,
)
from leaselog.cli import consumer_group_tables as tables
from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.consumer_group_resets import parse_duration_ms, parse_plan
from leaselog.cli.consumer_groups import _checked, add_arguments
from leaselog.client import BrokerError
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages import consumer_group_describe as consumer
from leaselog.wire.messages import offset_commit as commit
from leaselog.wire.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from leaselog.wire.messages.list_groups import ListedGroup, ListGroupsResponse

T0, T1, S2 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("s", 2)
GROUP = GroupDescription(
    "g",
    GroupType.CONSUMER,
    GroupState.STABLE,
    Node(3, "broker-3.example.org", 9092),
    (
        MemberDescription("b", "worker", "/10.0.0.2", epoch=4),
        MemberDescription(
            "a", "worker", "/10.0.0.1", epoch=5, assignment=frozenset({T1, T0}), target_assignment=frozenset({T0, S2})
        ),
    ),
    5,
    4,
    "uniform",
    "consumer",
)  # fmt: skip


def test_offsets_are_a_table_of_apaches_widths() -> None:
    committed = {T0: CommittedOffset(4, 7), S2: CommittedOffset(2), T1: None}
    rows = tables.partition_rows(GROUP, committed, {T0: 10, T1: 3})
    assert tables.offsets_table("g", rows, verbose=False).split("\n") == [
        "",
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
        "CONSUMER-ID     HOST            CLIENT-ID",
        "g               t               0          4               10              6               "
        "a               /10.0.0.1       worker",
        "g               t               1          -               3               -               "
        "a               /10.0.0.1       worker",
        "g               s               2          2               -               -               "
        "-               -               -",
    ]
    assert (
        tables.offsets_table("g", rows, verbose=True)
        .split("\n")[2]
        .startswith("g               t               0          7               4               10 ")
    )


def test_members_are_a_table_of_apaches_widths() -> None:
    assert tables.members_table(GROUP, verbose=False).split("\n") == [
        "",
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ",
        "g               a               /10.0.0.1       worker          2               ",
        "g               b               /10.0.0.2       worker          0               ",
    ]
    assert tables.members_table(GROUP, verbose=True).split("\n")[1:] == [
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     "
        "CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   ",
        "g               a               /10.0.0.1       worker          2               "
        "5               t:0,1                4               s:2;t:0             ",
        "g               b               /10.0.0.2       worker          0               "
        "4               -                    4               -                   ",
    ]


def test_static_members_show_their_names_and_a_group_between_protocols_who_is_where() -> None:
    members = (
        MemberDescription("a", "c", "/h", instance_id="the-first", is_upgraded=False),
        MemberDescription("b", "c", "/h", is_upgraded=True),
    )
    group = GroupDescription("g", GroupType.CONSUMER, GroupState.STABLE, Node(1, "h", 1), members)
    head, first, second = tables.members_table(group, verbose=True).split("\n")[1:]
    assert "CONSUMER-ID     GROUP-INSTANCE-ID HOST" in head
    assert "a               the-first         /h" in first
    assert (head.split()[-1], first.split()[-1], second.split()[-1]) == ("UPGRADED", "false", "true")


def test_states_are_a_table_of_apaches_widths() -> None:
    assert tables.state_table(GROUP, verbose=False).split("\n") == [
        "",
        "GROUP           COORDINATOR (ID)               ASSIGNMENT-STRATEGY  STATE                #MEMBERS",
        "g               broker-3.example.org:9092  (3) uniform              Stable               2",
    ]
    assert (
        tables.state_table(GROUP, verbose=True)
        .split("\n")[2]
        .endswith("Stable               5               4                         2")
    )


def test_a_list_shows_what_was_asked_for() -> None:
    groups = [GroupListing("g", GroupType.CLASSIC, GroupState.EMPTY, "")]
    assert tables.listing_table(groups, types=True, states=True).split("\n") == [
        "GROUP                     TYPE                 STATE               ",
        "g                         Classic              Empty               ",
    ]
    assert tables.listing_table(groups, types=False, states=True).split("\n")[1] == (
        "g                         Empty               "
    )


@pytest.mark.parametrize(
    ("text", "ms"),
    [("PT1H30M", 5_400_000), ("P1DT0.5S", 86_400_500), ("-PT1S", -1_000), ("pt2m", 120_000)],
)
def test_a_duration_is_read_as_java_does(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize("text", ["P", "PT", "P1DT", "1H", "P1H", "PT1D", "PT1,5S"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected PnDTnHnMnS"):
        parse_duration_ms(text)


def test_a_plan_has_a_group_in_each_line_unless_there_is_only_one() -> None:
    assert parse_plan("t,0,7\n\nt,1,8\n", ["g"]) == {"g": {T0: 7, T1: 8}}
    assert parse_plan('g,"t",0,7\nh,t,1,8', ["g", "h"]) == {"g": {T0: 7}, "h": {T1: 8}}
    assert parse_plan("h,t,1,8", ["g"]) == {"h": {T1: 8}}
    for wrong, groups in (("t,0", ["g"]), ("t,0,7", ["g", "h"]), ("t,zero,7", ["g"])):
        with pytest.raises(UsageError, match="line 1: expected"):
            parse_plan(wrong, groups)


# the actions


async def command(cluster: BoxCluster, *words: str) -> object:
    parser = Parser(prog="consumer-groups")
    add_arguments(parser)
    return await _checked(parser.parse_args(["--bootstrap-server", "x:1", *words]))(cluster)


def shown(
    capsys: pytest.CaptureFixture[str], *commands: Sequence[str], **answers: list[object]
) -> list[tuple[object, str, str]]:
    """Exit code and output of commands on a broker with a topic t of two partitions, three records in the first."""
    results = list[tuple[object, str, str]]()

    async def main() -> None:
        async with box_cluster() as cluster:
            settle(await create_topics(cluster, [NewTopic("t", 2)]))
            await cluster.box.append("t", 1000, 2000, 3000)
            cluster.answers = dict(answers)  # type: ignore[arg-type]
            for words in commands:
                code: object
                try:
                    code = await command(cluster, *words)
                except (CommandFailed, BrokerError) as failed:
                    code = str(failed)
                out, err = capsys.readouterr()
                results.append((code, out, err))

    run(main())
    return results


RESET = ("--reset-offsets", "--group", "g", "--topic", "t:0")
HEAD = "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"
ROW = "g               t               0          {}\n"


def test_a_dry_run_shows_what_an_execution_does(capsys: pytest.CaptureFixture[str]) -> None:
    planned, listed, done, described, again = shown(
        capsys,
        (*RESET, "--to-latest", "--dry-run"),
        ("--list",),
        (*RESET, "--to-datetime", "1970-01-01T00:00:01.500", "--execute"),
        ("--describe", "--group", "g", "--json"),
        ("--list", "--state", "--type", "--json"),
    )
    assert planned == (0, HEAD + ROW.format(3), "")
    assert listed == (0, "", "")
    assert done == (0, HEAD + ROW.format(1), "")
    (group,) = json.loads(described[1])
    (row,) = group["offsets"]
    assert (group["state"], row["currentOffset"], row["logEndOffset"], row["lag"]) == ("Empty", 1, 3, 2)
    assert json.loads(again[1]) == [{"group": "g", "type": "Classic", "state": "Empty"}]


def test_every_way_to_say_where_comes_to_an_offset_that_the_log_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun = (*RESET, "--to-offset", "2", "--execute")
    ways = {
        ("--to-earliest",): 0,
        ("--to-latest",): 3,
        ("--to-current",): 2,
        ("--shift-by", "-1"): 1,
        ("--shift-by", "9"): 3,
        ("--to-offset", "-5"): 0,
        ("--by-duration", "P1D"): 3,
        ("--by-duration=-P1D",): 3,
        ("--to-datetime", "1970-01-01T00:00:02.000"): 1,
    }
    _, *results = shown(capsys, begun, *((*RESET, *way, "--dry-run", "--json") for way in ways))
    found = [json.loads(out)[0]["offsets"][0]["newOffset"] for _, out, _ in results]
    assert found == list(ways.values())
    warned = [err for _, _, err in results if err]
    assert [line.strip() for line in warned] == [
        "New offset (11) is higher than latest offset for topic partition t-0. Value will be set to 3",
        "New offset (-5) is lower than earliest offset for topic partition t-0. Value will be set to 0",
        "Warn: Partition 0 from topic t is empty. Falling back to latest known offset.",
        "Warn: Partition 0 from topic t is empty. Falling back to latest known offset.",
    ]


def test_what_is_exported_can_be_read_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    several = ("--reset-offsets", "--group", "g", "--group", "h", "--topic", "t", "--to-latest")
    file = tmp_path / "plan.csv"
    file.write_text("g,t,0,1\nh,t,1,0\n")
    exported, done, alone, missing = shown(
        capsys,
        (*several, "--dry-run", "--export"),
        ("--reset-offsets", "--group", "g", "--group", "h", "--from-file", str(file), "--execute"),
        ("--reset-offsets", "--group", "g", "--all-topics", "--to-current", "--dry-run", "--export"),
        ("--reset-offsets", "--group", "x", "--from-file", str(file), "--execute"),
    )
    assert exported[1] == "g,t,0,3\ng,t,1,0\nh,t,0,3\nh,t,1,0\n\n"
    assert done[0] == 0
    assert alone[1] == "t,0,1\n\n"
    assert missing[0] == "No reset plan for group x found"


def test_a_group_with_members_is_refused_and_the_others_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    listed = ListGroupsResponse(
        groups=[ListedGroup(group_id="busy", protocol_type="consumer", group_type="Classic")]
    )
    busy = DescribedGroup(group_id="busy", group_state="Stable", protocol_type="consumer")
    both = ("--reset-offsets", "--group", "busy", "--group", "idle", "--topic", "t:0", "--to-latest")
    (result,) = shown(
        capsys,
        (*both, "--execute"),
        ListGroups=[listed],
        DescribeGroups=[DescribeGroupsResponse(groups=[busy])],
    )
    code, out, err = result
    assert code == 1
    assert out.split()[-4:] == ["idle", "t", "0", "3"]
    assert "if the group 'busy' is inactive, but the current state is Stable." in err


def test_shifting_needs_something_to_shift(capsys: pytest.CaptureFixture[str]) -> None:
    ((code, _, _),) = shown(capsys, (*RESET, "--shift-by", "1", "--execute"))
    assert code == "Cannot shift offset for partition t-0 since there is no current committed offset"


def test_what_does_not_exist_is_said_before_anything_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = ("--reset-offsets", "--group", "g", "--to-latest", "--execute", "--topic")
    results = shown(
        capsys,
        (*unknown, "nobody"),
        (*unknown, "t:0,7,8"),
        ("--describe", "--group", "g"),
        ("--delete-offsets", "--group", "g", "--topic", "t"),
        ("--delete", "--group", "g"),
    )
    assert [code for code, _, _ in results] == [
        "Topic 'nobody' does not exist",
        'The partitions "t-7,t-8" do not exist',
        "GROUP_ID_NOT_FOUND: Group g",
        "GROUP_ID_NOT_FOUND: Group g",
        1,
    ]
    assert "* Group 'g' could not be deleted due to: GROUP_ID_NOT_FOUND" in results[-1][1]


def test_offsets_are_forgotten_by_partition_or_topic(capsys: pytest.CaptureFixture[str]) -> None:
    every = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-latest", "--execute")
    _, forgotten, described, again, unknown, deleted, listed = shown(
        capsys,
        every,
        ("--delete-offsets", "--group", "g", "--topic", "t:1"),
        ("--describe", "--group", "g", "--json"),
        ("--delete-offsets", "--group", "g", "--topic", "t:9", "--json"),
        ("--delete-offsets", "--group", "g", "--topic", "nobody"),
        ("--delete", "--all-groups"),
        ("--list",),
    )
    assert forgotten[1].splitlines() == [
        "Request succeeded for deleting offsets from group g.",
        "",
        "TOPIC           PARTITION  STATUS         ",
        "t               1          Successful     ",
    ]
    assert [row["partition"] for row in json.loads(described[1])[0]["offsets"]] == [0]
    assert (again[0], json.loads(again[1])["offsets"][0]["error"]) == (1, "UNKNOWN_TOPIC_OR_PARTITION: t-9")
    assert unknown[1].splitlines()[-1] == ("nobody          -          Error: UNKNOWN_TOPIC_OR_PARTITION")
    assert deleted == (0, "Deletion of requested consumer groups ('g') was successful.\n", "")
    assert listed[1] == ""


def test_a_share_group_is_no_consumer_group(capsys: pytest.CaptureFixture[str]) -> None:
    listed = ListGroupsResponse(groups=[ListedGroup(group_id="s", protocol_type="share", group_type="Share")])
    refused = shown(capsys, ("--delete", "--group", "s", "--json"), ListGroups=[listed])[0]
    assert refused[0] == 1
    assert json.loads(refused[1]) == {"deleted": [], "failed": {"s": "Group 's' is not a consumer group."}}


def test_a_group_of_the_consumer_protocol_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    def places(*numbers: int) -> consumer.Assignment:
        parts = consumer.TopicPartitions(topic_name="t", partitions=numbers)
        return consumer.Assignment(topic_partitions=[parts])

    member = consumer.Member(
        member_id="m", member_epoch=3, client_id="c", client_host="/h", member_type=1,
        assignment=places(0), target_assignment=places(0, 1),
    )  # fmt: skip
    group = consumer.DescribedGroup(
        group_id="g", group_state="Reconciling", group_epoch=4, assignment_epoch=4, members=[member]
    )  # fmt: skip
    listed = ListGroupsResponse(
        groups=[ListedGroup(group_id="g", protocol_type="consumer", group_type="Consumer")]
    )
    ((code, out, err),) = shown(
        capsys,
        ("--describe", "--group", "g", "--members", "--verbose"),
        ListGroups=[listed],
        ConsumerGroupDescribe=[consumer.ConsumerGroupDescribeResponse(groups=[group])],
    )
    assert (code, err) == (0, "\nWarning: Consumer group 'g' is rebalancing.\n")
    assert out.splitlines()[-1].split() == ["g", "m", "/h", "c", "1", "3", "t:0", "4", "t:0,1"]


def test_a_coordinator_that_moves_while_offsets_are_set_is_followed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaselog.client.cluster.RETRY_BACKOFF_MS", 1)
    moved = commit.OffsetCommitResponse(
        topics=[
            commit.OffsetCommitResponseTopic(
                name="t",
                partitions=[commit.OffsetCommitResponsePartition(error_code=ErrorCode.NOT_COORDINATOR)],
            )
        ]
    )
    ((code, out, _),) = shown(capsys, (*RESET, "--to-latest", "--execute"), OffsetCommit=[moved])
    assert (code, out) == (0, HEAD + ROW.format(3))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--describe",), "missing: --group ID or --all-groups"),
        (("--describe", "--group", "g", "--all-groups"), "either --group ID or --all-groups"),
        (("--list", "--group", "g"), "--group goes with"),
        (("--list", "--state", "happy"), "--state happy: expected some of"),
        (("--list", "--type", "share"), "--type share: expected some of Classic, Consumer"),
        (("--describe", "--group", "g", "--members", "--state"), "--members and --state exclude each other"),
        (("--describe", "--group", "g", "--state", "empty"), "takes no value"),
        (("--reset-offsets", "--group", "g", "--topic", "t", "--to-latest"), "needs --dry-run"),
        (("--reset-offsets", "--group", "g", "--topic", "t", "--dry-run"), "needs one of --to-earliest"),
        (("--reset-offsets", "--group", "g", "--to-latest", "--dry-run"), "either --topic TOPIC or"),
        (("--reset-offsets", "--group", "g", "--from-file", "/nowhere", "--dry-run"), "--from-file /nowhere"),
        ((*RESET, "--to-latest", "--dry-run", "--json", "--export"), "--export and --json"),
        (("--delete-offsets", "--group", "g"), "--delete-offsets needs one --group ID, and --topic"),
    ],
)
def test_what_makes_no_sense_is_one_line(words: Sequence[str], complaint: str) -> None:
    parser = Parser(prog="consumer-groups")
    add_arguments(parser)
    with pytest.raises(UsageError) as refused:
        _checked(parser.parse_args(["--bootstrap-server", "x:1", *words]))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
