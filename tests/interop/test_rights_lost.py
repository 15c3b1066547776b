"""Rights that are taken away under a share consumer, a consumer and a producer at work, and given back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from interop.broker_process import SHARE, BrokerProcess, free_port
from leaselog.admin import AclBinding, AclFilter, AclOperation, AclResourceType, Admin, Resource, ResourceType
from leaselog.client import AuthorizationFailed, Consumer, Producer, ShareConsumer

pytestmark = pytest.mark.only_leaselog("its authorizer and its users come by the properties of one process")
WAIT_S = 30.0
LOST_S = 2.0
APIS = ("ShareFetch", "Fetch", "ShareGroupHeartbeat", "Heartbeat", "JoinGroup", "FindCoordinator", "Metadata")
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
CONFIG = {
    "listener.security.protocol.map": "ADMIN:PLAINTEXT,IN:SASL_PLAINTEXT",
    "listeners": "ADMIN://127.0.0.1:0,IN://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.in.plain.sasl.jaas.config": f'{JAAS} user_alice="secret";',
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    **SHARE,
}


class CountedBroker(BrokerProcess):
    """One that tells how many requests it has had, of an API."""

    def _command(self, port: int, properties: Path, ready: Path) -> list[str]:
        self._metrics = f"127.0.0.1:{free_port()}"
        return [*super()._command(port, properties, ready), "--metrics", self._metrics]

    def requests(self, api: str) -> float:
        with urlopen(f"http://{self._metrics}/metrics", timeout=WAIT_S) as answer:
            text = answer.read().decode()
        found = re.search(rf'^leaselog_requests_total{{api="{api}"}} (\S+)$', text, re.MULTILINE)
        return float(found[1]) if found else 0.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CountedBroker]:
    process = CountedBroker(Path(tmp_path_factory.mktemp("rights")), CONFIG)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def admin(broker: CountedBroker) -> Iterator[Admin]:
    with Admin(broker.addresses[0]) as made:
        yield made


@pytest.fixture
def alice(broker: CountedBroker) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.addresses[1],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
    }


def rule(kind: AclResourceType, name: str, operation: AclOperation) -> AclBinding:
    return AclBinding(kind, name, "User:alice", operation)


class Reader:
    """Polls, and keeps what it gets and what it is refused."""

    def __init__(self, consumer: Consumer[bytes, bytes] | ShareConsumer[bytes, bytes]) -> None:
        self.consumer = consumer
        self.got: list[bytes] = []
        self.failures: list[AuthorizationFailed] = []

    def poll_until(self, enough: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not enough():
            assert time.monotonic() < deadline, (self.got, self.failures)
            try:
                self.got += [record.value for record in self.consumer.poll(0.2)]
            except AuthorizationFailed as failed:
                self.failures.append(failed)

    def poll_for(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        self.poll_until(lambda: time.monotonic() > ends)


@pytest.mark.parametrize("what", [AclResourceType.TOPIC, AclResourceType.GROUP], ids=["topic", "group"])
@pytest.mark.parametrize("kind", [ShareConsumer, Consumer], ids=["share", "plain"])
def test_who_loses_the_right_to_read_is_told_gets_nothing_does_not_spin_and_goes_on_when_it_is_back(
    broker: CountedBroker,
    admin: Admin,
    alice: dict[str, str],
    fresh: Callable[[str], str],
    kind: type,
    what: AclResourceType,
) -> None:
    topic, group = fresh("topic"), fresh("group")
    reads = {
        AclResourceType.TOPIC: rule(AclResourceType.TOPIC, topic, AclOperation.READ),
        AclResourceType.GROUP: rule(AclResourceType.GROUP, group, AclOperation.READ),
    }
    admin.create_acls(reads.values())
    if kind is ShareConsumer:
        admin.alter_configs(Resource(ResourceType.GROUP, group), put={"share.auto.offset.reset": "earliest"})
        more = {}
    else:
        more = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 200, "session_timeout_ms": 6000}
    with (
        Producer(broker.addresses[0]) as producer,
        kind(alice, group_id=group, **more) as consumer,
    ):
        producer.send(topic, b"before").result(WAIT_S)
        consumer.subscribe([topic])
        reader = Reader(consumer)
        reader.poll_until(lambda: bool(reader.got))
        assert reader.failures == []
        admin.delete_acls([AclFilter.of(reads[what])])
        reader.poll_until(lambda: bool(reader.failures))
        producer.send(topic, b"after").result(WAIT_S)
        asked = [broker.requests(api) for api in APIS]
        reader.poll_for(LOST_S)
        more_asked = [broker.requests(api) - before for api, before in zip(APIS, asked, strict=True)]
        assert sum(more_asked) <= 20 * LOST_S, f"it spins: {more_asked} of {APIS}"
        if kind is ShareConsumer or what is AclResourceType.TOPIC:
            assert reader.got == [b"before"], "nothing is handed out that may not be read"
        admin.create_acls([reads[what]])
        reader.poll_until(lambda: b"after" in reader.got)
    assert reader.got == [b"before", b"after"]


def test_a_producer_that_loses_the_right_to_write_is_told_of_each_record_and_goes_on_when_it_is_back(
    admin: Admin, alice: dict[str, str], fresh: Callable[[str], str]
) -> None:
    topic = fresh("topic")
    writes = [
        rule(AclResourceType.TOPIC, topic, AclOperation.WRITE),
        rule(AclResourceType.TOPIC, topic, AclOperation.CREATE),
    ]
    admin.create_acls(writes)
    with Producer(alice) as producer:
        assert producer.send(topic, b"before").result(WAIT_S).offset == 0
        admin.delete_acls([AclFilter.of(writes[0])])
        # after the first it asks for a new producer id, which takes leave to write to some topic at least
        for lacks in (f"WRITE topic '{topic}'", "IDEMPOTENT_WRITE", "IDEMPOTENT_WRITE"):
            begun = time.monotonic()
            with pytest.raises(AuthorizationFailed, match=f"User:alice may not .*{lacks}"):
                producer.send(topic, b"not written").result(WAIT_S)
            assert time.monotonic() - begun < 5, "it is told at once"
        admin.create_acls([writes[0]])
        assert producer.send(topic, b"after").result(WAIT_S).offset == 1
