"""What an application hands over to be sent, looked at in the call that hands it over.

What is wrong with a record is raised there, to who can mend it. Further on, a record travels in a batch with others,
and on a thread that is not the application's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import index
from typing import Any

from leaselog.client.serializers import Serializer, from_bytes
from leaselog.model import why_illegal_topic
from leaselog.wire.records import RecordHeader

__all__ = [
    "Headers",
    "checked_headers",
    "checked_partition",
    "checked_timestamp",
    "checked_topic",
    "serialized",
]

#: names with bytes or None each, as pairs or, if no name comes twice, as a mapping
Headers = Iterable[RecordHeader] | Mapping[str, bytes | None]

_INT32_END, _INT64_END = 2**31, 2**63
_why_illegal = lru_cache(1_000)(why_illegal_topic)


def checked_topic(topic: object) -> str:
    """Raises ``TypeError``, or ``ValueError`` for a name that no topic can have."""
    if not isinstance(topic, str):
        raise TypeError(f"topic: expected the name of one, a str, not {_described(topic)}")
    if (why := _why_illegal(topic)) is not None:
        raise ValueError(f"topic {topic!r}: {why}")
    return topic


def serialized(serializer: Serializer[Any], given: Any, part: str) -> bytes | None:
    """The bytes of a record's key or value; None stays None. Raises what the serialiser does, or ``TypeError``."""
    if given is None:
        return None
    made = serializer(given)
    if made.__class__ is bytes:
        return made
    if isinstance(made, (bytes, bytearray, memoryview)):
        return bytes(made)  # the caller may change his own until the record leaves
    raise _not_bytes(serializer, given, made, part)


def _not_bytes(serializer: Serializer[Any], given: object, made: object, part: str) -> TypeError:
    if serializer is from_bytes:
        return TypeError(
            f"{part}: expected bytes, not {_described(given)}; {part}_serializer=from_string or from_json makes them"
        )
    name = getattr(serializer, "__qualname__", repr(serializer))
    return TypeError(f"{part}: {name} made {_described(made)} of {_described(given)}, expected bytes")


def checked_headers(headers: Headers) -> tuple[RecordHeader, ...]:
    """Raises ``TypeError``, or ``ValueError`` for a name that is not Unicode."""
    if not headers:
        return ()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple(map(_checked_header, pairs))


def _checked_header(pair: object) -> RecordHeader:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"headers: expected pairs of a name and bytes, not {_described(pair)}")
    name, value = pair
    if not isinstance(name, str):
        raise TypeError(f"headers: expected a str for a name, not {_described(name)}")
    name.encode("utf-8", "surrogateescape")  # as it will be; raises ValueError
    if value is not None and not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"header {name!r}: expected bytes or None, not {_described(value)}")
    return name, None if value is None else bytes(value)


def checked_partition(partition: object) -> int | None:
    """Raises ``TypeError`` or ``ValueError``; whether there is such a partition is for the cluster to say."""
    return None if partition is None else _checked_number("partition", partition, _INT32_END)


def checked_timestamp(timestamp_ms: object) -> int | None:
    """Raises ``TypeError`` or ``ValueError``."""
    return None if timestamp_ms is None else _checked_number("timestamp_ms", timestamp_ms, _INT64_END)


def _checked_number(name: str, given: Any, end: int) -> int:
    try:
        if isinstance(given, bool):
            raise TypeError
        number = index(given)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, not {_described(given)}") from None
    if not 0 <= number < end:
        raise ValueError(f"{name}={number}: expected 0 to {end - 1}")
    return number


def _described(given: object) -> str:
    text = repr(given)
    return f"{type(given).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
