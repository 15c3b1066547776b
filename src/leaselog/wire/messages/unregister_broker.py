"""UnregisterBroker, key 64. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["UnregisterBrokerRequest", "UnregisterBrokerResponse"]


class UnregisterBrokerRequest(Message):
    __slots__ = ('broker_id',)
    NAME = "UnregisterBrokerRequest"
    API_KEY = 64
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('broker_id', "int32", default=0),
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
    ) -> None:
        self.broker_id: int = broker_id


class UnregisterBrokerResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message')
    NAME = "UnregisterBrokerResponse"
    API_KEY = 64
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
