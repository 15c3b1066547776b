"""`topics --describe` as lines: Apache's, tab for tab."""

from __future__ import annotations

import argparse
from uuid import UUID

import pytest

from leaselog.admin import (
    ConfigEntry,
    ConfigSource,
    PartitionDescription,
    Resource,
    ResourceType,
    Synonym,
    TopicDescription,
)
from leaselog.cli.configs import _entity
from leaselog.cli.configs import _print as print_configs
from leaselog.cli.topics import _FILTERS, _filtered, _pattern, _print_lines

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


def test_a_topic_list_is_an_expression_with_commas() -> None:
    assert [name for name in ("a", "b1", "c") if _pattern("'a, b.'").fullmatch(name)] == ["a", "b1"]


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


def test_the_default_of_all_brokers_has_no_name() -> None:
    nothing = dict.fromkeys(
        ("entity_type", "entity_name", "topic", "broker", "broker_logger", "client_metrics", "group")
    )
    args = argparse.Namespace(**nothing, entity_default=False, broker_defaults=True, alter=True)
    assert _entity(args) == (ResourceType.BROKER, "")
