"""ExpireDelegationToken, key 40. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["ExpireDelegationTokenRequest", "ExpireDelegationTokenResponse"]


class ExpireDelegationTokenRequest(Message):
    __slots__ = ('hmac', 'expiry_time_period_ms')
    NAME = "ExpireDelegationTokenRequest"
    API_KEY = 40
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('hmac', "bytes", default=b""),
        Field('expiry_time_period_ms', "int64", default=0),
    )

    def __init__(
        self,
        *,
        hmac: Buffer = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac: Buffer = hmac
        self.expiry_time_period_ms: int = expiry_time_period_ms


class ExpireDelegationTokenResponse(Message):
    __slots__ = ('error_code', 'expiry_timestamp_ms', 'throttle_time_ms')
    NAME = "ExpireDelegationTokenResponse"
    API_KEY = 40
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('expiry_timestamp_ms', "int64", default=0),
        Field('throttle_time_ms', "int32", default=0),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.expiry_timestamp_ms: int = expiry_timestamp_ms
        self.throttle_time_ms: int = throttle_time_ms
