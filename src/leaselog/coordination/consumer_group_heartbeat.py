"""What a heartbeat does to a consumer group of KIP-848, and what the lack of one does.

A heartbeat joins, stays or leaves. One that stays may say that its member wants other topics, or has let go of
partitions; and it is the moment at which the group takes note of whatever else has changed: topics made, grown or
deleted, and names that a pattern matches since.

A target is computed at most once an interval, so that members that come together are seen to together. What somebody
had who is gone does not wait for that, as it does in Kafka.

Each fact is replayed as it is decided, so that the next step builds on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from leaselog.coordination.cluster_view import ConsumerSettings
from leaselog.coordination.consumer_assignors import ASSIGNORS
from leaselog.coordination.consumer_group import NO_TARGET, NOT_JOINED, ConsumerGroup
from leaselog.coordination.consumer_group_commands import (
    JOIN_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    ConsumerBeat,
    ConsumerHeartbeat,
)
from leaselog.coordination.consumer_group_facts import (
    Assigned,
    ConsumerAssignmentStored,
    ConsumerAssignmentTime,
    ConsumerCurrent,
    ConsumerCurrentStored,
    ConsumerEpoch,
    ConsumerEpochStored,
    ConsumerMemberAsked,
    ConsumerMemberStored,
    ConsumerPatternStored,
    ConsumerTargetStored,
    MatchedTopics,
    Standing,
)
from leaselog.coordination.consumer_reconciling import partitions_of, reconciled
from leaselog.coordination.group_commands import NO_MEMBER, LeaveAnswer, LeaveGroup, Leaver
from leaselog.coordination.group_turn import DeadlineKey, DeadlineKind, Turn
from leaselog.coordination.share_group import metadata_hash
from leaselog.model import ErrorCode, MemberId, Refused, TopicId

_T = TypeVar("_T")

__all__ = ["deadline_is_due", "heartbeat", "refusal_of_shape", "remove_members", "resume"]


def refusal_of_shape(ask: ConsumerHeartbeat, assignors: tuple[str, ...]) -> Refused | None:
    """What is wrong with the heartbeat whatever the group, in Kafka's words and order."""
    needs_id = not ask.may_lack_id or ask.member_epoch != JOIN_EPOCH
    for name, value, is_needed in (
        ("MemberId", ask.member_id, needs_id),
        ("GroupId", ask.group_id, True),
        ("InstanceId", ask.instance_id, True),
        ("RackId", ask.rack_id, True),
    ):
        if is_needed and value is not None and not value.strip():
            return _wrong(f"{name} can't be empty.")
    if ask.member_epoch == JOIN_EPOCH:
        if ask.rebalance_timeout_ms == -1:
            return _wrong("RebalanceTimeoutMs must be provided in first request.")
        if ask.owned is None or ask.owned:
            return _wrong("TopicPartitions must be empty when (re-)joining.")
        if ask.topics is None and ask.pattern is None:
            return _wrong(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    elif ask.member_epoch == LEAVE_FOR_A_WHILE_EPOCH:
        if ask.instance_id is None:
            return _wrong("InstanceId can't be null.")
    elif ask.member_epoch < LEAVE_FOR_A_WHILE_EPOCH:
        return _wrong("MemberEpoch is invalid.")
    if ask.assignor is not None and ask.assignor not in assignors:
        known = ", ".join(assignors)
        why = f"ServerAssignor {ask.assignor} is not supported. Supported assignors: {known}."
        return Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, why)
    return None


def heartbeat(group: ConsumerGroup, ask: ConsumerHeartbeat, turn: Turn) -> ConsumerBeat | Refused:
    settings = turn.cluster.consumer_settings(group.group_id)
    refused = _refusal(group, ask, settings)
    if refused is not None:
        return refused
    if ask.member_epoch < JOIN_EPOCH:
        return _leave(group, ask, turn)
    if ask.member_epoch == JOIN_EPOCH:
        _take_the_place(group, ask, turn)
    before = group.currents.get(ask.member_id, NOT_JOINED)
    _note_changes(group, _take_in(group, ask, turn), turn)
    _assign_if_due(group, settings, turn)
    current = _move(group, ask, turn)
    turn.deadlines.set(_session(group, ask.member_id), turn.now_ms + settings.session_timeout_ms)
    is_full = ask.member_epoch == JOIN_EPOCH or (
        ask.rebalance_timeout_ms != -1
        and (ask.topics is not None or ask.pattern is not None)
        and ask.owned is not None
    )
    is_other = _places(current.assigned) != _places(before.assigned)
    return ConsumerBeat(
        ask.member_id,
        current.epoch,
        settings.heartbeat_interval_ms,
        current.assigned if is_full or is_other else None,
    )


