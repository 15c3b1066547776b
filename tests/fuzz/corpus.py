"""The inputs that are kept: for each target a zip of the smallest ones that together reach what all of them reach.

What an input reaches is which line followed which, in leaselog's own code and in the codecs that it compiles.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

__all__ = ["CORPUS", "distilled", "load", "store"]

CORPUS = Path(__file__).parent / "corpus"
#: a zip of the same inputs is the same file
_EPOCH = (2026, 1, 1, 0, 0, 0)

Arc = tuple[CodeType, int, int]


def load(target: str) -> dict[str, bytes]:
    """By name, which is a digest of the content."""
    path = CORPUS / f"{target}.zip"
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def store(target: str, inputs: Iterable[bytes]) -> Path:
    CORPUS.mkdir(exist_ok=True)
    path = CORPUS / f"{target}.zip"
    named = {hashlib.sha256(data).hexdigest()[:16]: data for data in inputs}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, data in sorted(named.items()):
            packed.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return path


def distilled(inputs: Iterable[bytes], run: Callable[[bytes], object]) -> list[bytes]:
    """The smallest first, and of the others those that reach something new. What ``run`` raises is left out."""
    reached, kept = set[Arc](), list[bytes]()
    for data in sorted(set(inputs), key=lambda data: (len(data), data)):
        try:
            arcs = _arcs(run, data)
        except Exception:  # noqa: BLE001 - a finding, or nothing: neither is for the corpus
            continue
        if not arcs <= reached:
            reached |= arcs
            kept.append(data)
    return kept


def _arcs(run: Callable[[bytes], object], data: bytes) -> set[Arc]:
    found = set[Arc]()

    def enter(frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if "/leaselog/" not in code.co_filename and code.co_filename != "<string>":
            return None
        last = 0

        def line(frame: FrameType, event: str, _: object) -> Any:
            nonlocal last
            if event == "line":
                found.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        run(data)
    finally:
        sys.settrace(before)
    return found
