"""UpdateFeatures, key 57. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["FeatureUpdateKey", "UpdatableFeatureResult", "UpdateFeaturesRequest", "UpdateFeaturesResponse"]


class FeatureUpdateKey(Message):
    __slots__ = ('feature', 'max_version_level', 'allow_downgrade', 'upgrade_type')
    NAME = "FeatureUpdates"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('feature', "string", default=""),
        Field('max_version_level', "int16", default=0),
        Field('allow_downgrade', "bool", versions=Versions(0, 0), default=False),
        Field('upgrade_type', "int8", versions=Versions(1, 32767), default=1),
    )

    def __init__(
        self,
        *,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature: str = feature
        self.max_version_level: int = max_version_level
        self.allow_downgrade: bool = allow_downgrade
        self.upgrade_type: int = upgrade_type


class UpdateFeaturesRequest(Message):
    __slots__ = ('timeout_ms', 'feature_updates', 'validate_only')
    NAME = "UpdateFeaturesRequest"
    API_KEY = 57
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('timeout_ms', "int32", default=60000),
        Field('feature_updates', FeatureUpdateKey, array=True, default=()),
        Field('validate_only', "bool", versions=Versions(1, 32767), default=False),
    )

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: Sequence[FeatureUpdateKey] = (),
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.feature_updates: Sequence[FeatureUpdateKey] = feature_updates
        self.validate_only: bool = validate_only


class UpdatableFeatureResult(Message):
    __slots__ = ('feature', 'error_code', 'error_message')
    NAME = "Results"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('feature', "string", default=""),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
    )

    def __init__(
        self,
        *,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.feature: str = feature
        self.error_code: int = error_code
        self.error_message: str | None = error_message


class UpdateFeaturesResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'results')
    NAME = "UpdateFeaturesResponse"
    API_KEY = 57
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=""),
        Field('results', UpdatableFeatureResult, array=True, versions=Versions(0, 1), default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: Sequence[UpdatableFeatureResult] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.results: Sequence[UpdatableFeatureResult] = results
