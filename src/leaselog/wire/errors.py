"""The one error family of malformed bytes. Fuzzing asserts that nothing else ever leaves a decoder."""

from __future__ import annotations

__all__ = ["BadLength", "BadValue", "CorruptBatch", "DecodeError", "EncodeError", "OldFormat", "Truncated"]


class DecodeError(Exception):
    """Bytes that do not say what their place says they should. Messages name value and expectation."""


class Truncated(DecodeError):
    """The bytes end before what they announce does."""


class BadLength(DecodeError):
    """A length or a count that cannot be true, whatever follows it."""


class BadValue(DecodeError):
    """A well-formed field with a value outside its domain."""


class CorruptBatch(DecodeError):
    """A record batch that contradicts itself: checksum, counts, or the records inside."""


class OldFormat(DecodeError):
    """A message set of magic 0 or 1, retired by Kafka 4.0. Recognised so that the answer can say so."""


class EncodeError(Exception):
    """Our own mistake: a message holds what its version cannot carry."""
