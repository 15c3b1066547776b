"""What `--topic` chooses: names and patterns, which Apache's tools do not tell apart. Pure (ADR 0031).

What could be a topic's name is that name and nothing else, so that `a.b` never means `aXb`. Whatever has another
character in it is a regular expression, as Apache's tools read it; a comma is one more alternative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leaselog.cli.arguments import UsageError

__all__ = ["TopicChoice"]

#: what a topic's name may be made of
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class TopicChoice:
    names: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, option: str, text: str) -> TopicChoice:
        """Raises ``UsageError`` for what is no regular expression."""
        parts = [part for part in _parts(text.strip().replace(" ", "").strip("\"'")) if part]
        patterns = [part for part in parts if not _NAME.fullmatch(part)]
        try:
            compiled = tuple(re.compile(part.replace(",", "|")) for part in patterns)
        except re.error as bad:
            raise UsageError(f"{option} {text}: not a regular expression: {bad}") from None
        return cls(frozenset(parts) - frozenset(patterns), compiled)

    def is_named(self, topic: str) -> bool:
        return topic in self.names

    def has(self, topic: str) -> bool:
        """Whether the topic is named or a pattern matches the whole of its name."""
        return self.is_named(topic) or any(pattern.fullmatch(topic) for pattern in self.patterns)


def _parts(text: str) -> Iterator[str]:
    """Split at the commas that no bracket holds: ``a.b,(c,d)e`` is ``a.b`` and ``(c,d)e``."""
    depth, begin = 0, 0
    for position, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth <= 0:
            yield text[begin:position]
            begin = position + 1
    yield text[begin:]
