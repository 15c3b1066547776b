"""Where a consumer group shall go on: the ways to say it, plans from files, and the offsets that come of it."""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from leaselog.admin import CommittedOffset, list_consumer_group_offsets, settle
from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.cli.reset_offsets import existing_places, offsets_at, parse_datetime, parse_topics
from leaselog.client import EARLIEST, LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import TopicPartition

__all__ = [
    "WAYS",
    "Reset",
    "ShiftBy",
    "ToCurrent",
    "ToOffset",
    "ToPlan",
    "ToTime",
    "add_reset_arguments",
    "parse_duration_ms",
    "parse_plan",
    "planned_offsets",
    "reset_of",
]

#: the options of which a reset needs one
WAYS = (
    "to_earliest",
    "to_latest",
    "to_current",
    "to_offset",
    "shift_by",
    "to_datetime",
    "by_duration",
    "from_file",
)
_DURATION = re.compile(
    r"([+-]?)P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,9})?)S)?)?", re.IGNORECASE
)
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60
Offsets = dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ToTime:
    #: ``EARLIEST``, ``LATEST`` or a time
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ToOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    count: int


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """Where the group is, and the end of partitions it has not read."""


@dataclass(frozen=True, slots=True)
class ToPlan:
    """Offsets by group."""

    offsets: Mapping[str, Mapping[TopicPartition, int]]


Way = ToTime | ToOffset | ShiftBy | ToCurrent | ToPlan


@dataclass(frozen=True, slots=True)
class Reset:
    way: Way
    #: None: every partition the group has offsets for; no partitions of a topic: all of them
    topics: Mapping[str, Sequence[int]] | None


def add_reset_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to-earliest", action="store_true", help="go on at the earliest record")
    parser.add_argument("--to-latest", action="store_true", help="go on after the latest record")
    parser.add_argument(
        "--to-current", action="store_true", help="stay; at the end where the group has not been"
    )
    parser.add_argument("--to-offset", type=int, metavar="N", help="go on at this offset")
    parser.add_argument(
        "--shift-by", type=int, metavar="N", help="go on so many offsets further on, or back if negative"
    )
    parser.add_argument(
        "--to-datetime", metavar="YYYY-MM-DDTHH:mm:SS.sss", help="go on with the first record from then on; UTC"
    )  # fmt: skip
    parser.add_argument(
        "--by-duration", metavar="PnDTnHnMnS", help="go on with the first record since so long ago, as PT1H30M"
    )  # fmt: skip
    parser.add_argument(
        "--from-file", metavar="FILE", help="go on where its lines say: TOPIC,PARTITION,OFFSET, or GROUP and these"
    )  # fmt: skip


def reset_of(args: argparse.Namespace) -> Reset:
    """What the options ask for. Raises ``UsageError``."""
    chosen = [name for name in WAYS if getattr(args, name) not in (None, False)]
    if len(chosen) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in WAYS)
        raise UsageError(f"--reset-offsets needs one of {options}")
    way = _way(chosen[0], args)
    if isinstance(way, ToPlan):
        if args.topic or args.all_topics:
            raise UsageError("--from-file names the topics itself")
    elif bool(args.topic) == args.all_topics:
        raise UsageError("--reset-offsets needs either --topic TOPIC or --all-topics")
    return Reset(way, parse_topics(args.topic) if args.topic else None)


