"""JAAS strings, as `sasl.jaas.config` holds them: a login module's class, a control flag, and options.

    org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="it's a secret";

One entry and no more, as Apache Kafka wants it. The classes are Java's; here they are names for what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["OAUTHBEARER_MODULE", "PLAIN_MODULE", "SCRAM_MODULE", "JaasEntry", "entry", "read"]

_SECURITY = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{_SECURITY}.plain.PlainLoginModule"
SCRAM_MODULE = f"{_SECURITY}.scram.ScramLoginModule"
OAUTHBEARER_MODULE = f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule"
_FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")

_TOKEN = re.compile(
    r"""(?P<nothing>\s+|//[^\n\r]*|/\*.*?\*/)
    |(?P<word>[\w.$\-]+)
    |(?P<double>"(?:[^"\\\n\r]|\\[^\n\r])*")|(?P<single>'(?:[^'\\\n\r]|\\[^\n\r])*')
    |(?P<sign>[=;])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]?[0-7]|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class JaasEntry:
    module: str
    #: passwords are among them
    options: dict[str, str] = field(repr=False)
    flag: str = "REQUIRED"

    def users(self) -> dict[str, str]:
        """The passwords by user that a server's PLAIN entry tells: `user_alice="…"`."""
        return {
            name.removeprefix("user_"): value
            for name, value in self.options.items()
            if name.startswith("user_") and name != "user_"
        }


def read(text: str) -> JaasEntry:
    """`ValueError` says what is wrong in one line, and quotes nothing that could be a password."""
    tokens = list(_tokens(text))
    ends = [index for index, (_, is_sign, what) in enumerate(tokens) if is_sign and what == ";"]
    if not tokens:
        raise ValueError("the JAAS config is empty")
    if not ends or ends[-1] != len(tokens) - 1:
        raise ValueError("the JAAS config does not end with a semicolon")
    if len(ends) > 1:
        raise ValueError(f"JAAS config property contains {len(ends)} login modules, should be 1 module")
    (_, is_sign, module), *rest = tokens[:-1] or [(0, True, "")]
    if is_sign or not module:
        raise ValueError("Login module not specified in JAAS config")
    flag = rest[0][2].upper() if rest and not rest[0][1] else ""
    if flag not in _FLAGS:
        raise ValueError("Login module control flag is not one of required, requisite, sufficient, optional")
    return JaasEntry(module, _options(rest[1:]), flag)


def entry(module: str, options: dict[str, str]) -> str:
    """The text that says this; `read` gives it back."""
    told = " ".join(f"{name}={_quoted(value)}" for name, value in options.items())
    return f"{module} required {told};"


def _options(tokens: list[tuple[int, bool, str]]) -> dict[str, str]:
    options: dict[str, str] = {}
    for index in range(0, len(tokens), 3):
        (at, is_sign, name), *value = tokens[index : index + 3]
        if is_sign:
            raise ValueError(
                f"the JAAS config has a sign at character {at + 1} where an option's name is expected"
            )
        if [(sign, what) for _, sign, what in value[:1]] != [(True, "=")] or len(value) < 2 or value[1][1]:
            raise ValueError(
                f"Value not specified for the option that begins at character {at + 1} of the JAAS config"
            )
        options[name] = value[1][2]
    return options


def _tokens(text: str) -> Iterator[tuple[int, bool, str]]:
    """Where each begins, whether it is a sign, and what it says."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(
                f"the JAAS config cannot be read from character {at + 1} on: a quote that is not closed?"
            )
        kind, what = found.lastgroup, found.group()
        if kind == "word":
            yield at, False, what
        elif kind == "sign":
            yield at, True, what
        elif kind != "nothing":
            yield at, False, _ESCAPE.sub(_meant, what[1:-1])
        at = found.end()


def _meant(escape: re.Match[str]) -> str:
    """As Java's tokenizer reads it."""
    sign = escape[1]
    return chr(int(sign, 8)) if sign[0] in "01234567" else _ESCAPED.get(sign, sign)


def _quoted(value: str) -> str:
    safe = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + safe.replace("\n", "\\n").replace("\r", "\\r") + '"'
