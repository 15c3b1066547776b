"""What clients of one share group saw on one topic: every call and every answer, in events that can be written down.

A history is what several processes, in any language, write while they produce and consume, one line an event; put
together in any order it is what ``share_history_check`` judges. Times are nanoseconds of one monotonic clock that all
writers share (``time.monotonic_ns`` and Java's ``System.nanoTime`` on one Linux machine), so that of two moments of
different processes it can be said which came first.

A client's library fetches ahead, so nobody sees when a record was leased. The writer says since when it may have been
(``after_ns``); the earlier it says so, the less can be concluded, and nothing wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Literal

__all__ = [
    "Acknowledging",
    "Answered",
    "BrokerDied",
    "Closing",
    "Delivered",
    "Disconnected",
    "Event",
    "Kind",
    "MalformedHistory",
    "Paused",
    "Resuming",
    "Sent",
    "Stored",
    "read_lines",
    "to_line",
]

#: a record given back was not begun with: a release that costs no delivery
Kind = Literal["accept", "release", "reject", "give back"]


class MalformedHistory(ValueError):
    """A line that is no event."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A producer was given a record. What becomes of it is not known."""

    record: str
    partition: int


@dataclass(frozen=True, slots=True)
class Stored:
    """The broker has answered that the record is safe, and where."""

    record: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Delivered:
    consumer: str
    partition: int
    offset: int
    record: str
    #: as the broker counts
    delivery_count: int
    #: the lease began after this
    after_ns: int
    #: and the consumer had the record at this time
    at_ns: int


@dataclass(frozen=True, slots=True)
class Acknowledging:
    """The consumer has said what is to become of a record, and the broker may hear of it from now on."""

    consumer: str
    partition: int
    offset: int
    kind: Kind
    at_ns: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What the consumer's last ``Acknowledging`` of the record came to. Without it, nobody knows."""

    consumer: str
    partition: int
    offset: int
    ok: bool
    at_ns: int


@dataclass(frozen=True, slots=True)
class Closing:
    """The consumer begins to close: it gives back what it holds. Its name is not used again."""

    consumer: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The broker may have taken the consumer for gone, and its leases back. It may go on, and does not know."""

    consumer: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class BrokerDied:
    """From here on no lease of before counts."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Paused:
    """Somebody was answered that the group is paused: nothing is leased from here on."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Resuming:
    """Somebody is about to ask that the group goes on."""

    at_ns: int


Event = (
    Sent
    | Stored
    | Delivered
    | Acknowledging
    | Answered
    | Closing
    | Disconnected
    | BrokerDied
    | Paused
    | Resuming
)

_NAMES: dict[str, type[Event]] = {
    "sent": Sent,
    "stored": Stored,
    "delivered": Delivered,
    "acknowledging": Acknowledging,
    "answered": Answered,
    "closing": Closing,
    "disconnected": Disconnected,
    "broker_died": BrokerDied,
    "paused": Paused,
    "resuming": Resuming,
}
_NAME_OF = {kind: name for name, kind in _NAMES.items()}


def to_line(event: Event) -> str:
    """A JSON object, its kind under "event", without the end of the line."""
    return json.dumps({"event": _NAME_OF[type(event)], **asdict(event)}, separators=(",", ":"))


def read_lines(lines: Iterable[str]) -> Iterator[Event]:
    """The events of such lines. A last line that was cut off, its writer having been killed, is left out."""
    for line in lines:
        if not line.endswith("\n"):
            return
        yield _read(line)


def _read(line: str) -> Event:
    try:
        values = json.loads(line)
        kind = _NAMES[values.pop("event")]
    except (ValueError, KeyError, AttributeError, TypeError) as bad:
        raise MalformedHistory(f"no event: {line!r}") from bad
    if set(values) != {field.name for field in fields(kind)}:
        raise MalformedHistory(f"{kind.__name__} has other fields than {sorted(values)}")
    return kind(**values)
