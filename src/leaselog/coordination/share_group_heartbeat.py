"""What a heartbeat does to a share group, and what the lack of one does.

A heartbeat joins, stays or leaves. One that stays may say that its member wants other topics; and it is the moment
at which the group takes note of whatever else has changed: topics made, grown or deleted, partitions initialized.
The answer brings the member to its target at once, since nobody must let go before somebody else may begin. Only what
it may hold records of it does not lose before it has let go (ADR 0018).

Kafka computes a target at most once an interval. Here that holds only while nobody goes without: what has nobody to
work on it, and members who have nothing to work on, are seen to at once.

Members hear of each other with their next heartbeats only, and they mostly come together. So after a change the next
heartbeats are asked for sooner than at the group's interval.

Each fact is replayed as it is decided, so that the next step builds on it.
"""

from __future__ import annotations

from collections.abc import Mapping

from leaselog.coordination.cluster_view import ClusterView, ShareSettings
from leaselog.coordination.group_turn import DeadlineKey, DeadlineKind, Turn
from leaselog.coordination.share_assignor import assign
from leaselog.coordination.share_group import NO_TARGET, NOT_JOINED, ShareGroup, metadata_hash
from leaselog.coordination.share_group_commands import JOIN_EPOCH, LEAVE_EPOCH, ShareBeat, ShareHeartbeat
from leaselog.coordination.share_group_facts import (
    Assignment,
    ShareAssignmentStored,
    ShareAssignmentTime,
    ShareCurrent,
    ShareCurrentStored,
    ShareEpoch,
    ShareEpochStored,
    ShareMemberAsked,
    ShareMemberStored,
    ShareTargetStored,
)
from leaselog.coordination.share_group_states import (
    NOTHING_MISSING,
    begin_missing,
    is_initializing,
    offerable,
)
from leaselog.coordination.share_readjusting import readjust
from leaselog.model import ErrorCode, MemberId, Refused, TopicId

__all__ = ["heartbeat", "refusal_of_shape", "resume", "session_is_due"]

#: the shortest time between two heartbeats that is asked for
SOON_MS = 500


