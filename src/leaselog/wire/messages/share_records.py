"""The records that Kafka's share-coordinator keeps. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.schema import ALWAYS, Field, Message, NEVER, Versions

__all__ = ["ShareSnapshotKey", "ShareSnapshotValue", "ShareUpdateKey", "ShareUpdateValue", "StateBatch"]


class ShareSnapshotKey(Message):
    __slots__ = ('group_id', 'topic_id', 'partition')
    NAME = "ShareSnapshotKey"
    API_KEY = 0
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('topic_id', "uuid", versions=Versions(0, 0), default=ZERO_UUID),
        Field('partition', "int32", versions=Versions(0, 0), default=0),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topic_id: UUID = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id: str = group_id
        self.topic_id: UUID = topic_id
        self.partition: int = partition


class StateBatch(Message):
    __slots__ = ('first_offset', 'last_offset', 'delivery_state', 'delivery_count')
    NAME = "StateBatches"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('first_offset', "int64", default=0),
        Field('last_offset', "int64", default=0),
        Field('delivery_state', "int8", default=0),
        Field('delivery_count', "int16", default=0),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset: int = first_offset
        self.last_offset: int = last_offset
        self.delivery_state: int = delivery_state
        self.delivery_count: int = delivery_count


class ShareSnapshotValue(Message):
    __slots__ = ('snapshot_epoch', 'state_epoch', 'leader_epoch', 'start_offset', 'delivery_complete_count', 'create_timestamp', 'write_timestamp', 'state_batches')
    NAME = "ShareSnapshotValue"
    API_KEY = 0
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('snapshot_epoch', "int32", default=0),
        Field('state_epoch', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
        Field('start_offset', "int64", default=0),
        Field('delivery_complete_count', "int32", tag=0, tagged=ALWAYS, default=-1),
        Field('create_timestamp', "int64", default=0),
        Field('write_timestamp', "int64", default=0),
        Field('state_batches', StateBatch, array=True, default=()),
    )

    def __init__(
        self,
        *,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.snapshot_epoch: int = snapshot_epoch
        self.state_epoch: int = state_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.create_timestamp: int = create_timestamp
        self.write_timestamp: int = write_timestamp
        self.state_batches: Sequence[StateBatch] = state_batches


class ShareUpdateKey(Message):
    __slots__ = ('group_id', 'topic_id', 'partition')
    NAME = "ShareUpdateKey"
    API_KEY = 1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('group_id', "string", versions=Versions(0, 0), default=""),
        Field('topic_id', "uuid", versions=Versions(0, 0), default=ZERO_UUID),
        Field('partition', "int32", versions=Versions(0, 0), default=0),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topic_id: UUID = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id: str = group_id
        self.topic_id: UUID = topic_id
        self.partition: int = partition


class ShareUpdateValue(Message):
    __slots__ = ('snapshot_epoch', 'leader_epoch', 'start_offset', 'delivery_complete_count', 'state_batches')
    NAME = "ShareUpdateValue"
    API_KEY = 1
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('snapshot_epoch', "int32", default=0),
        Field('leader_epoch', "int32", default=0),
        Field('start_offset', "int64", default=0),
        Field('delivery_complete_count', "int32", tag=0, tagged=ALWAYS, default=-1),
        Field('state_batches', StateBatch, array=True, default=()),
    )

    def __init__(
        self,
        *,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.snapshot_epoch: int = snapshot_epoch
        self.leader_epoch: int = leader_epoch
        self.start_offset: int = start_offset
        self.delivery_complete_count: int = delivery_complete_count
        self.state_batches: Sequence[StateBatch] = state_batches
