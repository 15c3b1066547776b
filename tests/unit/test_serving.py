"""What a configuration and a command line come to, and which of them a broker does not start with."""

from __future__ import annotations

import pytest

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.listeners import Listener
from leaselog.broker.net.serving import Serving, plan_serving


def plan(text: str = "", *listen: str, data_dir: str | None = None, ephemeral: bool = False) -> Serving:
    return plan_serving(
        BrokerConfig.from_properties(text), listen=listen, data_dir=data_dir, ephemeral=ephemeral
    )


def test_without_a_word_only_this_machine_is_served_from_a_directory_here() -> None:
    serving = plan()
    assert serving.listeners == (Listener.plaintext("127.0.0.1", 9092),)
    assert serving.data_dir == "leaselog-data"
    assert serving.metrics is None
    assert serving.warnings == ()


def test_the_command_line_takes_the_place_of_the_config_and_is_what_the_broker_tells() -> None:
    serving = plan(
        "listeners=PLAINTEXT://a:1,OTHER://b:2\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,"
        "OTHER:PLAINTEXT\nlog.dirs=/a,/b",
        "[::1]:0",
        data_dir="d",
    )
    assert serving.listeners == (Listener.plaintext("::1", 0),)
    assert serving.data_dir == "d"
    assert serving.config.listeners == ("PLAINTEXT://[::1]:0",)
    assert serving.config.data_dirs == ("d",)


def test_an_empty_host_is_every_address_and_the_controllers_listener_is_left_out() -> None:
    serving = plan(
        "process.roles=broker,controller\ncontroller.listener.names=QUORUM\n"
        "listeners=QUORUM://:9093,PLAINTEXT://:9092\nadvertised.listeners=PLAINTEXT://here:9092"
    )
    assert serving.listeners == (Listener.plaintext("", 9092),)


def test_in_memory_there_is_no_directory() -> None:
    assert plan(ephemeral=True).data_dir is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "advertised.listeners=SASL_PLAINTEXT://a:9093",
            ["names SASL_PLAINTEXT", "listeners only PLAINTEXT"],
        ),
        ("listeners=IN://:1", ["no security protocol is defined for listener IN"]),
        ("listener.security.protocol.map=PLAINTEXT:NONE", ["'PLAINTEXT:NONE'", "expected NAME:PROTOCOL"]),
        ("process.roles=controller", ["process.roles is controller", "expected broker"]),
        ("log.dirs=/a,/b", ["2 directories (/a, /b)", "one data directory"]),
        ("listeners=CONTROLLER://:1", ["CONTROLLER://:1", "none is for clients"]),
        ("listeners=PLAINTEXT://:1,PLAINTEXT://:2", ["PLAINTEXT comes twice", "a name of its own"]),
        ("listeners=PLAINTEXT://:1,SSL://:1", ["port 1 is named 2 times"]),
        ("listeners=PLAINTEXT://a:1,SSL://[::1]:1,SASL_SSL://b:1", ["port 1 is named 3 times"]),
        ("inter.broker.listener.name=IN", ["inter.broker.listener.name is IN", "names PLAINTEXT"]),
        (
            "inter.broker.listener.name=PLAINTEXT\nsecurity.inter.broker.protocol=PLAINTEXT",
            ["Only one of inter.broker.listener.name and security.inter.broker.protocol"],
        ),
        ("listener.name.plaintext.max.connections=many", ["listener.name.plaintext.", "many"]),
        (
            "advertised.listeners=PLAINTEXT://a:1,PLAINTEXT://b:1",
            ["advertised.listeners: PLAINTEXT comes twice"],
        ),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", ["nonroutable meta-address 0.0.0.0"]),
        ("advertised.listeners=PLAINTEXT://a:x", ["advertised.listeners", "'a:x'", "expected HOST:PORT"]),
        ("listeners=PLAINTEXT://:99999", ["':99999'", "expected HOST:PORT"]),
        ("listeners=9092", ["'9092'", "expected NAME://HOST:PORT"]),
        ("metrics.listener=foo", ["metrics.listener", "'foo'", "expected HOST:PORT"]),
        ("metrics.listener=foo:bar", ["metrics.listener", "'foo:bar'", "expected HOST:PORT"]),
    ],
)
def test_what_cannot_be_kept_refuses_the_start(text: str, said: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(text)
    assert "\n" not in str(raised.value)
    assert [words for words in said if words not in str(raised.value)] == []


def test_a_secured_listener_is_not_opened_by_a_command_line_that_forgets_it() -> None:
    with pytest.raises(ConfigError, match=r"say which is meant, as in --listen SASL_SSL://127.0.0.1:9092"):
        plan("listeners=SASL_SSL://:9093", "127.0.0.1:9092")


def test_several_listeners_are_served_in_the_order_of_their_naming() -> None:
    text = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,IN:PLAINTEXT"
    told = plan(text, "127.0.0.1:1", "in://:2")
    named = plan(text + "\nlisteners=PLAINTEXT://127.0.0.1:1,IN://:2\ninter.broker.listener.name=IN")
    assert told.listeners == named.listeners
    assert [str(listener) for listener in told.listeners] == ["PLAINTEXT://127.0.0.1:1", "IN://:2"]
    assert told.config.listeners == ("PLAINTEXT://127.0.0.1:1", "in://:2")


def test_a_port_may_be_shared_by_an_address_of_each_kind_and_port_0_by_all() -> None:
    text = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT,C:PLAINTEXT\nlisteners="
    assert len(plan(text + "A://127.0.0.1:1,B://[::1]:1,C://127.0.0.1:2").listeners) == 3
    assert len(plan(text + "A://127.0.0.1:0,B://127.0.0.1:0").listeners) == 2


def test_settings_that_protect_nothing_are_named_in_one_warning() -> None:
    (warning,) = plan(
        "ssl.keystore.location=/k\nlistener.name.plaintext.sasl.enabled.mechanisms=PLAIN\nnum.io.threads=3"
    ).warnings
    assert "protect nothing" in warning
    assert warning.endswith(": listener.name.plaintext.sasl.enabled.mechanisms, ssl.keystore.location")


def test_settings_of_tls_protect_where_a_listener_has_it_and_nowhere_else() -> None:
    keys = "ssl.keystore.location=/k\nlistener.name.ssl.ssl.client.auth=required\nlistener.name.in.ssl.protocol=TLS"
    (warning,) = plan(
        f"listeners=SSL://:1,IN://:2\nlistener.security.protocol.map=SSL:SSL,IN:PLAINTEXT\n{keys}"
    ).warnings
    assert warning.endswith(": listener.name.in.ssl.protocol")


def test_more_replicas_than_one_by_default_are_one_with_a_warning() -> None:
    serving = plan("default.replication.factor=3")
    assert serving.config.default_replication_factor == 1
    (warning,) = serving.warnings
    assert "default.replication.factor is 3" in warning


def test_rights_that_nobody_goes_by_are_named_in_a_warning() -> None:
    plan = plan_serving(
        BrokerConfig.from_originals({"super.users": "User:root"}), listen=None, data_dir=None, ephemeral=True
    )
    assert any("authorizer.class.name" in line and "super.users" in line for line in plan.warnings)


def test_an_authorizer_is_served_without_a_warning() -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root",
        "allow.everyone.if.no.acl.found": "true",
    }
    plan = plan_serving(BrokerConfig.from_originals(settings), listen=None, data_dir=None, ephemeral=True)
    assert not plan.warnings
