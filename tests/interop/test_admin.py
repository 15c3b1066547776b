"""Our admin against a real broker, and the snippets of its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import confluent_kafka
import pytest

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import consumer_of, numbered, produce, wait_until
from leaselog.admin import Admin, GroupState, GroupType, NewTopic, Resource, ResourceType, ShareOffset
from leaselog.client import EARLIEST, LATEST, UnsupportedVersion, kafka_errors
from leaselog.model import TopicPartition

pytestmark = pytest.mark.all_on_kafka


@pytest.fixture
def admin(broker: BrokerProcess) -> Iterator[Admin]:
    with Admin(broker.address) as made:
        yield made


@pytest.fixture
def topic(admin: Admin, fresh: Callable[[str], str]) -> str:
    """A topic of two partitions."""
    name = fresh("topic")
    admin.create_topics([NewTopic(name, 2)])
    wait_until(
        lambda: [p.leader for p in described(admin, name)] == [0, 0], "both partitions to have a leader"
    )
    return name


def described(admin: Admin, topic: str) -> tuple[object, ...]:
    found = admin.describe_topics([topic])
    return found[topic].partitions if topic in found else ()


@pytest.mark.on_kafka
def test_a_share_group_with_a_member_is_described_and_its_offsets_are_not_to_be_touched(
    admin: Admin, broker: BrokerProcess, topic: str, fresh: Callable[[str], str]
) -> None:
    group = fresh("group")
    admin.alter_configs(Resource(ResourceType.GROUP, group), put={"share.auto.offset.reset": "earliest"})
    produce(broker, topic, numbered(3))
    config = {"bootstrap.servers": broker.address, "group.id": group, "client.id": "worker", "log_level": 2}
    with closing(confluent_kafka.ShareConsumer(config)) as member:
        member.subscribe([topic])
        got = list[object]()
        wait_until(lambda: got.extend(member.poll(0.2)) or len(got) == 3, "the records")
        found = admin.describe_groups([group])[group]
        assert (found.type, found.state, found.assignor) == (GroupType.SHARE, GroupState.STABLE, "simple")
        assert f"{found.coordinator.host}:{found.coordinator.port}" == broker.address
        (one,) = found.members
        assert (one.client_id, one.host, one.subscribed_topics) == ("worker", "/127.0.0.1", (topic,))
        assert one.assignment == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
        assert found.epoch is not None
        assert one.epoch is not None
        assert 0 < one.epoch <= found.epoch
        with pytest.raises(kafka_errors.GroupNotEmptyException):
            admin.alter_share_group_offsets(group, {TopicPartition(topic, 0): 0})
        with pytest.raises(kafka_errors.GroupNotEmptyException):
            admin.delete_share_group_offsets(group, [topic])
        with pytest.raises(kafka_errors.GroupNotEmptyException):
            admin.delete_groups([group])


@pytest.mark.on_kafka
def test_what_a_group_has_in_flight_is_told_by_leaselog_alone(
    admin: Admin, broker: BrokerProcess, topic: str, fresh: Callable[[str], str]
) -> None:
    group, where = fresh("group"), TopicPartition(topic, 0)
    admin.alter_configs(Resource(ResourceType.GROUP, group), put={"share.auto.offset.reset": "earliest"})
    produce(broker, topic, numbered(3))
    config = {"bootstrap.servers": broker.address, "group.id": group, "log_level": 2}
    config["share.acknowledgement.mode"] = "explicit"
    with closing(confluent_kafka.ShareConsumer(config)) as member:
        member.subscribe([topic])
        got = list[object]()
        wait_until(lambda: got.extend(member.poll(0.2)) or len(got) == 3, "the records")
        if is_kafka():
            with pytest.raises(UnsupportedVersion):
                admin.describe_share_partitions(group, [where])
            return
        seen = admin.describe_share_partitions(group, [where])[where]
        (who,) = admin.describe_groups([group])[group].members
        assert (seen.in_flight, seen.available, seen.delivery_counts) == (3, 0, {1: 3})
        assert [(h.member_id, h.record_count) for h in seen.holders] == [(who.member_id, 3)]


@pytest.mark.on_kafka
def test_offsets_of_a_share_group_are_set_listed_and_deleted(
    admin: Admin, broker: BrokerProcess, topic: str, fresh: Callable[[str], str]
) -> None:
    group = fresh("group")
    produce(broker, topic, numbered(5))
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.list_offsets({first: LATEST, second: EARLIEST}) == {first: 5, second: 0}
    admin.alter_share_group_offsets(group, {first: 2})
    assert admin.list_share_group_offsets({group: [first, second]}) == {
        group: {first: ShareOffset(2, 0, 3), second: None}
    }
    assert group in [g.group_id for g in admin.list_groups(types=[GroupType.SHARE])]
    assert admin.delete_records({first: 4}) == {first: 4}
    admin.delete_share_group_offsets(group, [topic])
    with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
        admin.delete_share_group_offsets(group, [topic])
    admin.delete_groups([group])
    with pytest.raises(kafka_errors.GroupIdNotFoundException):
        admin.describe_groups([group], type=GroupType.SHARE)


@pytest.mark.on_kafka
def test_a_classic_group_is_listed_and_described(
    admin: Admin, broker: BrokerProcess, topic: str, fresh: Callable[[str], str]
) -> None:
    group = fresh("group")
    produce(broker, topic, numbered(1))
    with closing(consumer_of(broker, group)) as member:
        member.subscribe([topic])
        assert member.consume(1, 20)
        (listed,) = [g for g in admin.list_groups() if g.group_id == group]
        assert (listed.type, listed.state, listed.protocol) == (
            GroupType.CLASSIC,
            GroupState.STABLE,
            "consumer",
        )
        found = admin.describe_groups([group])[group]
        assert found.assignor == "range"
        assert found.members[0].assignment == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
        assert found.members[0].subscribed_topics == (topic,)
