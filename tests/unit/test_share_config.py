"""A share consumer's configuration: Kafka's names and defaults, and what may not be."""

from __future__ import annotations

from typing import Any

import pytest

from leaselog.client.errors import ConfigError
from leaselog.client.share.config import RECORD_LIMIT, ShareConsumerConfig
from leaselog.client.share.deserializers import as_bytes, as_json, as_string

REQUIRED = {"bootstrap.servers": "host:9092", "group.id": "g"}
#: every name of Kafka 4.4's consumer that is not about security, but those a share consumer may not have
KAFKAS = [
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "bootstrap.resolve.timeout.ms",
    "bootstrap.servers",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "config.providers",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "enable.metrics.push",
    "exclude.internal.topics",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "metadata.cluster.check.enable",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "security.protocol",
    "security.providers",
    "send.buffer.bytes",
    "share.acknowledgement.mode",
    "share.acquire.mode",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
    "key.deserializer",
    "value.deserializer",
    "sasl.mechanism",
    "ssl.truststore.location",
]
ILLEGAL = [
    "auto.offset.reset",
    "enable.auto.commit",
    "group.instance.id",
    "isolation.level",
    "partition.assignment.strategy",
    "interceptor.classes",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "group.protocol",
    "group.remote.assignor",
]


def test_the_defaults_are_kafkas() -> None:
    config = ShareConsumerConfig.of(REQUIRED)
    assert not config.is_explicit
    assert (config.max_poll_records, config.max_poll_interval_ms) == (500, 300_000)
    assert (config.fetch_max_wait_ms, config.fetch_min_bytes, config.fetch_max_bytes) == (500, 1, 52_428_800)
    assert (config.request_timeout_ms, config.default_api_timeout_ms) == (30_000, 60_000)
    assert config.key_deserializer is config.value_deserializer is as_bytes


@pytest.mark.parametrize("name", KAFKAS)
def test_every_name_of_kafkas_consumer_is_known(name: str) -> None:
    kinds: dict[str, object] = {
        **REQUIRED,
        "share.acknowledgement.mode": "explicit",
        "share.acquire.mode": "record_limit",
        "security.protocol": "PLAINTEXT",
        "key.deserializer": "string",
        "value.deserializer": "json",
    }
    truths = ("allow.auto.create.topics", "check.crcs", "enable.metrics.push")
    value = kinds.get(name, "true" if name in truths else "17")
    assert ShareConsumerConfig.of({**REQUIRED, name: value})
    assert ShareConsumerConfig.of({**REQUIRED, name.replace(".", "_"): value})


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_a_share_consumer_may_not_have_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} cannot be set when using a share group"):
        ShareConsumerConfig.of(REQUIRED, {name: "x"})


def test_all_that_may_not_be_is_named_at_once() -> None:
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset, group\.protocol cannot"):
        ShareConsumerConfig.of(REQUIRED, group_protocol="classic", auto_offset_reset="earliest")


def test_a_mistyped_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"max\.pol\.records is not .* max\.poll\.records\?"):
        ShareConsumerConfig.of(REQUIRED, max_pol_records=1)


def test_names_have_dots_or_underscores_and_later_ones_win() -> None:
    config = ShareConsumerConfig.of({**REQUIRED, "max.poll.records": "7"}, max_poll_records=8, client_id="me")
    assert (config.max_poll_records, config.client_id) == (8, "me")


def test_modes_are_read_in_any_case() -> None:
    config = ShareConsumerConfig.of(
        REQUIRED, share_acquire_mode="RECORD_LIMIT", share_acknowledgement_mode="Explicit"
    )
    assert config.acquire_mode == RECORD_LIMIT
    assert config.is_explicit


def test_deserialisers_have_names_classes_or_are_callables() -> None:
    java = "org.apache.kafka.common.serialization.StringDeserializer"
    config = ShareConsumerConfig.of(REQUIRED, key_deserializer=java, value_deserializer=as_json)
    assert (config.key_deserializer, config.value_deserializer) == (as_string, as_json)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max.poll.records", 0),
        ("max.poll.records", "many"),
        ("max.poll.records", 2**31),
        ("max.poll.records", True),
        ("fetch.max.wait.ms", -1),
        ("check.crcs", "perhaps"),
        ("share.acknowledgement.mode", "both"),
        ("share.acquire.mode", ""),
        ("value.deserializer", "avro"),
        ("bootstrap.servers", "nowhere"),
        ("security.protocol", "KERBEROS"),
        ("group.id", " "),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        ShareConsumerConfig.of({**REQUIRED, key: value})


def test_servers_may_come_as_a_list() -> None:
    config = ShareConsumerConfig.of(REQUIRED, bootstrap_servers=["a:1", "b:2"])
    assert config.bootstrap_servers == "a:1,b:2"


def test_a_group_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"group\.id is missing"):
        ShareConsumerConfig.of(bootstrap_servers="a:1")
