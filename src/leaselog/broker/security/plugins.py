"""Plug-ins where Apache Kafka names a Java class: somebody's own callable, by its Python path `module:callable`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from leaselog.broker.config import ConfigError

__all__ = ["load_plugin"]


def load_plugin(key: str, path: str) -> Callable[..., Any]:
    """What ``path`` names. ConfigError in one line if it names no callable; a Java class is none."""
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise ConfigError(
            f"{key} is {path}, which leaselog does not know: expected a Python path, as in my.module:callable"
        )
    try:
        found = getattr(importlib.import_module(module_name), name, None)
    except ImportError as why:
        raise ConfigError(f"{key} is {path}: {why}") from why
    if not callable(found):
        raise ConfigError(f"{key} is {path}: there is no callable {name} in {module_name}")
    plugin: Callable[..., Any] = found
    return plugin
