"""ApiVersions, key 18. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["ApiVersion", "ApiVersionsRequest", "ApiVersionsResponse", "FinalizedFeatureKey", "SupportedFeatureKey"]


class ApiVersionsRequest(Message):
    __slots__ = ('client_software_name', 'client_software_version', 'cluster_id', 'node_id')
    NAME = "ApiVersionsRequest"
    API_KEY = 18
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('client_software_name', "string", versions=Versions(3, 32767), default=""),
        Field('client_software_version', "string", versions=Versions(3, 32767), default=""),
        Field('cluster_id', "string", versions=Versions(5, 32767), nullable=Versions(5, 32767), default=None),
        Field('node_id', "int32", versions=Versions(5, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        client_software_name: str = "",
        client_software_version: str = "",
        cluster_id: str | None = None,
        node_id: int = -1,
    ) -> None:
        self.client_software_name: str = client_software_name
        self.client_software_version: str = client_software_version
        self.cluster_id: str | None = cluster_id
        self.node_id: int = node_id


class ApiVersion(Message):
    __slots__ = ('api_key', 'min_version', 'max_version')
    NAME = "ApiKeys"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('api_key', "int16", default=0),
        Field('min_version', "int16", default=0),
        Field('max_version', "int16", default=0),
    )

    def __init__(
        self,
        *,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key: int = api_key
        self.min_version: int = min_version
        self.max_version: int = max_version


class SupportedFeatureKey(Message):
    __slots__ = ('name', 'min_version', 'max_version')
    NAME = "SupportedFeatures"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(3, 32767), default=""),
        Field('min_version', "int16", versions=Versions(3, 32767), default=0),
        Field('max_version', "int16", versions=Versions(3, 32767), default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name: str = name
        self.min_version: int = min_version
        self.max_version: int = max_version


class FinalizedFeatureKey(Message):
    __slots__ = ('name', 'max_version_level', 'min_version_level')
    NAME = "FinalizedFeatures"
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('name', "string", versions=Versions(3, 32767), default=""),
        Field('max_version_level', "int16", versions=Versions(3, 32767), default=0),
        Field('min_version_level', "int16", versions=Versions(3, 32767), default=0),
    )

    def __init__(
        self,
        *,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name: str = name
        self.max_version_level: int = max_version_level
        self.min_version_level: int = min_version_level


class ApiVersionsResponse(Message):
    __slots__ = ('error_code', 'api_keys', 'throttle_time_ms', 'supported_features', 'finalized_features_epoch', 'finalized_features', 'zk_migration_ready')
    NAME = "ApiVersionsResponse"
    API_KEY = 18
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('error_code', "int16", default=0),
        Field('api_keys', ApiVersion, array=True, default=()),
        Field('throttle_time_ms', "int32", versions=Versions(1, 32767), default=0),
        Field('supported_features', SupportedFeatureKey, array=True, versions=Versions(3, 32767), tag=0, tagged=Versions(3, 32767), default=()),
        Field('finalized_features_epoch', "int64", versions=Versions(3, 32767), tag=1, tagged=Versions(3, 32767), default=-1),
        Field('finalized_features', FinalizedFeatureKey, array=True, versions=Versions(3, 32767), tag=2, tagged=Versions(3, 32767), default=()),
        Field('zk_migration_ready', "bool", versions=Versions(3, 32767), tag=3, tagged=Versions(3, 32767), default=False),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        api_keys: Sequence[ApiVersion] = (),
        throttle_time_ms: int = 0,
        supported_features: Sequence[SupportedFeatureKey] = (),
        finalized_features_epoch: int = -1,
        finalized_features: Sequence[FinalizedFeatureKey] = (),
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code: int = error_code
        self.api_keys: Sequence[ApiVersion] = api_keys
        self.throttle_time_ms: int = throttle_time_ms
        self.supported_features: Sequence[SupportedFeatureKey] = supported_features
        self.finalized_features_epoch: int = finalized_features_epoch
        self.finalized_features: Sequence[FinalizedFeatureKey] = finalized_features
        self.zk_migration_ready: bool = zk_migration_ready
