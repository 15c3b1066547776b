"""What `leaselog share-groups` shows, as text: the tables of kafka-share-groups.sh to the letter, and JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leaselog.admin import (
    GroupDescription,
    GroupListing,
    MemberDescription,
    ShareOffset,
    SharePartitionDescription,
)
from leaselog.cli.dead_letter_topics import DeadLetterTopic
from leaselog.client import BrokerError
from leaselog.model import TopicPartition

__all__ = [
    "assignment_text",
    "dead_letters_json",
    "dead_letters_table",
    "deleted_offsets_table",
    "group_json",
    "in_flight_json",
    "in_flight_tables",
    "listing_table",
    "members_json",
    "members_table",
    "new_offsets_table",
    "offset_json",
    "offsets_table",
    "state_json",
    "state_table",
]

#: columns grow beyond this for what is longer
_NAME_WIDTH = 15
_MISSING = "-"
Rows = Sequence[Sequence[object]]
#: where a group stands in each partition; a partition that cannot be told now has its error
Offsets = Mapping[TopicPartition, ShareOffset | BrokerError | None]
InFlight = Mapping[TopicPartition, SharePartitionDescription | BrokerError]


def _lines(widths: Sequence[int], head: Sequence[str], rows: Rows) -> list[str]:
    """Each cell padded to its width, the last one left as it is."""
    return [
        " ".join([*(str(c).ljust(w) for c, w in zip(row, widths, strict=False)), str(row[-1])])
        for row in (head, *rows)
    ]


def _table(widths: Sequence[int], head: Sequence[str], rows: Rows) -> str:
    """The form most of the tool's tables have: an empty line first."""
    return "\n".join(["", *_lines(widths, head, rows)])


def _widest(texts: Iterable[str], least: int = _NAME_WIDTH) -> int:
    return max([least, *map(len, texts)])


def listing_table(groups: Sequence[GroupListing]) -> str:
    rows = [(g.group_id, g.state.value) for g in groups]
    return "\n".join(_lines([_widest(g.group_id for g in groups)], ("GROUP", "STATE"), rows))


def offsets_table(group_id: str, offsets: Offsets, *, verbose: bool) -> str:
    known = sorted(offsets.items())
    widths = [_widest([group_id]), _widest(where.topic for where, _ in known), 10]
    if not verbose:
        shown = [(group_id, *where, *_offset_cells(offset)[1:]) for where, offset in known]
        return _table([*widths, 13], ("GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"), shown)
    head = ("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG")
    return _table(
        [*widths, 13, 13], head, [(group_id, *where, *_offset_cells(offset)) for where, offset in known]
    )


def _offset_cells(offset: ShareOffset | BrokerError | None) -> tuple[object, object, object]:
    if not isinstance(offset, ShareOffset):
        return _MISSING, _MISSING, _MISSING
    return _or_missing(offset.leader_epoch), offset.start_offset, _or_missing(offset.lag)


def _or_missing(value: object) -> object:
    return _MISSING if value is None else value


def in_flight_tables(group_id: str, found: InFlight) -> str:
    """What Kafka's protocol does not tell, a table of partitions and one of those who hold records."""
    known = [(where, seen) for where, seen in sorted(found.items()) if not isinstance(seen, BrokerError)]
    names = [_widest([group_id]), _widest(where.topic for where, _ in known), 10]
    head = ["GROUP", "TOPIC", "PARTITION"]
    counts = [
        "IN-FLIGHT",
        "AVAILABLE",
        "DONE-AHEAD",
        "WAITING",
        "NEXT-DUE",
        "ARCHIVING",
        "WINDOW",
        "OLDEST",
        "GIVEN-UP",
        "DELIVERIES",
    ]
    rows = [
        (
            group_id,
            *where,
            seen.in_flight,
            seen.available,
            seen.done_ahead,
            seen.waiting,
            _MISSING if seen.next_due_ms is None else _seconds(seen.next_due_ms),
            seen.archiving,
            f"{seen.window_used}/{seen.window_limit}",
            _MISSING if seen.oldest_age_ms is None else _seconds(seen.oldest_age_ms),
            seen.given_up,
            ",".join(f"{count}x:{records}" for count, records in seen.delivery_counts.items()) or _MISSING,
        )
        for where, seen in known
    ]
    text = _table([*names, 10, 10, 11, 8, 9, 10, 11, 9, 9], [*head, *counts], rows)
    held = [
        (group_id, *where, holder.member_id, holder.record_count,
         _seconds(holder.first_deadline_ms), _seconds(holder.last_deadline_ms))
        for where, seen in known
        for holder in seen.holders
    ]  # fmt: skip
    if held:
        widths = [*names, _widest(str(row[3]) for row in held), 8, 14]
        text += "\n" + _table(widths, [*head, "HOLDER", "RECORDS", "FIRST-DEADLINE", "LAST-DEADLINE"], held)
    return text


def dead_letters_table(group_id: str, topic: DeadLetterTopic) -> str:
    """The topic may take letters of other groups, too; one that does not exist yet is a row without numbers."""
    head = ("GROUP", "DEAD-LETTER-TOPIC", "PARTITION", "START-OFFSET", "END-OFFSET", "LETTERS")
    rows: Rows = [
        (group_id, topic.name, partition, start, end, end - start)
        for partition, (start, end) in sorted(topic.offsets.items())
    ] or [(group_id, topic.name, *[_MISSING] * 4)]
    return _table([_widest([group_id]), _widest([topic.name], 17), 10, 13, 13], head, rows)


