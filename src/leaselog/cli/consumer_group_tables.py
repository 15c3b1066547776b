"""What `leaselog consumer-groups` shows, as text: the tables of kafka-consumer-groups.sh and JSON. Pure."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from leaselog.admin import CommittedOffset, GroupDescription, GroupListing, MemberDescription
from leaselog.cli.columns import MISSING, or_missing, padded_lines, padded_table, widest
from leaselog.client import BrokerError
from leaselog.model import TopicPartition

__all__ = [
    "PartitionRow",
    "deleted_offsets_table",
    "export_lines",
    "listing_table",
    "members_json",
    "members_table",
    "new_offsets_table",
    "offsets_json",
    "offsets_table",
    "partition_rows",
    "state_json",
    "state_table",
]

#: the list's column of names is wider than its widest name by this
_AFTER_GROUP = 10
_LIST_WIDTH = 20
#: partition, leader epoch, offsets, lag
_NUMBER_WIDTH = 15
_PARTITION_WIDTH = 10


def listing_table(groups: Sequence[GroupListing], *, types: bool, states: bool) -> str:
    columns = [("GROUP", [g.group_id for g in groups])]
    if types:
        columns.append(("TYPE", [g.type.value for g in groups]))
    if states:
        columns.append(("STATE", [g.state.value for g in groups]))
    widths = [widest(g.group_id for g in groups) + _AFTER_GROUP, _LIST_WIDTH, _LIST_WIDTH]
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    return "\n".join(padded_lines(widths, [name for name, _ in columns], rows))


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """A partition that a group has, or has read. None is what nobody knows."""

    where: TopicPartition
    committed: CommittedOffset | None
    end_offset: int | None
    member: MemberDescription | None

    @property
    def offset(self) -> int | None:
        return None if self.committed is None else self.committed.offset

    @property
    def leader_epoch(self) -> int | None:
        return None if self.committed is None else self.committed.leader_epoch

    @property
    def lag(self) -> int | None:
        if self.offset is None or self.end_offset is None:
            return None
        return self.end_offset - self.offset


def partition_rows(
    group: GroupDescription,
    committed: Mapping[TopicPartition, CommittedOffset | BrokerError | None],
    end_offsets: Mapping[TopicPartition, int],
) -> list[PartitionRow]:
    """What members have, those with the most partitions first; then what nobody has."""
    held = sorted(group.members, key=lambda m: (-len(m.assignment), m.member_id))
    rows = [(where, member) for member in held for where in sorted(member.assignment)]
    taken = {where for where, _ in rows}
    left = [(where, None) for where in sorted(committed) if where not in taken]
    return [_row(where, member, committed, end_offsets) for where, member in [*rows, *left]]


def _row(
    where: TopicPartition,
    member: MemberDescription | None,
    committed: Mapping[TopicPartition, CommittedOffset | BrokerError | None],
    end_offsets: Mapping[TopicPartition, int],
) -> PartitionRow:
    offset = committed.get(where)
    return PartitionRow(
        where, offset if isinstance(offset, CommittedOffset) else None, end_offsets.get(where), member
    )


def offsets_table(group_id: str, rows: Sequence[PartitionRow], *, verbose: bool) -> str:
    head = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    cells = [
        [group_id, *row.where, or_missing(row.offset), or_missing(row.end_offset), or_missing(row.lag)]
        for row in rows
    ]
    if verbose:
        head.insert(3, "LEADER-EPOCH")
        for line, row in zip(cells, rows, strict=True):
            line.insert(3, or_missing(row.leader_epoch))
    for line, row in zip(cells, rows, strict=True):
        line += (
            [MISSING] * 3
            if row.member is None
            else [row.member.member_id, row.member.host, row.member.client_id]
        )
    widths = [widest([group_id]), widest(row.where.topic for row in rows), _PARTITION_WIDTH]
    widths += [_NUMBER_WIDTH] * (len(head) - len(widths))
    widths += [widest(str(line[-3]) for line in cells), widest(str(line[-2]) for line in cells)]
    return padded_table(widths, [*head, "CONSUMER-ID", "HOST", "CLIENT-ID"], cells)


def members_table(group: GroupDescription, *, verbose: bool) -> str:
    members = sorted(group.members, key=lambda m: m.member_id)
    has_static = any(m.instance_id for m in members)
    columns: list[tuple[str, list[str], int]] = [
        ("GROUP", [group.group_id for _ in members], 15),
        ("CONSUMER-ID", [m.member_id for m in members], 15),
        ("GROUP-INSTANCE-ID", [m.instance_id or "" for m in members], 17),
        ("HOST", [m.host for m in members], 15),
        ("CLIENT-ID", [m.client_id for m in members], 15),
        ("#PARTITIONS", [str(len(m.assignment)) for m in members], 15),
    ]
    if not has_static:
        del columns[2]
    columns += _assignment_columns(group, members) if verbose else [("", [""] * len(members), 0)]
    widths = [widest(cells, least) for _, cells, least in columns]
    return padded_table(
        widths, [name for name, _, _ in columns], list(zip(*(c for _, c, _ in columns), strict=True))
    )


def _assignment_columns(
    group: GroupDescription, members: Sequence[MemberDescription]
) -> Iterator[tuple[str, list[str], int]]:
    yield "CURRENT-EPOCH", [str(or_missing(m.epoch)) for m in members], 15
    yield "CURRENT-ASSIGNMENT", [_assignment_text(m.assignment) for m in members], 20
    yield "TARGET-EPOCH", [str(or_missing(group.assignment_epoch))] * len(members), 15
    yield "TARGET-ASSIGNMENT", [_assignment_text(m.target_assignment or ()) for m in members], 20
    if {True, False} <= {m.is_upgraded for m in members}:  # a group that is just changing its protocol
        yield "UPGRADED", [str(or_missing(m.is_upgraded)).lower() for m in members], 0


def _assignment_text(places: Iterable[TopicPartition]) -> str:
    """``a:0,1;b:2``"""
    by_topic = _by_topic(places)
    return ";".join(f"{topic}:{','.join(map(str, by_topic[topic]))}" for topic in by_topic) or MISSING


def _by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic = dict[str, list[int]]()
    for where in sorted(places):
        by_topic.setdefault(where.topic, []).append(where.partition)
    return by_topic


def state_table(group: GroupDescription, *, verbose: bool) -> str:
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.node_id})"
    widths = [widest([group.group_id]), widest([coordinator], 25), 20, 20]
    head = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    row: list[object] = [
        group.group_id,
        coordinator,
        group.assignor or MISSING,
        group.state.value,
        len(group.members),
    ]
    if verbose:
        widths += [15, 25]
        head[4:4] = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        row[4:4] = [or_missing(group.epoch), or_missing(group.assignment_epoch)]
    return padded_table(widths, head, [row])


def new_offsets_table(planned: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    rows = [
        (group, *where, offsets[where]) for group, offsets in planned.items() for where in sorted(offsets)
    ]
    widths = [widest(row[0] for row in rows), widest(row[1] for row in rows), _PARTITION_WIDTH]
    return padded_table(widths, ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows)


def export_lines(planned: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """What ``--from-file`` reads; without the group's name if there is only one."""
    lines = StringIO()
    csv.writer(lines, lineterminator="\n").writerows(
        (*([group] if len(planned) > 1 else []), *where, offsets[where])
        for group, offsets in planned.items()
        for where in sorted(offsets)
    )
    return lines.getvalue()


