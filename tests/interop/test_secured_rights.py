"""Who is let in and lacks a right: what each client says, and what it does when the right comes and goes."""

from __future__ import annotations

import io
import logging
import re
import time
from collections.abc import Callable, Iterator

import pytest

from interop.locked_broker import PASSWORDS, LockedBroker
from leaselog.admin import AclBinding, AclFilter, AclOperation, AclResourceType, Admin, Resource, ResourceType
from leaselog.client import AuthorizationFailed, Consumer, Producer, ShareConsumer, kafka_errors

pytestmark = pytest.mark.all_on_kafka
WAIT_S = 30.0
Fresh = Callable[[str], str]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LockedBroker]:
    broker = LockedBroker(tmp_path_factory.mktemp("locked"))
    broker.process.start()
    yield broker
    broker.process.stop()


@pytest.fixture
def admin(locked: LockedBroker) -> Iterator[Admin]:
    with Admin(locked.address("PLAINTEXT")) as made:
        yield made


def user(locked: LockedBroker, name: str) -> dict[str, str]:
    return {**locked.sasl("SCRAM-SHA-256", name), "bootstrap.servers": locked.address("SASL_PLAINTEXT")}


def rule(kind: AclResourceType, name: str, operation: AclOperation, who: str) -> AclBinding:
    return AclBinding(kind, name, f"User:{who}", operation)


def test_who_lacks_a_right_is_told_who_may_not_do_what_to_which(
    locked: LockedBroker, admin: Admin, fresh: Fresh
) -> None:
    config, topic, group = user(locked, "nobody-1"), fresh("topic"), fresh("group")
    with Producer(locked.address("PLAINTEXT")) as producer:
        producer.send(topic, b"x").result(WAIT_S)
    admin.create_acls([rule(AclResourceType.TOPIC, topic, AclOperation.DESCRIBE, "nobody-1")])
    told = []
    with Producer(config, enable_idempotence=False) as producer:
        receipt = producer.send(topic, b"x")
        with pytest.raises(AuthorizationFailed) as failed:
            receipt.result(WAIT_S)
        told.append(failed.value)
    with Consumer(config, group_id=group) as consumer:
        consumer.subscribe([topic])
        with pytest.raises(AuthorizationFailed) as failed:
            consumer.poll(WAIT_S)
        told.append(failed.value)
    admin.create_acls([rule(AclResourceType.GROUP, group, AclOperation.READ, "nobody-1")])
    for kind in (Consumer, ShareConsumer):
        with kind(config, group_id=group if kind is Consumer else f"{group}-shared") as consumer:
            if kind is ShareConsumer:
                admin.create_acls(
                    [rule(AclResourceType.GROUP, f"{group}-shared", AclOperation.READ, "nobody-1")]
                )
            consumer.subscribe([topic])
            with pytest.raises(AuthorizationFailed) as failed:
                consumer.poll(WAIT_S)
            told.append(failed.value)
    assert [type(one) for one in told] == [
        kafka_errors.TopicAuthorizationException,
        kafka_errors.GroupAuthorizationException,
        kafka_errors.TopicAuthorizationException,
        kafka_errors.TopicAuthorizationException,
    ]
    rights = [f"WRITE topic '{topic}'", f"(READ|DESCRIBE) group '{group}'", *[f"READ .*topic '{topic}'"] * 2]
    for one, right in zip(told, rights, strict=True):
        assert re.search(f"User:nobody-1 may not {right}: there is no ACL that allows it", str(one))
        assert "\n" not in str(one)


@pytest.mark.parametrize("what", ["topic", "group"])
def test_a_share_consumer_that_loses_its_right_is_told_once_waits_and_goes_on_when_it_is_back(
    locked: LockedBroker, admin: Admin, fresh: Fresh, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group = fresh("topic"), fresh("group")
    reads = {
        "topic": rule(AclResourceType.TOPIC, topic, AclOperation.READ, "nobody-2"),
        "group": rule(AclResourceType.GROUP, group, AclOperation.READ, "nobody-2"),
    }
    admin.create_acls(reads.values())
    admin.alter_configs(Resource(ResourceType.GROUP, group), put={"share.auto.offset.reset": "earliest"})
    got, failures = list[bytes](), list[AuthorizationFailed]()

    def poll_until(enough: Callable[[], bool], consumer: ShareConsumer[bytes, bytes]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not enough():
            assert time.monotonic() < deadline
            try:
                got.extend(record.value for record in consumer.poll(0.2))
            except AuthorizationFailed as failed:
                failures.append(failed)

    with (
        Producer(locked.address("PLAINTEXT")) as producer,
        ShareConsumer(user(locked, "nobody-2"), group_id=group) as consumer,
    ):
        producer.send(topic, b"before").result(WAIT_S)
        consumer.subscribe([topic])
        poll_until(lambda: bool(got), consumer)
        assert failures == []
        admin.delete_acls([AclFilter.of(reads[what])])
        poll_until(lambda: bool(failures), consumer)
        fetches = requests_so_far(consumer)
        ends = time.monotonic() + 4
        poll_until(lambda: time.monotonic() > ends, consumer)
        assert len(failures) == 1, "it is told once"
        assert f"User:nobody-2 may not READ {what} '{topic if what == 'topic' else group}'" in str(
            failures[0]
        )
        assert requests_so_far(consumer) - fetches < 20, "it does not spin"
        producer.send(topic, b"after").result(WAIT_S)
        admin.create_acls([reads[what]])
        poll_until(lambda: b"after" in got, consumer)
    assert got[-1] == b"after"


def requests_so_far(consumer: ShareConsumer[bytes, bytes]) -> float:
    metrics = {name.name: value for name, value in consumer.metrics().items()}
    return metrics["fetch-total"]


def test_a_whole_run_shows_no_secret(locked: LockedBroker, admin: Admin, fresh: Fresh) -> None:
    """Everything that our clients log, raise, count and print, with passwords that are right and that are wrong."""
    log, shown = io.StringIO(), list[str]()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    topic, group = fresh("topic"), fresh("group")
    wrong = {**user(locked, "alice"), "sasl.password": "a-guess-of-mine"}
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    jaas = f'{module} required username="alice" password="{PASSWORDS["alice"]}";'
    by_jaas = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    bearer = locked.sasl("OAUTHBEARER", sasl_jaas_config="", sasl_oauthbearer_token="no-good-token-of-mine")
    try:
        for given in (
            user(locked, "alice"),
            {**by_jaas, "bootstrap.servers": locked.address("SASL_PLAINTEXT")},
            wrong,
            {**bearer, "bootstrap.servers": locked.address("SASL_PLAINTEXT")},
        ):
            with (
                Producer(given) as producer,
                Admin(given) as other,
                ShareConsumer(given, group_id=group) as member,
            ):
                shown += [
                    repr(producer),
                    repr(producer.config),
                    repr(other),
                    repr(member),
                    repr(member.config),
                ]
                member.subscribe([topic])
                for call in (
                    lambda producer=producer: producer.send(topic, b"x").result(WAIT_S),
                    lambda other=other: other.describe_cluster(),
                    lambda member=member: member.poll(2),
                ):
                    try:
                        shown.append(repr(call()))
                    except Exception as failed:  # noqa: BLE001 - whatever it is, it is looked at
                        shown += [repr(failed), str(failed), repr(failed.__cause__)]
                shown.append(repr(member.metrics()))
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    everything = "\n".join([log.getvalue(), *shown])
    assert "is refused" in everything
    for secret in (*PASSWORDS.values(), "a-guess-of-mine", "no-good-token-of-mine"):
        assert secret not in everything
