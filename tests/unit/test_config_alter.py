"""Dynamic configuration: what may be set where, and what Kafka says when it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaselog.broker.config import Alteration, AlterOp, BrokerConfig, Configuration, Resource
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.coordination.cluster_shard import ChangeConfigs, ClusterShard, Decision
from leaselog.model import ErrorCode, NodeId, Refused

TOPIC = Resource(ResourceType.TOPIC, "t")
GROUP = Resource(ResourceType.GROUP, "g")
BROKER = Resource(ResourceType.BROKER, "0")
ALL_BROKERS = Resource(ResourceType.BROKER, "")
_FIXED = "INVALID_REQUEST: Cannot update these configs dynamically"
#: Kafka would apply these; here they are read at start or mean nothing, and are not said to be done. Names of hosts are
#: not looked up.
UNLIKE_KAFKA = {
    "BROKER: SET:listeners=PLAINTEXT://:1": f"{_FIXED}: [listeners]",
    "BROKER:0 SET:ssl.keystore.password=x": f"{_FIXED}: [ssl.keystore.password]",
    "BROKER:0 SET:max.connections.per.ip.overrides=hostName1:100": (
        "INVALID_REQUEST: max.connections.per.ip.overrides: 'hostName1:100', expected ADDRESS:COUNT"
    ),
}


class Rig:
    """A configuration over the shard that holds its values, as the broker has it."""

    def __init__(self, properties: str = "") -> None:
        self.shard = ClusterShard(NodeId(0))
        self.configuration = Configuration(BrokerConfig.from_properties(properties), self.shard.configs)

    def alter(self, resource: Resource, *alterations: Alteration) -> tuple[ConfigChanged, ...] | Refused:
        changes = self.configuration.alter(resource, alterations)
        return changes if isinstance(changes, Refused) else self.store(changes)

    def set(self, resource: Resource, key: str, value: str) -> tuple[ConfigChanged, ...] | Refused:
        return self.alter(resource, Alteration(key, AlterOp.SET, value))

    def store(self, changes: tuple[ConfigChanged, ...]) -> tuple[ConfigChanged, ...]:
        decision = self.shard.handle(ChangeConfigs(changes))
        assert isinstance(decision, Decision)
        for record in decision.records:
            self.shard.replay(record)
        self.configuration.changed(changes)
        return changes


def test_every_answer_is_the_one_apache_kafka_gave() -> None:
    rig = Rig("log.retention.hours=24")
    lines = Path(__file__).with_name("config_answers.txt").read_text().splitlines()
    for line in lines:
        if line.startswith("#"):
            continue
        question, answer = line.split(" => ", 1)
        assert answer_to(rig, question) == UNLIKE_KAFKA.get(question, answer), question


def answer_to(rig: Rig, question: str) -> str:
    target, *words = question.split(" ")
    type_, name = target.split(":", 1)
    alterations = []
    for word in words:
        op, _, setting = word.partition(":")
        key, _, value = setting.partition("=")
        is_null = op == "DELETE" or value == "NULL"
        alterations.append(Alteration(key, AlterOp[op], None if is_null else value))
    outcome = rig.alter(Resource(ResourceType[type_], name), *alterations)
    return f"{outcome.code.name}: {outcome.message}" if isinstance(outcome, Refused) else "OK"


@pytest.mark.parametrize(
    "key",
    [
        "listeners",
        "advertised.listeners",
        "listener.security.protocol.map",
        "ssl.client.auth",
        "sasl.enabled.mechanisms",
        "listener.name.plaintext.ssl.client.auth",
    ],
)
def test_what_takes_no_effect_while_the_broker_runs_is_not_said_to_be_done(key: str) -> None:
    outcome = Rig().set(BROKER, key, "1")
    assert outcome == Refused(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{key}]")


def test_a_topic_value_wins_over_the_dynamic_broker_value_which_wins_over_the_file() -> None:
    rig = Rig("log.segment.bytes=2000000")
    assert rig.configuration.topic("t").segment_bytes == 2000000
    rig.set(ALL_BROKERS, "log.segment.bytes", "3000000")
    assert rig.configuration.topic("t").segment_bytes == 3000000
    rig.set(BROKER, "log.segment.bytes", "4000000")
    assert rig.configuration.topic("t").segment_bytes == 4000000
    rig.set(TOPIC, "segment.bytes", "5000000")
    assert rig.configuration.topic("t").segment_bytes == 5000000
    assert rig.configuration.topic("other").segment_bytes == 4000000
    rig.alter(TOPIC, Alteration("segment.bytes", AlterOp.DELETE, None))
    assert rig.configuration.topic("t").segment_bytes == 4000000


def test_a_dynamic_retention_in_ms_takes_the_place_of_the_hours_in_the_file() -> None:
    rig = Rig("log.retention.hours=24")
    assert rig.configuration.topic("t").retention_ms == 24 * 3_600_000
    rig.set(BROKER, "log.retention.ms", "7")
    assert rig.configuration.topic("t").retention_ms == 7


def test_nothing_changes_before_the_changes_are_replayed() -> None:
    rig = Rig()
    changes = rig.configuration.alter(TOPIC, [Alteration("retention.ms", AlterOp.SET, "7")])
    assert changes == (ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "7"),)
    assert rig.configuration.topic("t").retention_ms == 604_800_000


def test_one_bad_key_refuses_the_whole_resource() -> None:
    rig = Rig()
    outcome = rig.alter(
        TOPIC, Alteration("retention.ms", AlterOp.SET, "7"), Alteration("segment.bytes", AlterOp.SET, "x")
    )
    assert isinstance(outcome, Refused)
    assert rig.configuration.overrides(TOPIC) == {}


def test_setting_what_is_set_already_writes_nothing() -> None:
    rig = Rig()
    assert rig.set(TOPIC, "retention.ms", "7")
    assert rig.set(TOPIC, "retention.ms", "7") == ()


def test_replacing_removes_the_keys_that_are_not_named() -> None:
    rig = Rig()
    rig.set(TOPIC, "retention.ms", "7")
    changes = rig.configuration.replace(TOPIC, [("segment.ms", "9")])
    assert changes == (
        ConfigChanged(ResourceType.TOPIC, "t", "segment.ms", "9"),
        ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", None),
    )


def test_appending_to_an_unset_list_starts_from_the_default() -> None:
    rig = Rig()
    rig.alter(TOPIC, Alteration("cleanup.policy", AlterOp.APPEND, "compact"))
    assert rig.configuration.topic("t").cleanup_policy == ("delete", "compact")
    rig.alter(TOPIC, Alteration("cleanup.policy", AlterOp.SUBTRACT, "delete"))
    assert rig.configuration.topic("t").cleanup_policy == ("compact",)


def test_a_value_longer_than_kraft_can_store_is_refused() -> None:
    outcome = Rig().set(TOPIC, "leader.replication.throttled.replicas", "0:1," * 9000 + "0:1")
    assert isinstance(outcome, Refused)
    assert outcome.code is ErrorCode.INVALID_CONFIG
    assert outcome.message is not None
    assert "exceeds the maximum value size of 32767 bytes" in outcome.message


def test_a_group_has_the_brokers_values_until_it_sets_its_own() -> None:
    rig = Rig("group.share.record.lock.duration.ms=20000")
    assert rig.configuration.group("g").share_record_lock_duration_ms == 20000
    rig.set(GROUP, "share.record.lock.duration.ms", "16000")
    assert rig.configuration.group("g").share_record_lock_duration_ms == 16000
    assert rig.configuration.group("h").share_record_lock_duration_ms == 20000


def test_a_stored_group_value_outside_new_limits_moves_to_the_nearest_limit() -> None:
    rig = Rig()
    rig.set(GROUP, "share.record.lock.duration.ms", "50000")
    later = BrokerConfig.from_properties("group.share.max.record.lock.duration.ms=40000")
    assert Configuration(later, rig.shard.configs).group("g").share_record_lock_duration_ms == 40000


@pytest.mark.parametrize(
    ("broker_limit", "key", "value"),
    [
        ("group.share.min.session.timeout.ms=1000", "share.session.timeout.ms", "6000"),
        ("group.share.max.delivery.count.limit=20", "share.delivery.count.limit", "20"),
    ],
)
def test_a_group_may_use_wider_limits_when_the_broker_has_them(
    broker_limit: str, key: str, value: str
) -> None:
    assert isinstance(Rig().set(GROUP, key, value), Refused)
    assert not isinstance(Rig(broker_limit).set(GROUP, key, value), Refused)


def test_a_dead_letter_topic_may_not_be_internal() -> None:
    outcome = Rig().set(GROUP, "errors.deadletterqueue.topic.name", "__x")
    assert outcome == Refused(
        ErrorCode.INVALID_CONFIG,
        "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
    )


def test_dynamic_values_that_contradict_a_changed_file_are_set_aside_and_named() -> None:
    rig = Rig()
    rig.set(ALL_BROKERS, "group.share.assignment.interval.ms", "9000")
    later = BrokerConfig.from_properties("group.share.max.assignment.interval.ms=5000")
    configuration = Configuration(later, rig.shard.configs)
    assert configuration.broker.values["group.share.assignment.interval.ms"] == 1000
    assert configuration.ignored_dynamic is not None
    assert "group.share.assignment.interval.ms (9000)" in configuration.ignored_dynamic


def test_a_new_topics_values_are_judged_before_it_exists() -> None:
    configuration = Rig().configuration
    assert configuration.new_topic("t", [("retention.ms", "7")]) == {"retention.ms": "7"}
    assert configuration.new_topic("t", [("retention.ms", None)]) == Refused(
        ErrorCode.INVALID_CONFIG, "Null value not supported for topic configs: retention.ms"
    )
    assert configuration.new_topic("t", [("nonsense", "7")]) == Refused(
        ErrorCode.INVALID_CONFIG, "Unknown topic config name: nonsense"
    )


def test_a_topic_made_again_under_its_old_name_starts_afresh() -> None:
    rig = Rig()
    rig.set(TOPIC, "retention.ms", "7")
    assert rig.configuration.topic("t").retention_ms == 7
    rig.shard.configs.clear()
    rig.configuration.topic_removed("t")
    assert rig.configuration.topic("t").retention_ms == 604_800_000
