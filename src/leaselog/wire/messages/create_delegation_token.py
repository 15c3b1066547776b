"""CreateDelegationToken, key 38. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Field, Message, Versions

__all__ = ["CreatableRenewers", "CreateDelegationTokenRequest", "CreateDelegationTokenResponse"]


class CreatableRenewers(Message):
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


class CreateDelegationTokenRequest(Message):
    __slots__ = ('owner_principal_type', 'owner_principal_name', 'renewers', 'max_lifetime_ms')
    NAME = "CreateDelegationTokenRequest"
    API_KEY = 38
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('owner_principal_type', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=""),
        Field('owner_principal_name', "string", versions=Versions(3, 32767), nullable=Versions(3, 32767), default=""),
        Field('renewers', CreatableRenewers, array=True, default=()),
        Field('max_lifetime_ms', "int64", default=0),
    )

    def __init__(
        self,
        *,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: Sequence[CreatableRenewers] = (),
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type: str | None = owner_principal_type
        self.owner_principal_name: str | None = owner_principal_name
        self.renewers: Sequence[CreatableRenewers] = renewers
        self.max_lifetime_ms: int = max_lifetime_ms


class CreateDelegationTokenResponse(Message):
    __slots__ = ('error_code', 'principal_type', 'principal_name', 'token_requester_principal_type', 'token_requester_principal_name', 'issue_timestamp_ms', 'expiry_timestamp_ms', 'max_timestamp_ms', 'token_id', 'hmac', 'throttle_time_ms')
    NAME = "CreateDelegationTokenResponse"
    API_KEY = 38
    VERSIONS = Versions(1, 3)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('principal_type', "string", default=""),
        Field('principal_name', "string", default=""),
        Field('token_requester_principal_type', "string", versions=Versions(3, 32767), default=""),
        Field('token_requester_principal_name', "string", versions=Versions(3, 32767), default=""),
        Field('issue_timestamp_ms', "int64", default=0),
        Field('expiry_timestamp_ms', "int64", default=0),
        Field('max_timestamp_ms', "int64", default=0),
        Field('token_id', "string", default=""),
        Field('hmac', "bytes", default=b""),
        Field('throttle_time_ms', "int32", default=0),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: Buffer = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code: int = error_code
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.token_requester_principal_type: str = token_requester_principal_type
        self.token_requester_principal_name: str = token_requester_principal_name
        self.issue_timestamp_ms: int = issue_timestamp_ms
        self.expiry_timestamp_ms: int = expiry_timestamp_ms
        self.max_timestamp_ms: int = max_timestamp_ms
        self.token_id: str = token_id
        self.hmac: Buffer = hmac
        self.throttle_time_ms: int = throttle_time_ms
