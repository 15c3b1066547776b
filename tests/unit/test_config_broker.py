"""What a broker starts with."""

from __future__ import annotations

import ast
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import leaselog
from leaselog.broker.config import BrokerConfig, ConfigError, GroupConfig, TopicConfig
from leaselog.broker.config.definitions import BROKER
from leaselog.broker.config.effect import effect_of, why_without_effect
from leaselog.broker.config.views import View
from leaselog.log import LogConfig


def test_without_a_file_every_key_has_its_default() -> None:
    config = BrokerConfig.from_properties("")
    assert config.num_partitions == 1
    assert config.group_share_record_lock_duration_ms == 30000
    assert config.durability == "fsync"
    assert config.log_retention_ms == 7 * 24 * 3_600_000
    assert {name for name, key in BROKER.items() if config.values[name] != key.default} == set()


def test_an_override_takes_the_place_of_its_synonyms_in_the_file() -> None:
    config = BrokerConfig.from_properties("log.retention.ms=5", {"log.retention.hours": "1"})
    assert config.log_retention_ms == 3_600_000


def test_the_finer_unit_wins_within_one_file() -> None:
    config = BrokerConfig.from_properties("log.retention.hours=1\nlog.retention.minutes=2\nlog.roll.hours=3")
    assert config.log_retention_ms == 120_000
    assert TopicConfig.resolve(config, {}).segment_ms == 3 * 3_600_000


def test_any_negative_retention_is_for_ever() -> None:
    assert BrokerConfig.from_properties("log.retention.hours=-1").log_retention_ms == -1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("num.partitions=0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
        ("num.partitions=x", "Invalid value x for configuration num.partitions: Not a number of type INT"),
        (
            "durability=maybe",
            "Invalid value maybe for configuration durability: String must be one of: fsync, interval, os",
        ),
        ("log.retention.ms=0", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ("listeners=", "At least one listener must be defined via listeners."),
        (
            "group.share.heartbeat.interval.ms=4000",
            "group.share.min.heartbeat.interval.ms (5000) must be less than or equal to "
            "group.share.heartbeat.interval.ms (4000)",
        ),
        (
            "group.share.max.heartbeat.interval.ms=90000\ngroup.share.heartbeat.interval.ms=45000",
            "group.share.heartbeat.interval.ms (45000) must be less than group.share.session.timeout.ms (45000)",
        ),
        ("broker.id=1\nnode.id=2", "You must set `node.id` to the same value as `broker.id`."),
    ],
)
def test_a_bad_value_stops_the_start_with_one_clear_line(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        BrokerConfig.from_properties(text)
    assert str(raised.value) == why


def test_an_old_broker_id_is_the_node_id() -> None:
    assert BrokerConfig.from_properties("broker.id=7").node_id == 7


def test_unknown_keys_are_kept_and_named() -> None:
    config = BrokerConfig.from_properties(
        "zookeeper.connect=x\nnum.partitions=2\nlistener.name.a.ssl.key.password=y"
    )
    assert config.unknown == ("zookeeper.connect",)
    assert config.num_partitions == 2


def test_the_data_directories_are_log_dirs_or_else_log_dir() -> None:
    assert BrokerConfig.from_properties("log.dir=/a").data_dirs == ("/a",)
    assert BrokerConfig.from_properties("log.dir=/a\nlog.dirs=/b").data_dirs == ("/b",)


def test_the_internal_segment_size_reaches_the_log_and_not_the_topic() -> None:
    topic = TopicConfig.resolve(BrokerConfig.from_properties(""), {"internal.segment.bytes": "1000"})
    assert topic.log_settings["segment.bytes"] == 1000
    assert topic.segment_bytes == 1_073_741_824


def test_every_key_says_what_it_does_or_why_it_does_nothing() -> None:
    for view in (BrokerConfig, TopicConfig, GroupConfig):
        for name in view.table:
            assert effect_of(view, name) or why_without_effect(view, name)


@pytest.mark.parametrize("view", [BrokerConfig, TopicConfig, GroupConfig])
def test_a_key_that_is_said_to_work_is_read_somewhere_and_a_planned_one_is_not(view: type[View]) -> None:
    read = {name for name in view.documents if name.replace(".", "_") in attributes_read()}
    assert view.documents.keys() - read == view.planned, (
        "set planned=True on what nothing reads yet, take it off what is read now, "
        "then: leaselog config-docs > docs/reference/configuration.md"
    )


@cache
def attributes_read() -> set[str]:
    """Every attribute that the broker's code asks anything for, and what the log takes from a topic's values."""
    package = Path(leaselog.__file__).parent
    sources = [path for room in ("broker", "cli") for path in (package / room).rglob("*.py")]
    found = {field.name for field in fields(LogConfig)}
    for source in sources:
        if source.parent != package / "broker" / "config" or source.name == "listeners.py":
            tree = ast.parse(source.read_text(encoding="utf-8"))
            found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found | {"log_dir", "log_dirs", "broker_id"}  # read through data_dirs and node_id
