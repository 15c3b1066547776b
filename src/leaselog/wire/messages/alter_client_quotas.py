"""AlterClientQuotas, key 49. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AlterClientQuotasRequest", "AlterClientQuotasResponse", "AlterClientQuotasResponseEntryData", "EntityData", "EntryData", "OpData"]


class EntityData(Message):
    __slots__ = ('entity_type', 'entity_name')
    NAME = "Entity"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('entity_type', "string", default=""),
        Field('entity_name', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type: str = entity_type
        self.entity_name: str | None = entity_name


class OpData(Message):
    __slots__ = ('key', 'value', 'remove')
    NAME = "Ops"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('key', "string", default=""),
        Field('value', "float64", default=0.0),
        Field('remove', "bool", default=False),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key: str = key
        self.value: float = value
        self.remove: bool = remove


class EntryData(Message):
    __slots__ = ('entity', 'ops')
    NAME = "Entries"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('entity', EntityData, array=True, default=()),
        Field('ops', OpData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        ops: Sequence[OpData] = (),
    ) -> None:
        self.entity: Sequence[EntityData] = entity
        self.ops: Sequence[OpData] = ops


class AlterClientQuotasRequest(Message):
    __slots__ = ('entries', 'validate_only')
    NAME = "AlterClientQuotasRequest"
    API_KEY = 49
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('entries', EntryData, array=True, default=()),
        Field('validate_only', "bool", default=False),
    )

    def __init__(
        self,
        *,
        entries: Sequence[EntryData] = (),
        validate_only: bool = False,
    ) -> None:
        self.entries: Sequence[EntryData] = entries
        self.validate_only: bool = validate_only


class AlterClientQuotasResponseEntryData(Message):
    __slots__ = ('error_code', 'error_message', 'entity')
    NAME = "Entries"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('entity', EntityData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        entity: Sequence[EntityData] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.entity: Sequence[EntityData] = entity


class AlterClientQuotasResponse(Message):
    __slots__ = ('throttle_time_ms', 'entries')
    NAME = "AlterClientQuotasResponse"
    API_KEY = 49
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('entries', AlterClientQuotasResponseEntryData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        entries: Sequence[AlterClientQuotasResponseEntryData] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.entries: Sequence[AlterClientQuotasResponseEntryData] = entries
