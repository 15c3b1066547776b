"""Levels of the process's loggers, seen and set as Kafka's BROKER_LOGGER resource. A restart forgets them.

``root`` is leaselog's own topmost logger; libraries keep their levels to themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from leaselog.broker.config.resources import Alteration, AlterOp, ConfigEntry, ConfigSource
from leaselog.broker.config.values import ConfigType
from leaselog.model import ErrorCode, Refused

__all__ = ["alter_loggers", "logger_entries"]

_TOPMOST = "leaselog"
_ROOT = "root"
_LEVELS = {"DEBUG": 10, "ERROR": 40, "FATAL": 50, "INFO": 20, "TRACE": 5, "WARN": 30}


def logger_entries() -> list[ConfigEntry]:
    """Every logger with the level that holds for it, its own or one above it."""
    return [
        ConfigEntry(
            name=name,
            value=_level_name(logger.getEffectiveLevel()),
            source=ConfigSource.DYNAMIC_BROKER_LOGGER,
            type=ConfigType.UNKNOWN,
        )
        for name, logger in sorted(_loggers().items())
    ]


def alter_loggers(alterations: Sequence[Alteration], *, validate_only: bool) -> Refused | None:
    """Sets and resets levels, all of them or, with a refusal, none."""
    for alteration in alterations:
        refusal = _refuse(alteration)
        if refusal is not None:
            return refusal
    if not validate_only:
        loggers = _loggers()
        for alteration in alterations:
            is_set = alteration.op is AlterOp.SET
            loggers[alteration.key].setLevel(_LEVELS[str(alteration.value)] if is_set else logging.NOTSET)
    return None


def _refuse(alteration: Alteration) -> Refused | None:
    name, level = alteration.key, alteration.value
    if alteration.op not in (AlterOp.SET, AlterOp.DELETE):
        return Refused(
            ErrorCode.INVALID_REQUEST,
            f"{alteration.op.name} operation is not allowed for the BROKER_LOGGER resource",
        )
    if name not in _loggers():
        return Refused(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if alteration.op is AlterOp.DELETE and name == _ROOT:
        return Refused(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    if alteration.op is AlterOp.SET and level not in _LEVELS:
        return Refused(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}",
        )
    return None


def _loggers() -> dict[str, logging.Logger]:
    named = {
        name: logger
        for name, logger in logging.getLogger().manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and name.startswith(f"{_TOPMOST}.")
    }
    return {_ROOT: logging.getLogger(_TOPMOST), **named}


def _level_name(level: int) -> str:
    """The nearest of Kafka's names at or above a level."""
    return min((known, name) for name, known in _LEVELS.items() if known >= min(level, 50))[1]