def _way(name: str, args: argparse.Namespace) -> Way:
    match name:
        case "to_earliest":
            return ToTime(EARLIEST)
        case "to_latest":
            return ToTime(LATEST)
        case "to_current":
            return ToCurrent()
        case "to_offset":
            return ToOffset(args.to_offset)
        case "shift_by":
            return ShiftBy(args.shift_by)
        case "to_datetime":
            return ToTime(parse_datetime(args.to_datetime))
        case "by_duration":
            return ToTime(time.time_ns() // 1_000_000 - parse_duration_ms(args.by_duration))
        case _:
            try:
                text = Path(args.from_file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as unreadable:
                raise UsageError(f"--from-file {args.from_file}: {unreadable}") from None
            return ToPlan(parse_plan(text, args.group or ()))


def parse_duration_ms(text: str) -> int:
    """``PnDTnHnMnS``, as Java reads a duration. Raises ``UsageError``."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        raise UsageError(f"--by-duration {text}: expected PnDTnHnMnS, as PT1H30M")
    sign, days, hours, minutes, seconds = found.groups()
    whole = int(days or 0) * _DAY_S + int(hours or 0) * _HOUR_S + int(minutes or 0) * _MINUTE_S
    length_ms = whole * 1000 + round(float(seconds or 0) * 1000)
    return -length_ms if sign == "-" else length_ms


def parse_plan(text: str, groups: Sequence[str]) -> dict[str, Offsets]:
    """Lines of ``topic,partition,offset`` for a single group, else with the group first. Raises ``UsageError``."""
    plan = dict[str, Offsets]()
    for number, cells in enumerate(csv.reader(text.splitlines()), 1):
        if not cells:
            continue
        if len(cells) == 3 and len(groups) == 1:
            cells = [groups[0], *cells]
        try:
            group, topic, partition, offset = cells
            plan.setdefault(group, {})[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            expected = "TOPIC,PARTITION,OFFSET" if len(groups) == 1 else "GROUP,TOPIC,PARTITION,OFFSET"
            raise UsageError(f"--from-file, line {number}: expected {expected}") from None
    return plan


async def planned_offsets(cluster: Cluster, group_id: str, reset: Reset) -> tuple[Offsets, list[str]]:
    """Where the group shall go on in each partition, and what to warn of. Raises ``CommandFailed``."""
    if isinstance(reset.way, ToPlan):
        plan = reset.way.offsets.get(group_id)
        if plan is None:
            raise CommandFailed(f"No reset plan for group {group_id} found")
        await _check_places(cluster, plan)
        return await _within_range(cluster, dict(plan))
    committed = await _committed(cluster, group_id)
    places = await _places(cluster, reset, committed)
    match reset.way:
        case ToTime(timestamp_ms):
            found, warnings = await offsets_at(cluster, places, timestamp_ms)
            return found, [f"Warn: {warning}" for warning in warnings]
        case ToOffset(offset):
            return await _within_range(cluster, dict.fromkeys(places, offset))
        case ShiftBy(count):
            for where in places:
                if where not in committed:
                    raise CommandFailed(
                        f"Cannot shift offset for partition {where} since there is no current committed offset"
                    )
            return await _within_range(cluster, {where: committed[where] + count for where in places})
        case ToCurrent():
            unread = [where for where in places if where not in committed]
            ends, _ = await offsets_at(cluster, unread, LATEST)
            return {where: committed.get(where, ends.get(where, 0)) for where in places}, []
        case _:
            assert_never(reset.way)


async def _committed(cluster: Cluster, group_id: str) -> Offsets:
    found = settle(await list_consumer_group_offsets(cluster, {group_id: None}))[group_id]
    return {where: offset.offset for where, offset in found.items() if isinstance(offset, CommittedOffset)}


async def _places(cluster: Cluster, reset: Reset, committed: Offsets) -> list[TopicPartition]:
    if reset.topics is not None:
        return await existing_places(cluster, reset.topics)
    return await _check_places(cluster, committed)


async def _check_places(cluster: Cluster, places: Iterable[TopicPartition]) -> list[TopicPartition]:
    by_topic = dict[str, list[int]]()
    for where in places:
        by_topic.setdefault(where.topic, []).append(where.partition)
    return await existing_places(cluster, by_topic) if by_topic else []


async def _within_range(cluster: Cluster, wanted: Offsets) -> tuple[Offsets, list[str]]:
    """Offsets that the logs have: none before the earliest, none after the latest."""
    if not wanted:
        return {}, []
    starts = await list_offsets(cluster, dict.fromkeys(wanted, EARLIEST))
    ends = await list_offsets(cluster, dict.fromkeys(wanted, LATEST))
    found, warnings = Offsets(), list[str]()
    for where, offset in wanted.items():
        found[where] = max(starts[where], min(offset, ends[where]))
        if found[where] != offset:
            how = "higher than latest" if offset > ends[where] else "lower than earliest"
            warnings.append(
                f"New offset ({offset}) is {how} offset for topic partition {where}."
                f" Value will be set to {found[where]}"
            )
    return found, warnings
