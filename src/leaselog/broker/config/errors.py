"""The one exception of this package: a configuration nobody can run with, in words for a terminal."""

from __future__ import annotations

__all__ = ["ConfigError"]


class ConfigError(ValueError):
    """A key or a set of keys has a value it may not have. The text is one line and names the key.

    Raised while a broker starts; for a request the caller turns it into ``Refused(INVALID_CONFIG)`` with
    the same words, which are the ones Kafka uses.
    """

    @classmethod
    def of_value(cls, name: str, value: object, why: str) -> ConfigError:
        return cls(f"Invalid value {value} for configuration {name}: {why}")
