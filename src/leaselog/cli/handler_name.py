"""From MODULE:HANDLER on a command line to the function, or to the Worker. What is wrong with the name is one line."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from leaselog.cli.arguments import UsageError
from leaselog.client import Worker
from leaselog.client.share.calling import check_handler

__all__ = ["find_handler"]


def find_handler(name: str) -> Worker | Callable[[Any], object]:
    """The handler or the worker of this name, its module imported as `python -m` would. Raises ``UsageError``."""
    module_name, colon, path = name.partition(":")
    if not (module_name and colon and path):
        raise UsageError(f"{name}: expected MODULE:HANDLER, as tasks:pack for the function pack in tasks.py")
    if module_name.endswith(".py") or "/" in module_name:
        raise UsageError(f"{name}: expected the name of a module, as tasks, not of a file")
    found: Any = _module(name, module_name)
    for part in path.split("."):
        found = _attribute(name, found, part)
    if isinstance(found, Worker):
        return found
    try:
        check_handler(found, blocking=False)
    except TypeError as wrong:
        raise UsageError(f"{name}: {wrong}") from None
    _check_takes_a_record(name, found)
    return found  # type: ignore[no-any-return]


def _module(name: str, module_name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(module_name)
    except ModuleNotFoundError as missing:
        if missing.name is not None and f"{module_name}.".startswith(f"{missing.name}."):
            raise UsageError(
                f"{name}: there is no module {missing.name} in {here}, nor where Python looks otherwise"
            ) from None
        raise _broken(name, module_name, missing) from missing
    except (Exception, SystemExit) as broken:
        raise _broken(name, module_name, broken) from broken


def _broken(name: str, module_name: str, error: BaseException) -> UsageError:
    text = " ".join(str(error).split())
    return UsageError(
        f"{name}: {module_name} cannot be imported: {type(error).__name__}: {text}{_place(error)}"
    )


def _place(error: BaseException) -> str:
    """The line of the innermost file that is no part of Python's importing."""
    if isinstance(error, SyntaxError):
        return ""  # it names its line itself
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen importlib") and frame.filename not in _OURS
    ]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


_OURS = frozenset({__file__, import_module("importlib").__file__})


def _attribute(name: str, owner: object, part: str) -> object:
    try:
        return getattr(owner, part)
    except AttributeError:
        where = getattr(owner, "__file__", None) or repr(owner)
        near = get_close_matches(part, [known for known in dir(owner) if not known.startswith("_")], 1)
        raise UsageError(
            f"{name}: there is no {part} in {where}" + (f"; {near[0]}?" if near else "")
        ) from None


def _check_takes_a_record(name: str, handler: Callable[..., object]) -> None:
    """A function of two arguments would fail with every record."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return  # of some that are written in C nobody knows
    try:
        signature.bind(object())
    except TypeError:
        raise UsageError(f"{name}: expected a function of one record, this one takes {signature}") from None
