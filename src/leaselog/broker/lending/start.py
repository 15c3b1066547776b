"""Where a group begins on a partition it has never had a start offset for: `share.auto.offset.reset`.

Decided when the partition is first read for the group, not when the group was made; it is not written down until the
first state is (KIP-932). Partitions that are added to a topic the group knows have a start offset from the first: 0.
"""

from __future__ import annotations

import re

from leaselog.log import PartitionLog, finish
from leaselog.model import ErrorCode, Refused

__all__ = ["EARLIEST", "LATEST", "duration_ms", "reset_offset"]

LATEST = "latest"
EARLIEST = "earliest"

_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)


def reset_offset(policy: str, log: PartitionLog, *, now_ms: int) -> int | Refused:
    """OFFSET_NOT_AVAILABLE when the group wants records no older than a duration and there is none yet."""
    if policy == LATEST:
        return log.high_watermark
    if policy == EARLIEST:
        return log.start_offset
    since_ms = now_ms - duration_ms(policy.partition(":")[2])
    found = finish(log.offset_for_timestamp(since_ms))
    if found is None:
        return Refused(
            ErrorCode.OFFSET_NOT_AVAILABLE, f"no record is younger than {policy.partition(':')[2]}"
        )
    return found.offset


def duration_ms(text: str) -> int:
    """An ISO-8601 duration such as P1DT2H30M4.5S, which the config has found well-formed."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"duration {text!r}, expected PnDTnHnMn.nS")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    millis = int((found[5] or "").ljust(3, "0")[:3])
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + millis
