"""FindCoordinator, key 10. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["Coordinator", "FindCoordinatorRequest", "FindCoordinatorResponse"]


class FindCoordinatorRequest(Message):
    __slots__ = ('key', 'key_type', 'coordinator_keys')
    NAME = "FindCoordinatorRequest"
    API_KEY = 10
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('key', "string", versions=Versions(0, 3), default=""),
        Field('key_type', "int8", versions=Versions(1, 32767), default=0),
        Field('coordinator_keys', "string", array=True, versions=Versions(4, 32767), default=()),
    )

    def __init__(
        self,
        *,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: Sequence[str] = (),
    ) -> None:
        self.key: str = key
        self.key_type: int = key_type
        self.coordinator_keys: Sequence[str] = coordinator_keys


class Coordinator(Message):
    __slots__ = ('key', 'node_id', 'host', 'port', 'error_code', 'error_message')
    NAME = "Coordinators"
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('key', "string", versions=Versions(4, 32767), default=""),
        Field('node_id', "int32", versions=Versions(4, 32767), default=0),
        Field('host', "string", versions=Versions(4, 32767), default=""),
        Field('port', "int32", versions=Versions(4, 32767), default=0),
        Field('error_code', "int16", versions=Versions(4, 32767), default=0),
        Field('error_message', "string", versions=Versions(4, 32767), nullable=Versions(4, 32767), default=""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key: str = key
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class FindCoordinatorResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'node_id', 'host', 'port', 'coordinators')
    NAME = "FindCoordinatorResponse"
    API_KEY = 10
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('error_code', "int16", versions=Versions(0, 3), default=0),
        Field('error_message', "string", versions=Versions(1, 3), nullable=Versions(1, 3), default=""),
        Field('node_id', "int32", versions=Versions(0, 3), default=0),
        Field('host', "string", versions=Versions(0, 3), default=""),
        Field('port', "int32", versions=Versions(0, 3), default=0),
        Field('coordinators', Coordinator, array=True, versions=Versions(4, 32767), default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: Sequence[Coordinator] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.coordinators: Sequence[Coordinator] = coordinators
