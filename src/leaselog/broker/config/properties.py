"""Java's properties format, the language of ``server.properties``.

A logical line is one or more natural lines joined by a final backslash; its key ends at the first bare ``=``,
``:`` or blank. The last of two equal keys wins. The rules are those of ``java.util.Properties``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from leaselog.broker.config.errors import ConfigError

__all__ = ["parse_properties"]

_BLANK = " \t\f"
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)", re.DOTALL)
_KEY = re.compile(r"(?:[^\\=:\s]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values in the order of the file. ConfigError names the line of a broken ``\\u`` escape."""
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None, "the pattern matches the empty string"
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None, "the pattern matches the empty string"
        name = _unescape(key.group(), number)
        found.pop(name, None)
        found[name] = _unescape(line[separator.end() :], number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each logical line with the number of its first natural line, joined and without its indentation."""
    start, pending = 0, None
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = natural.lstrip(_BLANK)
        if pending is None:
            if not line or line[0] in "#!":
                continue
            start, pending = number, ""
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
        else:
            yield start, pending + line
            pending = None
    if pending:
        yield start, pending


def _unescape(text: str, line_number: int) -> str:
    def replace(found: re.Match[str]) -> str:
        escape = found.group(1)
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise ConfigError(f"line {line_number}: \\u needs four hexadecimal digits")
        return _ESCAPED.get(escape, escape)

    if "\\" not in text:
        return text
    # Java writes a character beyond 16 bits as two escapes, which are one character here.
    return _ESCAPE.sub(replace, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
