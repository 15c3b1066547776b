"""The smaller commands on a broker in a box: what they print, and what they refuse."""

from __future__ import annotations

import argparse
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from admin_cluster import BoxCluster, box_cluster
from broker_in_a_box import run

from leaselog.admin import (
    AsyncAdmin,
    ElectionType,
    FeatureUpdateType,
    NewTopic,
    create_topics,
    settle,
)
from leaselog.cli import main as command_line
from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.cli.broker_api_versions import api_lines
from leaselog.cli.delete_records import parse_offset_file
from leaselog.cli.features import feature_levels, level_text
from leaselog.cli.get_offsets import PartitionRule, parse_time
from leaselog.cli.leader_election import parse_places
from leaselog.client import BrokerError, kafka_errors
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.elect_leaders import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from leaselog.wire.messages.fetch import FetchRequest
from leaselog.wire.messages.list_groups import ListedGroup, ListGroupsResponse
from leaselog.wire.schema import Versions

T0, T1 = TopicPartition("a.b", 0), TopicPartition("a.b", 1)
Body = Callable[[BoxCluster], Awaitable[int]]


@pytest.fixture
def shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[tuple[object, str, str]]]:
    """Exit code and output of commands on a broker with topics a.b and aXb, and three records in a.b-0."""

    def run_all(*commands: Sequence[str], **answers: list[object]) -> list[tuple[object, str, str]]:
        results, bodies = list[tuple[object, str, str]](), list[Body]()

        def keep(args: argparse.Namespace, properties: object, body: Body) -> int:
            bodies.append(body)
            return 0

        for name in {words[0] for words in commands}:
            module = command_line._module(name)
            monkeypatch.setattr(module, "run_with_cluster", keep)

        async def main() -> None:
            async with box_cluster() as cluster:
                settle(await create_topics(cluster, [NewTopic("a.b", 2), NewTopic("aXb", 1)]))
                await cluster.box.append("a.b", 1000, 2000, 3000)
                cluster.answers = dict(answers)  # type: ignore[arg-type]
                for name, *words in commands:
                    code: object
                    parsed = command_line.command_parser(name).parse_args(
                        [*words, "--bootstrap-server", "x:1"]
                    )
                    try:
                        command_line._module(name).run(parsed)
                        code = await bodies.pop()(cluster)
                    except (CommandFailed, UsageError, BrokerError) as failed:
                        code = str(failed)
                    out, err = capsys.readouterr()
                    results.append((code, out, err))

        run(main())
        return results

    return run_all


def refused(*words: str) -> str:
    parsed = command_line.command_parser(words[0]).parse_args([*words[1:], "--bootstrap-server", "x:1"])
    with pytest.raises(UsageError) as wrong:
        command_line._module(words[0]).run(parsed)
    return str(wrong.value)


# get-offsets


def test_offsets_are_shown_of_the_topics_and_partitions_that_are_meant(shown) -> None:
    every, named, matched, one, rules, earliest, young, as_json = shown(
        ("get-offsets", "--exclude-internal-topics"),
        ("get-offsets", "--topic", "a.b"),
        ("get-offsets", "--topic", "a[.X]b", "--partitions", "0"),
        ("get-offsets", "--topic-partitions", "a.b:0"),
        ("get-offsets", "--topic-partitions", "a.b:1-,aXb:-1"),
        ("get-offsets", "--topic", "a.b", "--time", "-2"),
        ("get-offsets", "--topic", "a.b", "--time", "2500"),
        ("get-offsets", "--topic", "a.b", "--time", "max-timestamp", "--json"),
    )
    assert every[1].split() == ["a.b:0:3", "a.b:1:0", "aXb:0:0"]
    assert named[1].split() == ["a.b:0:3", "a.b:1:0"]
    assert matched[1].split() == ["a.b:0:3", "aXb:0:0"]
    assert one[1] == "a.b:0:3\n"
    assert rules[1].split() == ["a.b:1:0", "aXb:0:0"]
    assert earliest[1].split() == ["a.b:0:0", "a.b:1:0"]
    assert young[1] == "a.b:0:2\n", "where no record is so young there is no offset"
    assert json.loads(as_json[1]) == [{"topic": "a.b", "partition": 0, "offset": 2}]