def dead_letters_json(topic: DeadLetterTopic) -> dict[str, Any]:
    return {"topic": topic.name, "letters": topic.letters}


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f}s"


def state_table(group: GroupDescription, *, verbose: bool) -> str:
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.node_id})"
    first = [_widest([group.group_id]), _widest([coordinator], 25), 15]
    cells = (group.group_id, coordinator, group.state.value)
    count = len(group.members)
    if not verbose:
        return _table(first, ("GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS"), [(*cells, count)])
    head = ("GROUP", "COORDINATOR (ID)", "STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS")
    return _table([*first, 12, 17], head, [(*cells, group.epoch, group.assignment_epoch, count)])


def members_table(group: GroupDescription, *, verbose: bool) -> str:
    members = sorted(group.members, key=lambda m: m.member_id)
    widths = [
        _widest([group.group_id]),
        _widest(m.member_id for m in members),
        _widest(m.host for m in members),
        _widest(m.client_id for m in members),
        12,
    ]
    head = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
    rows = [
        [group.group_id, m.member_id, m.host, m.client_id, len(m.assignment), assignment_text(m)]
        for m in members
    ]
    if verbose:
        widths.append(13)
        head.insert(5, "MEMBER-EPOCH")
        for row, member in zip(rows, members, strict=True):
            row.insert(5, _or_missing(member.epoch))
    return _table(widths, head, rows)


def assignment_text(member: MemberDescription) -> str:
    """``a:0,1;b:2``"""
    by_topic = _by_topic(member)
    return ";".join(f"{topic}:{','.join(map(str, by_topic[topic]))}" for topic in by_topic)


def _by_topic(member: MemberDescription) -> dict[str, list[int]]:
    by_topic = dict[str, list[int]]()
    for where in sorted(member.assignment):
        by_topic.setdefault(where.topic, []).append(where.partition)
    return by_topic


def new_offsets_table(group_id: str, offsets: Mapping[TopicPartition, int]) -> str:
    places = sorted(offsets)
    widths = [_widest([group_id]), _widest(where.topic for where in places), 10]
    rows = [(group_id, where.topic, where.partition, offsets[where]) for where in places]
    return _table(widths, ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows)


def deleted_offsets_table(outcomes: Mapping[str, BrokerError | None]) -> str:
    rows = [
        (topic, "Successful" if error is None else f"Error: {error.message or error.code.name}")
        for topic, error in sorted(outcomes.items())
    ]
    return _table([_widest(outcomes)], ("TOPIC", "STATUS"), rows)


def group_json(
    group: GroupDescription, offsets: Offsets, in_flight: InFlight | None = None
) -> dict[str, Any]:
    shown = [offset_json(where, offset) for where, offset in sorted(offsets.items())]
    if in_flight is not None:
        for row in shown:
            seen = in_flight[TopicPartition(row["topic"], row["partition"])]
            row["window"] = None if isinstance(seen, BrokerError) else in_flight_json(seen)
    return {"group": group.group_id, "state": group.state.value, "offsets": shown}


def offset_json(where: TopicPartition, offset: ShareOffset | BrokerError | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"topic": where.topic, "partition": where.partition}
    if isinstance(offset, BrokerError):
        return {**shown, "error": str(offset)}
    return {
        **shown,
        "leaderEpoch": None if offset is None else offset.leader_epoch,
        "startOffset": None if offset is None else offset.start_offset,
        "lag": None if offset is None else offset.lag,
    }


def in_flight_json(seen: SharePartitionDescription) -> dict[str, Any]:
    return {
        "startOffset": seen.start_offset,
        "endOffset": seen.end_offset,
        "highWatermark": seen.high_watermark,
        "inFlight": seen.in_flight,
        "available": seen.available,
        "doneAhead": seen.done_ahead,
        "waiting": seen.waiting,
        "nextDueMs": seen.next_due_ms,
        "archiving": seen.archiving,
        "givenUp": seen.given_up,
        "used": seen.window_used,
        "limit": seen.window_limit,
        "oldestAgeMs": seen.oldest_age_ms,
        "deliveryCounts": {str(count): records for count, records in seen.delivery_counts.items()},
        "holders": [
            {
                "consumerId": holder.member_id,
                "records": holder.record_count,
                "firstDeadlineMs": holder.first_deadline_ms,
                "lastDeadlineMs": holder.last_deadline_ms,
            }
            for holder in seen.holders
        ],
    }


def state_json(group: GroupDescription) -> dict[str, Any]:
    node = group.coordinator
    return {
        "group": group.group_id,
        "coordinator": {"id": node.node_id, "host": node.host, "port": node.port},
        "state": group.state.value,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.assignment_epoch,
        "members": len(group.members),
    }


def members_json(group: GroupDescription) -> dict[str, Any]:
    members = [
        {
            "consumerId": m.member_id,
            "host": m.host,
            "clientId": m.client_id,
            "rack": m.rack_id,
            "memberEpoch": m.epoch,
            "subscription": list(m.subscribed_topics),
            "assignment": _by_topic(m),
        }
        for m in sorted(group.members, key=lambda m: m.member_id)
    ]
    return {"group": group.group_id, "state": group.state.value, "members": members}
