"""Compiles one decoder and one encoder for each (message, version), on first use, and keeps them.

The idea: a message definition is data, but walking it for every message would cost more than the message is
worth. So Python source is written for the version at hand, with runs of fixed-size numbers packed by one
`struct` call, and compiled once. Byte payloads (record batches) are not copied when decoded, where they become
views of the frame, nor when encoded, where all but small ones go out as chunks of their own.

Texts have 32,767 bytes at most, as in Kafka: in old versions because their length has two bytes, in flexible ones by
agreement. Nothing longer is written, nor taken from a request; whoever reads back what is on disk is not as strict.

Nothing but `DecodeError` leaves `decode`, whatever the bytes; nothing but `EncodeError` leaves `encode`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from leaselog.wire.errors import BadLength, BadValue, DecodeError, EncodeError, Truncated
from leaselog.wire.primitives import (
    LONGEST_TEXT_BYTES,
    MAX_TAGGED_FIELDS,
    Buffer,
    cut_text,
    encode_text_length,
    encode_uvarint,
    read_long_uvarint,
    read_uvarint,
)
from leaselog.wire.schema import NEVER, Field, Message

__all__ = ["decode", "decode_prefix", "encode", "encode_chunks", "is_flexible"]

M = TypeVar("M", bound=Message)
Decoder = Callable[[Buffer, int], tuple[Any, int]]
Encoder = Callable[[Any, bytearray, list[Buffer]], None]

#: one entry a message version ever used: as many as the definitions have, and no more
_decoders: dict[tuple[type, int], Decoder] = {}
_request_decoders: dict[tuple[type, int], Decoder] = {}
_encoders: dict[tuple[type, int], Encoder] = {}

FIXED = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
         "bool": "?"}  # fmt: skip
#: the same with what becomes something else once it is read
SIZED = {**FIXED, "uuid": "16s"}
#: a byte of zero, which is a section of tagged fields without any, and a compact null
ZERO = ("x", "")
#: record payloads up to this size go into the buffer that they stand in: copying them is cheaper than what the event
#: loop and the kernel do for more than one buffer
COPIED_PAYLOAD_BYTES = 16 * 1024


def is_flexible(kind: type[Message], version: int) -> bool:
    first, last = kind.FLEXIBLE
    return first <= version <= last


def decode(kind: type[M], version: int, buffer: Buffer, position: int = 0) -> M:
    """The message that fills ``buffer`` from ``position`` to its end."""
    message, end = decode_prefix(kind, version, buffer, position)
    if end != len(buffer):
        raise BadLength(f"{kind.NAME} v{version} ends at byte {end}, the frame at {len(buffer)}")
    return message


def decode_prefix(
    kind: type[M], version: int, buffer: Buffer, position: int = 0, *, is_request: bool = False
) -> tuple[M, int]:
    """The message at ``position``, and where it ends. A request has no text longer than Kafka has any."""
    decoders = _request_decoders if is_request else _decoders
    decoder = decoders.get((kind, version)) or _decoder(kind, version, is_request=is_request)
    if isinstance(buffer, memoryview):
        buffer = bytes(buffer)  # text is read off by a method that a view lacks; whole frames are no views
    try:
        return decoder(buffer, position)
    except (struct.error, IndexError) as short:
        raise Truncated(f"{kind.NAME} v{version}: the bytes end too early") from short
    except UnicodeDecodeError as bad:
        raise BadValue(f"{kind.NAME} v{version}: text that is not UTF-8") from bad


def encode(message: Message, version: int) -> bytes:
    return b"".join(encode_chunks(message, version))


def encode_chunks(message: Message, version: int, head: Buffer = b"") -> list[Buffer]:
    """``head`` and the message as a list of buffers; large record payloads are in it as they were
    given, uncopied."""
    out = bytearray(head)
    chunks: list[Buffer] = []
    kind = type(message)
    encoder = _encoders.get((kind, version)) or _encoder(kind, version)
    try:
        encoder(message, out, chunks)
    except (struct.error, TypeError, AttributeError, DecodeError) as wrong:
        raise EncodeError(f"{message.NAME} v{version} cannot carry {message!r:.500}: {wrong}") from wrong
    if out:
        chunks.append(out)
    return chunks


def _decoder(kind: type[Message], version: int, *, is_request: bool = False) -> Decoder:
    decoders = _request_decoders if is_request else _decoders
    known = decoders.get((kind, version))
    if known is None:
        source = _DecoderSource(kind, version, is_request=is_request)
        known = decoders[kind, version] = _compile("decode", *source.lines())
    return known


def _encoder(kind: type[Message], version: int) -> Encoder:
    known = _encoders.get((kind, version))
    if known is None:
        known = _encoders[kind, version] = _compile("encode", *_EncoderSource(kind, version).lines())
    return known


@lru_cache(4096)
def _uuid_of(data: bytes) -> UUID:
    """The same object for the same bytes: topics come again and again, and what is identical need not be compared."""
    return UUID(bytes=data)


def _compile(name: str, lines: Iterable[str], scope: dict[str, Any]) -> Any:
    exec("\n".join(lines), scope)
    return scope[name]


class _Source:
    """What writing a decoder and writing an encoder have in common."""

    def __init__(self, kind: type[Message], version: int) -> None:
        self.kind, self.version = kind, version
        self.flexible = is_flexible(kind, version)
        self.scope: dict[str, Any] = {
            "uuid_of": _uuid_of, "Truncated": Truncated, "BadLength": BadLength, "BadValue": BadValue,
            "uvarint": encode_uvarint, "long_uvarint": read_long_uvarint, "read_uvarint": read_uvarint,
            "text_length": encode_text_length, "cut_text": cut_text,
        }  # fmt: skip
        present = [f for f in kind.FIELDS if version in f.versions]
        self.plain = [f for f in present if version not in f.tagged]
        self.tagged = sorted((f for f in present if version in f.tagged), key=lambda f: f.tag)
        self.absent = [f for f in kind.FIELDS if version not in f.versions]

    def nullable(self, field: Field) -> bool:
        return self.version in field.nullable

    def name(self, hint: str, value: object) -> str:
        """A name under which the compiled code finds ``value``."""
        key = f"{hint}_{len(self.scope)}"
        self.scope[key] = value
        return key


#: a format letter of `struct`, and what is read into or written from its place
FixedField: TypeAlias = tuple[str, str]


class _DecoderSource(_Source):
    """Reads neighbours of a fixed size in one go, and with them the length or count behind them: ``places`` are
    those whose turn has come and that are yet to be read."""

    def __init__(self, kind: type[Message], version: int, *, is_request: bool) -> None:
        super().__init__(kind, version)
        self.is_request = is_request

    def lines(self) -> tuple[list[str], dict[str, Any]]:
        self.scope["new"], self.scope["Kind"] = object.__new__, self.kind
        code = ["def decode(b, p):", " m = new(Kind)"]
        code += [f" m.{field.name} = {self._default(field)}" for field in (*self.absent, *self.tagged)]
        places: list[FixedField] = []
        for field in self.plain:
            if isinstance(field.kind, str) and field.kind in SIZED and not field.array:
                places.append((SIZED[field.kind], f"m.{field.name}"))
            else:
                code += self._value(field, " ", places)
                places = []
        code += self._tags(places) if self.flexible else self._read(places, " ")
        # a place for a uuid has its bytes until here
        code += [
            f" m.{field.name} = uuid_of(m.{field.name})"
            for field in self.plain
            if field.kind == "uuid" and not field.array
        ]
        return [*code, " return m, p"], self.scope

    def _default(self, field: Field) -> str:
        if isinstance(field.default, Message):
            return f"{self.name('struct', type(field.default))}()"
        return self.name("default", field.default)

    def _read(self, places: Sequence[FixedField], indent: str) -> list[str]:
        if not places:
            return []
        if len(places) == 1 and places[0][0] == "B":
            return [f"{indent}{places[0][1]} = b[p]; p += 1"]
        shape = struct.Struct(">" + "".join(letter for letter, _ in places))
        targets = "".join(f"{target}, " for _, target in places)
        return [f"{indent}{targets}= {self.name('unpack', shape.unpack_from)}(b, p); p += {shape.size}"]

    def _value(self, field: Field, indent: str, before: Sequence[FixedField] = ()) -> list[str]:
        """Decodes the places before a field, then the field, and stores it."""
        if field.array:
            code = self._array(field, indent, before)
        elif isinstance(field.kind, str):
            code = self._primitive(field.kind, field, indent, before)
        else:
            code = self._struct(field, indent, before)
        return [*code, f"{indent}m.{field.name} = v"]

    def _count(self, width: str, indent: str, before: Sequence[FixedField] = ()) -> list[str]:
        """Leaves a length in ``n``, -1 for null; in a flexible version it is one more, as on the wire."""
        return self._read([*before, ("B" if self.flexible else width, "n")], indent)

    def _length(self, indent: str) -> list[str]:
        """From the count in ``n`` to the length that it stands for."""
        if not self.flexible:
            return []
        return [f"{indent}if n > 127: n, p = long_uvarint(b, p, n)", f"{indent}n -= 1"]

    def _null(self, field: Field, indent: str) -> list[str]:
        if self.nullable(field):
            return [f"{indent}if n == -1: v = None", f"{indent}else:"]
        return [
            f"{indent}if n < 0: raise BadLength('{self.kind.NAME}.{field.name} is null')",
            f"{indent}else:",
        ]

    def _primitive(
        self, kind: str, field: Field, indent: str, before: Sequence[FixedField] = ()
    ) -> list[str]:
        if kind in SIZED:
            code = self._read([*before, (SIZED[kind], "v")], indent)
            return [*code, f"{indent}v = uuid_of(v)"] if kind == "uuid" else code
        made = {"string": "b[p:e].decode()", "bytes": "bytes(b[p:e])", "records": "memoryview(b)[p:e]"}[kind]
        return [
            *self._count("h" if kind == "string" else "i", indent, before),
            *self._length(indent),
            *self._null(field, indent),
            *([f"{indent} {self._bound(field)}"] if kind == "string" and self.is_bounded else []),
            f"{indent} e = p + n",
            f"{indent} if {'' if self.flexible else 'n < 0 or '}e > len(b):",
            f"{indent}  raise Truncated(f'{self.kind.NAME}.{field.name}: {{n}} bytes, {{len(b) - p}} left')",
            f"{indent} v = {made}; p = e",
        ]

    @property
    def is_bounded(self) -> bool:
        """Old versions have no room for longer ones."""
        return self.is_request and self.flexible

    def _bound(self, field: Field) -> str:
        return (
            f"if n > {LONGEST_TEXT_BYTES}: "
            f"raise BadLength(f'{self.kind.NAME}.{field.name}: {{n}} bytes of text, {LONGEST_TEXT_BYTES} at most')"
        )

    def _struct(self, field: Field, indent: str, before: Sequence[FixedField] = ()) -> list[str]:
        inner = self.name("decode", _decoder(field.kind, self.version, is_request=self.is_request))
        if not self.nullable(field):
            return [*self._read(before, indent), f"{indent}v, p = {inner}(b, p)"]
        return [
            *self._read([*before, ("B", "n")], indent),
            f"{indent}if n == 255: v = None",
            f"{indent}else: v, p = {inner}(b, p)",
        ]

    def _array(self, field: Field, indent: str, before: Sequence[FixedField]) -> list[str]:
        element = field._replace(array=False, nullable=NEVER)
        none = 1 if self.flexible else 0

        def inner(indent: str) -> list[str]:
            if isinstance(field.kind, str):
                return self._primitive(field.kind, element, indent)
            return self._struct(element, indent)

        head = [
            *self._count("i", indent, before),
            # Nearly always there is none or one, for which no loop need be set up.
            f"{indent}if n == {none}: v = []",
            f"{indent}elif n == {none + 1}:",
            *inner(indent + " "),
            f"{indent} v = [v]",
            f"{indent}else:",
        ]
        indent += " "
        head += [
            *self._length(indent),
            *self._null(field, indent),
            # Each element takes a byte or more, so a count past the rest of the frame is a lie told cheaply.
            f"{indent} if n < 0 or n > len(b) - p:",
            f"{indent}  raise BadLength(f'{self.kind.NAME}.{field.name}: {{n}} elements, {{len(b) - p}} bytes left')",
        ]
        if field.kind in FIXED:
            letter, size = FIXED[field.kind], struct.calcsize(">" + FIXED[field.kind])
            unpack = self.name("unpack_from", struct.unpack_from)
            return [
                *head,
                f"{indent} if n * {size} > len(b) - p: raise Truncated('{self.kind.NAME}.{field.name}')",
                f"{indent} v = list({unpack}('>%d{letter}' % n, b, p)); p += n * {size}",
            ]
        return [
            *head,
            f"{indent} a = []",
            f"{indent} for _ in range(n):",
            *inner(indent + "  "),
            f"{indent}  a.append(v)",
            f"{indent} v = a",
        ]

    def _tags(self, before: Sequence[FixedField]) -> list[str]:
        code = [
            # Nearly always there are none, so that is found out without a call or a loop.
            *self._read([*before, ("B", "t")], " "),
            " if t:",
            "  if t > 127: t, p = long_uvarint(b, p, t)",
            f"  if t > {MAX_TAGGED_FIELDS}: raise BadLength(f'{{t}} tagged fields')",
            "  for _ in range(t):",
            "   tag, p = read_uvarint(b, p)",
            "   size, p = read_uvarint(b, p)",
            "   end = p + size",
            "   if end > len(b): raise Truncated('tagged field')",
        ]
        for i, field in enumerate(self.tagged):
            code.append(f"   {'elif' if i else 'if'} tag == {field.tag}:")
            code += self._value(field, "    ")
            code.append("    if p != end: raise BadLength('tagged field')")
        return [*code, "   p = end"]


class _EncoderSource(_Source):
    """Writes neighbours of a fixed size in one go: numbers, structs of numbers, and sections of tags with nothing.

    Texts that may be null are of a fixed size, too, as long as they are: in answers they tell of errors.
    """

    def lines(self) -> tuple[list[str], dict[str, Any]]:
        code = ["def encode(m, out, chunks):"]
        run: list[Field] = []
        for field in self.plain:
            if self._is_nullable_text(field) or _fixed_places(field, self.version, "m") is not None:
                run.append(field)
            else:
                code += [*self._run(run, []), *self._value(field, " ")]
                run = []
        code += self._run(run, [ZERO] if self.flexible and not self.tagged else [])
        if self.tagged:
            code += self._tags()
        return [*code, " return None"], self.scope

    def _is_nullable_text(self, field: Field) -> bool:
        return field.kind == "string" and not field.array and self.nullable(field)

    def _run(self, run: Sequence[Field], end: Sequence[FixedField]) -> list[str]:
        texts = [f"m.{field.name} is None" for field in run if self._is_nullable_text(field)]
        if not texts:
            return self._one_by_one(run, end, " ")
        null = ZERO if self.flexible else ("h", "-1")
        places: list[FixedField] = []
        for field in run:
            places += _fixed_places(field, self.version, "m") or [null]
        return [
            f" if {' and '.join(texts)}:",
            *self._write([*places, *end], "  "),
            " else:",
            *self._one_by_one(run, end, "  "),
        ]

    def _one_by_one(self, run: Sequence[Field], end: Sequence[FixedField], indent: str) -> list[str]:
        code, places = list[str](), list[FixedField]()
        for field in run:
            more = _fixed_places(field, self.version, "m")
            if more is not None:
                places += more
            else:
                code += [*self._write(places, indent), *self._value(field, indent)]
                places = []
        return [*code, *self._write([*places, *end], indent)]

    def _write(self, places: Sequence[FixedField], indent: str) -> list[str]:
        if not places:
            return []
        if all(place == ZERO for place in places):
            return [f"{indent}out += {bytes(len(places))!r}"]
        shape = struct.Struct(">" + "".join(letter for letter, _ in places))
        values = ", ".join(value for _, value in places if value)
        return [f"{indent}out += {self.name('pack', shape.pack)}({values})"]

    def _length(self, width: str, length: str) -> str:
        if self.flexible:
            # nearly all lengths fit in one byte, and a call would cost more than writing it
            longer = "text_length" if width == "h" else "uvarint"
            return f"out.append(n) if (n := {length} + 1) < 128 else out.extend({longer}(n))"
        return f"out += {self.name('pack', struct.Struct('>' + width).pack)}({length})"

    def _constant_length(self, width: str, length: int) -> str:
        if self.flexible:
            return f"out.append({length + 1})"
        return f"out += {struct.pack('>' + width, length)!r}"

    def _value(self, field: Field, indent: str) -> list[str]:
        code = [f"{indent}v = m.{field.name}"]
        width = "h" if field.kind == "string" and not field.array else "i"
        struct_field = not field.array and not isinstance(field.kind, str)
        if self.nullable(field):
            null = "out += b'\\xff'" if struct_field else self._constant_length(width, -1)
            code += [f"{indent}if v is None: {null}", f"{indent}else:"]
            indent += " "
            if struct_field:
                code.append(f"{indent}out += b'\\x01'")
        elif not (field.array or field.kind == "uuid" or struct_field):
            # A field that may be null in a newer version only goes out empty in this one.
            code.append(f"{indent}if v is None: v = {'' if field.kind == 'string' else b''!r}")
        return code + (self._array(field, indent) if field.array else self._one(field, indent))

    def _one(self, field: Field, indent: str) -> list[str]:
        """Encodes ``v``."""
        kind = field.kind
        if not isinstance(kind, str):
            places = _fixed_places_of(kind, self.version, "v")
            if places is not None:
                return self._write(places, indent)
            return [f"{indent}{self.name('encode', _encoder(kind, self.version))}(v, out, chunks)"]
        if kind in FIXED:
            return [f"{indent}out += {self.name('pack', struct.Struct('>' + FIXED[kind]).pack)}(v)"]
        if kind == "uuid":
            return [f"{indent}out += v.bytes"]
        if kind == "string":
            # What went wrong may be said of a name that is as long as a text may be: then it is not said to its end.
            said = "cut_text(v)" if field.name == "error_message" else "v.encode()"
            return [f"{indent}v = {said}", f"{indent}{self._length('h', 'len(v)')}", f"{indent}out += v"]
        if kind == "bytes":
            return [f"{indent}{self._length('i', 'len(v)')}", f"{indent}out += v"]
        return [
            f"{indent}{self._length('i', 'len(v)')}",
            f"{indent}if len(v) <= {COPIED_PAYLOAD_BYTES}: out += v",
            f"{indent}else: chunks.append(bytearray(out)); out.clear(); chunks.append(v)",
        ]

    def _array(self, field: Field, indent: str) -> list[str]:
        # None is as good as empty: a field that may be null in a newer version only goes out empty in this one.
        code = [f"{indent}if not v: {self._constant_length('i', 0)}", f"{indent}else:"]
        indent += " "
        code.append(f"{indent}{self._length('i', 'len(v)')}")
        if field.kind in FIXED:
            pack = self.name("pack", struct.pack)
            return [*code, f"{indent}out += {pack}('>%d{FIXED[field.kind]}' % len(v), *v)"]
        return [*code, f"{indent}for v in v:", *self._one(field, indent + " ")]

    def _tags(self) -> list[str]:
        code = [" tags = []"]
        for field in self.tagged:
            if field.array:
                code.append(f" if m.{field.name}:")
            else:
                default = self.name("default", field.default)
                code.append(f" if m.{field.name} is not None and m.{field.name} != {default}:")
            inner = self.name("tag", _tagged_encoder(self.kind, field, self.version))
            code.append(f"  x = {inner}(m)")
            code.append(f"  tags.append({encode_uvarint(field.tag)!r} + uvarint(len(x)) + x)")
        return [
            *code,
            " if not tags: out.append(0)",
            " else:",
            "  out += uvarint(len(tags))",
            "  for x in tags: out += x",
        ]


def _fixed_places(field: Field, version: int, owner: str) -> list[FixedField] | None:
    """Where a field of ``owner`` is written, if it has one size whatever is in it."""
    if field.array or version in field.nullable:
        return None
    value = f"{owner}.{field.name}"
    if not isinstance(field.kind, str):
        return _fixed_places_of(field.kind, version, value)
    if field.kind == "uuid":
        return [
            (SIZED["uuid"], f"{value}.int.to_bytes(16, 'big')")
        ]  # `bytes` is a property that does the same
    return [(FIXED[field.kind], value)] if field.kind in FIXED else None


def _fixed_places_of(kind: type[Message], version: int, owner: str) -> list[FixedField] | None:
    """The same of a whole struct."""
    source, places = _Source(kind, version), list[FixedField]()
    if source.tagged:
        return None
    for field in source.plain:
        more = _fixed_places(field, version, owner)
        if more is None:
            return None
        places += more
    return [*places, ZERO] if source.flexible else places


def _tagged_encoder(kind: type[Message], field: Field, version: int) -> Callable[[Message], bytes]:
    """Encodes one tagged field of a message to the bytes that stand behind its tag and size."""
    source = _EncoderSource(kind, version)
    lines = ["def encode(m, out, chunks):", *source._value(field, " ")]
    compiled: Encoder = _compile("encode", lines, source.scope)

    def encoded(message: Message) -> bytes:
        out, chunks = bytearray(), list[Buffer]()
        compiled(message, out, chunks)
        return b"".join([*chunks, out])

    return encoded
