"""Apache's `kafka-configs` on groups: every key of Kafka 4.3.1, its bounds, and what is said beyond them."""

from __future__ import annotations

import re

import pytest

from interop.broker_process import is_kafka

TOOL = "kafka.admin.ConfigCommand"
GROUPS = ["--entity-type", "groups", "--entity-name"]

#: key: what may be set; what may not, and what is said of it. The broker's bounds are Kafka's but for those that the
#: settings of the tests' broker lower: heartbeats from 300 ms, leases from 1 s
KEYS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "share.assignment.interval.ms": (
        ("0", "15000"),
        {
            "-1": "Value must be at least 0",
            "15001": "must be less than or equal to group.share.max.assignment.interval.ms",
            "x": "Invalid value x for configuration share.assignment.interval.ms: Not a number of type INT",
        },
    ),
    "share.auto.offset.reset": (
        ("latest", "earliest", "by_duration:PT1H"),
        {
            "by_duration:-PT1H": "Invalid value by_duration:-PT1H for configuration share.auto.offset.reset",
            "by_duration:1h": "Invalid value by_duration:1h for configuration share.auto.offset.reset",
            "none": "Invalid value none for configuration share.auto.offset.reset",
            "Earliest": "Invalid value Earliest for configuration share.auto.offset.reset",
        },
    ),
    "share.delivery.count.limit": (
        ("2", "10"),
        {
            "1": "Value must be at least 2",
            "11": "must be less than or equal to group.share.max.delivery.count.limit",
        },
    ),
    "share.heartbeat.interval.ms": (
        ("300", "15000"),
        {
            "0": "Value must be at least 1",
            "299": "must be greater than or equal to group.share.min.heartbeat.interval.ms",
            "15001": "must be less than or equal to group.share.max.heartbeat.interval.ms",
        },
    ),
    "share.isolation.level": (
        ("read_committed", "read_uncommitted"),
        {
            "READ_COMMITTED": "String must be one of: read_committed, read_uncommitted",
            "none": "String must be one of: read_committed, read_uncommitted",
        },
    ),
    "share.partition.max.record.locks": (
        ("100", "4000"),
        {
            "99": "Value must be at least 100",
            "4001": "must be less than or equal to group.share.max.partition.max.record.locks",
        },
    ),
    "share.record.lock.duration.ms": (
        ("1000", "60000"),
        {
            "999": "Value must be at least 1000",
            "60001": "must be less than or equal to group.share.max.record.lock.duration.ms",
        },
    ),
    "share.renew.acknowledge.enable": (
        ("true", "false"),
        {"maybe": "Expected value to be either true or false"},
    ),
    "share.session.timeout.ms": (
        ("45000", "60000"),
        {
            "44999": "must be greater than or equal to group.share.min.session.timeout.ms",
            "60001": "must be less than or equal to group.share.max.session.timeout.ms",
        },
    ),
    "consumer.assignment.interval.ms": (
        ("0", "15000"),
        {
            "-1": "Value must be at least 0",
            "15001": "must be less than or equal to group.consumer.max.assignment.interval.ms",
        },
    ),
    "consumer.heartbeat.interval.ms": (
        ("5000", "15000"),
        {
            "4999": "must be greater than or equal to group.consumer.min.heartbeat.interval.ms",
            "15001": "must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        },
    ),
    "consumer.session.timeout.ms": (
        ("45000", "60000"),
        {
            "44999": "must be greater than or equal to group.consumer.min.session.timeout.ms",
            "60001": "must be less than or equal to group.consumer.max.session.timeout.ms",
        },
    ),
    "streams.assignment.interval.ms": (
        ("0", "15000"),
        {
            "-1": "Value must be at least 0",
            "15001": "must be less than or equal to group.streams.max.assignment.interval.ms",
        },
    ),
    "streams.heartbeat.interval.ms": (
        ("5000", "15000"),
        {
            "4999": "must be greater than or equal to group.streams.min.heartbeat.interval.ms",
            "15001": "must be less than or equal to group.streams.max.heartbeat.interval.ms",
        },
    ),
    "streams.initial.rebalance.delay.ms": (("0", "3000"), {"-1": "Value must be at least 0"}),
    "streams.num.standby.replicas": (
        ("0", "2"),
        {
            "-1": "Value must be at least 0",
            "3": "must be less than or equal to group.streams.max.standby.replicas",
        },
    ),
    "streams.session.timeout.ms": (
        ("45000", "60000"),
        {
            "44999": "must be greater than or equal to group.streams.min.session.timeout.ms",
            "60001": "must be less than or equal to group.streams.max.session.timeout.ms",
        },
    ),
}


