"""SaslAuthenticate, key 36. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["SaslAuthenticateRequest", "SaslAuthenticateResponse"]


class SaslAuthenticateRequest(Message):
    __slots__ = ('auth_bytes',)
    NAME = "SaslAuthenticateRequest"
    API_KEY = 36
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('auth_bytes', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        auth_bytes: Buffer = b"",
    ) -> None:
        self.auth_bytes: Buffer = auth_bytes


class SaslAuthenticateResponse(Message):
    __slots__ = ('error_code', 'error_message', 'auth_bytes', 'session_lifetime_ms')
    NAME = "SaslAuthenticateResponse"
    API_KEY = 36
    VERSIONS = Versions(0, 2)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('auth_bytes', "bytes", default=b""),
        Field('session_lifetime_ms', "int64", versions=Versions(1, 32767), default=0),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: Buffer = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.auth_bytes: Buffer = auth_bytes
        self.session_lifetime_ms: int = session_lifetime_ms
