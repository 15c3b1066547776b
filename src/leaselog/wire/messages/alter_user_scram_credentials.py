"""AlterUserScramCredentials, key 51. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["AlterUserScramCredentialsRequest", "AlterUserScramCredentialsResponse", "AlterUserScramCredentialsResult", "ScramCredentialDeletion", "ScramCredentialUpsertion"]


class ScramCredentialDeletion(Message):
    __slots__ = ('name', 'mechanism')
    NAME = "Deletions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('mechanism', "int8", default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism


class ScramCredentialUpsertion(Message):
    __slots__ = ('name', 'mechanism', 'iterations', 'salt', 'salted_password')
    NAME = "Upsertions"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('mechanism', "int8", default=0),
        Field('iterations', "int32", default=0),
        Field('salt', "bytes", default=b""),
        Field('salted_password', "bytes", default=b""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: Buffer = b"",
        salted_password: Buffer = b"",
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.iterations: int = iterations
        self.salt: Buffer = salt
        self.salted_password: Buffer = salted_password


class AlterUserScramCredentialsRequest(Message):
    __slots__ = ('deletions', 'upsertions')
    NAME = "AlterUserScramCredentialsRequest"
    API_KEY = 51
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('deletions', ScramCredentialDeletion, array=True, default=()),
        Field('upsertions', ScramCredentialUpsertion, array=True, default=()),
    )

    def __init__(
        self,
        *,
        deletions: Sequence[ScramCredentialDeletion] = (),
        upsertions: Sequence[ScramCredentialUpsertion] = (),
    ) -> None:
        self.deletions: Sequence[ScramCredentialDeletion] = deletions
        self.upsertions: Sequence[ScramCredentialUpsertion] = upsertions


class AlterUserScramCredentialsResult(Message):
    __slots__ = ('user', 'error_code', 'error_message')
    NAME = "Results"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('user', "string", default=""),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user: str = user
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class AlterUserScramCredentialsResponse(Message):
    __slots__ = ('throttle_time_ms', 'results')
    NAME = "AlterUserScramCredentialsResponse"
    API_KEY = 51
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('results', AlterUserScramCredentialsResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[AlterUserScramCredentialsResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: Sequence[AlterUserScramCredentialsResult] = results