def test_offsets_of_nothing_are_an_error(shown) -> None:
    assert shown(("get-offsets", "--topic", "nobody"))[0][0] == (
        "Could not match any topic-partitions with the specified filters"
    )
    assert "cannot be used with --topic" in refused("get-offsets", "--topic-partitions", "a", "--topic", "b")
    assert "--partitions x" in refused("get-offsets", "--partitions", "x")
    assert "--time soon" in refused("get-offsets", "--time", "soon")
    with pytest.raises(UsageError, match="expected TOPIC, TOPIC:N"):
        PartitionRule.of("a:b")
    assert (parse_time("-3"), parse_time("earliest"), parse_time("1700000000000")) == (
        -3,
        -2,
        1_700_000_000_000,
    )


# delete-records


def offset_file(folder: Path, *partitions: tuple[str, int, int]) -> str:
    entries = [{"topic": t, "partition": p, "offset": o} for t, p, o in partitions]
    path = folder / "offsets.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def test_records_go_by_a_file_or_by_topic_and_each_partition_is_answered(shown, tmp_path: Path) -> None:
    file = offset_file(tmp_path, ("a.b", 0, 1), ("a.b", 1, 9), ("nobody", 0, 1))
    planned, by_file, by_topic, everything = shown(
        ("delete-records", "--topic", "a.b", "--before-offset", "2", "--dry-run", "--json"),
        ("delete-records", "--offset-json-file", file),
        ("delete-records", "--topic", "a.b:0", "--before-offset", "2", "--json"),
        ("delete-records", "--topic", "a.b", "--before-offset", "latest"),
    )
    assert json.loads(planned[1]) == [
        {"topic": "a.b", "partition": 0, "records": 2},
        {"topic": "a.b", "partition": 1, "error": "OFFSET_OUT_OF_RANGE: the last offset of a.b-1 is -1"},
    ]
    assert (planned[0], by_file[0]) == (1, 1)
    assert by_file[1].splitlines()[:3] == [
        "Executing records delete operation",
        "Records delete operation completed:",
        "partition: a.b-0\tlow_watermark: 1",
    ]
    assert by_file[1].splitlines()[3].startswith("partition: a.b-1\terror: OFFSET_OUT_OF_RANGE")
    assert by_file[1].splitlines()[4].startswith("partition: nobody-0\terror: UNKNOWN_TOPIC_OR_PARTITION")
    assert (by_topic[0], json.loads(by_topic[1])) == (
        0,
        [{"topic": "a.b", "partition": 0, "lowWatermark": 2}],
    )
    assert everything[1].splitlines()[2:] == [
        "partition: a.b-0\tlow_watermark: 3",
        "partition: a.b-1\tlow_watermark: 0",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "expected an object with partitions"),
        ('{"version": 2, "partitions": []}', "version 2 is not known"),
        ('{"partitions": [{"topic": "t"}]}', "expected topic, partition and offset"),
        ('{"partitions": [{"topic": "t", "partition": 0, "offset": 1}, {"topic": "t", "partition": 0, "offset": 2}]}',
         "t-0 is in it twice"),
        ("{", "Expecting property name"),
    ],
)  # fmt: skip
def test_a_file_of_offsets_that_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_offset_file(text)


def test_deleting_says_what_and_how_far() -> None:
    assert "either --offset-json-file" in refused("delete-records")
    assert "go together" in refused("delete-records", "--topic", "t")
    assert "expected an offset" in refused("delete-records", "--topic", "t", "--before-offset", "x")
    assert "/nowhere" in refused("delete-records", "--offset-json-file", "/nowhere")


# groups, cluster, log-dirs


def test_groups_of_all_types_are_a_table_of_apaches_widths(shown) -> None:
    listed = [
        ListGroupsResponse(
            groups=[
                ListedGroup(group_id="c", group_type="Classic", protocol_type="consumer"),
                ListedGroup(group_id="k", group_type="Classic", protocol_type="connect"),
                ListedGroup(
                    group_id="a-share-group-of-some-length", group_type="Share", protocol_type="share"
                ),
            ]
        )
    ]
    everything, shares, consumers, connect, as_json = shown(
        ("groups", "--list"),
        ("groups", "--list", "--share"),
        ("groups", "--list", "--consumer"),
        ("groups", "--list", "--group-type", "classic", "--protocol", "connect"),
        ("groups", "--list", "--json"),
        ListGroups=listed * 5,
    )
    width = 28
    assert everything[1].split("\n")[:2] == [
        f"{'GROUP':{width}} {'TYPE':{width}} {'PROTOCOL':{width}}",
        f"{'a-share-group-of-some-length':{width}} {'Share':{width}} {'share':{width}} ",
    ]
    rows = [[line.split()[0] for line in out.splitlines()[1:]] for _, out, _ in (shares, consumers, connect)]
    assert rows == [["a-share-group-of-some-length"], ["c"], ["k"]]
    assert [group["group"] for group in json.loads(as_json[1])] == ["a-share-group-of-some-length", "c", "k"]
    assert "expected classic" in refused("groups", "--list", "--group-type", "happy")
    assert "go with neither" in refused("groups", "--list", "--share", "--protocol", "share")