def remove_members(group: ConsumerGroup, ask: LeaveGroup, turn: Turn) -> LeaveAnswer:
    """An administrator takes members out, by LeaveGroup as from a classic group."""
    codes = [(leaver, _remove_one(group, leaver, turn)) for leaver in ask.members]
    return LeaveAnswer(tuple(codes))


def _remove_one(group: ConsumerGroup, leaver: Leaver, turn: Turn) -> ErrorCode:
    member_id = leaver.member_id
    if leaver.instance_id is not None:
        holder = group.instances.get(leaver.instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if member_id not in (NO_MEMBER, holder):
            return ErrorCode.FENCED_INSTANCE_ID
        member_id = holder
    if member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    _remove(group, member_id, turn)
    return ErrorCode.NONE


def deadline_is_due(group: ConsumerGroup, member_id: MemberId, turn: Turn) -> None:
    """The member was silent for too long, or has not let go of its partitions in time."""
    if member_id in group.members:
        _remove(group, member_id, turn)


def resume(group: ConsumerGroup, turn: Turn) -> None:
    """After a restart nobody is late yet."""
    timeout_ms = turn.cluster.consumer_settings(group.group_id).session_timeout_ms
    for member_id, asked in group.members.items():
        turn.deadlines.set(_session(group, member_id), turn.now_ms + timeout_ms)
        if group.currents.get(member_id, NOT_JOINED).standing is Standing.REVOKING:
            turn.deadlines.set(_letting_go(group, member_id), turn.now_ms + asked.rebalance_timeout_ms)


def _session(group: ConsumerGroup, member_id: MemberId) -> DeadlineKey:
    return DeadlineKind.SESSION, group.group_id, member_id


def _letting_go(group: ConsumerGroup, member_id: MemberId) -> DeadlineKey:
    return DeadlineKind.LETTING_GO, group.group_id, member_id


def _wrong(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)


# Who may


def _refusal(group: ConsumerGroup, ask: ConsumerHeartbeat, settings: ConsumerSettings) -> Refused | None:
    known = ask.member_id in group.members
    if ask.member_epoch == JOIN_EPOCH:
        if not known and len(group.members) >= settings.max_size:
            why = f"The consumer group has reached its maximum capacity of {settings.max_size} members."
            return Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, why)
        return _refusal_of_instance_taken(group, ask)
    if ask.instance_id is not None:
        holder = group.instances.get(ask.instance_id)
        if holder is None:
            return Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {ask.instance_id} is unknown.")
        if holder != ask.member_id:
            why = f"Static member {ask.member_id} with instance id {ask.instance_id} was fenced by member {holder}."
            return Refused(ErrorCode.FENCED_INSTANCE_ID, why)
    if not known:
        return group.unknown(ask.member_id)
    if ask.member_epoch < JOIN_EPOCH:
        return None
    return _refusal_of_epoch(ask, group.currents[ask.member_id])


def _refusal_of_instance_taken(group: ConsumerGroup, ask: ConsumerHeartbeat) -> Refused | None:
    """A static member's place is free for another process once its own has said that it leaves for a while."""
    holder = None if ask.instance_id is None else group.instances.get(ask.instance_id)
    if holder is None or holder == ask.member_id:
        return None
    if group.currents[holder].epoch == LEAVE_FOR_A_WHILE_EPOCH:
        return None
    why = (
        f"Static member {ask.member_id} with instance id {ask.instance_id} cannot join the group because the instance "
        f"id is owned by member {holder}."
    )
    return Refused(ErrorCode.UNRELEASED_INSTANCE_ID, why)


def _refusal_of_epoch(ask: ConsumerHeartbeat, current: ConsumerCurrent) -> Refused | None:
    if ask.member_epoch == current.epoch:
        return None
    size = "greater" if ask.member_epoch > current.epoch else "smaller"
    has_only_its_own = ask.owned is not None and ask.owned <= _places(current.assigned)
    if size == "smaller" and ask.member_epoch == current.previous_epoch and has_only_its_own:
        return None  # our answer with the new epoch may be lost
    return Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {size} member epoch ({ask.member_epoch}) than the one known by the group "
        f"coordinator ({current.epoch}). The member must abandon all its partitions and rejoin.",
    )


# Who comes and goes


