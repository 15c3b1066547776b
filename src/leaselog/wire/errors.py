"""The one error family of malformed bytes. Fuzzing asserts that nothing else ever leaves a decoder."""

# The names say the finding, as ``BrokenInvariant`` does, hence no -Error ending (N818).

from __future__ import annotations

__all__ = ["BadLength", "BadValue", "CorruptBatch", "DecodeError", "EncodeError", "OldFormat", "Truncated"]


class DecodeError(Exception):
    """Bytes that do not say what their place says they should. Messages name value and expectation."""


class Truncated(DecodeError):  # noqa: N818
    """The bytes end before what they announce does."""


class BadLength(DecodeError):  # noqa: N818
    """A length or a count that cannot be true, whatever follows it."""


class BadValue(DecodeError):  # noqa: N818
    """A well-formed field with a value outside its domain."""


class CorruptBatch(DecodeError):  # noqa: N818
    """A record batch that contradicts itself: checksum, counts, or the records inside."""


class OldFormat(DecodeError):  # noqa: N818
    """A message set of magic 0 or 1, retired by Kafka 4.0. Recognised so that the answer can say so."""


class EncodeError(Exception):
    """Our own mistake: a message holds what its version cannot carry."""
