"""Patterns of topic names, by RE2's rules: Kafka's brokers have them matched by that engine, too (KIP-848).

It takes time by the length of the name, whatever the pattern; Python's `re` may take for ever, on the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2

__all__ = ["matching", "why_no_pattern"]

#: what one pattern may take when it is compiled
MAX_COMPILED_BYTES = 1 << 20
MAX_PATTERN_CHARS = 4_096


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re2._Regexp:
    import re2  # which nobody needs whose consumers name their topics

    options = re2.Options()
    options.max_mem = MAX_COMPILED_BYTES
    options.log_errors = False
    return re2.compile(pattern, options)


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Those of the names that the pattern matches from beginning to end; none for what is no pattern."""
    if why_no_pattern(pattern) is not None:
        return frozenset()
    compiled = _compiled(pattern)
    return frozenset(name for name in names if compiled.fullmatch(name))


def why_no_pattern(pattern: str) -> str | None:
    """What is wrong with it, if something is."""
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"longer than {MAX_PATTERN_CHARS} characters"
    import re2

    try:
        _compiled(pattern)
    except re2.error as wrong:
        said = wrong.args[0] if wrong.args else wrong
        return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return None