def _take_the_place(group: ConsumerGroup, ask: ConsumerHeartbeat, turn: Turn) -> None:
    """A static member that comes back under another id has what it had."""
    holder = None if ask.instance_id is None else group.instances.get(ask.instance_id)
    if holder is None or holder == ask.member_id:
        return
    asked, current = group.members[holder], group.currents[holder]
    target = group.targets.get(holder)
    turn.deadlines.cancel(_session(group, holder))
    turn.deadlines.cancel(_letting_go(group, holder))
    _bury(group, holder, turn)
    group.decide(ConsumerMemberStored(group.group_id, ask.member_id, asked), turn)
    if target is not None:
        group.decide(ConsumerTargetStored(group.group_id, ask.member_id, target), turn)
    taken = ConsumerCurrent(JOIN_EPOCH, JOIN_EPOCH, Standing.STABLE, current.assigned, {})
    group.decide(ConsumerCurrentStored(group.group_id, ask.member_id, taken), turn)


def _leave(group: ConsumerGroup, ask: ConsumerHeartbeat, turn: Turn) -> ConsumerBeat:
    if ask.member_epoch == LEAVE_FOR_A_WHILE_EPOCH:
        current = group.currents[ask.member_id]
        gone = replace(
            current,
            epoch=LEAVE_FOR_A_WHILE_EPOCH,
            previous_epoch=current.epoch,
            standing=Standing.STABLE,
            revoking={},
        )
        group.decide(ConsumerCurrentStored(group.group_id, ask.member_id, gone), turn)
        turn.deadlines.cancel(_letting_go(group, ask.member_id))
    else:
        _remove(group, ask.member_id, turn)
    return ConsumerBeat(ask.member_id, ask.member_epoch)


def _remove(group: ConsumerGroup, member_id: MemberId, turn: Turn) -> None:
    turn.deadlines.cancel(_session(group, member_id))
    turn.deadlines.cancel(_letting_go(group, member_id))
    group.has_freed = group.has_freed or bool(group.targets.get(member_id))
    _bury(group, member_id, turn)
    _drop_unused_patterns(group, turn)
    topics = metadata_hash(group.subscribed, turn.cluster)
    group.decide(ConsumerEpochStored(group.group_id, ConsumerEpoch(group.epoch.epoch + 1, topics)), turn)


def _bury(group: ConsumerGroup, member_id: MemberId, turn: Turn) -> None:
    group.decide(ConsumerCurrentStored(group.group_id, member_id, None), turn)
    group.decide(ConsumerTargetStored(group.group_id, member_id, None), turn)
    group.decide(ConsumerMemberStored(group.group_id, member_id, None), turn)


# What changes


def _take_in(group: ConsumerGroup, ask: ConsumerHeartbeat, turn: Turn) -> bool:
    """Writes down what the member says of itself; whether it wants other topics than before."""
    before = group.members.get(ask.member_id)
    asked = ConsumerMemberAsked(
        ask.instance_id if ask.instance_id is not None else before.instance_id if before else None,
        ask.rack_id if ask.rack_id is not None else before.rack_id if before else None,
        ask.client_id,
        ask.client_host,
        _or_before(
            None if ask.topics is None else tuple(sorted(set(ask.topics))), before.topics if before else ()
        ),
        _or_before(ask.pattern, before.pattern if before else ""),
        before.rebalance_timeout_ms
        if before and ask.rebalance_timeout_ms == -1
        else ask.rebalance_timeout_ms,
        ask.assignor if ask.assignor is not None else before.assignor if before else None,
    )
    if ask.member_id not in group.currents:
        # A member has a place from the first: it is filled in below, in the same turn.
        group.currents[ask.member_id] = NOT_JOINED
    if asked == before:
        return False
    wanted = frozenset[str]() if before is None else group.topics_of(before)
    group.decide(ConsumerMemberStored(group.group_id, ask.member_id, asked), turn)
    if asked.pattern and asked.pattern not in group.patterns:
        _match(group, asked.pattern, turn)
    _drop_unused_patterns(group, turn)
    return group.topics_of(asked) != wanted


def _or_before(said: _T | None, before: _T) -> _T:
    return before if said is None else said


def _match(group: ConsumerGroup, pattern: str, turn: Turn) -> None:
    version = turn.cluster.topics_version()
    found = turn.cluster.topics_matching(pattern)
    known = group.patterns.get(pattern)
    if known is None or known.topics != found:
        matched = MatchedTopics(found, version, turn.now_ms)
        group.decide(ConsumerPatternStored(group.group_id, pattern, matched), turn)


