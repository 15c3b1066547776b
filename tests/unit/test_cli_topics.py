"""`topics --describe` as lines: Apache's, tab for tab."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from uuid import UUID

import pytest
from admin_cluster import box_cluster
from broker_in_a_box import run

from leaselog.admin import (
    ConfigEntry,
    ConfigSource,
    NewTopic,
    PartitionDescription,
    Resource,
    ResourceType,
    Synonym,
    TopicDescription,
    create_topics,
    list_topics,
    settle,
)
from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.configs import _print as print_configs
from leaselog.cli.topic_choice import TopicChoice
from leaselog.cli.topics import _FILTERS, _checked, _filtered, _print_lines, add_arguments

TOPIC = TopicDescription(
    "orders",
    UUID("3792b16d-9d6f-45ac-8dd2-a0378c4b5acc"),
    False,
    (
        PartitionDescription(0, 1, (1, 2), (1, 2), (), ()),
        PartitionDescription(1, None, (1, 2), (2,), None, None),
    ),
)
CONFIGS = [
    ConfigEntry("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG, False, False),
    ConfigEntry("min.insync.replicas", "2", ConfigSource.DEFAULT_CONFIG, False, False),
]


def options(*given: str) -> argparse.Namespace:
    names = (*_FILTERS, "topics_with_overrides")
    return argparse.Namespace(**{name: name in given for name in names})


def shown(capsys: pytest.CaptureFixture[str], *given: str) -> list[str]:
    args = options(*given)
    _print_lines([(TOPIC, CONFIGS, _filtered(TOPIC, CONFIGS, {1, 2}, args))], args)
    return capsys.readouterr().out.splitlines()


HEAD = (
    "Topic: orders\tTopicId: N5KxbZ1vRayN0qA3jEtazA\tPartitionCount: 2\tReplicationFactor: 2"
    "\tConfigs: retention.ms=5"
)
FIRST = "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: "
SECOND = "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 2\tElr: N/A\tLastKnownElr: N/A"


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ((), [HEAD, FIRST, SECOND]),
        (("topics_with_overrides",), [HEAD]),
        (("under_replicated_partitions",), [SECOND]),
        (("unavailable_partitions",), [SECOND]),
        (("under_min_isr_partitions",), [SECOND]),
        (("at_min_isr_partitions",), [FIRST]),
    ],
)
def test_a_description_shows_what_was_asked_for(
    given: tuple[str, ...], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, *given) == lines


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("a.b", ["a.b"]),
        ("'a.b, aXc'", ["a.b", "aXc"]),
        (r"a\.b", ["a.b"]),
        ("a.b,aX.*", ["a.b", "aXb", "aXc"]),
        ("a(.b,Xc)", ["a.b", "aXb", "aXc"]),
        ("a", []),
        (".*", ["__consumer_offsets", "a.b", "aXb", "aXc"]),
    ],
)
def test_what_could_be_a_name_is_a_name_and_anything_else_a_pattern(text: str, chosen: list[str]) -> None:
    choice = TopicChoice.of("--topic", text)
    assert [t for t in ("__consumer_offsets", "a.b", "aXb", "aXc") if choice.has(t)] == chosen


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--topic a\(: not a regular expression"):
        TopicChoice.of("--topic", "a(")


# what a pattern changes


def left_after(
    capsys: pytest.CaptureFixture[str], *commands: Sequence[str]
) -> list[tuple[object, str, list[str]]]:
    """What each command said, and the topics that are there after it."""
    results = list[tuple[object, str, list[str]]]()

    async def main() -> None:
        async with box_cluster() as cluster:
            settle(await create_topics(cluster, [NewTopic(name) for name in ("a.b", "aXb", "b")]))
            await cluster.coordinator("g")  # which makes the topic of the groups
            for words in commands:
                parser = Parser(prog="topics")
                add_arguments(parser)
                try:
                    said: object = await _checked(parser.parse_args(["--bootstrap-server", "x:1", *words]))(
                        cluster
                    )
                except (CommandFailed, UsageError) as failed:
                    said = str(failed)
                there = [topic.name for topic in await list_topics(cluster, internal=True)]
                results.append((said, capsys.readouterr().out, there))

    run(main())
    return results


def test_a_dot_in_a_name_deletes_no_other_topic(capsys: pytest.CaptureFixture[str]) -> None:
    ((code, _, there),) = left_after(capsys, ("--delete", "--topic", "a.b"))
    assert (code, there) == (0, ["__consumer_offsets", "aXb", "b"])


def test_a_pattern_that_matches_several_topics_deletes_none_without_consent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused, seen, done = left_after(
        capsys,
        ("--delete", "--topic", "a.*"),
        ("--delete", "--topic", "a.*", "--dry-run"),
        ("--delete", "--topic", "a.*", "--execute", "--json"),
    )
    everything = ["__consumer_offsets", "a.b", "aXb", "b"]
    assert refused == (
        "--topic a.* is a pattern, and 2 topics match it: a.b, aXb."
        " Nothing was done: --dry-run lists them, --execute does it",
        "",
        everything,
    )
    assert seen == (0, "a.b\naXb\n", everything)
    assert (done[0], json.loads(done[1])) == (0, {"topics": ["a.b", "aXb"], "executed": True})
    assert done[2] == ["__consumer_offsets", "b"]


def test_no_pattern_deletes_or_grows_an_internal_topic(capsys: pytest.CaptureFixture[str]) -> None:
    alone, grown, everything, named = left_after(
        capsys,
        ("--delete", "--topic", "__.*", "--execute"),
        ("--alter", "--topic", ".*", "--partitions", "7", "--execute", "--json"),
        ("--delete", "--topic", ".*", "--execute"),
        ("--delete", "--topic", "__consumer_offsets", "--dry-run"),
    )
    assert alone[0] == "Topic '__.*' does not exist as expected"
    assert json.loads(grown[1])["topics"] == ["a.b", "aXb", "b"]
    assert everything[2] == ["__consumer_offsets"]
    assert named[1] == "__consumer_offsets\n"


def test_consent_goes_with_what_changes_topics_only() -> None:
    for words in (
        ("--list", "--dry-run"),
        ("--describe", "--execute"),
        ("--delete", "--topic", "a", "--dry-run", "--execute"),
    ):
        parser = Parser(prog="topics")
        add_arguments(parser)
        with pytest.raises(UsageError, match="--dry-run and --execute"):
            _checked(parser.parse_args(["--bootstrap-server", "x:1", *words]))


def test_configs_print_their_origins(capsys: pytest.CaptureFixture[str]) -> None:
    synonyms = (
        Synonym("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        Synonym("log.retention.ms", None, ConfigSource.STATIC_BROKER_CONFIG),
    )
    entry = ConfigEntry("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG, False, False, synonyms)
    print_configs(Resource(ResourceType.TOPIC, "orders"), [entry], everything=False)
    assert capsys.readouterr().out.splitlines() == [
        "Dynamic configs for topic orders are:",
        "  retention.ms=5 sensitive=false"
        " synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5, STATIC_BROKER_CONFIG:log.retention.ms=null}",
    ]
