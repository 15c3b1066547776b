"""Subscriptions to clients' own metrics (KIP-714): what one may say."""

from __future__ import annotations

import re
from collections.abc import Mapping

from leaselog.broker.config.definitions import CLIENT_METRICS
from leaselog.broker.config.errors import ConfigError
from leaselog.model import ErrorCode, Refused

__all__ = ["check_client_metrics"]

_LABELS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def check_client_metrics(values: Mapping[str, str]) -> Refused | None:
    """A refusal, or None if a subscription may have these values. ConfigError for a value of the wrong type."""
    for name in values:
        if name not in CLIENT_METRICS:
            return Refused(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    parsed = {name: CLIENT_METRICS[name].parse(text) for name, text in values.items()}
    interval_ms = parsed.get("interval.ms", 300_000)
    assert isinstance(interval_ms, int)
    if not 100 <= interval_ms <= 3_600_000:
        return Refused(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        )
    patterns = parsed.get("match", ())
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        _check_pattern(pattern)
    return None


def _check_pattern(pattern: str) -> None:
    label, equals, expression = pattern.partition("=")
    try:
        re.compile(expression.strip())
    except re.error:
        equals = ""
    if not equals or label.strip() not in _LABELS:
        raise ConfigError(f"Illegal client matching pattern: {pattern}")
