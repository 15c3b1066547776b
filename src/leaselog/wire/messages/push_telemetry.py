"""PushTelemetry, key 72. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from uuid import UUID

from leaselog.model.ids import ZERO_UUID
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["PushTelemetryRequest", "PushTelemetryResponse"]


class PushTelemetryRequest(Message):
    __slots__ = ('client_instance_id', 'subscription_id', 'terminating', 'compression_type', 'metrics')
    NAME = "PushTelemetryRequest"
    API_KEY = 72
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('client_instance_id', "uuid", default=ZERO_UUID),
        Field('subscription_id', "int32", default=0),
        Field('terminating', "bool", default=False),
        Field('compression_type', "int8", default=0),
        Field('metrics', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        client_instance_id: UUID = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: Buffer = b"",
    ) -> None:
        self.client_instance_id: UUID = client_instance_id
        self.subscription_id: int = subscription_id
        self.terminating: bool = terminating
        self.compression_type: int = compression_type
        self.metrics: Buffer = metrics


class PushTelemetryResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code')
    NAME = "PushTelemetryResponse"
    API_KEY = 72
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
