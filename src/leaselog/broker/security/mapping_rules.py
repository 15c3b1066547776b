"""`ssl.principal.mapping.rules`: from the name in a certificate to the name of its principal.

Rules stand one after the other with commas between them, ``DEFAULT`` or ``RULE:pattern/replacement/`` with an ``L`` or
``U`` behind it for lower or upper case (KIP-371). The first whose pattern matches the whole name decides. Patterns and
replacements are Java's: ``$1`` is a group, and a backslash takes the meaning from what follows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from leaselog.broker.config import ConfigError

__all__ = ["MappingRules", "NoRuleApplies"]

KEY = "ssl.principal.mapping.rules"
#: a slash or a backslash is part of either half behind a backslash alone
_HALF = r"((?:\\.|[^\\/])*)"
_RULE = re.compile(rf"\s*(?:(DEFAULT)|RULE:{_HALF}/{_HALF}/([LU]?)|)\s*(?:,|$)")
_REFERENCE = re.compile(r"\\(.)|\$(\d+)", re.DOTALL)


class NoRuleApplies(ValueError):
    """The owner of this certificate is nobody."""


@dataclass(frozen=True, slots=True)
class _Rule:
    #: None: every name stays as it is
    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if not self.pattern.fullmatch(name):
            return None
        made = self.pattern.sub(lambda match: _expanded(self.replacement, match), name)
        return made.lower() if self.case == "L" else made.upper() if self.case == "U" else made


class MappingRules:
    def __init__(self, text: str) -> None:
        """ConfigError if ``text`` is no list of rules."""
        text, position = text.strip(), 0
        rules = []
        while position < len(text):
            found = _RULE.match(text, position)
            if found is None:
                raise ConfigError(
                    f"{KEY}: {text[position:]!r}, expected DEFAULT or RULE:pattern/replacement/ with L or U behind it"
                )
            position = found.end()
            is_default, pattern, replacement, case = found.groups()
            if is_default:
                rules.append(_Rule(None))
            elif pattern is not None:
                rules.append(_Rule(_compiled(pattern), replacement, case))
        self._rules = tuple(rules)

    def name_of(self, subject: str) -> str:
        """The principal's name. NoRuleApplies if none does."""
        for rule in self._rules:
            if (name := rule.apply(subject)) is not None:
                return name
        raise NoRuleApplies(f"no rule of {KEY} applies to {subject}")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as wrong:
        raise ConfigError(f"{KEY}: the pattern {pattern!r} cannot be read: {wrong}") from None


def _expanded(replacement: str, match: re.Match[str]) -> str:
    def one(reference: re.Match[str]) -> str:
        literal, digits = reference.groups()
        if digits is None:
            return literal
        # as many digits as name a group: $12 is group 1 and a 2 where there are fewer than twelve
        used = len(digits)
        while used > 1 and int(digits[:used]) > (match.re.groups or 0):
            used -= 1
        number = int(digits[:used])
        if number > match.re.groups:
            return reference.group()
        return (match.group(number) or "") + digits[used:]

    return _REFERENCE.sub(one, replacement)
