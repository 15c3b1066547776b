"""DescribeClientQuotas, key 48. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["ComponentData", "DescribeClientQuotasRequest", "DescribeClientQuotasResponse", "EntityData", "EntryData", "ValueData"]


class ComponentData(Message):
    __slots__ = ('entity_type', 'match_type', 'match')
    NAME = "Components"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('entity_type', "string", default=""),
        Field('match_type', "int8", default=0),
        Field('match', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type: str = entity_type
        self.match_type: int = match_type
        self.match: str | None = match


class DescribeClientQuotasRequest(Message):
    __slots__ = ('components', 'strict')
    NAME = "DescribeClientQuotasRequest"
    API_KEY = 48
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('components', ComponentData, array=True, default=()),
        Field('strict', "bool", default=False),
    )

    def __init__(
        self,
        *,
        components: Sequence[ComponentData] = (),
        strict: bool = False,
    ) -> None:
        self.components: Sequence[ComponentData] = components
        self.strict: bool = strict


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


class ValueData(Message):
    __slots__ = ('key', 'value')
    NAME = "Values"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('key', "string", default=""),
        Field('value', "float64", default=0.0),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key: str = key
        self.value: float = value


class EntryData(Message):
    __slots__ = ('entity', 'values')
    NAME = "Entries"
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('entity', EntityData, array=True, default=()),
        Field('values', ValueData, array=True, default=()),
    )

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        values: Sequence[ValueData] = (),
    ) -> None:
        self.entity: Sequence[EntityData] = entity
        self.values: Sequence[ValueData] = values


class DescribeClientQuotasResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'entries')
    NAME = "DescribeClientQuotasResponse"
    API_KEY = 48
    VERSIONS = Versions(0, 1)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('entries', EntryData, array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: Sequence[EntryData] | None = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.entries: Sequence[EntryData] | None = entries
