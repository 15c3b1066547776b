"""The inputs that are kept: for each target an archive of the smallest ones that together reach what all of them reach.

The seeds are not among them: whoever replays a corpus begins with those. What an input reaches is which line followed
which, in leaselog's own code and in the codecs that it compiles.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

__all__ = ["CORPUS", "distilled", "load", "store"]

CORPUS = Path(__file__).parent / "corpus"
Arc = tuple[CodeType, int, int]


def load(target: str) -> dict[str, bytes]:
    """By name, which is a digest of the content."""
    path = _path(target)
    if not path.exists():
        return {}
    with tarfile.open(path) as packed:
        return {member.name: packed.extractfile(member).read() for member in packed}  # type: ignore[union-attr]


def store(target: str, inputs: Iterable[bytes]) -> Path:
    """The same inputs are the same file."""
    CORPUS.mkdir(exist_ok=True)
    named = {hashlib.sha256(data).hexdigest()[:16]: data for data in inputs}
    with tarfile.open(_path(target), "w:xz", preset=9) as packed:
        for name, data in sorted(named.items(), key=lambda item: (len(item[1]), item[1])):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return _path(target)


def _path(target: str) -> Path:
    return CORPUS / f"{target}.tar.xz"


def distilled(
    inputs: Iterable[bytes], run: Callable[[bytes], object], known: Iterable[bytes] = ()
) -> list[bytes]:
    """The smallest first, and of the others those that reach something new, beyond what is ``known``.

    What ``run`` raises is left out.
    """
    reached, kept = set[Arc](), list[bytes]()
    for data in known:
        reached |= _arcs(run, data)
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
