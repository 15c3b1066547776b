"""Decoding and encoding of long messages in steps, for whoever has other things to do as well.

The same source as `codec` writes, with a `yield` after every few elements of an array. Each yield says how many
elements that step had. A request has a bound of them, `MAX_ELEMENTS`: one byte on the wire can be an object of a
hundred in memory. A step is tens of microseconds, whatever the bytes.

Short messages are cheaper in one go; `is_long` tells of an answer which of the two it wants, and of a request its size
does (`LONG_BYTES`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from leaselog.wire.codec import FIXED, FixedField, _compile, _DecoderSource, _EncoderSource
from leaselog.wire.errors import BadLength, BadValue, EncodeError, Truncated
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import NEVER, Field, Message

__all__ = ["LONG_BYTES", "MAX_ELEMENTS", "decode_steps", "encode_steps", "is_long"]

M = TypeVar("M", bound=Message)
Steps = Generator[int, None, Any]

#: bytes of a request from which on it is decoded in steps
LONG_BYTES = 4096
#: structs and texts in arrays of one request; eight numbers count as one. That is an OffsetCommit of 100,000
#: partitions, or an OffsetFetch of a million. To let go of so many is one step of 3 ms, which no generator can divide.
MAX_ELEMENTS = 150_000
#: elements that make a step
STEP = 64
#: numbers that make a step; they count as one element
STEP_OF_NUMBERS = 2048

_decoders: dict[tuple[type, int], Callable[[Buffer, int], Steps]] = {}
_encoders: dict[tuple[type, int], Callable[[Any, bytearray, list[Buffer]], Steps]] = {}
_counters: dict[type, Callable[[Any], bool]] = {}


def decode_steps(kind: type[M], version: int, buffer: Buffer, position: int = 0) -> Generator[int, None, M]:
    """As `codec.decode_prefix` of a request; refuses more than ``MAX_ELEMENTS``."""
    decoder = _decoder(kind, version)
    count = 0
    steps = decoder(buffer, position)
    try:
        while True:
            try:
                more = next(steps)
            except StopIteration as end:
                message: M = end.value[0]
                return message
            count += more
            if count > MAX_ELEMENTS:
                raise BadLength(f"{kind.NAME} v{version} has more than {MAX_ELEMENTS} elements")
            yield more
    except (struct.error, IndexError) as short:
        raise Truncated(f"{kind.NAME} v{version}: the bytes end too early") from short
    except UnicodeDecodeError as bad:
        raise BadValue(f"{kind.NAME} v{version}: text that is not UTF-8") from bad


def encode_steps(message: Message, version: int, head: Buffer = b"") -> Generator[object, None, list[Buffer]]:
    """As `codec.encode_chunks`. Nobody may change the message meanwhile."""
    out, chunks = bytearray(head), list[Buffer]()
    try:
        yield from _encoder(type(message), version)(message, out, chunks)
    except (struct.error, TypeError, AttributeError) as wrong:
        raise EncodeError(f"{message.NAME} v{version} cannot be carried: {wrong}") from wrong
    if out:
        chunks.append(out)
    return chunks


def is_long(message: Message) -> bool:
    """Whether its arrays, at every depth, have more elements than a step."""
    kind = type(message)
    count = _counters.get(kind)
    if count is None:
        lines = ["def is_long(m):", " n = 0", *_counting(kind, "m", " "), " return False"]
        count = _counters[kind] = _compile("is_long", lines, {})
    return count(message)


def _counting(kind: type[Message], owner: str, indent: str) -> Iterator[str]:
    """Adds what a struct has in arrays to ``n``, until that is enough."""
    for field in kind.FIELDS:
        inside = "" if isinstance(field.kind, str) else f"{owner}_"
        if not field.array and not (inside and any(_counting(field.kind, inside, ""))):
            continue
        yield f"{indent}v = {owner}.{field.name}"
        yield f"{indent}if v:"
        if field.array:
            yield f"{indent} n += len(v)"
            yield f"{indent} if n > {STEP}: return True"
        if inside and any(_counting(field.kind, inside, "")):
            yield f"{indent} for {inside} in {'v' if field.array else '(v,)'}:"
            yield from _counting(field.kind, inside, indent + "  ")


def _has_steps(kind: Any, version: int) -> bool:
    """Whether there is an array in a struct, or in one of its own."""
    return not isinstance(kind, str) and any(
        version in field.versions and (field.array or _has_steps(field.kind, version))
        for field in kind.FIELDS
    )


def _decoder(kind: type[Message], version: int) -> Callable[[Buffer, int], Steps]:
    known = _decoders.get((kind, version))
    if known is None:
        known = _decoders[kind, version] = _compile(
            "decode", *_SteppingDecoderSource(kind, version, is_request=True).lines()
        )
    return known


def _encoder(kind: type[Message], version: int) -> Callable[[Any, bytearray, list[Buffer]], Steps]:
    known = _encoders.get((kind, version))
    if known is None:
        known = _encoders[kind, version] = _compile("encode", *_SteppingEncoderSource(kind, version).lines())
    return known


class _SteppingDecoderSource(_DecoderSource):
    def lines(self) -> tuple[list[str], dict[str, Any]]:
        (head, *code), scope = super().lines()
        return [head, " if 0: yield 0", *code], scope

    def _struct(self, field: Field, indent: str, before: Sequence[FixedField] = ()) -> list[str]:
        if not _has_steps(field.kind, self.version):
            return super()._struct(field, indent, before)
        inner = self.name("decode", _decoder(field.kind, self.version))
        if not self.nullable(field):
            return [*self._read(before, indent), f"{indent}v, p = yield from {inner}(b, p)"]
        return [
            *self._read([*before, ("B", "n")], indent),
            f"{indent}if n == 255: v = None",
            f"{indent}else: v, p = yield from {inner}(b, p)",
        ]

    def _array(self, field: Field, indent: str, before: Sequence[FixedField]) -> list[str]:
        code = [
            *self._count("i", indent, before),
            *self._length(indent),
            *self._null(field, indent),
            f"{indent} if n < 0 or n > len(b) - p:",
            f"{indent}  raise BadLength(f'{self.kind.NAME}.{field.name}: {{n}} elements, {{len(b) - p}} bytes left')",
            f"{indent} a = []",
        ]
        if field.kind in FIXED:
            return [*code, *self._numbers(field, indent + " "), f"{indent} v = a"]
        return [*code, *self._elements(field, indent + " "), f"{indent} v = a"]

    def _numbers(self, field: Field, indent: str) -> list[str]:
        letter, size = FIXED[field.kind], struct.calcsize(">" + FIXED[field.kind])
        unpack = self.name("unpack_from", struct.unpack_from)
        return [
            f"{indent}if n * {size} > len(b) - p: raise Truncated('{self.kind.NAME}.{field.name}')",
            f"{indent}while n:",
            f"{indent} t = n if n < {STEP_OF_NUMBERS} else {STEP_OF_NUMBERS}",
            f"{indent} a += {unpack}('>%d{letter}' % t, b, p); p += t * {size}; n -= t",
            f"{indent} yield 1 + t // 8",
        ]

    def _elements(self, field: Field, indent: str) -> list[str]:
        element = field._replace(array=False, nullable=NEVER)
        step = 1 if _has_steps(field.kind, self.version) else STEP
        if isinstance(field.kind, str):
            inner = self._primitive(field.kind, element, indent + " ")
        else:
            inner = self._struct(element, indent + " ")
        return [
            f"{indent}c, k = 0, n",
            f"{indent}while c < k:",
            f"{indent} c += 1",
            *inner,
            f"{indent} a.append(v)",
            f"{indent} if not c % {step}: yield {step}",
            f"{indent}if c % {step}: yield c % {step}",
        ]


class _SteppingEncoderSource(_EncoderSource):
    def lines(self) -> tuple[list[str], dict[str, Any]]:
        (head, *code), scope = super().lines()
        return [head, " if 0: yield 0", *code], scope

    def _one(self, field: Field, indent: str) -> list[str]:
        if not _has_steps(field.kind, self.version):
            return super()._one(field, indent)
        inner = self.name("encode", _encoder(field.kind, self.version))
        return [f"{indent}yield from {inner}(v, out, chunks)"]

    def _array(self, field: Field, indent: str) -> list[str]:
        code = [
            f"{indent}if not v: {self._constant_length('i', 0)}",
            f"{indent}else:",
            f"{indent} {self._length('i', 'len(v)')}",
        ]
        if field.kind in FIXED:
            pack = self.name("pack", struct.pack)
            return [
                *code,
                f"{indent} for s in range(0, len(v), {STEP_OF_NUMBERS}):",
                f"{indent}  x = v[s:s + {STEP_OF_NUMBERS}]",
                f"{indent}  out += {pack}('>%d{FIXED[field.kind]}' % len(x), *x)",
                f"{indent}  yield 1",
            ]
        step = 1 if _has_steps(field.kind, self.version) else STEP
        return [
            *code,
            f"{indent} c = len(v)",
            f"{indent} for v in v:",
            *self._one(field, indent + "  "),
            f"{indent}  c -= 1",
            f"{indent}  if not c % {step}: yield 1",
        ]