def test_the_cluster_says_its_id(shown) -> None:
    plain, as_json = shown(("cluster", "cluster-id"), ("cluster", "cluster-id", "--json"))
    found = json.loads(as_json[1])
    assert plain[1] == f"Cluster ID: {found['clusterId']}\n"
    assert [broker["id"] for broker in found["brokers"]] == [0]


def test_disk_use_is_told_for_each_partition(shown) -> None:
    some, as_json, missing = shown(
        ("log-dirs", "--describe", "--topic-list", "a.b,nobody"),
        ("log-dirs", "--describe", "--broker-list", "0", "--json"),
        ("log-dirs", "--describe", "--broker-list", "0,7"),
    )
    first, second, data = some[1].splitlines()
    assert (first, second) == (
        "Querying brokers for log directories information",
        "Received log directory information from brokers 0",
    )
    (directory,) = json.loads(data)["brokers"][0]["logDirs"]
    assert [(p["partition"], p["size"] > 0) for p in directory["partitions"]] == [
        ("a.b-0", True),
        ("a.b-1", False),
    ]
    assert len(json.loads(as_json[1])["brokers"][0]["logDirs"][0]["partitions"]) >= 3
    assert missing[0] == (
        "ERROR: The given brokers do not exist from --broker-list: 7. Current existent brokers: 0"
    )
    assert "expected ids" in refused("log-dirs", "--describe", "--broker-list", "a")


# leader-election


def test_elections_are_reported_in_apaches_words(shown, tmp_path: Path) -> None:
    file = tmp_path / "places.json"
    file.write_text('{"partitions": [{"topic": "a.b", "partition": 1}, {"topic": "a.b", "partition": 0}]}')
    moved = ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic="a.b",
                partition_result=[
                    PartitionResult(partition_id=1, error_message=None),
                    PartitionResult(partition_id=0, error_code=ErrorCode.NOT_CONTROLLER, error_message="no"),
                ],
            )
        ]
    )
    mixed, valid, unknown, everything = shown(
        ("leader-election", "--election-type", "unclean", "--path-to-json-file", str(file)),
        ("leader-election", "--election-type", "PREFERRED", "--path-to-json-file", str(file)),
        (
            "leader-election",
            "--election-type",
            "preferred",
            "--topic",
            "nobody",
            "--partition",
            "0",
            "--json",
        ),
        ("leader-election", "--election-type", "preferred", "--all-topic-partitions"),
        ElectLeaders=[moved],
    )
    assert mixed[:2] == (
        1,
        "Successfully completed leader election (UNCLEAN) for partitions a.b-1\n"
        "Error completing leader election (UNCLEAN) for partition: a.b-0: NOT_CONTROLLER: no\n",
    )
    assert valid[:2] == (0, "Valid replica already elected for partitions a.b-0, a.b-1\n")
    (row,) = json.loads(unknown[1])
    assert (unknown[0], row["elected"], row["error"].partition(":")[0]) == (
        1,
        False,
        "UNKNOWN_TOPIC_OR_PARTITION",
    )
    assert everything == (0, "", "")
    assert "go together" in refused("leader-election", "--election-type", "preferred", "--topic", "t")
    for text in ("{}", '{"partitions": [{"topic": "t"}]}', "["):
        with pytest.raises(ValueError, match=r"expected partitions|Expecting value"):
            parse_places(text)
    with pytest.raises(ValueError, match="t-0 in it twice"):
        parse_places('{"partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 0}]}')


# features, broker-api-versions


