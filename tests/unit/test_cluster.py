"""The cluster as the broker sees it: durable before it is told, and in force as soon as it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import Cluster, CreatedTopic, MorePartitions, NewTopic, Topic
from leaselog.broker.cluster.identity import claim_directory, new_id
from leaselog.broker.config import ConfigError
from leaselog.broker.config.listeners import Address
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.log import MemoryFiles, read_whole
from leaselog.model import ErrorCode, NodeId, Refused


async def create(cluster: Cluster, name: str, count: int = 1, **configs: str) -> Topic:
    wish = NewTopic(name, count, configs=tuple((k.replace("_", "."), v) for k, v in configs.items()))
    (made,) = await cluster.create_topics([wish])
    assert isinstance(made, CreatedTopic), made
    return made.topic


def test_a_topic_and_its_configs_outlive_the_broker(tmp_path: Path) -> None:
    async def first() -> tuple[Topic, str]:
        async with in_a_box(str(tmp_path)) as box:
            topic = await create(box.broker.cluster, "t", 3, retention_ms="77")
            return topic, box.broker.cluster.cluster_id

    async def second() -> tuple[Topic | None, str, int]:
        async with in_a_box(str(tmp_path)) as box:
            assert all(box.broker.logs.partition("t", i) for i in range(3))
            retention_ms = box.broker.cluster.configuration.topic("t").retention_ms
            return box.broker.cluster.topic("t"), box.broker.cluster.cluster_id, retention_ms

    made, cluster_id = run(first())
    assert run(second()) == (made, cluster_id, 77)


def test_a_deleted_topic_stays_deleted_and_leaves_no_logs(tmp_path: Path) -> None:
    async def first() -> None:
        async with in_a_box(str(tmp_path)) as box:
            topic = await create(box.broker.cluster, "t")
            assert await box.broker.cluster.delete_topics([topic.topic_id]) == [topic]
            assert box.broker.logs.partition("t", 0) is None

    async def second() -> None:
        async with in_a_box(str(tmp_path)) as box:
            assert list(box.broker.cluster.topics()) == []

    run(first())
    run(second())
    assert not (tmp_path / "t-0").exists()


def test_a_topic_made_anew_has_another_id_and_no_records() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        old = await create(cluster, "t")
        await box.append("t", 1, 2, 3)
        await cluster.delete_topics([old.topic_id])
        new = await create(cluster, "t")
        partition = box.broker.logs.partition("t", 0)
        assert new.topic_id != old.topic_id
        assert partition is not None
        assert partition.log.end_offset == 0

    boxed(story)


def boxed(story: object, **settings: str) -> None:
    async def told() -> None:
        async with in_a_box(None, **settings) as box:
            await story(box)  # type: ignore[operator]

    run(told())


def test_a_client_that_goes_away_does_not_halve_a_change() -> None:
    async def story(box: Box) -> None:
        asking = asyncio.ensure_future(create(box.broker.cluster, "t"))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert isinstance(await box.broker.cluster.ensure_topic("t"), Topic)
        assert box.broker.logs.partition("t", 0) is not None

    boxed(story)


def test_two_who_want_the_same_topic_both_get_it() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        one, other = await asyncio.gather(cluster.ensure_topic("t"), cluster.ensure_topic("t"))
        assert one == other == cluster.topic("t")

    boxed(story)


def test_internal_topics_are_made_as_kafka_makes_them() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        offsets = await cluster.ensure_topic("__consumer_offsets")
        state = await cluster.ensure_topic("__share_group_state")
        assert isinstance(offsets, Topic)
        assert isinstance(state, Topic)
        assert (offsets.partition_count, state.partition_count) == (7, 3)
        config = cluster.configuration.topic("__consumer_offsets")
        assert config.cleanup_policy == ("compact",)
        assert config.segment_bytes == 104_857_600
        assert cluster.configuration.topic("__share_group_state").retention_ms == -1

    boxed(
        story,
        offsets_topic_num_partitions="7",
        share_coordinator_state_topic_num_partitions="3",
        default_replication_factor="3",
    )


def test_more_partitions_are_open_when_the_answer_comes() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        await create(cluster, "t", 2)
        (grown,) = await cluster.create_partitions([MorePartitions("t", 40)])
        assert isinstance(grown, Topic)
        assert grown.partition_count == 40
        assert box.broker.logs.partition("t", 39) is not None

    boxed(story)


def test_validating_changes_nothing() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        await create(cluster, "t")
        before = cluster.features_epoch
        await cluster.create_topics([NewTopic("u")], validate_only=True)
        await cluster.create_partitions([MorePartitions("t", 2)], validate_only=True)
        assert cluster.features_epoch == before
        assert cluster.topic("u") is None

    boxed(story)


def test_one_request_makes_no_more_than_ten_thousand_partitions() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        too_many = Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        assert await cluster.create_topics([NewTopic("t", 9_999), NewTopic("u", 2)]) == [too_many] * 2
        await create(cluster, "t")
        assert await cluster.create_partitions([MorePartitions("t", 10_002)]) == [too_many]

    boxed(story)


def test_a_changed_config_is_in_force_in_the_log_at_once() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        await create(cluster, "t")
        change = ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "9")
        assert await cluster.alter_configs(lambda: [change]) is None
        partition = box.broker.logs.partition("t", 0)
        assert partition is not None
        assert partition.log.config.retention_ms == 9

    boxed(story)


def test_a_changed_default_of_the_broker_reaches_every_topic_that_does_not_say_otherwise() -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        await create(cluster, "plain")
        await create(cluster, "own", retention_ms="5")
        change = ConfigChanged(ResourceType.BROKER, "", "log.retention.ms", "9")
        await cluster.alter_configs(lambda: [change])
        found = {p.name.topic: p.log.config.retention_ms for p in box.broker.logs.partitions()}
        assert found == {"plain": 9, "own": 5}

    boxed(story)


def test_no_producer_id_is_given_twice_even_over_a_restart(tmp_path: Path) -> None:
    async def some() -> list[object]:
        async with in_a_box(str(tmp_path)) as box:
            return [await box.broker.cluster.next_producer_id() for _ in range(1001)]

    first, second = run(some()), run(some())
    assert first == list(range(1001))
    assert second[0] == 2000


def test_a_failed_disk_refuses_changes_and_leaves_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(box: Box) -> None:
        cluster = box.broker.cluster
        await create(cluster, "t")

        async def fail(records: object) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(cluster._log, "append", fail)
        (refused,) = await cluster.create_topics([NewTopic("u")])
        assert isinstance(refused, Refused)
        assert refused.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert cluster.topic("u") is None
        assert cluster.topic("t") is not None
        assert isinstance(await cluster.next_producer_id(), Refused)

    boxed(story)


def test_clients_are_told_the_advertised_address_or_the_real_one() -> None:
    async def story(box: Box) -> None:
        told = box.broker.cluster.advertised
        told.listening_on({"PLAINTEXT": Address("127.0.0.1", 9999)})
        assert told.of("PLAINTEXT") == told.first == ("127.0.0.1", 9999)

    async def told(box: Box) -> None:
        told = box.broker.cluster.advertised
        told.listening_on({"PLAINTEXT": Address("127.0.0.1", 9999)})
        assert told.of("PLAINTEXT") == ("kafka.example", 1234)

    boxed(story)
    boxed(told, advertised_listeners="PLAINTEXT://kafka.example:1234")


def test_a_directory_knows_whose_it_is() -> None:
    files = MemoryFiles()
    files.make_directory("data")
    mine = claim_directory(files, "data", NodeId(3))
    assert claim_directory(files, "data", NodeId(3)) == mine
    assert len(mine.cluster_id) == 22
    lines = read_whole(files, "data/meta.properties").decode().splitlines()
    assert {"version=1", "node.id=3", f"cluster.id={mine.cluster_id}"} <= set(lines)
    with pytest.raises(ConfigError, match=r"node\.id is 4"):
        claim_directory(files, "data", NodeId(4))


def test_a_directory_of_an_older_kafka_gets_an_id() -> None:
    files = MemoryFiles()
    files.make_directory("data")
    file = files.open("data/meta.properties", writable=True, create=True)
    file.write_at(0, b"#\n#Mon\nnode.id=1\nversion=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
    found = claim_directory(files, "data", NodeId(1))
    assert found.cluster_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert claim_directory(files, "data", NodeId(1)) == found


def test_drawn_ids_do_not_look_like_options() -> None:
    assert len({new_id() for _ in range(200)}) == 200
