"""How share groups move: samples of where they stand, and what two of them say together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leaselog.admin import GroupDescription, ShareOffset, SharePartitionDescription, SharePause
from leaselog.cli.share_pauses import pause_json
from leaselog.client import BrokerError
from leaselog.model import TopicPartition

__all__ = ["COLUMNS", "RIGHT", "GroupSample", "Movement", "cells", "movement", "movement_json", "sample"]

COLUMNS = (
    "GROUP", "STATE", "MEMBERS", "PARTITIONS", "LAG", "IN/S", "DONE/S",
    "IN-FLIGHT", "AVAILABLE", "WINDOW", "REDELIVERED", "OLDEST", "GIVEN-UP",
)  # fmt: skip
RIGHT = COLUMNS[2:]
_UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class GroupSample:
    """One group at one time, over all its partitions. None is what nobody can tell."""

    group_id: str
    state: str
    member_count: int
    partition_count: int
    #: records that the partitions have had so far
    end_offsets: int
    lag: int | None
    in_flight: int | None = None
    available: int | None = None
    #: of the partition whose window is fullest, 0 to 1
    window_use: float | None = None
    #: unfinished records that were delivered before
    redelivered: int | None = None
    oldest_age_ms: int | None = None
    #: since the broker began: their deliveries ran out, and they became no dead letters
    given_up: int | None = None
    pause: SharePause | None = None


@dataclass(frozen=True, slots=True)
class Movement:
    now: GroupSample
    #: records a second since the sample before; None for the first one
    produced_per_s: float | None = None
    done_per_s: float | None = None


def sample(
    group: GroupDescription,
    offsets: Mapping[TopicPartition, ShareOffset | BrokerError | None],
    ends: Mapping[TopicPartition, int],
    windows: Mapping[TopicPartition, SharePartitionDescription | BrokerError] | None,
    pause: SharePause | None = None,
) -> GroupSample:
    lags = [offset.lag for offset in offsets.values() if isinstance(offset, ShareOffset)]
    known = [lag for lag in lags if lag is not None]
    end_offsets = sum(ends[where] for where in offsets if where in ends)
    lag = sum(known) if len(known) == len(offsets) else None
    base = (group.group_id, group.state.value, len(group.members), len(offsets), end_offsets, lag)
    if windows is None:
        return GroupSample(*base, pause=pause)
    seen = [window for window in windows.values() if not isinstance(window, BrokerError)]
    return GroupSample(
        *base,
        in_flight=sum(w.in_flight for w in seen),
        available=sum(w.available for w in seen),
        window_use=max((w.window_used / w.window_limit for w in seen if w.window_limit), default=0.0),
        redelivered=sum(n for w in seen for count, n in w.delivery_counts.items() if count > 1),
        oldest_age_ms=max((w.oldest_age_ms for w in seen if w.oldest_age_ms is not None), default=None),
        given_up=sum(w.given_up for w in seen),
        pause=pause,
    )


def movement(before: Iterable[GroupSample], now: Iterable[GroupSample], seconds: float) -> list[Movement]:
    """The groups of ``now`` with their rates since ``before``, the one with most to do first."""
    known = {one.group_id: one for one in before}
    moved = [_moved(known.get(one.group_id), one, seconds) for one in now]
    return sorted(moved, key=lambda m: (-(m.now.lag or 0), m.now.group_id))


def _moved(before: GroupSample | None, now: GroupSample, seconds: float) -> Movement:
    # partitions that came or went would look like records
    if before is None or seconds <= 0 or before.partition_count != now.partition_count:
        return Movement(now)
    produced = max(0, now.end_offsets - before.end_offsets)
    if now.lag is None or before.lag is None:
        return Movement(now, produced / seconds)
    done = (now.end_offsets - now.lag) - (before.end_offsets - before.lag)
    return Movement(now, produced / seconds, max(0, done) / seconds)  # a reset goes back


def cells(moved: Movement) -> Sequence[str]:
    """In the order of ``COLUMNS``."""
    now = moved.now
    return (
        now.group_id,
        now.state if now.pause is None else f"{now.state}, paused",
        str(now.member_count),
        str(now.partition_count),
        _count(now.lag),
        _rate(moved.produced_per_s),
        _rate(moved.done_per_s),
        _count(now.in_flight),
        _count(now.available),
        _UNKNOWN if now.window_use is None else f"{now.window_use:.0%}",
        _count(now.redelivered),
        _UNKNOWN if now.oldest_age_ms is None else _age(now.oldest_age_ms / 1000),
        _count(now.given_up),
    )


def _count(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,}"


def _rate(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def _age(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"


def movement_json(moved: Movement) -> dict[str, Any]:
    now = moved.now
    return {
        "group": now.group_id,
        "state": now.state,
        "members": now.member_count,
        "partitions": now.partition_count,
        "lag": now.lag,
        "producedPerSecond": moved.produced_per_s,
        "donePerSecond": moved.done_per_s,
        "inFlight": now.in_flight,
        "available": now.available,
        "windowUse": now.window_use,
        "redelivered": now.redelivered,
        "oldestAgeMs": now.oldest_age_ms,
        "givenUp": now.given_up,
        "paused": pause_json(now.pause),
    }
