"""The four config APIs, from request to answer, over a cluster that stores at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from leaselog.broker.config import AlterOp, BrokerConfig, Configuration
from leaselog.broker.handlers.config.alter_configs import alter_configs
from leaselog.broker.handlers.config.describe_configs import describe_configs
from leaselog.broker.handlers.config.incremental_alter_configs import incremental_alter_configs
from leaselog.broker.handlers.config.list_config_resources import list_config_resources
from leaselog.broker.net.api import RequestContext
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.turns import Turns
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.coordination.cluster_shard import ClusterShard
from leaselog.model import ErrorCode, NodeId, Refused
from leaselog.wire.messages import alter_configs as old
from leaselog.wire.messages import describe_configs as describing
from leaselog.wire.messages import incremental_alter_configs as new
from leaselog.wire.messages import list_config_resources as listing


class Cluster:
    node_id = 0

    def __init__(self) -> None:
        self.shard = ClusterShard(NodeId(0))
        self.configuration = Configuration(BrokerConfig.from_properties(""), self.shard.configs)
        self.failure: Refused | None = None
        self._changing = asyncio.Lock()

    def topic(self, name: str) -> object | None:
        return object() if name in ("t", "u") else None

    def topics(self) -> Iterator[Any]:
        yield from (SimpleNamespace(name="u"), SimpleNamespace(name="t"))

    async def alter_configs(self, decide: Callable[[], Sequence[ConfigChanged]]) -> Refused | None:
        async with self._changing:
            changes = decide()
            await asyncio.sleep(0)  # the sync
            if self.failure is None:
                for change in changes:
                    self.shard.replay(change)
                self.configuration.changed(changes)
            return self.failure


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def context(cluster: Cluster, version: int = 1) -> Any:
    turns = Turns(time.perf_counter)
    broker: Any = SimpleNamespace(cluster=cluster, turns=turns, share_groups=None, guard=None)
    no_api: Any = None
    return RequestContext(broker, no_api, version, "test", Client(1, "127.0.0.1", 5555))


def setting(
    type_: int, name: str, key: str, value: str | None, op: int = AlterOp.SET
) -> new.AlterConfigsResource:
    config = new.AlterableConfig(name=key, value=value, config_operation=op)
    return new.AlterConfigsResource(resource_type=type_, resource_name=name, configs=[config])


def alter(
    cluster: Cluster, *resources: new.AlterConfigsResource, validate_only: bool = False
) -> list[tuple[int, Any]]:
    request = new.IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
    response = asyncio.run(incremental_alter_configs(request, context(cluster)))
    return [(answer.error_code, answer.error_message) for answer in response.responses]


def describe(cluster: Cluster, type_: int, name: str, keys: list[str] | None = None, **flags: bool) -> Any:
    resource = describing.DescribeConfigsResource(
        resource_type=type_, resource_name=name, configuration_keys=keys
    )
    request = describing.DescribeConfigsRequest(resources=[resource], **flags)
    return asyncio.run(describe_configs(request, context(cluster))).results[0]


def test_one_bad_resource_leaves_its_neighbours_alone(cluster: Cluster) -> None:
    answers = alter(
        cluster,
        setting(ResourceType.TOPIC, "t", "retention.ms", "7"),
        setting(ResourceType.TOPIC, "nope", "retention.ms", "7"),
        setting(ResourceType.TOPIC, "u", "retention.ms", "x"),
        setting(ResourceType.TOPIC, "a/b", "retention.ms", "7"),
        setting(99, "t", "retention.ms", "7"),
        setting(ResourceType.GROUP, "g", "share.isolation.level", "read_committed", op=9),
    )
    assert [code for code, _ in answers] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert answers[1][1] == "The topic 'nope' does not exist."
    assert answers[5][1] == "Unknown operations type 9"
    assert cluster.shard.configs == {(ResourceType.TOPIC, "t"): {"retention.ms": "7"}}


def test_a_resource_that_comes_twice_is_refused_both_times(cluster: Cluster) -> None:
    twice = setting(ResourceType.TOPIC, "t", "retention.ms", "7")
    answers = alter(cluster, twice, setting(ResourceType.TOPIC, "u", "retention.ms", "7"), twice)
    refused = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert answers == [refused, (ErrorCode.NONE, None), refused]


def test_two_appends_at_once_both_count(cluster: Cluster) -> None:
    async def append(entry: str) -> None:
        resource = setting(
            ResourceType.TOPIC, "t", "leader.replication.throttled.replicas", entry, AlterOp.APPEND
        )
        request = new.IncrementalAlterConfigsRequest(resources=[resource])
        await incremental_alter_configs(request, context(cluster))

    async def both() -> None:
        await asyncio.gather(append("0:1"), append("1:1"))

    asyncio.run(both())
    stored = cluster.shard.configs[ResourceType.TOPIC, "t"]
    assert stored == {"leader.replication.throttled.replicas": "0:1,1:1"}


def test_validating_stores_nothing_and_finds_the_same_faults(cluster: Cluster) -> None:
    answers = alter(
        cluster,
        setting(ResourceType.TOPIC, "t", "retention.ms", "7"),
        setting(ResourceType.TOPIC, "u", "retention.ms", "x"),
        validate_only=True,
    )
    assert [code for code, _ in answers] == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]
    assert cluster.shard.configs == {}


def test_a_failed_write_fails_every_resource_it_was_for(cluster: Cluster) -> None:
    cluster.failure = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "disk")
    answers = alter(
        cluster,
        setting(ResourceType.TOPIC, "t", "retention.ms", "7"),
        setting(ResourceType.TOPIC, "u", "retention.ms", "x"),
    )
    assert [code for code, _ in answers] == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.INVALID_CONFIG]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("7", "Unexpected broker id, expected 0, but received 7"),
        ("x", "Node id must be an integer, but it is: x"),
    ],
)
def test_another_brokers_values_are_not_ours_to_change(cluster: Cluster, name: str, message: str) -> None:
    answers = alter(cluster, setting(ResourceType.BROKER, name, "message.max.bytes", "7"))
    assert answers == [(ErrorCode.INVALID_REQUEST, message)]


def test_the_old_alter_replaces_everything_and_knows_no_loggers(cluster: Cluster) -> None:
    alter(cluster, setting(ResourceType.TOPIC, "t", "retention.ms", "7"))
    resources = [
        old.AlterConfigsResource(
            resource_type=ResourceType.TOPIC,
            resource_name="t",
            configs=[old.AlterableConfig(name="segment.ms", value="9")],
        ),
        old.AlterConfigsResource(resource_type=ResourceType.BROKER_LOGGER, resource_name="0"),
    ]
    response = asyncio.run(alter_configs(old.AlterConfigsRequest(resources=resources), context(cluster)))
    assert [answer.error_code for answer in response.responses] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert cluster.shard.configs == {(ResourceType.TOPIC, "t"): {"segment.ms": "9"}}


def test_describing_shows_only_the_named_keys_and_leaves_out_unknown_ones(cluster: Cluster) -> None:
    result = describe(cluster, ResourceType.TOPIC, "t", ["retention.ms", "nonsense"])
    assert [config.name for config in result.configs] == ["retention.ms"]
    assert len(describe(cluster, ResourceType.TOPIC, "t", []).configs) > 20
    assert len(describe(cluster, ResourceType.TOPIC, "t", None).configs) > 20


def test_synonyms_and_documentation_come_when_asked_for(cluster: Cluster) -> None:
    alter(cluster, setting(ResourceType.TOPIC, "t", "segment.bytes", "2000000"))
    plain = describe(cluster, ResourceType.TOPIC, "t", ["segment.bytes"]).configs[0]
    assert (plain.synonyms, plain.documentation) == ([], None)
    full = describe(
        cluster, ResourceType.TOPIC, "t", ["segment.bytes"], include_synonyms=True, include_documentation=True
    ).configs[0]
    assert [(s.name, s.value, s.source) for s in full.synonyms] == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]
    assert full.documentation == "A segment is closed at this size."


def test_a_password_is_named_and_not_shown(cluster: Cluster) -> None:
    alter(cluster, setting(ResourceType.BROKER, "0", "some.plugins.key", "secret"))
    result = describe(cluster, ResourceType.BROKER, "0", include_synonyms=True)
    shown = {config.name: config for config in result.configs}
    assert shown["sasl.jaas.config"].is_sensitive
    assert shown["some.plugins.key"].value is None
    assert shown["some.plugins.key"].is_sensitive
    assert [synonym.value for synonym in shown["some.plugins.key"].synonyms] == [None]


def test_the_default_of_all_brokers_lists_only_what_is_set_there(cluster: Cluster) -> None:
    alter(cluster, setting(ResourceType.BROKER, "", "message.max.bytes", "7"))
    result = describe(cluster, ResourceType.BROKER, "")
    assert [(c.name, c.value, c.config_source) for c in result.configs] == [("message.max.bytes", "7", 3)]


@pytest.mark.parametrize(
    ("type_", "name", "message"),
    [
        (ResourceType.GROUP, "", "Group name must not be empty"),
        (ResourceType.CLIENT_METRICS, "", "Client metrics subscription name must not be empty"),
        (ResourceType.BROKER_LOGGER, "", "Broker id must not be empty"),
        (ResourceType.BROKER, "7", "Unexpected broker id, expected 0 or empty string, but received 7"),
        (ResourceType.BROKER_LOGGER, "7", "Unexpected broker id, expected 0 but received 7"),
        (ResourceType.BROKER, "x", "Broker id must be an integer, but it is: x"),
        (3, "x", "Unexpected resource type 3 for resource x"),
    ],
)
def test_what_cannot_be_described_is_refused(cluster: Cluster, type_: int, name: str, message: str) -> None:
    result = describe(cluster, type_, name)
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert not result.configs


def test_a_topic_must_exist_to_be_described(cluster: Cluster) -> None:
    result = describe(cluster, ResourceType.TOPIC, "nope")
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_loggers_level_changes_at_once_and_is_never_stored(cluster: Cluster) -> None:
    logger = logging.getLogger("leaselog.some-part")
    try:
        answers = alter(
            cluster,
            setting(ResourceType.BROKER_LOGGER, "0", "leaselog.some-part", "ERROR"),
        )
        assert answers == [(ErrorCode.NONE, None)]
        assert logger.level == logging.ERROR
        result = describe(cluster, ResourceType.BROKER_LOGGER, "0", ["leaselog.some-part"])
        assert [(c.name, c.value, c.config_source) for c in result.configs] == [
            ("leaselog.some-part", "ERROR", 6)
        ]
        alter(
            cluster,
            setting(ResourceType.BROKER_LOGGER, "0", "leaselog.some-part", "TRACE"),
            validate_only=True,
        )
        assert logger.level == logging.ERROR
        alter(cluster, setting(ResourceType.BROKER_LOGGER, "0", "leaselog.some-part", None, AlterOp.DELETE))
        assert logger.level == logging.NOTSET
    finally:
        logger.setLevel(logging.NOTSET)
    assert cluster.shard.configs == {}


@pytest.mark.parametrize(
    ("key", "value", "op", "message"),
    [
        ("nowhere", "INFO", AlterOp.SET, "Logger nowhere does not exist!"),
        ("root", None, AlterOp.DELETE, "Removing the log level of the root logger is not allowed"),
        ("root", "INFO", AlterOp.APPEND, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        (
            "root",
            "LOUD",
            AlterOp.SET,
            "Cannot set the log level of root to LOUD as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
    ],
)
def test_loggers_refuse_in_kafkas_words(
    cluster: Cluster, key: str, value: str | None, op: int, message: str
) -> None:
    answers = alter(cluster, setting(ResourceType.BROKER_LOGGER, "0", key, value, op))
    assert [text for _, text in answers] == [message]


def listed(cluster: Cluster, types: Sequence[int], version: int = 1) -> Any:
    request = listing.ListConfigResourcesRequest(resource_types=types)
    response = list_config_resources(request, context(cluster, version))
    found = [(resource.resource_type, resource.resource_name) for resource in response.config_resources]
    return response.error_code or found


def test_listing_names_topics_and_brokers_that_are_and_groups_that_set_something(cluster: Cluster) -> None:
    alter(
        cluster,
        setting(ResourceType.GROUP, "g", "share.isolation.level", "read_committed"),
        setting(ResourceType.CLIENT_METRICS, "cm", "interval.ms", "1000"),
    )
    assert listed(cluster, []) == [(2, "t"), (2, "u"), (4, "0"), (8, "0"), (16, "cm"), (32, "g")]
    assert listed(cluster, [32, 32]) == [(32, "g")]
    assert listed(cluster, [7]) == ErrorCode.UNSUPPORTED_VERSION
    assert listed(cluster, [], version=0) == [(16, "cm")]
