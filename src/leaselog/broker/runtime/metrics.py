"""What the broker counts, in plain numbers: what is added to with every request must cost next to nothing.

Counters are pushed where things happen; sizes and counts of what exists are read when somebody asks. `metrics_text`
tells both in Prometheus' words.

Only the loop's thread counts and reads, so there are no locks. A round of syncs is over on the loop, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol

from leaselog.broker.runtime.plain_histogram import PlainHistogram
from leaselog.wire.schema import Message

__all__ = ["Metrics"]

SYNC_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5)
REQUEST_SECONDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
)

#: as many entries as messages and their structs have classes
_PLACES: dict[type[Message], tuple[tuple[str, bool, bool], ...]] = {}


class CountedApi(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def counts_errors(self) -> bool:
        """Its handler does that itself."""


class Metrics:
    def __init__(self) -> None:
        #: by API
        self.requests: defaultdict[str, int] = defaultdict(int)
        self.durations: dict[str, PlainHistogram] = {}
        #: by API and error code
        self.errors: defaultdict[tuple[str, int], int] = defaultdict(int)
        self.bytes_in = 0
        self.bytes_out = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        #: by listener, mechanism, whether it succeeded, and whether somebody logged in again
        self.logins: defaultdict[tuple[str, str, bool, bool], int] = defaultdict(int)
        #: connections whose client did not log in again in time, by listener
        self.expired_sessions: defaultdict[str, int] = defaultdict(int)
        #: by topic, of those there are
        self.produced_bytes: defaultdict[str, int] = defaultdict(int)
        self.produced_records: defaultdict[str, int] = defaultdict(int)
        self.fetched_bytes: defaultdict[str, int] = defaultdict(int)
        self.sync_seconds = PlainHistogram(SYNC_SECONDS)

    def request_started(self, api: str) -> None:
        self.requests[api] += 1

    def request_answered(self, api: str, seconds: float) -> None:
        durations = self.durations.get(api)
        if durations is None:
            durations = self.durations[api] = PlainHistogram(REQUEST_SECONDS)
        durations.observe(seconds)

    def count_errors(self, api: CountedApi, response: Message) -> None:
        """Counts the error codes an answer holds, at every depth. Fetch and Produce count their own."""
        if not api.counts_errors:
            for code in _error_codes(response):
                self.error(api, code)

    def count_errors_in_steps(self, api: CountedApi, response: Message) -> Iterator[None]:
        if not api.counts_errors:
            for code in _error_codes(response):
                self.error(api, code)
                yield

    def error(self, api: CountedApi, code: int) -> None:
        if code:
            self.errors[api.name, code] += 1

    def produced(self, topic: str, size_bytes: int, records: int) -> None:
        self.produced_bytes[topic] += size_bytes
        self.produced_records[topic] += records

    def fetched(self, topic: str, size_bytes: int) -> None:
        self.fetched_bytes[topic] += size_bytes

    def bytes_received(self, count: int) -> None:
        self.bytes_in += count

    def bytes_sent(self, count: int) -> None:
        self.bytes_out += count

    def connection_accepted(self) -> None:
        self.connections_accepted += 1

    def connection_refused(self) -> None:
        self.connections_refused += 1

    def login_ended(self, listener: str, mechanism: str, *, succeeded: bool, is_again: bool) -> None:
        self.logins[listener, mechanism, succeeded, is_again] += 1

    def session_expired(self, listener: str) -> None:
        self.expired_sessions[listener] += 1

    def topic_gone(self, topic: str) -> None:
        """Lets go of a deleted topic's numbers, so that label values stay bounded by the topics there are."""
        for by_topic in (self.produced_bytes, self.produced_records, self.fetched_bytes):
            by_topic.pop(topic, None)


def _error_codes(message: Message) -> Iterator[int]:
    for name, has_code, is_array in _places_of_codes(type(message)):
        value = getattr(message, name)
        if has_code:
            yield value
        elif value:
            for inner in value if is_array else (value,):
                yield from _error_codes(inner)


def _places_of_codes(kind: type[Message]) -> tuple[tuple[str, bool, bool], ...]:
    """The fields of a struct that are error codes or have some inside; of each whether it is one, or an array."""
    known = _PLACES.get(kind)
    if known is None:
        known = _PLACES[kind] = tuple(
            (field.name, field.name == "error_code", field.array)
            for field in kind.FIELDS
            if field.name == "error_code"
            or (not isinstance(field.kind, str) and _places_of_codes(field.kind))
        )
    return known
