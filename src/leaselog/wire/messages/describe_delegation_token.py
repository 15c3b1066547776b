"""DescribeDelegationToken, key 41. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeDelegationTokenOwner", "DescribeDelegationTokenRequest", "DescribeDelegationTokenResponse", "DescribedDelegationToken", "DescribedDelegationTokenRenewer"]


class DescribeDelegationTokenOwner(Message):
    __slots__ = ('principal_type', 'principal_name')
    NAME = "Owners"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('principal_type', "string", default=""),
        Field('principal_name', "string", default=""),
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name


class DescribeDelegationTokenRequest(Message):
    __slots__ = ('owners',)
    NAME = "DescribeDelegationTokenRequest"
    API_KEY = 41
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('owners', DescribeDelegationTokenOwner, array=True, nullable=ALWAYS, default=()),
    )

    def __init__(
        self,
        *,
        owners: Sequence[DescribeDelegationTokenOwner] | None = (),
    ) -> None:
        self.owners: Sequence[DescribeDelegationTokenOwner] | None = owners


class DescribedDelegationTokenRenewer(Message):
    __slots__ = ('principal_type', 'principal_name')
    NAME = "Renewers"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('principal_type', "string", default=""),
        Field('principal_name', "string", default=""),
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name


class DescribedDelegationToken(Message):
    __slots__ = ('principal_type', 'principal_name', 'token_requester_principal_type', 'token_requester_principal_name', 'issue_timestamp', 'expiry_timestamp', 'max_timestamp', 'token_id', 'hmac', 'renewers')
    NAME = "Tokens"
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('principal_type', "string", default=""),
        Field('principal_name', "string", default=""),
        Field('token_requester_principal_type', "string", versions=Versions(3, 32767), default=""),
        Field('token_requester_principal_name', "string", versions=Versions(3, 32767), default=""),
        Field('issue_timestamp', "int64", default=0),
        Field('expiry_timestamp', "int64", default=0),
        Field('max_timestamp', "int64", default=0),
        Field('token_id', "string", default=""),
        Field('hmac', "bytes", default=b""),
        Field('renewers', DescribedDelegationTokenRenewer, array=True, default=()),
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: Buffer = b"",
        renewers: Sequence[DescribedDelegationTokenRenewer] = (),
    ) -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.token_requester_principal_type: str = token_requester_principal_type
        self.token_requester_principal_name: str = token_requester_principal_name
        self.issue_timestamp: int = issue_timestamp
        self.expiry_timestamp: int = expiry_timestamp
        self.max_timestamp: int = max_timestamp
        self.token_id: str = token_id
        self.hmac: Buffer = hmac
        self.renewers: Sequence[DescribedDelegationTokenRenewer] = renewers


class DescribeDelegationTokenResponse(Message):
    __slots__ = ('error_code', 'tokens', 'throttle_time_ms')
    NAME = "DescribeDelegationTokenResponse"
    API_KEY = 41
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('tokens', DescribedDelegationToken, array=True, default=()),
        Field('throttle_time_ms', "int32", default=0),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        tokens: Sequence[DescribedDelegationToken] = (),
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.tokens: Sequence[DescribedDelegationToken] = tokens
        self.throttle_time_ms: int = throttle_time_ms
