"""DescribeUserScramCredentials, key 50. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["CredentialInfo", "DescribeUserScramCredentialsRequest", "DescribeUserScramCredentialsResponse", "DescribeUserScramCredentialsResult", "UserName"]


class UserName(Message):
    __slots__ = ('name',)
    NAME = "Users"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
    )

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name: str = name


class DescribeUserScramCredentialsRequest(Message):
    __slots__ = ('users',)
    NAME = "DescribeUserScramCredentialsRequest"
    API_KEY = 50
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('users', UserName, array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        users: Sequence[UserName] | None = (),
    ) -> None:
        self.users: Sequence[UserName] | None = users


class CredentialInfo(Message):
    __slots__ = ('mechanism', 'iterations')
    NAME = "CredentialInfos"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('mechanism', "int8", default=0),
        Field('iterations', "int32", default=0),
    )

    def __init__(
        self,
        *,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism: int = mechanism
        self.iterations: int = iterations


class DescribeUserScramCredentialsResult(Message):
    __slots__ = ('user', 'error_code', 'error_message', 'credential_infos')
    NAME = "Results"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('user', "string", default=""),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('credential_infos', CredentialInfo, array=True, default=()),
    )

    def __init__(
        self,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: Sequence[CredentialInfo] = (),
    ) -> None:
        self.user: str = user
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.credential_infos: Sequence[CredentialInfo] = credential_infos


class DescribeUserScramCredentialsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'results')
    NAME = "DescribeUserScramCredentialsResponse"
    API_KEY = 50
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('results', DescribeUserScramCredentialsResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: Sequence[DescribeUserScramCredentialsResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.results: Sequence[DescribeUserScramCredentialsResult] = results
