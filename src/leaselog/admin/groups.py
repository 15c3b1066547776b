"""Groups of every kind: listed, described, deleted. Which API describes a group depends on its kind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from leaselog.admin.coordinated import ask_coordinators
from leaselog.admin.outcome import Outcomes, outcome
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.client.topology import Node
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.codec import decode_prefix
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages import consumer_group_describe as consumer
from leaselog.wire.messages import describe_groups as classic
from leaselog.wire.messages import share_group_describe as share
from leaselog.wire.messages import streams_group_describe as streams
from leaselog.wire.messages.client_data import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from leaselog.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from leaselog.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Message

__all__ = [
    "GroupDescription",
    "GroupListing",
    "GroupState",
    "GroupType",
    "MemberDescription",
    "delete_groups",
    "describe_groups",
    "list_groups",
]

#: of a member of a consumer group; one that still speaks the classic protocol is 0
_CONSUMER_MEMBER = 1


class GroupType(Enum):
    """The values are Kafka's words."""

    UNKNOWN = "Unknown"
    CLASSIC = "Classic"
    CONSUMER = "Consumer"
    SHARE = "Share"
    STREAMS = "Streams"

    @classmethod
    def _missing_(cls, value: object) -> GroupType:
        return next((t for t in cls if t.value.lower() == str(value).lower()), cls.UNKNOWN)


