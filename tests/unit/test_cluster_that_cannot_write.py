"""A change of the cluster that cannot be written down or replayed: nobody has it, and the next one is made."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from broker_in_a_box import in_a_box, run
from shard_watch import unchanged

from leaselog.broker.cluster.cluster import MorePartitions, NewTopic
from leaselog.coordination.cluster_records import ConfigChanged, PartitionCreated, ResourceType
from leaselog.coordination.cluster_shard import ClusterShard, CreatePartitions, Decision, Topic
from leaselog.model import BrokenInvariant, ErrorCode, NodeId, Refused, TopicId

CANNOT = Refused(ErrorCode.UNKNOWN_SERVER_ERROR)


def test_what_no_record_can_hold_is_refused_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async with in_a_box(str(tmp_path)) as box:
            cluster = box.broker.cluster
            end = cluster.features_epoch
            longest = ConfigChanged(
                ResourceType.GROUP, "x" * 40_000, "share.record.lock.duration.ms", "20000"
            )
            with unchanged(cluster._shard):
                assert await cluster.alter_configs(lambda: [longest]) == CANNOT
            assert cluster.features_epoch == end
            made = (await cluster.create_topics([NewTopic("t", 2)]))[0]
            assert not isinstance(made, Refused)
        async with in_a_box(str(tmp_path)) as again:
            topic = again.broker.cluster.topic("t")
            assert topic is not None
            assert topic.partition_count == 2

    run(main())


def test_what_cannot_be_replayed_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with in_a_box(str(tmp_path)) as box:
            cluster = box.broker.cluster
            made = (await cluster.create_topics([NewTopic("t", 1)]))[0]
            assert not isinstance(made, Refused)
            topic = made.topic

            def nonsense(self: ClusterShard, command: CreatePartitions) -> Decision:
                """The first of them can be replayed, the second not."""
                places = (1, 3)
                records = tuple(PartitionCreated(topic.topic_id, i, NodeId(0)) for i in places)
                return Decision(records, Topic("t", topic.topic_id, 3))

            end = cluster.features_epoch
            with monkeypatch.context() as patched:
                patched.setattr(ClusterShard, "_create_partitions", nonsense)
                with unchanged(cluster._shard):
                    assert await cluster.create_partitions([MorePartitions("t", 3)]) == [CANNOT]
            assert cluster.features_epoch == end
        async with in_a_box(str(tmp_path)) as again:
            found = again.broker.cluster.topic("t")
            assert found is not None
            assert found.partition_count == 1

    run(main())


def test_a_rehearsal_finds_what_a_replay_would() -> None:
    shard = ClusterShard(NodeId(0))
    with unchanged(shard), pytest.raises(BrokenInvariant, match="while there is None"):
        shard.rehearse([PartitionCreated(TopicId(UUID(int=1)), 0, NodeId(0))])
