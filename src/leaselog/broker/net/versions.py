"""Which versions of which APIs are served, as ApiVersions tells them."""

from __future__ import annotations

from leaselog.broker.net.api import apis
from leaselog.model import ErrorCode
from leaselog.wire.extensions import FIRST_EXTENSION_KEY
from leaselog.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

__all__ = ["supported_versions", "unsupported_version"]


def supported_versions(*, extensions: bool = False) -> list[ApiVersion]:
    return [
        ApiVersion(api_key=api.key, min_version=api.advertised_from, max_version=api.versions.last)
        for api in apis()
        if extensions or api.key < FIRST_EXTENSION_KEY
    ]


def unsupported_version() -> ApiVersionsResponse:
    """The v0 answer to a version from the future: the range that would be understood."""
    own = [v for v in supported_versions() if v.api_key == ApiVersionsRequest.API_KEY]
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=own)
