"""Lines of text as records, by the rules of Apache's LineMessageReader. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.wire.records import Record, RecordHeader

__all__ = ["LineFormat", "read_line"]

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class LineFormat:
    """``headers <headers.delimiter> key <key.separator> value``, of which headers and key may be switched off."""

    parse_key: bool = False
    parse_headers: bool = False
    ignore_error: bool = False
    key_separator: bytes = b"\t"
    headers_delimiter: bytes = b"\t"
    headers_separator: bytes = b","
    headers_key_separator: bytes = b":"
    null_marker: bytes | None = None

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> LineFormat:
        known = {name.replace("_", "."): name for name in cls.__slots__}
        values = dict[str, bool | bytes]()
        for key, text in properties.items():
            if key == "topic":
                continue
            if key not in known:
                raise UsageError(f"--reader-property {key}: expected one of {', '.join(sorted(known))}")
            name = known[key]
            if name in ("parse_key", "parse_headers", "ignore_error"):
                if text.strip().lower() not in _TRUTH:
                    raise UsageError(f"--reader-property {key}={text}: expected true or false")
                values[name] = _TRUTH[text.strip().lower()]
            else:
                values[name] = text.encode()
        made = cls(**values)  # type: ignore[arg-type]
        made._check()
        return made

    def _check(self) -> None:
        separators = (self.headers_delimiter, self.headers_separator, self.headers_key_separator)
        if self.parse_headers and len(set(separators)) != len(separators):
            raise UsageError("headers.delimiter, headers.separator and headers.key.separator must differ")
        if self.null_marker is not None and self.null_marker in (self.key_separator, *separators):
            raise UsageError("null.marker must differ from every separator")
        if not all((self.key_separator, *separators)):
            raise UsageError("a separator must not be empty")


def read_line(line: bytes, number: int, form: LineFormat) -> Record:
    """The record a line stands for. Raises ``CommandFailed`` for one without the separators it should have."""
    headers: tuple[RecordHeader, ...] = ()
    key, rest = None, line
    if form.parse_headers:
        head, rest = _split(rest, form.headers_delimiter, "headers delimiter", line, number, form)
        if head is not None and not _is_null(head, form):
            headers = _headers(head, line, number, form)
    if form.parse_key:
        key, rest = _split(rest, form.key_separator, "key separator", line, number, form)
        key = None if key is None or _is_null(key, form) else key
    return Record(key, None if _is_null(rest, form) else rest, headers)


def _is_null(text: bytes, form: LineFormat) -> bool:
    return form.null_marker is not None and text == form.null_marker


def _split(
    text: bytes, separator: bytes, what: str, line: bytes, number: int, form: LineFormat
) -> tuple[bytes | None, bytes]:
    before, found, after = text.partition(separator)
    if found:
        return before, after
    if form.ignore_error:
        return None, text
    raise CommandFailed(f"No {what} found on line number {number}: '{line.decode(errors='replace')}'")


def _headers(text: bytes, line: bytes, number: int, form: LineFormat) -> tuple[RecordHeader, ...]:
    headers = []
    for pair in text.split(form.headers_separator):
        name, found, value = pair.partition(form.headers_key_separator)
        if not found and not form.ignore_error:
            raise CommandFailed(
                f"No header key separator found in pair '{pair.decode(errors='replace')}' on line number {number}"
            )
        if _is_null(name, form):
            raise CommandFailed(
                f"Header keys should not be equal to the null marker, on line number {number}"
            )
        is_null = not found or _is_null(value, form)
        headers.append((name.decode(errors="surrogateescape"), None if is_null else value))
    return tuple(headers)
