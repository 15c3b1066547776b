"""Records of coordinators' topics, decoded and replayed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from fuzz.targets.files import DIRECTORY, opened, seal
from fuzz.targets.target import NOW_MS, TOPIC_ID, Unwanted
from leaselog.broker.cluster.records import decode_cluster_record, encode_cluster_record
from leaselog.broker.cluster.snapshot import read_snapshot
from leaselog.broker.coordinators.log import read_back
from leaselog.broker.dead_letters.records import way_of
from leaselog.broker.groups.records import decode_fact, encode_fact
from leaselog.broker.share_state.control_records import decode_control_fact
from leaselog.broker.share_state.records import decode_share_fact, encode_share_fact
from leaselog.coordination.cluster_shard import ClusterShard
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.log import (
    MemoryFiles,
    UnusableLog,
)
from leaselog.log.layout import LOG, segment_path
from leaselog.model import BrokenInvariant, NodeId
from leaselog.spark.share_history import ShareHistory
from leaselog.spark.state_records import TOMBSTONE, read_entry
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

__all__ = ["state_logs", "states"]


class _Keyed(NamedTuple):
    kind: int
    record: Record


def states(data: bytes) -> None:
    """Records of coordinators' topics, replayed one after the other: a byte for whose, sizes of key and value."""
    shards, number = _Shards(), 0
    for kind, record in _records(data):
        number += 1
        try:
            shards.replay(kind, record._replace(offset=number))
        except DecodeError:
            continue
        except BrokenInvariant:
            return  # records that cannot follow each other: the owner gives up loading
    if not number:
        raise Unwanted


def _records(data: bytes) -> Iterator[_Keyed]:
    position = 0
    while position + 5 <= len(data):
        kind, key_bytes, value_bytes = struct.unpack_from(">BHH", data, position)
        position += 5
        key = data[position : position + key_bytes]
        value = data[position + key_bytes : position + key_bytes + value_bytes]
        position += key_bytes + value_bytes
        is_tombstone = bool(kind & 0x80)
        yield _Keyed(kind & 0x0F, Record(key, None if is_tombstone else value, (), NOW_MS))


class _Shards:
    """What replays the records of each kind."""

    def __init__(self) -> None:
        self._share = ShareStateShard(ShareStateLimits())
        self._groups = GroupShard(GroupLimits())
        self._cluster = ClusterShard(NodeId(1))
        self._history = ShareHistory()

    def replay(self, kind: int, record: Record) -> None:
        match kind:
            case 0:
                self._replay_share(record)
            case 1:
                self._replay_group(record)
            case 2:
                fact = decode_cluster_record(record.value or b"")
                again = decode_cluster_record(encode_cluster_record(fact, UUID(int=1)))
                assert again == fact or "nan" in repr(fact)
                self._cluster.replay(fact)
            case 3:
                headers = ((record.key or b"").decode("utf-8", "surrogateescape"), record.value)
                decode_control_fact(record._replace(headers=(headers,)), TOPIC_ID, 0)
                way_of(record._replace(headers=(headers,) * 2))
            case _:
                raise Unwanted

    def _replay_share(self, record: Record) -> None:
        entry, fact = read_entry(record), decode_share_fact(record)
        assert (entry is None) == (fact is None), "Spark's reader knows what the coordinator knows"
        if fact is None or entry is None:
            return
        assert decode_share_fact(encode_share_fact(fact, NOW_MS)) == fact
        self._share.replay(fact, record.offset)
        if entry.kind != TOMBSTONE:
            self._history.add(entry)
            for stretch, _ in self._history.records():
                assert stretch.start < stretch.end

    def _replay_group(self, record: Record) -> None:
        fact = decode_fact(record)
        if fact is None:
            return
        assert decode_fact(encode_fact(fact, NOW_MS)) is not None
        self._groups.replay(fact, NOW_MS)


def state_logs(data: bytes) -> None:
    """Bytes as a coordinator's log, and as a snapshot of the cluster's state: batches that should hold such records."""
    files, content = MemoryFiles(), bytearray(data)
    seal(content)
    files.make_directory(DIRECTORY)
    for path in (segment_path(DIRECTORY, 0, LOG), f"{DIRECTORY}/{0:020d}-{0:010d}.checkpoint"):
        files.open(path, writable=True, create=True).write_at(0, content)
    with suppress(UnusableLog):
        list(read_snapshot(files, DIRECTORY, 0, 0))
    with suppress(UnusableLog, BrokenInvariant):
        for step in read_back(opened(files, is_clean=False), lambda header: not header.is_control):
            assert all(record.offset >= 0 for record in step)