class GroupState(Enum):
    """The values are Kafka's words."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"

    @classmethod
    def _missing_(cls, value: object) -> GroupState:
        return next((s for s in cls if s.value.lower() == str(value).lower()), cls.UNKNOWN)


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    #: UNKNOWN from a broker too old to say (before Kafka 3.8; the state before 2.6)
    type: GroupType
    state: GroupState
    #: "consumer", "share", "connect", …; empty for a group that only has offsets
    protocol: str


@dataclass(frozen=True, slots=True)
class MemberDescription:
    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    rack_id: str | None = None
    #: None in a classic group, which has a generation for all
    epoch: int | None = None
    subscribed_topics: tuple[str, ...] = ()
    assignment: frozenset[TopicPartition] = frozenset()
    #: what the member has as soon as others have let go of it; None where the broker tells of nothing to come
    target_assignment: frozenset[TopicPartition] | None = None
    #: whether it speaks the consumer protocol; None if unknown, or of no such group
    is_upgraded: bool | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    type: GroupType
    state: GroupState
    coordinator: Node
    members: tuple[MemberDescription, ...]
    #: None for a classic group
    epoch: int | None = None
    #: the epoch of the assignment in force; behind ``epoch`` while a new one is due
    assignment_epoch: int | None = None
    #: how partitions are assigned; a classic group's protocol
    assignor: str = ""
    protocol: str = ""


async def list_groups(
    cluster: Cluster, *, states: Iterable[GroupState] = (), types: Iterable[GroupType] = ()
) -> list[GroupListing]:
    """The groups of all nodes, sorted by id; all states and types unless some are named."""
    request = ListGroupsRequest(
        states_filter=[s.value for s in states], types_filter=[t.value for t in types]
    )

    async def from_node(node: Node) -> ListGroupsResponse:
        answer = await cluster.request(request, ListGroupsResponse, node=node)
        raise_for(answer.error_code, f"groups of node {node.node_id}")
        return answer

    async def attempt() -> list[GroupListing]:
        nodes = (await cluster.fetch_topology(())).nodes.values()
        answers = await asyncio.gather(*map(from_node, nodes))
        found = {
            group.group_id: GroupListing(
                group.group_id,
                GroupType(group.group_type),
                GroupState(group.group_state),
                group.protocol_type,
            )
            for answer in answers
            for group in answer.groups
        }
        return [found[group_id] for group_id in sorted(found)]

    return await cluster.retrying(attempt)


async def describe_groups(
    cluster: Cluster, group_ids: Iterable[str], *, type: GroupType | None = None
) -> Outcomes[str, GroupDescription]:
    """Each group, or why not. A group of another ``type`` than the one asked for is not found.

    Without ``type`` the nodes are asked first which kind each group is.
    """
    wanted = list(dict.fromkeys(group_ids))
    if type is not None:
        return await _DESCRIBERS[type](cluster, wanted) if wanted else {}
    kinds = {listing.group_id: listing.type for listing in await list_groups(cluster)}
    by_type = dict[GroupType, list[str]]()
    for group_id in wanted:
        if group_id in kinds:
            by_type.setdefault(kinds[group_id], []).append(group_id)
    found = Outcomes[str, GroupDescription]()
    for kind, ids in by_type.items():
        found |= await _DESCRIBERS[kind](cluster, ids)
    missing = {i: BrokerError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {i}") for i in wanted if i not in found}
    return {i: (found | missing)[i] for i in wanted}


async def delete_groups(cluster: Cluster, group_ids: Iterable[str]) -> Outcomes[str, None]:
    """Delete groups of any kind that have no members; for each whether it went."""

    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, None]:
        answer = await cluster.request(DeleteGroupsRequest(groups_names=ids), DeleteGroupsResponse, node=node)
        return {r.group_id: outcome(r.error_code, r.error_message, None) for r in answer.results}

    return await ask_coordinators(cluster, group_ids, ask)


async def _describe_share(cluster: Cluster, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
        request = share.ShareGroupDescribeRequest(group_ids=ids)
        answer = await cluster.request(request, share.ShareGroupDescribeResponse, node=node)
        return {
            g.group_id: outcome(g.error_code, g.error_message, _assigned(g, GroupType.SHARE, "share", node))
            for g in answer.groups
        }

    return await ask_coordinators(cluster, group_ids, ask)


async def _describe_consumer(cluster: Cluster, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
        request = consumer.ConsumerGroupDescribeRequest(group_ids=ids)
        answer = await cluster.request(request, consumer.ConsumerGroupDescribeResponse, node=node)
        return {
            g.group_id: outcome(
                g.error_code, g.error_message, _assigned(g, GroupType.CONSUMER, "consumer", node)
            )
            for g in answer.groups
        }

    return await ask_coordinators(cluster, group_ids, ask)


def _assigned(
    group: share.DescribedGroup | consumer.DescribedGroup, type: GroupType, protocol: str, node: Node
) -> GroupDescription:
    """A group whose broker assigns partitions. Members of share groups are never static."""
    return GroupDescription(
        group.group_id,
        type,
        GroupState(group.group_state),
        node,
        tuple(map(_assigned_member, group.members)),
        group.group_epoch,
        group.assignment_epoch,
        group.assignor_name,
        protocol,
    )


def _assigned_member(member: share.Member | consumer.Member) -> MemberDescription:
    described = MemberDescription(
        member.member_id,
        member.client_id,
        member.client_host,
        rack_id=member.rack_id,
        epoch=member.member_epoch,
        subscribed_topics=tuple(member.subscribed_topic_names),
        assignment=_assigned_places(member.assignment),
    )
    if isinstance(member, share.Member):
        return described
    return replace(
        described,
        instance_id=member.instance_id,
        target_assignment=_assigned_places(member.target_assignment),
        is_upgraded=None if member.member_type < 0 else member.member_type == _CONSUMER_MEMBER,
    )


def _assigned_places(assignment: share.Assignment | consumer.Assignment) -> frozenset[TopicPartition]:
    return _places((t.topic_name, t.partitions) for t in assignment.topic_partitions)


async def _describe_streams(cluster: Cluster, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
        request = streams.StreamsGroupDescribeRequest(group_ids=ids)
        answer = await cluster.request(request, streams.StreamsGroupDescribeResponse, node=node)
        return {g.group_id: outcome(g.error_code, g.error_message, _streams(g, node)) for g in answer.groups}

    return await ask_coordinators(cluster, group_ids, ask)


def _streams(group: streams.DescribedGroup, node: Node) -> GroupDescription:
    """Members of a streams group hold tasks, not partitions; what they read is in the topology."""
    members = (
        MemberDescription(m.member_id, m.client_id, m.client_host, m.instance_id, m.rack_id, m.member_epoch)
        for m in group.members
    )
    return GroupDescription(
        group.group_id,
        GroupType.STREAMS,
        GroupState(group.group_state),
        node,
        tuple(members),
        group.group_epoch,
        group.assignment_epoch,
        group.assignor_name or "",
        "streams",
    )


async def _describe_classic(cluster: Cluster, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
    async def ask(node: Node, ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
        request = classic.DescribeGroupsRequest(groups=ids)
        answer = await cluster.request(request, classic.DescribeGroupsResponse, node=node)
        return {g.group_id: _classic_outcome(g, node) for g in answer.groups}

    return await ask_coordinators(cluster, group_ids, ask)


def _classic_outcome(group: classic.DescribedGroup, node: Node) -> GroupDescription | BrokerError:
    if group.error_code:
        return BrokerError(group.error_code, group.error_message)
    if group.group_state.lower() == "dead" and not group.members:
        # versions before 6 have no word for a group that is not there
        return BrokerError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id}")
    members = (_classic_member(group, m) for m in group.members)
    return GroupDescription(
        group.group_id,
        GroupType.CLASSIC,
        GroupState(group.group_state),
        node,
        tuple(members),
        assignor=group.protocol_data,
        protocol=group.protocol_type,
    )


def _classic_member(group: classic.DescribedGroup, member: classic.DescribedGroupMember) -> MemberDescription:
    """What a member subscribes to and was assigned is the consumers' own business, and only theirs can be read."""
    topics, places = tuple[str, ...](), frozenset[TopicPartition]()
    if group.protocol_type == "consumer":
        subscription = _embedded(ConsumerProtocolSubscription, member.member_metadata)
        assignment = _embedded(ConsumerProtocolAssignment, member.member_assignment)
        if isinstance(subscription, ConsumerProtocolSubscription):
            topics = tuple(subscription.topics)
        if isinstance(assignment, ConsumerProtocolAssignment):
            places = _places((t.topic, t.partitions) for t in assignment.assigned_partitions)
    return MemberDescription(
        member.member_id,
        member.client_id,
        member.client_host,
        member.group_instance_id,
        subscribed_topics=topics,
        assignment=places,
    )


def _embedded(kind: type[Message], data: Buffer) -> Message | None:
    """A newer layout only adds at the end, so that it reads as the newest one known here."""
    if len(data) < 2:
        return None
    version = max(0, min(int.from_bytes(data[:2], "big", signed=True), kind.VERSIONS.last))
    try:
        return decode_prefix(kind, version, data[2:])[0]
    except DecodeError:  # a protocol of somebody's own
        return None


def _places(topics: Iterable[tuple[str, Iterable[int]]]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(name, p) for name, partitions in topics for p in partitions)


_DESCRIBERS = {
    GroupType.SHARE: _describe_share,
    GroupType.CONSUMER: _describe_consumer,
    GroupType.STREAMS: _describe_streams,
    GroupType.CLASSIC: _describe_classic,
    GroupType.UNKNOWN: _describe_classic,  # a broker that cannot tell the kind has one kind only
}