def deleted_offsets_table(outcomes: Mapping[TopicPartition, BrokerError | None]) -> str:
    """A partition below 0 is a topic that does not exist."""
    rows = [
        (
            where.topic,
            where.partition if where.partition >= 0 else MISSING,
            "Successful" if error is None else f"Error: {error}",
        )
        for where, error in sorted(outcomes.items())
    ]
    widths = [widest(where.topic for where in outcomes), _PARTITION_WIDTH, 15]
    return padded_table(widths, ("TOPIC", "PARTITION", "STATUS"), rows)


def offsets_json(group: GroupDescription, rows: Iterable[PartitionRow]) -> dict[str, Any]:
    shown = [
        {
            "topic": row.where.topic,
            "partition": row.where.partition,
            "leaderEpoch": row.leader_epoch,
            "currentOffset": row.offset,
            "logEndOffset": row.end_offset,
            "lag": row.lag,
            "consumerId": None if row.member is None else row.member.member_id,
            "host": None if row.member is None else row.member.host,
            "clientId": None if row.member is None else row.member.client_id,
        }
        for row in rows
    ]
    return {"group": group.group_id, "state": group.state.value, "offsets": shown}


def members_json(group: GroupDescription) -> dict[str, Any]:
    members = [
        {
            "consumerId": m.member_id,
            "groupInstanceId": m.instance_id,
            "host": m.host,
            "clientId": m.client_id,
            "rack": m.rack_id,
            "memberEpoch": m.epoch,
            "subscription": list(m.subscribed_topics),
            "assignment": _by_topic(m.assignment),
            "targetAssignment": None if m.target_assignment is None else _by_topic(m.target_assignment),
        }
        for m in sorted(group.members, key=lambda m: m.member_id)
    ]
    return {"group": group.group_id, "state": group.state.value, "members": members}


def state_json(group: GroupDescription) -> dict[str, Any]:
    node = group.coordinator
    return {
        "group": group.group_id,
        "type": group.type.value,
        "coordinator": {"id": node.node_id, "host": node.host, "port": node.port},
        "assignmentStrategy": group.assignor or None,
        "state": group.state.value,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.assignment_epoch,
        "members": len(group.members),
    }