def _drop_unused_patterns(group: ConsumerGroup, turn: Turn) -> None:
    used = set(group.patterns_in_use)
    for pattern in [pattern for pattern in group.patterns if pattern not in used]:
        group.decide(ConsumerPatternStored(group.group_id, pattern, None), turn)


def _note_changes(group: ConsumerGroup, has_other_topics: bool, turn: Turn) -> None:
    """The group's epoch rises if something has changed that its target depends on."""
    version, known = turn.cluster.topics_version(), group.epoch.metadata_hash
    if version != group.seen_topics_version:
        for pattern in list(group.patterns_in_use):
            _match(group, pattern, turn)
    if has_other_topics or version != group.seen_topics_version:
        known = metadata_hash(group.subscribed, turn.cluster)
        group.seen_topics_version = version
    if has_other_topics or known != group.epoch.metadata_hash:
        group.decide(ConsumerEpochStored(group.group_id, ConsumerEpoch(group.epoch.epoch + 1, known)), turn)


# Who is to have what


def _assign_if_due(group: ConsumerGroup, settings: ConsumerSettings, turn: Turn) -> None:
    if group.assignment.epoch == group.epoch.epoch:
        return
    waited_ms = turn.now_ms - group.assignment.computed_ms
    if (
        waited_ms >= settings.assignment_interval_ms
        or waited_ms < 0  # the clock was set back
        or group.has_freed
    ):
        _assign(group, settings, turn)


def _assign(group: ConsumerGroup, settings: ConsumerSettings, turn: Turn) -> None:
    counts: dict[TopicId, int] = {}
    ids: dict[str, TopicId] = {}
    for name in group.subscribed:
        if (shape := turn.cluster.topic(name)) is not None:
            counts[shape.topic_id], ids[name] = shape.partition_count, shape.topic_id
    wanted_by: dict[tuple[tuple[str, ...], str], frozenset[TopicId]] = {}
    wanted: dict[MemberId, frozenset[TopicId]] = {}
    for member, asked in group.members.items():
        key = asked.topics, asked.pattern
        if key not in wanted_by:
            wanted_by[key] = frozenset(ids[name] for name in group.topics_of(asked) if name in ids)
        wanted[member] = wanted_by[key]
    assign = ASSIGNORS[group.assignor(settings.assignors[0])]
    targets = assign(wanted, counts, group.targets, _in_order(group))
    for member, target in targets.items():
        if group.targets.get(member) != target:
            group.decide(ConsumerTargetStored(group.group_id, member, target), turn)
    done = ConsumerAssignmentTime(group.epoch.epoch, turn.now_ms)
    group.decide(ConsumerAssignmentStored(group.group_id, done), turn)
    group.has_freed = False


def _in_order(group: ConsumerGroup) -> list[MemberId]:
    """Static members first, by their instances: these stay the same over a restart."""
    return sorted(
        group.members,
        key=lambda m: (group.members[m].instance_id is None, group.members[m].instance_id or "", m),
    )


# How a member comes to have it


def _move(group: ConsumerGroup, ask: ConsumerHeartbeat, turn: Turn) -> ConsumerCurrent:
    member = ask.member_id
    before = group.currents[member]
    current = before
    if before.epoch in (JOIN_EPOCH, LEAVE_FOR_A_WHILE_EPOCH) or ask.member_epoch == JOIN_EPOCH:
        # It has let go of everything, as it says, and begins anew with what of it is still its own.
        current = replace(before, epoch=JOIN_EPOCH, standing=Standing.STABLE, revoking={})
    target = group.targets.get(member, NO_TARGET)
    owners = group.owners
    after = reconciled(
        current,
        target,
        group.assignment.epoch,
        frozenset() if ask.member_epoch == JOIN_EPOCH else ask.owned,
        lambda place: place not in owners or (owners[place] == member and place not in _revoked(current)),
    )
    if after != before or member not in group.targets:
        group.decide(ConsumerCurrentStored(group.group_id, member, after), turn)
    if after.standing is Standing.REVOKING:
        if before.standing is not Standing.REVOKING or before.epoch != after.epoch:
            timeout_ms = group.members[member].rebalance_timeout_ms
            turn.deadlines.set(_letting_go(group, member), turn.now_ms + timeout_ms)
    elif before.standing is Standing.REVOKING:
        turn.deadlines.cancel(_letting_go(group, member))
    return after


def _revoked(current: ConsumerCurrent) -> frozenset[tuple[TopicId, int]]:
    return frozenset(partitions_of(current.revoking))


def _places(assigned: Assigned) -> frozenset[tuple[TopicId, int]]:
    return frozenset(partitions_of(assigned))