def described(printed: str) -> dict[str, str]:
    """Key and value of every line."""
    return dict(re.findall(r"^  (\S+?)=(\S*) sensitive=false", printed, re.MULTILINE))


@pytest.mark.parametrize("key", KEYS)
def test_a_key_takes_what_is_in_its_bounds_and_nothing_else(share_tool, fresh, key: str) -> None:
    group = fresh("group")
    allowed, refused = KEYS[key]
    for value in allowed:
        printed = share_tool(TOOL, "--alter", *GROUPS, group, "--add-config", f"{key}={value}")
        assert printed == f"Completed updating config for group {group}.\n"
        assert described(share_tool(TOOL, "--describe", *GROUPS, group)) == {key: value}
    for value, told in refused.items():
        ended = share_tool.ended(TOOL, "--alter", *GROUPS, group, "--add-config", f"{key}={value}", code=1)
        assert "InvalidConfigurationException: " in ended.err
        assert told in ended.err, value
    assert described(share_tool(TOOL, "--describe", *GROUPS, group)) == {key: allowed[-1]}


#: what Kafka 4.4 has beyond these, and leaselog alone
NEWER = (
    *("errors.deadletterqueue.", "share.assignor"),
    *("share.retry.backoff.", "share.release.delay.", "share.delivery.paused"),
)


def test_the_keys_are_kafkas(share_tool, fresh) -> None:
    found = described(share_tool(TOOL, "--describe", *GROUPS, fresh("group"), "--all"))
    assert set(KEYS) <= set(found)
    newer = set(found) - set(KEYS)
    assert not newer if is_kafka() else all(key.startswith(NEWER) for key in newer)
    ended = share_tool.ended(
        TOOL, "--alter", *GROUPS, fresh("group"), "--add-config", "share.no.such.key=1", code=1
    )
    assert "Unknown group config name: share.no.such.key" in ended.err


def test_where_a_value_comes_from_is_told(share_tool, fresh) -> None:
    group = fresh("group")
    share_tool(TOOL, "--alter", *GROUPS, group, "--add-config", "share.heartbeat.interval.ms=1000")
    set_here = share_tool(TOOL, "--describe", *GROUPS, group)
    assert (
        "synonyms={DYNAMIC_GROUP_CONFIG:share.heartbeat.interval.ms=1000, "
        "STATIC_BROKER_CONFIG:group.share.heartbeat.interval.ms=300, "
        "DEFAULT_CONFIG:group.share.heartbeat.interval.ms=5000}"
    ) in set_here
    everything = share_tool(TOOL, "--describe", *GROUPS, group, "--all")
    assert (
        "share.delivery.count.limit=5 sensitive=false "
        "synonyms={DEFAULT_CONFIG:group.share.delivery.count.limit=5}"
    ) in everything


def test_several_keys_are_set_and_removed_together(share_tool, fresh, tmp_path) -> None:
    group = fresh("group")
    share_tool(
        TOOL,
        *("--alter", "--group", group),  # the other way to name one
        *("--add-config", "share.delivery.count.limit=3,share.isolation.level=read_committed"),
    )
    file = tmp_path / "group.properties"
    file.write_text("share.auto.offset.reset=earliest\n")
    share_tool(TOOL, "--alter", *GROUPS, group, "--add-config-file", str(file))
    removal = "share.isolation.level,share.no.such.key"  # removing what is not there is no error
    share_tool(TOOL, "--alter", *GROUPS, group, "--delete-config", removal)
    kept = {"share.delivery.count.limit": "3", "share.auto.offset.reset": "earliest"}
    assert described(share_tool(TOOL, "--describe", "--group", group)) == kept
    everybody = share_tool(TOOL, "--describe", "--entity-type", "groups")
    assert f"Dynamic configs for group {group} are:" in everybody
    one_wrong = "share.delivery.count.limit=4,share.isolation.level=none"
    share_tool.ended(TOOL, "--alter", *GROUPS, group, "--add-config", one_wrong, code=1)
    assert described(share_tool(TOOL, "--describe", "--group", group)) == kept  # all or nothing


def test_a_group_needs_a_name_and_one_without_configs_says_so(share_tool, fresh) -> None:
    setting = ["--add-config", "share.delivery.count.limit=3"]
    for nameless in (["--entity-default"], ["--entity-name", ""]):
        ended = share_tool.ended(TOOL, "--alter", "--entity-type", "groups", *nameless, *setting, code=1)
        assert "An entity name must be specified with --alter of groups" in ended.err
    nobody = fresh("nobody")
    printed = share_tool(TOOL, "--describe", *GROUPS, nobody)
    assert printed.strip() == f"The group '{nobody}' doesn't exist and doesn't have dynamic config."
