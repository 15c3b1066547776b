"""What a certificate says of its owner, read from its DER: the name as Java writes it, and the alternative names.

Pure, and by hand: `ssl` tells names without the kinds of their values, and a handshake is no place for a library of
megabytes. OpenSSL has found the certificate well formed before it comes here; whatever is not raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["alternative_names", "subject_name"]

#: the attributes that RFC 2253 has words for, and no others: Java's `X500Principal.getName()` writes those as numbers
_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
#: UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString. Java reads the bytes of all as UTF-8.
_TEXTS = (0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E)
_ESCAPED = frozenset(',=+<>#;"\\')
_SPACES = (" ", "\r")
_EXPLICIT_VERSION, _EXTENSIONS = 0xA0, 0xA3
_OCTETS = 0x04
_ALTERNATIVE_NAMES = "2.5.29.17"


class _Element(NamedTuple):
    tag: int
    #: with tag and length
    whole: bytes
    content: bytes


def subject_name(certificate: bytes) -> str:
    """The owner's name, the most specific part first: ``CN=alice,O=Acme,C=DE``."""
    parts = list(_elements(_fields(certificate)[4].content))
    return ",".join("+".join(map(_attribute, _elements(part.content))) for part in reversed(parts))


def alternative_names(certificate: bytes) -> frozenset[bytes]:
    """Each alternative name of the owner, as it is encoded."""
    for field in _fields(certificate):
        if field.tag == _EXTENSIONS:
            (extensions,) = _elements(field.content)
            for extension in _elements(extensions.content):
                name, *_, value = _elements(extension.content)
                if _object_id(name.content) == _ALTERNATIVE_NAMES and value.tag == _OCTETS:
                    (names,) = _elements(value.content)
                    return frozenset(one.whole for one in _elements(names.content))
    return frozenset()


def _fields(certificate: bytes) -> list[_Element]:
    """Serial number, signature, issuer, validity, subject and so on; the version, which may be missing, is left out."""
    whole = next(_elements(certificate))
    fields = list(_elements(next(_elements(whole.content)).content))
    fields = fields[1:] if fields and fields[0].tag == _EXPLICIT_VERSION else fields
    if len(fields) < 5:
        raise ValueError("a certificate without a subject")
    return fields


def _elements(data: bytes) -> Iterator[_Element]:
    position = 0
    while position < len(data):
        start = position
        tag, size, position = data[position], _at(data, position + 1), position + 2
        if size & 0x80:
            count = size & 0x7F
            size = int.from_bytes(data[position : position + count], "big")
            position += count
        end = position + size
        if end > len(data):
            raise ValueError(f"an element of {size} bytes, and {len(data) - position} are left")
        yield _Element(tag, data[start:end], data[position:end])
        position = end


def _at(data: bytes, index: int) -> int:
    if index >= len(data):
        raise ValueError("half an element")
    return data[index]


def _attribute(attribute: _Element) -> str:
    kind, value = _elements(attribute.content)
    number = _object_id(kind.content)
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    first = next((i for i, char in enumerate(text) if char not in _SPACES), len(text))
    last = next((i for i in reversed(range(len(text))) if text[i] not in _SPACES), -1)
    written = []
    for index, char in enumerate(text):
        if char == "\0":
            char = "\\00"
        elif char in _ESCAPED or not first <= index <= last:
            char = f"\\{char}"
        written.append(char)
    return "".join(written)


def _object_id(content: bytes) -> str:
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise ValueError("an object identifier without a number")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
