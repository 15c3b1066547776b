"""What `leaselog share-groups` shows, as text: the tables of kafka-share-groups.sh to the letter, and JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaselog.admin import (
    GroupDescription,
    GroupListing,
    MemberDescription,
    ShareOffset,
    SharePartitionDescription,
)
from leaselog.cli.columns import MISSING, Rows, or_missing, padded_lines, padded_table, widest
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

#: where a group stands in each partition; a partition that cannot be told now has its error
Offsets = Mapping[TopicPartition, ShareOffset | BrokerError | None]
InFlight = Mapping[TopicPartition, SharePartitionDescription | BrokerError]


def listing_table(groups: Sequence[GroupListing]) -> str:
    rows = [(g.group_id, g.state.value) for g in groups]
    return "\n".join(padded_lines([widest(g.group_id for g in groups)], ("GROUP", "STATE"), rows))


def offsets_table(group_id: str, offsets: Offsets, *, verbose: bool) -> str:
    known = sorted(offsets.items())
    widths = [widest([group_id]), widest(where.topic for where, _ in known), 10]
    if not verbose:
        shown = [(group_id, *where, *_offset_cells(offset)[1:]) for where, offset in known]
        return padded_table([*widths, 13], ("GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"), shown)
    head = ("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG")
    return padded_table(
        [*widths, 13, 13], head, [(group_id, *where, *_offset_cells(offset)) for where, offset in known]
    )


def _offset_cells(offset: ShareOffset | BrokerError | None) -> tuple[object, object, object]:
    if not isinstance(offset, ShareOffset):
        return MISSING, MISSING, MISSING
    return or_missing(offset.leader_epoch), offset.start_offset, or_missing(offset.lag)


def in_flight_tables(group_id: str, found: InFlight) -> str:
    """What Kafka's protocol does not tell, a table of partitions and one of those who hold records."""
    known = [(where, seen) for where, seen in sorted(found.items()) if not isinstance(seen, BrokerError)]
    names = [widest([group_id]), widest(where.topic for where, _ in known), 10]
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
            MISSING if seen.next_due_ms is None else _seconds(seen.next_due_ms),
            seen.archiving,
            f"{seen.window_used}/{seen.window_limit}",
            MISSING if seen.oldest_age_ms is None else _seconds(seen.oldest_age_ms),
            seen.given_up,
            ",".join(f"{count}x:{records}" for count, records in seen.delivery_counts.items()) or MISSING,
        )
        for where, seen in known
    ]
    text = padded_table([*names, 10, 10, 11, 8, 9, 10, 11, 9, 9], [*head, *counts], rows)
    held = [
        (group_id, *where, holder.member_id, holder.record_count,
         _seconds(holder.first_deadline_ms), _seconds(holder.last_deadline_ms))
        for where, seen in known
        for holder in seen.holders
    ]  # fmt: skip
    if held:
        widths = [*names, widest(str(row[3]) for row in held), 8, 14]
        text += "\n" + padded_table(
            widths, [*head, "HOLDER", "RECORDS", "FIRST-DEADLINE", "LAST-DEADLINE"], held
        )
    return text


def dead_letters_table(group_id: str, topic: DeadLetterTopic) -> str:
    """The topic may take letters of other groups, too; one that does not exist yet is a row without numbers."""
    head = ("GROUP", "DEAD-LETTER-TOPIC", "PARTITION", "START-OFFSET", "END-OFFSET", "LETTERS")
    rows: Rows = [
        (group_id, topic.name, partition, start, end, end - start)
        for partition, (start, end) in sorted(topic.offsets.items())
    ] or [(group_id, topic.name, *[MISSING] * 4)]
    return padded_table([widest([group_id]), widest([topic.name], 17), 10, 13, 13], head, rows)


def dead_letters_json(topic: DeadLetterTopic) -> dict[str, Any]:
    return {"topic": topic.name, "letters": topic.letters}


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f}s"


def state_table(group: GroupDescription, *, verbose: bool) -> str:
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.node_id})"
    first = [widest([group.group_id]), widest([coordinator], 25), 15]
    cells = (group.group_id, coordinator, group.state.value)
    count = len(group.members)
    if not verbose:
        return padded_table(first, ("GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS"), [(*cells, count)])
    head = ("GROUP", "COORDINATOR (ID)", "STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS")
    return padded_table([*first, 12, 17], head, [(*cells, group.epoch, group.assignment_epoch, count)])


def members_table(group: GroupDescription, *, verbose: bool) -> str:
    members = sorted(group.members, key=lambda m: m.member_id)
    widths = [
        widest([group.group_id]),
        widest(m.member_id for m in members),
        widest(m.host for m in members),
        widest(m.client_id for m in members),
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
            row.insert(5, or_missing(member.epoch))
    return padded_table(widths, head, rows)


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
    widths = [widest([group_id]), widest(where.topic for where in places), 10]
    rows = [(group_id, where.topic, where.partition, offsets[where]) for where in places]
    return padded_table(widths, ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows)


def deleted_offsets_table(outcomes: Mapping[str, BrokerError | None]) -> str:
    rows = [
        (topic, "Successful" if error is None else f"Error: {error.message or error.code.name}")
        for topic, error in sorted(outcomes.items())
    ]
    return padded_table([widest(outcomes)], ("TOPIC", "STATUS"), rows)


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
