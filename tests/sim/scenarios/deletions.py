"""Retention, DeleteRecords and compaction take records away under a live window."""

from __future__ import annotations

from leaselog.model import TopicPartition
from leaselog.testing.sim_checks import key_of
from leaselog.testing.sim_stage import Stage, settings

__all__ = ["delete_records", "play", "settings"]


CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"retention_ms": "3000", "segment_ms": "1000", "file_delete_delay_ms": "1000"},
    {"retention_bytes": "2000", "segment_ms": "500"},
    {"cleanup_policy": "compact,delete", "min_cleanable_dirty_ratio": "0.0", "segment_ms": "500"},
)


async def play(stage: Stage) -> None:
    world, chance = stage.world, stage.world.chance
    configs = chance.choice(CONFIGS)
    stage.is_compacted = "cleanup_policy" in configs
    await stage.open(**configs)
    key = key_of if stage.is_compacted else str
    stage.add_producers(chance.randint(1, 2), chance.randint(30, 100), key=key)
    stage.add_consumers(chance.randint(1, 3))
    for _ in range(chance.randint(2, 8)):
        await world.sleep(0.2, 3.0)
        if chance.random() < 0.6:
            await delete_records(stage)
        if chance.random() < 0.3:
            await world.restart(gently=0.3)
    await stage.finish()


async def delete_records(stage: Stage) -> None:
    """Some, of a partition that has any."""
    broker, chance = stage.world.broker, stage.world.chance
    assert broker is not None
    partition = chance.randrange(stage.partitions)
    found = broker.logs.partition(stage.topic, partition)
    assert found is not None
    if found.log.high_watermark > found.log.start_offset:
        before = chance.randint(found.log.start_offset, found.log.high_watermark)
        await stage.administer(
            lambda admin: admin.delete_records({TopicPartition(stage.topic, partition): before})
        )
