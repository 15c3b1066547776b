"""`share-groups`: its tables letter for letter, and its actions on a broker in a box."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from admin_cluster import BoxCluster, box_cluster
from broker_in_a_box import run
from handlers.share_member import configure

from leaselog.admin import (
    GroupDescription,
    GroupState,
    GroupType,
    Holding,
    MemberDescription,
    NewTopic,
    ShareOffset,
    SharePartitionDescription,
    create_topics,
    settle,
)
from leaselog.cli import share_group_tables as tables
from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.reset_offsets import parse_datetime, parse_topics
from leaselog.cli.share_groups import _ACTIONS, _checked, add_arguments
from leaselog.client import BrokerError
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

LONG = "a-topic-with-a-long-name"
GROUP = GroupDescription(
    "g",
    GroupType.SHARE,
    GroupState.STABLE,
    Node(3, "broker-3.example.org", 9092),
    (
        MemberDescription("zz", "worker", "/10.0.0.2", epoch=4),
        MemberDescription(
            "Yp8dXjTFQvKqkRBsKUHMKw",
            "worker",
            "/10.0.0.1",
            epoch=5,
            assignment=frozenset(
                {
                    TopicPartition("t", 1),
                    TopicPartition("t", 0),
                    TopicPartition("s", 2),
                    TopicPartition("t", 10),
                }
            ),
        ),
    ),
    5,
    4,
)
OFFSETS = {
    TopicPartition("t", 10): ShareOffset(5, None, None),
    TopicPartition("t", 2): ShareOffset(100, 7, 23),
    TopicPartition(LONG, 0): None,
}


def test_offsets_are_a_table_of_apaches_widths() -> None:
    assert tables.offsets_table("g", OFFSETS, verbose=False).split("\n") == [
        "",
        "GROUP           TOPIC                    PARTITION  START-OFFSET  LAG",
        "g               a-topic-with-a-long-name 0          -             -",
        "g               t                        2          100           23",
        "g               t                        10         5             -",
    ]
    assert tables.offsets_table("g", OFFSETS, verbose=True).split("\n") == [
        "",
        "GROUP           TOPIC                    PARTITION  LEADER-EPOCH  START-OFFSET  LAG",
        "g               a-topic-with-a-long-name 0          -             -             -",
        "g               t                        2          7             100           23",
        "g               t                        10         -             5             -",
    ]


def test_states_are_a_table_of_apaches_widths() -> None:
    assert tables.state_table(GROUP, verbose=False).split("\n") == [
        "",
        "GROUP           COORDINATOR (ID)               STATE           #MEMBERS",
        "g               broker-3.example.org:9092  (3) Stable          2",
    ]
    assert tables.state_table(GROUP, verbose=True).split("\n") == [
        "",
        "GROUP           COORDINATOR (ID)               STATE           GROUP-EPOCH  ASSIGNMENT-EPOCH  #MEMBERS",
        "g               broker-3.example.org:9092  (3) Stable          5            4                 2",
    ]


def test_members_are_a_table_of_apaches_widths() -> None:
    assert tables.members_table(GROUP, verbose=False).split("\n") == [
        "",
        "GROUP           CONSUMER-ID            HOST            CLIENT-ID       #PARTITIONS  ASSIGNMENT",
        "g               Yp8dXjTFQvKqkRBsKUHMKw /10.0.0.1       worker          4            s:2;t:0,1,10",
        "g               zz                     /10.0.0.2       worker          0            ",
    ]
    assert tables.members_table(GROUP, verbose=True).split("\n")[2] == (
        "g               Yp8dXjTFQvKqkRBsKUHMKw /10.0.0.1       worker          4            5             s:2;t:0,1,10"
    )


def test_what_is_in_flight_is_a_table_of_partitions_and_one_of_holders() -> None:
    found = {
        TopicPartition("t", 1): BrokerError(ErrorCode.OFFSET_NOT_AVAILABLE),
        TopicPartition("t", 0): SharePartitionDescription(
            5, 30, 40, 12, 10, 3, 25, 2000, 61_240, {1: 10, 5: 2}, (Holding("m-1", 12, 900, 29_960),)
        ),
        TopicPartition("t", 2): SharePartitionDescription(
            7,
            12,
            12,
            0,
            0,
            0,
            5,
            200,
            None,
            {1: 5},
            (),
            waiting=4,
            next_due_ms=12_340,
            archiving=1,
            given_up=3,
        ),
    }
    assert tables.in_flight_tables("g", found).split("\n") == [
        "",
        "GROUP           TOPIC           PARTITION  IN-FLIGHT  AVAILABLE  DONE-AHEAD  WAITING  NEXT-DUE  ARCHIVING  "
        "WINDOW      OLDEST    GIVEN-UP  DELIVERIES",
        "g               t               0          12         10         3           0        -         0          "
        "25/2000     61.2s     0         1x:10,5x:2",
        "g               t               2          0          0          0           4        12.3s     1          "
        "5/200       -         3         1x:5",
        "",
        "GROUP           TOPIC           PARTITION  HOLDER          RECORDS  FIRST-DEADLINE LAST-DEADLINE",
        "g               t               0          m-1             12       0.9s           30.0s",
    ]


def test_deleted_offsets_say_what_became_of_each_topic() -> None:
    outcomes = {
        "t": None,
        "s": BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        "r": BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "nothing there"),
    }
    assert tables.deleted_offsets_table(outcomes).split("\n") == [
        "",
        "TOPIC           STATUS",
        "r               Error: nothing there",
        "s               Error: UNKNOWN_TOPIC_OR_PARTITION",
        "t               Successful",
    ]


def test_an_offset_that_cannot_be_told_is_its_error_in_json_and_a_dash_in_the_table() -> None:
    offset = BrokerError(ErrorCode.LEADER_NOT_AVAILABLE)
    where = TopicPartition("t", 0)
    assert tables.offset_json(where, offset) == {
        "topic": "t",
        "partition": 0,
        "error": "LEADER_NOT_AVAILABLE",
    }
    assert tables.offsets_table("g", {where: offset}, verbose=False).split("\n")[2].split() == [
        "g", "t", "0", "-", "-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1999-12-31T23:57:00.000", 946684620000),
        ("1999-12-31T23:57:00", 946684620000),
        ("1999-12-31T23:57:00.123Z", 946684620123),
        ("2000-01-01T01:57:00.000+02:00", 946684620000),
    ],
)
def test_a_datetime_is_utc_unless_it_says_otherwise(text: str, ms: int) -> None:
    assert parse_datetime(text) == ms


@pytest.mark.parametrize("text", ["1999-12-31", "now", "1999-12-31 23:57:00", "T"])
def test_what_is_no_datetime_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected YYYY-MM-DDTHH"):
        parse_datetime(text)


def test_topics_may_name_partitions() -> None:
    assert parse_topics(["a", "b:0,2", "b:1"]) == {"a": [], "b": [0, 2, 1]}
    for wrong in ("a:", "a:x", ":1", "a:1,"):
        with pytest.raises(UsageError, match="expected TOPIC or TOPIC:0,1,2"):
            parse_topics([wrong])


# the actions


def command(cluster: BoxCluster, *words: str) -> object:
    parser = Parser(prog="share-groups")
    add_arguments(parser)
    args = parser.parse_args(["--bootstrap-server", "x:1", *words])
    return _checked(next(a for a in _ACTIONS if getattr(args, a)), args)(cluster)


def shown(capsys: pytest.CaptureFixture[str], *commands: Sequence[str]) -> list[tuple[object, str, str]]:
    """Exit code and output of commands on a broker with a topic t of two partitions, three records in the first."""
    results = list[tuple[object, str, str]]()

    async def main() -> None:
        async with box_cluster() as cluster:
            settle(await create_topics(cluster, [NewTopic("t", 2)]))
            await cluster.box.append("t", 1000, 2000, 3000)
            await configure(cluster.box, "busy", share_auto_offset_reset="earliest")
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


def test_a_dry_run_shows_what_an_execution_does(capsys: pytest.CaptureFixture[str]) -> None:
    head = "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"
    row = "g               t               0          {}\n"
    planned, listed, done, described = shown(
        capsys,
        (*RESET, "--to-latest", "--dry-run"),
        ("--list",),
        (*RESET, "--to-datetime", "1970-01-01T00:00:01.500", "--execute"),
        ("--describe", "--group", "g", "--json"),
    )
    assert planned == (0, head + row.format(3), "")
    assert listed == (0, "", "")
    assert done == (0, head + row.format(1), "")
    assert json.loads(described[1]) == [
        {
            "group": "g",
            "state": "Empty",
            "offsets": [{"topic": "t", "partition": 0, "leaderEpoch": 0, "startOffset": 1, "lag": 2}],
        }
    ]


def test_a_time_after_the_last_record_falls_back_to_the_end_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    late = (*RESET, "--to-datetime", "2090-01-01T00:00:00.000", "--dry-run")
    plain, machine = shown(capsys, late, (*late, "--json"))
    warning = "\nWarn: Partition 0 from topic t is empty. Falling back to latest known offset.\n"
    assert plain[1].startswith(warning)
    assert plain[1].split()[-1] == "3"
    assert machine[2] == warning
    assert json.loads(machine[1]) == {
        "group": "g",
        "executed": False,
        "offsets": [{"topic": "t", "partition": 0, "newOffset": 3}],
    }


def test_all_topics_are_those_the_group_has_offsets_for(capsys: pytest.CaptureFixture[str]) -> None:
    every = ("--reset-offsets", "--group", "g", "--all-topics", "--to-latest", "--execute", "--json")
    before, _, after = shown(capsys, every, (*RESET, "--to-earliest", "--execute"), every)
    assert json.loads(before[1])["offsets"] == []
    assert json.loads(after[1])["offsets"] == [{"topic": "t", "partition": 0, "newOffset": 3}]


def test_what_does_not_exist_is_said_before_anything_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = ("--reset-offsets", "--group", "g", "--to-latest", "--execute", "--topic")
    results = shown(
        capsys,
        (*unknown, "nobody"),
        (*unknown, "t:0,7,8"),
        ("--describe", "--group", "g"),
        ("--delete-offsets", "--group", "g", "--topic", "t"),
    )
    assert [code for code, _, _ in results] == [
        "Topic 'nobody' does not exist",
        'The partitions "t-7,t-8" do not exist',
        "GROUP_ID_NOT_FOUND: Group g not found.",
        "GROUP_ID_NOT_FOUND: Group g not found.",
    ]


def test_pausing_and_resuming_are_said_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    state = ("--describe", "--group", "g", "--state")
    results = shown(
        capsys,
        (*RESET, "--to-earliest", "--execute"),
        state,
        ("--pause", "--group", "g", "--group", "later", "--reason", "new release"),
        state,
        (*state, "--json"),
        ("--describe", "--group", "g", "--verbose", "--json"),
        ("--pause", "--all-groups", "--json"),
        ("--resume", "--group", "g"),
        state,
        (*state, "--json"),
    )
    _, before, paused, text, machine, verbose, again, resumed, after, machine_after = results
    assert "paused" not in before[1]
    assert paused == (
        0,
        "Share group 'g' is paused.\nShare group 'later' is paused.\n",
        "\nNo group of this name yet: 'later'\n",
    )
    assert text[1].startswith(before[1])
    assert re.search(
        r"\nShare group 'g' is paused since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 by an operator: new release\n$",
        text[1],
    )
    told = json.loads(machine[1])[0]["paused"]
    assert (told["by"], told["reason"]) == ("operator", "new release")
    assert told["sinceMs"] > 1_600_000_000_000
    assert json.loads(verbose[1])[0]["paused"] == told
    assert json.loads(again[1]) == {"paused": ["g"], "failed": {}}
    assert resumed == (0, "Share group 'g' is resumed.\n", "")
    assert after == before
    assert json.loads(machine_after[1])[0]["paused"] is None


def test_a_broker_that_cannot_pause_says_so_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = "Unknown group config name: share.delivery.paused"
    refused = IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                resource_type=32, resource_name=name, error_code=ErrorCode.INVALID_CONFIG, error_message=words
            )
            for name in ("a", "b")
        ]
    )

    async def main() -> None:
        async with box_cluster(IncrementalAlterConfigs=[refused]) as cluster:
            with pytest.raises(CommandFailed) as failed:
                await command(cluster, "--pause", "--group", "a", "--group", "b")
            assert str(failed.value) == f"this broker cannot pause share groups: INVALID_CONFIG: {words}"

    run(main())
    assert capsys.readouterr() == ("", "")


def test_the_verbose_view_shows_what_is_in_flight_or_that_it_cannot(
    capsys: pytest.CaptureFixture[str],
) -> None:
    verbose = ("--describe", "--group", "g", "--verbose")

    async def main() -> None:
        async with box_cluster() as cluster:
            settle(await create_topics(cluster, [NewTopic("t", 1)]))
            await cluster.box.append("t", 1000, 2000, 3000)
            await command(cluster, *RESET, "--to-earliest", "--execute")
            capsys.readouterr()
            await command(cluster, *verbose)
            await command(cluster, *verbose, "--json")
            cluster.missing = {"DescribeSharePartitions"}
            await command(cluster, *verbose)

    run(main())
    out, err = capsys.readouterr()
    assert "IN-FLIGHT" in out.splitlines()[4]
    assert out.splitlines()[5].split()[3:10] == ["0", "3", "0", "0", "-", "0", "0/2000"]
    (shown,), end = json.JSONDecoder().raw_decode(out[out.index("[\n") :])
    assert shown["offsets"][0]["window"]["available"] == 3
    assert "IN-FLIGHT" not in out[out.index("[\n") + end :]
    assert err == "\nWhat is in flight: not available, this is not a leaselog broker.\n"


def test_the_verbose_view_shows_where_dead_letters_lie(capsys: pytest.CaptureFixture[str]) -> None:
    verbose = ("--describe", "--group", "g", "--verbose")

    async def main() -> None:
        async with box_cluster() as cluster:
            settle(await create_topics(cluster, [NewTopic("t", 1), NewTopic("dlq.there", 2)]))
            await command(cluster, *RESET, "--to-earliest", "--execute")
            await cluster.box.append("dlq.there", 1000, 2000, 3000, partition=1)
            for name in ("dlq.there", "dlq.to.come"):
                await configure(cluster.box, "g", errors_deadletterqueue_topic_name=name)
                capsys.readouterr()
                await command(cluster, *verbose)
                seen.append(capsys.readouterr().out.splitlines())
            await command(cluster, *verbose, "--json")

    seen = list[list[str]]()
    run(main())
    there, to_come = seen
    assert there[-3:] == [
        "GROUP           DEAD-LETTER-TOPIC PARTITION  START-OFFSET  END-OFFSET    LETTERS",
        "g               dlq.there         0          0             0             0",
        "g               dlq.there         1          0             3             3",
    ]
    assert to_come[-1].split() == ["g", "dlq.to.come", *["-"] * 4]
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["deadLetters"] == {"topic": "dlq.to.come", "letters": 0}


def test_groups_are_listed_by_state_described_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    results = shown(
        capsys,
        (*RESET, "--to-earliest", "--execute"),
        ("--list",),
        ("--list", "--state"),
        ("--list", "--state", "stable,DEAD"),
        ("--describe", "--all-groups", "--state"),
        ("--describe", "--all-groups", "--members"),
        ("--delete-offsets", "--group", "g", "--topic", "t", "--topic", "nobody"),
        ("--describe", "--group", "g"),
        ("--delete", "--group", "g", "--group", "nobody"),
        ("--delete", "--all-groups"),
    )
    _, listed, states, others, state, members, forgotten, nothing, deleted, none = results
    assert listed == (0, "g\n", "")
    assert states == (0, "GROUP           STATE\ng               Empty\n", "")
    assert others == (0, "GROUP           STATE\n", "")
    assert state[1].split()[-2:] == ["Empty", "0"]
    assert members[1:] == ("", "\nShare group 'g' has no active members.\n")
    assert forgotten[0] == 1
    assert [line.split(None, 1)[1] for line in forgotten[1].splitlines()[2:]][1] == "Successful"
    assert nothing == (0, "\nShare group 'g' has no offset information.\n", "")
    assert deleted == (
        1,
        "\nError: Deletion of some share groups failed:\n"
        "* Group 'nobody' could not be deleted due to: Group 'nobody' is not a share group.\n"
        "\nThese share groups were deleted successfully: 'g'\n",
        "",
    )
    assert none == (0, "Deletion of requested share groups () was successful.\n", "")


def test_a_group_with_members_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> list[object]:
        async with box_cluster() as cluster:
            settle(await create_topics(cluster, [NewTopic("t", 2)]))
            request = ShareGroupHeartbeatRequest(
                group_id="busy", member_id="m" * 22, subscribed_topic_names=["t"]
            )
            await cluster.coordinator("busy")
            joined = await cluster.request(request, ShareGroupHeartbeatResponse)
            assert joined.error_code == 0
            codes: list[object] = [
                await command(cluster, "--delete", "--group", "busy", "--json"),
                await command(cluster, "--describe", "--group", "busy", "--members", "--json"),
            ]
            with pytest.raises(CommandFailed, match=r"Share group 'busy' is not empty\."):
                await command(
                    cluster, "--reset-offsets", "--group", "busy", "--topic", "t", "--to-latest", "--execute"
                )  # fmt: skip
            return codes

    assert run(main()) == [1, 0]
    out = capsys.readouterr().out
    failed, end = json.JSONDecoder().raw_decode(out)
    assert failed == {"deleted": [], "failed": {"busy": "Share group 'busy' is not EMPTY."}}
    (described,) = json.loads(out[end:])
    assert described["members"][0]["consumerId"] == "m" * 22
    assert described["members"][0]["assignment"] == {"t": [0, 1]}
