"""`configs`: which entity the options name, and quotas on a broker in a box."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import pytest
from admin_cluster import box_cluster
from broker_in_a_box import run

from leaselog.admin import ANY_NAME, AsyncAdmin, QuotaEntity, ResourceType
from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.configs import _checked, _entities, _entity, add_arguments
from leaselog.cli.quota_configs import java_number, quota_entity
from leaselog.client import BrokerError, kafka_errors


def parsed(*words: str) -> argparse.Namespace:
    parser = Parser(prog="configs")
    add_arguments(parser)
    return parser.parse_args(["--bootstrap-server", "x:1", *words])


def shown(capsys: pytest.CaptureFixture[str], *commands: Sequence[str]) -> list[tuple[object, str]]:
    results = list[tuple[object, str]]()

    async def main() -> None:
        async with box_cluster() as cluster:
            for words in commands:
                code: object
                try:
                    code = await _checked(parsed(*words))(cluster)
                except (CommandFailed, UsageError, BrokerError) as failed:
                    code = str(failed)
                results.append((code, capsys.readouterr().out))

    run(main())
    return results


def test_the_default_of_all_brokers_has_no_name() -> None:
    args = parsed("--alter", "--broker-defaults", "--add-config", "a=b")
    assert _entity(*_entities(args), args) == (ResourceType.BROKER, "")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("--entity-type", "users", "--entity-name", "u"), {"user": "u"}),
        (("--entity-type", "users", "--entity-default"), {"user": None}),
        (("--entity-type", "ips"), {"ip": ANY_NAME}),
        (
            ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-name", "c"),
            {"user": None, "client-id": "c"},
        ),
        (
            ("--entity-type", "users", "--entity-name", "u", "--entity-type", "clients"),
            {"user": "u", "client-id": ANY_NAME},
        ),
        (("--user", "u", "--client-defaults"), {"user": "u", "client-id": None}),
        (("--ip-defaults",), {"ip": None}),
    ],
)
def test_types_and_names_go_together_in_their_order(words: Sequence[str], parts: object) -> None:
    assert quota_entity(*_entities(parsed("--describe", *words)), alter=False) == parts


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--describe", "--user", "u", "--entity-type", "clients"), "name one entity"),
        (("--describe", "--user", "u", "--topic", "t"), "only users and clients go together"),
        (("--describe", "--user", "u", "--ip", "127.0.0.1"), "goes with no other type"),
        (("--describe", "--topic", "t", "--broker", "1"), "only users and clients go together"),
        (("--describe", "--entity-type", "users", "--entity-name", "u", "--entity-default"), "more names"),
        (("--alter", "--entity-type", "users", "--add-config", "a=1"), "--alter needs --entity-name"),
        (("--describe", "--entity-type", "topics", "--entity-default"), "--entity-default goes with"),
    ],
)
def test_what_makes_no_sense_is_one_line(words: Sequence[str], complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        _checked(parsed(*words))
    assert complaint in str(refused.value)


def test_quotas_are_set_shown_and_unset_in_apaches_words(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--user", "u", "--client-defaults")
    results = shown(
        capsys,
        ("--alter", *both, "--add-config", "producer_byte_rate=10000000,request_percentage=50.5"),
        ("--alter", "--ip-defaults", "--add-config", "connection_creation_rate=5"),
        ("--describe", *both),
        ("--describe", *both, "--json"),
        ("--describe", "--user", "u"),
        ("--describe", "--entity-type", "ips"),
        ("--alter", *both, "--delete-config", "producer_byte_rate"),
        ("--describe", "--entity-type", "users", "--entity-type", "clients"),
    )
    assert [out for _, out in results[:3]] == [
        "Completed updating config for user u.\n",
        "Completed updating default config for ips in the cluster.\n",
        "Quota configs for user-principal 'u', the default client-id are"
        " producer_byte_rate=1.0E7, request_percentage=50.5\n",
    ]
    assert json.loads(results[3][1]) == [
        {
            "entity": {"client-id": None, "user": "u"},
            "quotas": {"producer_byte_rate": 1e7, "request_percentage": 50.5},
        }
    ]
    assert results[4] == (0, "")
    assert results[5][1] == "Quota configs for the default ip are connection_creation_rate=5.0\n"
    assert results[7][1].endswith("are request_percentage=50.5\n")


def test_a_quota_that_is_not_there_or_no_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    results = shown(
        capsys,
        ("--alter", "--user", "u", "--delete-config", "producer_byte_rate"),
        ("--alter", "--user", "u", "--add-config", "producer_byte_rate=much"),
        ("--alter", "--user", "u", "--add-config", "producer_bite_rate=1"),
    )
    assert [str(code).partition(":")[0] for code, _ in results] == [
        "INVALID_CONFIG",
        "--add-config producer_byte_rate",
        "INVALID_REQUEST",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0"), (1024.0, "1024.0"), (9999999.0, "9999999.0"), (1e7, "1.0E7"), (12345678.9, "1.23456789E7"),
     (1e21, "1.0E21"), (0.001, "0.001"), (0.00025, "2.5E-4"), (-2e8, "-2.0E8")],
)  # fmt: skip
def test_numbers_are_written_as_java_does(value: float, text: str) -> None:
    assert java_number(value) == text


def test_quotas_are_described_and_altered_from_python() -> None:
    entity = QuotaEntity.of({"user": "u", "client-id": None})

    async def main() -> None:
        async with box_cluster() as cluster:
            admin = AsyncAdmin.over(cluster)
            await admin.alter_client_quotas(entity, put={"consumer_byte_rate": 5.0}, validate_only=True)
            assert await admin.describe_client_quotas() == {}
            await admin.alter_client_quotas(entity, put={"consumer_byte_rate": 5.0})
            assert await admin.describe_client_quotas({"user": ANY_NAME}) == {
                entity: {"consumer_byte_rate": 5.0}
            }
            assert await admin.describe_client_quotas({"user": "u"}, strict=True) == {}
            with pytest.raises(kafka_errors.InvalidRequestException):
                await admin.alter_client_quotas(entity, put={"speed": 1.0})
            await admin.alter_client_quotas(entity, delete=["consumer_byte_rate"])
            assert await admin.describe_client_quotas() == {}

    run(main())