def refusal_of_shape(ask: ShareHeartbeat) -> Refused | None:
    """What is wrong with the heartbeat whatever the group, in Kafka's words and order."""
    for name, value in (("MemberId", ask.member_id), ("GroupId", ask.group_id), ("RackId", ask.rack_id)):
        if value is not None and not value.strip():
            return Refused(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    if ask.member_epoch == JOIN_EPOCH and not ask.topics:
        return Refused(ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if ask.member_epoch < LEAVE_EPOCH:
        return Refused(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")
    return None


def heartbeat(group: ShareGroup, ask: ShareHeartbeat, turn: Turn) -> ShareBeat | Refused:
    settings = turn.cluster.share_settings(group.group_id)
    refused = _refusal(group, ask, settings)
    if refused is not None:
        return refused
    if ask.member_epoch == LEAVE_EPOCH:
        _remove(group, ask.member_id, turn)
        return ShareBeat(ask.member_id, LEAVE_EPOCH)
    _note_changes(group, _take_in(group, ask, turn), turn)
    # A heartbeat that goes on has waited once: what is missing now is for the next one to begin.
    missing = begin_missing(group, settings, turn) if ask.continues_from is None else NOTHING_MISSING
    _assign_if_due(group, ask.member_id, settings, turn)
    target = _target_of(group, ask.member_id, turn.cluster)
    revoking = _revoking(group, ask, target, turn.cluster)
    is_moved = _move(group, ask, _union(target, revoking), turn)
    turn.deadlines.set(_session(group, ask.member_id), turn.now_ms + settings.session_timeout_ms)
    current = group.currents[ask.member_id]
    is_full = ask.member_epoch == JOIN_EPOCH or ask.topics is not None or ask.wants_assignment
    return ShareBeat(
        ask.member_id,
        current.epoch,
        _interval_ms(group, settings, turn),
        current.assigned if is_full or is_moved else None,
        missing.places or None,
        missing.added,
        group.epoch.epoch,
        is_initializing=not missing.places and is_initializing(group, turn.cluster),
        target=target,
        revoking=revoking,
    )


def _interval_ms(group: ShareGroup, settings: ShareSettings, turn: Turn) -> int:
    """As long again as the group's last change is ago: one mostly comes with others."""
    since_ms = turn.now_ms - group.assignment.computed_ms
    if since_ms < 0:  # the clock was set back
        return settings.heartbeat_interval_ms
    return min(max(since_ms, SOON_MS), settings.heartbeat_interval_ms)


def session_is_due(group: ShareGroup, member_id: MemberId, turn: Turn) -> None:
    if member_id in group.members:
        _remove(group, member_id, turn)


def resume(group: ShareGroup, turn: Turn) -> None:
    """After a restart nobody is late yet."""
    timeout_ms = turn.cluster.share_settings(group.group_id).session_timeout_ms
    for member_id in group.members:
        turn.deadlines.set(_session(group, member_id), turn.now_ms + timeout_ms)


def _session(group: ShareGroup, member_id: MemberId) -> DeadlineKey:
    return DeadlineKind.SESSION, group.group_id, member_id


# Who may


def _refusal(group: ShareGroup, ask: ShareHeartbeat, settings: ShareSettings) -> Refused | None:
    current = group.currents.get(ask.member_id)
    if current is None:
        if ask.member_epoch != JOIN_EPOCH:
            why = f"Member {ask.member_id} is not a member of group {group.group_id}."
            return Refused(ErrorCode.UNKNOWN_MEMBER_ID, why)
        if len(group.members) >= settings.max_size:
            why = f"The share group has reached its maximum capacity of {settings.max_size} members."
            return Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, why)
        return None
    if ask.member_epoch in (JOIN_EPOCH, LEAVE_EPOCH):
        return None  # a fenced member comes back under its id (KAFKA-19862)
    return _refusal_of_epoch(ask.member_epoch, current)


def _refusal_of_epoch(epoch: int, current: ShareCurrent) -> Refused | None:
    """Kafka takes the current epoch and the one before. In between lie only epochs that this group passed through
    within one heartbeat and told nobody."""
    if epoch > current.epoch:
        size, tail = "greater", ""
    elif epoch < current.previous_epoch:
        size = "smaller"
        tail = f", and it does not match the previous member epoch ({current.previous_epoch})"
    else:
        return None
    return Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has a {size} member epoch ({epoch}) than the one known by the group coordinator "
        f"({current.epoch}){tail}. The member must abandon all its partitions and rejoin.",
    )


# What changes


def _take_in(group: ShareGroup, ask: ShareHeartbeat, turn: Turn) -> bool:
    """Writes down what the member says of itself; whether it wants other topics than before."""
    before = group.members.get(ask.member_id)
    topics = before.topics if before else ()
    asked = ShareMemberAsked(
        ask.rack_id if ask.rack_id is not None else before.rack_id if before else None,
        ask.client_id,
        ask.client_host,
        topics if ask.topics is None else tuple(sorted(set(ask.topics))),
    )
    if before is None:
        # A member has a place from the first: it is filled in below, in the same turn.
        group.currents[ask.member_id] = NOT_JOINED
    if asked != before:
        group.decide(ShareMemberStored(group.group_id, ask.member_id, asked), turn)
    return asked.topics != topics


def _note_changes(group: ShareGroup, has_other_topics: bool, turn: Turn) -> None:
    """The group's epoch rises if something has changed that its target depends on. For partitions that have been
    initialized since it does not rise again before there is a target for it."""
    version, known = turn.cluster.topics_version(), group.epoch.metadata_hash
    if has_other_topics or version != group.seen_topics_version:
        known = metadata_hash(group.subscribed, turn.cluster)
        group.seen_topics_version = version
    has_target = group.assignment.epoch == group.epoch.epoch
    has_more = has_target and _has_more_to_offer(group, turn.cluster)
    if has_other_topics or known != group.epoch.metadata_hash or has_more:
        group.decide(ShareEpochStored(group.group_id, ShareEpoch(group.epoch.epoch + 1, known)), turn)


def _has_more_to_offer(group: ShareGroup, cluster: ClusterView) -> bool:
    """Partitions have been initialized since the target was computed."""
    offered = _offered(group)
    return any(
        partitions is not offered.get(topic) and not partitions <= offered.get(topic, frozenset())
        for topic, partitions in offerable(group, cluster).items()
    )


def _offered(group: ShareGroup) -> Mapping[TopicId, frozenset[int]]:
    if group.offered is None:
        union: dict[TopicId, frozenset[int]] = {}
        for target in group.targets.values():
            for topic, partitions in target.items():
                union[topic] = union.get(topic, frozenset()) | partitions
        group.offered = union
    return group.offered


# Who does what


def _assign_if_due(group: ShareGroup, member_id: MemberId, settings: ShareSettings, turn: Turn) -> None:
    if group.assignment.epoch == group.epoch.epoch:
        return
    waited_ms = turn.now_ms - group.assignment.computed_ms
    if (
        waited_ms >= settings.assignment_interval_ms
        or waited_ms < 0  # the clock was set back
        or member_id not in group.targets
        or group.freed
        or _has_more_to_offer(group, turn.cluster)
    ):
        _assign(group, turn)


def _assign(group: ShareGroup, turn: Turn) -> None:
    available = offerable(group, turn.cluster)
    topic_ids = {name: shape.topic_id for name in group.subscribed if (shape := turn.cluster.topic(name))}
    topics = {member_id: asked.topics for member_id, asked in group.members.items()}
    changed = _readjusted(group, topics, available)
    if changed is None:
        ids = {
            some: frozenset(topic_ids[name] for name in some if name in topic_ids) for some in topics.values()
        }
        wanted = {member_id: ids[some] for member_id, some in topics.items()}
        targets = assign(wanted, available, group.targets)
        changed = {
            member: target for member, target in targets.items() if group.targets.get(member) != target
        }
    for member_id, target in changed.items():
        group.decide(ShareTargetStored(group.group_id, member_id, target), turn)
    done = ShareAssignmentTime(group.epoch.epoch, turn.now_ms)
    group.decide(ShareAssignmentStored(group.group_id, done), turn)
    group.offered, group.freed = available, ()


def _readjusted(
    group: ShareGroup, topics: Mapping[MemberId, tuple[str, ...]], available: Mapping[TopicId, frozenset[int]]
) -> dict[MemberId, Assignment] | None:
    """The targets that change, if nothing but members has come or gone; None if more has changed."""
    if _offered(group) != available or len(set(topics.values())) > 1:
        return None
    return readjust(topics.keys(), sum(map(len, available.values())), group.targets, group.freed)


def _move(group: ShareGroup, ask: ShareHeartbeat, assigned: Assignment, turn: Turn) -> bool:
    """The member stands where the group wants it from now on; whether that gives it other partitions."""
    current = group.currents[ask.member_id]
    previous = current.previous_epoch
    if current.epoch != group.assignment.epoch:
        previous = current.epoch if ask.continues_from is None else ask.continues_from
    if assigned != current.assigned:
        # What it loses in a session it is asked about. What it gets back it has, session or not.
        revoked = group.revoked.get(ask.member_id, NO_TARGET)
        lost = revoked if ask.may_hold else _union(revoked, current.assigned)
        group.revoked[ask.member_id] = _difference(lost, assigned)
    after = ShareCurrent(group.assignment.epoch, previous, assigned)
    if after != current:
        group.decide(ShareCurrentStored(group.group_id, ask.member_id, after), turn)
    return assigned != current.assigned


def _target_of(group: ShareGroup, member_id: MemberId, cluster: ClusterView) -> Assignment:
    """Its target, without what it has ceased to want since that was computed."""
    return _wanted(group.targets.get(member_id, NO_TARGET), group, member_id, cluster)


def _revoking(group: ShareGroup, ask: ShareHeartbeat, target: Assignment, cluster: ClusterView) -> Assignment:
    """What the member has besides its target and has not let go of yet. What it does not want itself it has dropped."""
    if not ask.may_hold:
        return NO_TARGET
    assigned = group.currents[ask.member_id].assigned
    if assigned == target:
        return NO_TARGET
    left = _difference(_wanted(assigned, group, ask.member_id, cluster), target)
    return _difference(left, ask.not_held)


def _wanted(places: Assignment, group: ShareGroup, member_id: MemberId, cluster: ClusterView) -> Assignment:
    """Those of topics that there are and that the member wants."""
    if not places:
        return places
    shapes = (cluster.topic(name) for name in group.members[member_id].topics)
    wanted = {shape.topic_id for shape in shapes if shape is not None}
    if places.keys() <= wanted:
        return places
    return {topic: partitions for topic, partitions in places.items() if topic in wanted}


def _union(some: Assignment, more: Assignment) -> Assignment:
    if not more:
        return some
    topics = dict.fromkeys((*some, *more))
    return {topic: some.get(topic, frozenset()) | more.get(topic, frozenset()) for topic in topics}


def _difference(some: Assignment, less: Assignment) -> Assignment:
    left = {topic: partitions - less.get(topic, frozenset()) for topic, partitions in some.items()}
    return {topic: partitions for topic, partitions in left.items() if partitions}


def _remove(group: ShareGroup, member_id: MemberId, turn: Turn) -> None:
    turn.deadlines.cancel(_session(group, member_id))
    group.revoked.pop(member_id, None)
    target = group.targets.get(member_id)
    if target:
        group.freed = (*group.freed, target)
    group.decide(ShareCurrentStored(group.group_id, member_id, None), turn)
    group.decide(ShareTargetStored(group.group_id, member_id, None), turn)
    group.decide(ShareMemberStored(group.group_id, member_id, None), turn)
    topics = metadata_hash(group.subscribed, turn.cluster)
    group.seen_topics_version = turn.cluster.topics_version()
    group.decide(ShareEpochStored(group.group_id, ShareEpoch(group.epoch.epoch + 1, topics)), turn)
