"""SaslHandshake, key 17. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, NEVER, Versions

__all__ = ["SaslHandshakeRequest", "SaslHandshakeResponse"]


class SaslHandshakeRequest(Message):
    __slots__ = ('mechanism',)
    NAME = "SaslHandshakeRequest"
    API_KEY = 17
    VERSIONS = Versions(0, 1)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('mechanism', "string", default=""),
    )

    def __init__(
        self,
        *,
        mechanism: str = "",
    ) -> None:
        self.mechanism: str = mechanism


class SaslHandshakeResponse(Message):
    __slots__ = ('error_code', 'mechanisms')
    NAME = "SaslHandshakeResponse"
    API_KEY = 17
    VERSIONS = Versions(0, 1)
    FLEXIBLE = NEVER
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('mechanisms', "string", array=True, default=()),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        mechanisms: Sequence[str] = (),
    ) -> None:
        self.error_code: int = error_code
        self.mechanisms: Sequence[str] = mechanisms