def test_features_are_described_lowered_and_raised(shown) -> None:
    described, seen, lowered, refusal, raised, as_json = shown(
        ("features", "describe"),
        ("features", "downgrade", "--feature", "share.version=1", "--dry-run"),
        ("features", "disable", "--feature", "share.version"),
        ("features", "upgrade", "--feature", "share.version=9"),
        ("features", "upgrade", "--feature", "share.version=2"),
        ("features", "describe", "--json"),
    )
    share = next(line for line in described[1].splitlines() if "share.version" in line)
    assert share.split()[:9] == [
        "Feature:", "share.version", "SupportedMinVersion:", "0", "SupportedMaxVersion:", "2",
        "FinalizedVersionLevel:", "2", "Epoch:",
    ]  # fmt: skip
    assert seen[1] == "share.version can be downgraded to 1.\n"
    assert lowered[1] == "share.version was disabled.\n"
    assert refusal[0] == "1 out of 1 operation(s) failed."
    assert refusal[1].startswith(
        "Could not upgrade share.version to 9. The update failed for all features since"
    )
    assert raised[1] == "share.version was upgraded to 2.\n"
    levels = {f["feature"]: f["finalizedVersionLevel"] for f in json.loads(as_json[1])["features"]}
    assert levels["share.version"] == 2


def test_a_level_is_a_number_and_that_of_metadata_has_a_releases_name() -> None:
    assert feature_levels(["a=1", "b = 0"], disable=False) == {"a": 1, "b": 0}
    assert feature_levels(["a"], disable=True) == {"a": 0}
    for texts, disable in ((["a"], False), (["a=x"], False), (["a=1"], True), (["a=40000"], False)):
        with pytest.raises(UsageError, match="expected NAME"):
            feature_levels(texts, disable=disable)
    with pytest.raises(UsageError, match="more than once"):
        feature_levels(["a=1", "a=2"], disable=False)
    levels = {
        7: "3.3-IV3",
        11: "3.5-IV2",
        19: "3.7-IV4",
        21: "3.9-IV0",
        25: "4.0-IV3",
        29: "4.2-IV1",
        30: "4.3-IV0",
    }
    assert {level: level_text("metadata.version", level) for level in levels} == levels
    assert (level_text("metadata.version", 99), level_text("share.version", 2)) == ("UNKNOWN 99", "2")


def test_what_makes_no_sense_of_features_is_one_line() -> None:
    assert "at least one feature" in refused("features", "upgrade")
    assert "--unsafe goes with" in refused("features", "upgrade", "--unsafe")
    assert "describe shows all" in refused("features", "describe", "--feature", "a=1")
    assert "--json goes with" in refused("features", "upgrade", "--feature", "a=1", "--json")


def test_apis_are_shown_with_the_versions_that_both_speak() -> None:
    newest = FetchRequest.VERSIONS.last
    served = {1: Versions(4, newest + 3), 4242: Versions(0, 0)}
    assert api_lines(served, {1: FetchRequest}) == [
        f"Fetch(1): 4 to {newest + 3} [usable: {newest}]",
        "UNKNOWN(4242): 0 [usable: none]",
    ]
    too_new = {1: Versions(newest + 1, newest + 3)}
    assert api_lines(too_new, {1: FetchRequest}) == [f"Fetch(1): {newest + 1} to {newest + 3} [usable: none]"]
    assert api_lines({}, {1: FetchRequest}) == ["Fetch(1): UNSUPPORTED"]


def test_each_broker_lists_its_apis_without_those_that_are_leaselogs_own(shown) -> None:
    plain, as_json = shown(("broker-api-versions",), ("broker-api-versions", "--json"))
    assert "(id: 0 rack: null isFenced: false) -> (\n\tProduce(0): " in plain[1]
    assert plain[1].endswith("\n)\n")
    assert "UNKNOWN" not in plain[1]
    (broker,) = json.loads(as_json[1])
    assert {api["name"] for api in broker["apis"]} >= {"Fetch", "ShareFetch", "OffsetDelete"}


# the same from Python


def test_the_admin_has_the_rest_too() -> None:
    async def main() -> None:
        async with box_cluster() as cluster:
            admin = AsyncAdmin.over(cluster)
            await admin.create_topics([NewTopic("a.b", 2)])
            ((directory,),) = (await admin.describe_log_dirs()).values()
            assert (directory.error, T0 in directory.replicas) == (None, True)
            assert await admin.elect_leaders([T0, T1]) == []
            assert await admin.elect_leaders(type=ElectionType.UNCLEAN) == []
            with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
                await admin.elect_leaders([TopicPartition("nobody", 0)])
            assert (await admin.describe_features()).features["share.version"].level == 2
            await admin.update_features({"share.version": 1}, type=FeatureUpdateType.SAFE_DOWNGRADE)
            assert (await admin.describe_features()).features["share.version"].level == 1
            with pytest.raises(kafka_errors.InvalidUpdateVersionException):
                await admin.update_features({"share.version": 9})

    run(main())
