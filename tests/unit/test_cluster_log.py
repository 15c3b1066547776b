"""The cluster's log: facts to Kafka's bytes and back, snapshots in its place, and dying at every step of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from leaselog.broker.cluster import log as cluster_log
from leaselog.broker.cluster.log import ClusterLog
from leaselog.broker.cluster.records import decode_cluster_record, encode_cluster_record
from leaselog.coordination.cluster_records import (
    AclAdded,
    AclRemoved,
    ClusterRecord,
    ConfigChanged,
    FeatureLevelSet,
    PartitionCreated,
    ProducerIdsReserved,
    TopicCreated,
    TopicRemoved,
)
from leaselog.coordination.cluster_shard import ClusterShard
from leaselog.log import Files, MemoryFiles, UnusableLog
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    NodeId,
    PatternType,
    ProducerId,
    TopicId,
)
from leaselog.testing.disk import PowerCut, SimDisk
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import HEADER_BYTES, read_header, rewrite_header

NODE = NodeId(3)
TOPIC = TopicId(UUID("00112233-4455-6677-8899-aabbccddeeff"))
DIRECTORY_ID = UUID(int=99)
ACL = AclBinding(
    AclResourceType.GROUP,
    "billing-",
    "User:CN=a,O=b",
    AclOperation.READ,
    AclPermission.DENY,
    PatternType.PREFIXED,
    "10.0.0.1",
)
EVERY_KIND: tuple[ClusterRecord, ...] = (
    FeatureLevelSet("metadata.version", 33),
    TopicCreated("t", TOPIC),
    ConfigChanged(2, "t", "retention.ms", "5"),
    PartitionCreated(TOPIC, 0, NODE),
    ConfigChanged(2, "t", "retention.ms", None),
    ConfigChanged(4, "", "log.retention.ms", "7"),
    ProducerIdsReserved(NODE, ProducerId(1000)),
    TopicRemoved(TOPIC),
    AclAdded(UUID(int=7), ACL),
    AclRemoved(UUID(int=7)),
    AclAdded(UUID(int=8), ACL),
)


def new_log(files: Files) -> ClusterLog:
    return ClusterLog(files, "data", DIRECTORY_ID, now_ms=lambda: 1_700_000_000_000)


def opened(files: Files) -> tuple[ClusterLog, list[ClusterRecord]]:
    log = new_log(files)
    return log, list(log.open())


def memory() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory("data")
    return files


def names(files: Files) -> list[str]:
    return files.names("data/__cluster_metadata-0")


def append(log: ClusterLog, *records: ClusterRecord) -> None:
    asyncio.run(log.append(records))


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: type(record).__name__)
def test_a_fact_comes_back_from_its_bytes(record: ClusterRecord) -> None:
    assert decode_cluster_record(encode_cluster_record(record, DIRECTORY_ID)) == record


def test_the_bytes_are_kafkas() -> None:
    # As kafka-dump-log and a hex dump of Apache Kafka 4.3.1's own log show them.
    level = encode_cluster_record(FeatureLevelSet("metadata.version", 30), DIRECTORY_ID)
    assert level == b"\x01\x0c\x00\x11metadata.version\x00\x1e\x00"
    topic = encode_cluster_record(TopicCreated("ok1", TOPIC), DIRECTORY_ID)
    assert topic == b"\x01\x02\x00\x04ok1" + TOPIC.bytes + b"\x00"


@pytest.mark.parametrize(
    "value",
    [b"", b"\x02\x02\x00", b"\x01\x63\x00", b"\x01\x02\x07", b"\x01\x02\x00\x04ok"],
    ids=["empty", "frame version", "unknown type", "unknown version", "short"],
)
def test_bytes_that_are_no_fact_of_ours_are_told_as_such(value: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_cluster_record(value)


def test_what_was_appended_is_there_at_the_next_start() -> None:
    files = memory()
    log, found = opened(files)
    assert found == []
    append(log, *EVERY_KIND[:3])
    append(log, *EVERY_KIND[3:])
    log.close()
    assert opened(files)[1] == list(EVERY_KIND)


def test_a_snapshot_takes_the_place_of_what_it_covers() -> None:
    files = memory()
    log, _ = opened(files)
    append(log, *EVERY_KIND)
    state = EVERY_KIND[:1]
    asyncio.run(log.snapshot(state))
    append(log, EVERY_KIND[1])
    log.close()
    assert opened(files)[1] == [*state, EVERY_KIND[1]]
    assert [name for name in names(files) if name.endswith((".log", ".checkpoint"))] == [
        "00000000000000000011-0000000001.checkpoint",
        "00000000000000000011.log",
    ]


def test_a_newer_snapshot_removes_the_older() -> None:
    files = memory()
    log, _ = opened(files)
    for record in EVERY_KIND[:2]:
        append(log, record)
        asyncio.run(log.snapshot([record]))
    assert [n for n in names(files) if n.endswith(".checkpoint")] == [
        "00000000000000000002-0000000001.checkpoint"
    ]


def test_an_empty_state_can_be_a_snapshot() -> None:
    files = memory()
    log, _ = opened(files)
    append(log, *EVERY_KIND[1:2], *EVERY_KIND[-1:])
    asyncio.run(log.snapshot([]))
    log.close()
    assert opened(files)[1] == []


def test_a_snapshot_of_many_records_comes_back_whole() -> None:
    files = memory()
    log, _ = opened(files)
    state = [FeatureLevelSet(f"f{i}", i % 100) for i in range(2500)]
    append(log, *state)
    asyncio.run(log.snapshot(state))
    log.close()
    assert opened(files)[1] == state


def test_a_log_is_outgrown_at_ten_times_what_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_log, "SNAPSHOT_MIN_RECORDS", 20)
    log, _ = opened(memory())
    append(log, *EVERY_KIND[:1] * 30)
    assert not log.wants_snapshot(3)
    append(log, EVERY_KIND[0])
    assert log.wants_snapshot(3)
    assert not log.wants_snapshot(4)
    asyncio.run(log.snapshot(EVERY_KIND[:1]))
    assert not log.wants_snapshot(1)


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_snapshot_stops_the_start(damage: str) -> None:
    files = memory()
    log, _ = opened(files)
    append(log, *EVERY_KIND)
    asyncio.run(log.snapshot(EVERY_KIND[:1]))
    log.close()
    path = "data/__cluster_metadata-0/00000000000000000011-0000000001.checkpoint"
    file = files.open(path, writable=True)
    if damage == "cut":
        file.truncate(file.size_bytes() - 71)  # the closing batch
    else:
        file.write_at(150, bytes([file.read_at(150, 1)[0] ^ 1]))
    with pytest.raises(UnusableLog):
        opened(files)


def test_a_batch_that_was_written_wrong_stops_the_start() -> None:
    """Its checksum holds, so recovery has nothing against it."""
    files = memory()
    log, _ = opened(files)
    append(log, *EVERY_KIND)
    log.close()
    path = "data/__cluster_metadata-0/00000000000000000000.log"
    file = files.open(path, writable=True)
    batch = bytearray(file.read_at(0, file.size_bytes()))
    batch[HEADER_BYTES] = 0xFF  # the length of the first record
    rewrite_header(batch, 0, read_header(batch))
    file.write_at(0, batch)
    with pytest.raises(UnusableLog, match="record of"):
        opened(files)


def test_a_disk_that_fails_lets_nothing_more_in() -> None:
    disk = new_disk()
    log, _ = opened(disk)
    append(log, EVERY_KIND[0])
    disk.fails = lambda operation, path: operation == "sync"
    with pytest.raises(OSError, match="Input/output error"):
        append(log, EVERY_KIND[1])
    disk.fails = lambda operation, path: False
    with pytest.raises(OSError, match="cluster log"):
        append(log, EVERY_KIND[2])


# -- dying at every operation ------------------------------------------------------------------------------


def new_disk() -> SimDisk:
    disk = SimDisk()
    disk.make_directory("data")
    disk.sync_directory("")
    return disk


def topic(number: int) -> TopicId:
    return TopicId(UUID(int=500 + number))


def commits() -> list[tuple[ClusterRecord, ...]]:
    made: list[tuple[ClusterRecord, ...]] = [(FeatureLevelSet("metadata.version", 33),)]
    for i in range(6):
        made.append(
            (TopicCreated(f"t{i}", topic(i)), *(PartitionCreated(topic(i), p, NODE) for p in range(2)))
        )
        made.append((ProducerIdsReserved(NODE, ProducerId(1000 * (i + 1))),))
        if i % 2:
            made.append((TopicRemoved(topic(i - 1)),))
    return made


def replayed(records: Sequence[ClusterRecord]) -> ClusterShard:
    shard = ClusterShard(NODE)
    for record in records:
        shard.replay(record)
    return shard


def summary(shard: ClusterShard) -> tuple[object, ...]:
    return dict(shard.topics), dict(shard.feature_levels), shard.next_producer_id


async def a_life(disk: SimDisk, acknowledged: list[tuple[ClusterRecord, ...]]) -> None:
    """Every commit, with a snapshot after some of them; what was acknowledged is written down outside the disk."""
    log, _ = opened(disk)
    shard = ClusterShard(NODE)
    for number, records in enumerate(commits()):
        await log.append(records)
        acknowledged.append(records)
        for record in records:
            shard.replay(record)
        if number % 4 == 3:
            await log.snapshot(list(shard.records()))
    log.close()


def test_no_acknowledged_commit_is_lost_and_none_is_halved_wherever_it_dies() -> None:
    asyncio.run(die_everywhere())


async def die_everywhere() -> None:
    rehearsal = new_disk()
    await a_life(rehearsal, [])
    start = new_disk().operations
    all_commits = commits()
    states = [
        summary(replayed([record for commit in all_commits[:count] for record in commit]))
        for count in range(len(all_commits) + 1)
    ]
    for cut_at in range(start + 1, rehearsal.operations + 1):
        seed = cut_at % 5
        disk, acknowledged = new_disk(), list[tuple[ClusterRecord, ...]]()
        disk.cut_at = cut_at
        with pytest.raises(PowerCut):
            await a_life(disk, acknowledged)
        disk.crash(seed)
        log, found = opened(disk)
        state = summary(replayed(found))
        known = len(acknowledged)
        assert state in states[known : known + 2], f"died at operation {cut_at}, seed {seed}"
        # And it lives on: what is added now is there after a second death.
        await log.append([FeatureLevelSet("share.version", 1)])
        disk.crash(seed)
        assert opened(disk)[1][-1] == FeatureLevelSet("share.version", 1)
