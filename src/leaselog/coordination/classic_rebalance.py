"""How a classic group gets from one generation to the next: joins, syncs, leaves, and what happens in silence.

Each function takes a draft of the group and the turn it happens in, changes the draft, and leaves facts and replies in
the turn; ``heartbeat`` and ``keep_alive`` change nothing and take the group itself. A join is parked in its member
until the rebalance is complete, a sync until the leader's assignment is known. Behaviour, order of checks and error
codes are those of Apache Kafka 4's group coordinator.

The assignment is the only thing worth writing down: a rebalance that a restart interrupts is begun anew by its
members, whose generation or id is then refused.
"""

from __future__ import annotations

from leaselog.coordination.classic_group import ClassicGroup, ClassicMember, GroupState
from leaselog.coordination.group_commands import (
    NO_MEMBER,
    Done,
    Heartbeat,
    JoinAnswer,
    JoinGroup,
    LeaveAnswer,
    LeaveGroup,
    Leaver,
    SyncAnswer,
    SyncGroup,
)
from leaselog.coordination.group_facts import GroupStored
from leaselog.coordination.group_turn import DeadlineKind, Turn
from leaselog.model import ErrorCode, MemberId, Refused

__all__ = [
    "heartbeat",
    "join",
    "join_is_due",
    "keep_alive",
    "leave",
    "resume",
    "session_is_due",
    "sync",
    "sync_is_due",
]


def join(group: ClassicGroup, ask: JoinGroup, turn: Turn) -> None:
    """Answer, or park the join until the group's next generation."""
    if not _has_room(group, ask, turn):
        _remove(group, ask.member_id, turn)
        return _refuse_join(ask, ErrorCode.GROUP_MAX_SIZE_REACHED, turn, NO_MEMBER)
    if not group.supports(ask.protocol_type, ask.protocols):
        return _refuse_join(ask, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, turn)
    if ask.member_id == NO_MEMBER:
        return _join_as_stranger(group, ask, turn)
    if ask.member_id in group.pending_joins and ask.instance_id is None:
        return _add(group, ask, ask.member_id, turn)
    refused = group.refusal(ask.member_id, ask.instance_id)
    if refused is not None:
        return _refuse_join(ask, refused.code, turn)
    return _rejoin(group, ask, group.members[ask.member_id], turn)


def _has_room(group: ClassicGroup, ask: JoinGroup, turn: Turn) -> bool:
    """During a rebalance the seats go to those who have joined, so a lowered limit takes effect in it."""
    member = group.members.get(ask.member_id)
    match group.state:
        case GroupState.EMPTY:
            return True
        case GroupState.PREPARING_REBALANCE:
            waits = member is not None and member.joining is not None
            return waits or group.joining_count < turn.limits.max_size
        case _:
            return member is not None or len(group.members) < turn.limits.max_size


def _join_as_stranger(group: ClassicGroup, ask: JoinGroup, turn: Turn) -> None:
    if ask.instance_id is not None:
        if ask.instance_id in group.static_members:
            return _take_over(group, ask, turn)
        return _add(group, ask, ask.fresh_member_id, turn)
    if not ask.member_id_required:
        return _add(group, ask, ask.fresh_member_id, turn)
    if len(group.pending_joins) >= turn.limits.pending_joins_max:
        return _refuse_join(ask, ErrorCode.GROUP_MAX_SIZE_REACHED, turn)
    # KIP-394: whoever never comes back with the id costs the group a name, not a rebalance.
    group.pending_joins.add(ask.fresh_member_id)
    _set_session(group, ask.fresh_member_id, ask.session_timeout_ms, turn)
    return _refuse_join(ask, ErrorCode.MEMBER_ID_REQUIRED, turn, ask.fresh_member_id)


def _rejoin(group: ClassicGroup, ask: JoinGroup, member: ClassicMember, turn: Turn) -> None:
    leads, is_same = group.leader == member.member_id, member.has_same_protocols(ask.protocols)
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            _update_and_rebalance(group, ask, member, turn)
        case GroupState.COMPLETING_REBALANCE if is_same:
            # The answer to its first join may have been lost.
            turn.reply(ask.token, _joined(group, member.member_id, with_members=leads))
        case GroupState.STABLE if is_same and not leads:
            # A leader that joins again wants a rebalance: it may have seen topics change.
            turn.reply(ask.token, _joined(group, member.member_id, with_members=False))
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            _update_and_rebalance(group, ask, member, turn)
        case _:
            _refuse_join(ask, ErrorCode.UNKNOWN_MEMBER_ID, turn)


def _add(group: ClassicGroup, ask: JoinGroup, member_id: MemberId, turn: Turn) -> None:
    member = ClassicMember(
        member_id,
        ask.instance_id,
        ask.client_id,
        ask.client_host,
        ask.rebalance_timeout_ms,
        ask.session_timeout_ms,
        ask.protocols,
        joining=ask.token,
    )
    if group.is_first_rebalance:
        group.has_joiner_since_delay = True
    group.add(member, ask.protocol_type)
    _set_session(group, member_id, turn.limits.new_member_join_timeout_ms, turn)
    _rebalance(group, turn)


def _update(group: ClassicGroup, ask: JoinGroup, member: ClassicMember, turn: Turn) -> ClassicMember:
    if member.joining is not None:
        # The client gave up on its earlier request, and nobody will read this.
        turn.reply(member.joining, JoinAnswer(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS))
    return group.put(
        member._replace(
            protocols=ask.protocols,
            rebalance_timeout_ms=ask.rebalance_timeout_ms,
            session_timeout_ms=ask.session_timeout_ms,
            joining=ask.token,
        )
    )


def _update_and_rebalance(group: ClassicGroup, ask: JoinGroup, member: ClassicMember, turn: Turn) -> None:
    _update(group, ask, member, turn)
    _rebalance(group, turn)


def _take_over(group: ClassicGroup, ask: JoinGroup, turn: Turn) -> None:
    """A static member came back under a new id: it gets its old place, without a rebalance if that can be."""
    instance_id = ask.instance_id
    assert instance_id is not None
    old_leader = group.leader
    old = group.members[group.static_members[instance_id]]
    _answer_waiting(old, ErrorCode.FENCED_INSTANCE_ID, old.member_id, turn)
    group.put(old._replace(joining=None, syncing=None))
    turn.deadlines.cancel((DeadlineKind.SESSION, group.group_id, old.member_id))
    member = group.replace_static(instance_id, ask.fresh_member_id)
    member = _update(group, ask, member._replace(is_new=False), turn)
    _restart_session(group, member, turn)
    if group.state is not GroupState.STABLE or group.preferred_protocol() != group.protocol:
        return _rebalance(group, turn)
    member = group.put(member._replace(joining=None))
    turn.facts.append(GroupStored(group.group_id, group.stored(group.assignments())))
    leads = group.leader == member.member_id
    if ask.may_skip_assignment:
        answer = _joined(group, member.member_id, with_members=leads, skip_assignment=leads)
    else:
        # Naming the old leader keeps a returning leader from computing a new assignment (KIP-345).
        answer = _joined(group, member.member_id, with_members=False, leader=old_leader)
    return turn.reply(ask.token, answer)


# Rebalancing


def _rebalance(group: ClassicGroup, turn: Turn) -> None:
    """Begin a rebalance, or complete the one that is on if this was all it waited for."""
    if group.state is not GroupState.PREPARING_REBALANCE:
        _prepare_rebalance(group, turn)
    else:
        _complete_if_all_joined(group, turn)


def _prepare_rebalance(group: ClassicGroup, turn: Turn) -> None:
    if group.state is GroupState.COMPLETING_REBALANCE:
        _propagate_refusal(group, ErrorCode.REBALANCE_IN_PROGRESS, turn)
    turn.deadlines.cancel((DeadlineKind.SYNC, group.group_id, NO_MEMBER))
    is_first = group.state is GroupState.EMPTY
    group.enter(GroupState.PREPARING_REBALANCE, turn.now_ms)
    if is_first:
        # More members are likely on their way: wait for them rather than rebalance for each.
        delay_ms = turn.limits.initial_rebalance_delay_ms
        group.initial_delay_left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.has_joiner_since_delay = False
        _set_join_deadline(group, delay_ms, turn)
    elif group.has_all_joined:
        _complete_join(group, turn)
    else:
        _set_join_deadline(group, group.rebalance_timeout_ms, turn)


def _complete_if_all_joined(group: ClassicGroup, turn: Turn) -> None:
    waits = group.state is GroupState.PREPARING_REBALANCE and not group.is_first_rebalance
    if waits and group.has_all_joined:
        _complete_join(group, turn)


def join_is_due(group: ClassicGroup, turn: Turn) -> None:
    """The wait for members is over, or is drawn out once more while new ones keep arriving."""
    if group.state is not GroupState.PREPARING_REBALANCE:
        return
    if group.is_first_rebalance and group.has_joiner_since_delay and group.initial_delay_left_ms:
        group.has_joiner_since_delay = False
        delay_ms = min(turn.limits.initial_rebalance_delay_ms, group.initial_delay_left_ms)
        group.initial_delay_left_ms -= delay_ms
        _set_join_deadline(group, delay_ms, turn)
    else:
        _complete_join(group, turn)


def _complete_join(group: ClassicGroup, turn: Turn) -> None:
    turn.deadlines.cancel((DeadlineKind.JOIN, group.group_id, NO_MEMBER))
    missing = [m for m in group.members.values() if m.joining is None and m.instance_id is None]
    for member in missing:
        _remove(group, member.member_id, turn)
    if group.members and not group.elect_among_joined():
        # Only static members, all away: their sessions decide.
        return _set_join_deadline(group, group.rebalance_timeout_ms, turn)
    group.begin_generation(turn.now_ms)
    if group.state is GroupState.EMPTY:
        turn.facts.append(GroupStored(group.group_id, group.stored({})))
        return None
    return _answer_joined(group, turn)


def _answer_joined(group: ClassicGroup, turn: Turn) -> None:
    for member in list(group.members.values()):
        if member.joining is not None:
            leads = member.member_id == group.leader
            turn.reply(member.joining, _joined(group, member.member_id, with_members=leads))
        group.put(member._replace(joining=None, is_new=False))
        _restart_session(group, member, turn)
    group.pending_syncs = set(group.members)
    key = (DeadlineKind.SYNC, group.group_id, NO_MEMBER)
    turn.deadlines.set(key, turn.now_ms + group.rebalance_timeout_ms)


def _joined(
    group: ClassicGroup,
    member_id: MemberId,
    *,
    with_members: bool,
    leader: MemberId | None = None,
    skip_assignment: bool = False,
) -> JoinAnswer:
    return JoinAnswer(
        member_id,
        ErrorCode.NONE,
        group.generation,
        group.protocol_type,
        group.protocol,
        leader or group.leader or NO_MEMBER,
        skip_assignment,
        group.joined_members() if with_members else (),
    )


def _refuse_join(ask: JoinGroup, code: ErrorCode, turn: Turn, member_id: MemberId | None = None) -> None:
    turn.reply(ask.token, JoinAnswer(ask.member_id if member_id is None else member_id, code))


# Syncing


def sync(group: ClassicGroup, ask: SyncGroup, turn: Turn) -> None:
    """Answer with the assignment, or park the sync until the leader brings it."""
    refused = _refusal_of_sync(group, ask)
    if refused is not None:
        return turn.reply(ask.token, refused)
    _has_synced(group, ask.member_id, turn)
    member = group.members[ask.member_id]
    if group.state is GroupState.STABLE:
        return turn.reply(ask.token, SyncAnswer(group.protocol_type, group.protocol, member.assignment))
    if member.syncing is not None:
        turn.reply(member.syncing, Refused(ErrorCode.REBALANCE_IN_PROGRESS))
    group.put(member._replace(syncing=ask.token))
    if ask.member_id == group.leader:
        _assign(group, ask.assignments, turn)
    return None


def _refusal_of_sync(group: ClassicGroup, ask: SyncGroup) -> Refused | None:
    refused = group.refusal_of_generation(ask.member_id, ask.instance_id, ask.generation)
    if refused is not None:
        return refused
    said = ((ask.protocol_type, group.protocol_type), (ask.protocol, group.protocol))
    if any(theirs is not None and ours is not None and theirs != ours for theirs, ours in said):
        return Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is GroupState.PREPARING_REBALANCE:
        return Refused(ErrorCode.REBALANCE_IN_PROGRESS)
    return None


def _assign(group: ClassicGroup, assignments: dict[MemberId, bytes], turn: Turn) -> None:
    stored = group.stored(assignments)
    if _size_bytes(group, assignments) > turn.limits.record_bytes_max:
        _propagate_refusal(group, ErrorCode.UNKNOWN_SERVER_ERROR, turn)
        return _rebalance(group, turn)
    turn.facts.append(GroupStored(group.group_id, stored))
    group.enter(GroupState.STABLE, group.since_ms)
    for member in list(group.members.values()):
        assignment = assignments.get(member.member_id, b"")
        group.put(member._replace(assignment=assignment, syncing=None))
        if member.syncing is not None:
            turn.reply(member.syncing, SyncAnswer(group.protocol_type, group.protocol, assignment))
            _restart_session(group, member, turn)
    return None


def _size_bytes(group: ClassicGroup, assignments: dict[MemberId, bytes]) -> int:
    """Of the group's record, from above: all it says in text and bytes, and some for the rest."""
    return sum(
        len(m.metadata(group.protocol).metadata)
        + len(assignments.get(m.member_id, b""))
        + 4 * (len(m.member_id) + len(m.client_id) + len(m.client_host) + len(m.instance_id or ""))
        + 64
        for m in group.members.values()
    )


def _propagate_refusal(group: ClassicGroup, code: ErrorCode, turn: Turn) -> None:
    for member in list(group.members.values()):
        group.put(member._replace(assignment=b"", syncing=None))
        if member.syncing is not None:
            turn.reply(member.syncing, Refused(code))
            _restart_session(group, member, turn)


def _has_synced(group: ClassicGroup, member_id: MemberId, turn: Turn) -> None:
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        turn.deadlines.cancel((DeadlineKind.SYNC, group.group_id, NO_MEMBER))


def sync_is_due(group: ClassicGroup, turn: Turn) -> None:
    """Whoever took part in the join but never fetched its assignment is no member any more."""
    if not group.is_active or not group.pending_syncs:
        return
    for member_id in sorted(group.pending_syncs):
        _remove(group, member_id, turn)
    _prepare_rebalance(group, turn)


# Staying and leaving


def heartbeat(group: ClassicGroup, ask: Heartbeat, turn: Turn) -> None:
    refused = group.refusal_of_generation(ask.member_id, ask.instance_id, ask.generation)
    if refused is not None:
        return turn.reply(ask.token, refused)
    _restart_session(group, group.members[ask.member_id], turn)
    if group.state is GroupState.PREPARING_REBALANCE:
        return turn.reply(ask.token, Refused(ErrorCode.REBALANCE_IN_PROGRESS))
    return turn.reply(ask.token, Done())


def keep_alive(group: ClassicGroup, member_id: MemberId, turn: Turn) -> None:
    """Committing offsets is a sign of life, too."""
    member = group.members.get(member_id)
    if member is not None and group.state is not GroupState.COMPLETING_REBALANCE:
        _restart_session(group, member, turn)


def leave(group: ClassicGroup, ask: LeaveGroup, turn: Turn) -> None:
    """Each who may leave does; then the group rebalances once for all of them."""
    codes = [(leaver, _leave_one(group, leaver, turn)) for leaver in ask.members]
    turn.reply(ask.token, LeaveAnswer(tuple(codes)))
    if any(code is ErrorCode.NONE for _, code in codes):
        _after_leaving(group, turn)


def _leave_one(group: ClassicGroup, leaver: Leaver, turn: Turn) -> ErrorCode:
    if leaver.member_id == NO_MEMBER:
        # An administrator names a static member by its instance alone (KIP-345).
        owner = group.static_members.get(leaver.instance_id) if leaver.instance_id is not None else None
        if owner is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        _remove(group, owner, turn)
        return ErrorCode.NONE
    if leaver.member_id not in group.pending_joins:
        refused = group.refusal(leaver.member_id, leaver.instance_id)
        if refused is not None:
            return refused.code
    _remove(group, leaver.member_id, turn)
    return ErrorCode.NONE


def session_is_due(group: ClassicGroup, member_id: MemberId, turn: Turn) -> None:
    """Nothing was heard of the member, or of who was to become it. A parked member is heard of by definition,
    unless it is new: it may be gone, and its connection would not tell."""
    if member_id in group.pending_joins:
        group.pending_joins.remove(member_id)
        return _complete_if_all_joined(group, turn)
    member = group.members.get(member_id)
    if member is None:
        return None
    is_parked = member.joining is not None or member.syncing is not None
    if is_parked and not member.is_new:
        return None
    _remove(group, member_id, turn)
    return _after_leaving(group, turn)


def _after_leaving(group: ClassicGroup, turn: Turn) -> None:
    if group.is_active:
        _rebalance(group, turn)
    else:
        _complete_if_all_joined(group, turn)


def resume(group: ClassicGroup, turn: Turn) -> None:
    """A group, not a draft, comes back from the log: its members have a session's time to be heard of."""
    for member in group.members.values():
        _restart_session(group, member, turn)
    if len(group.members) > turn.limits.max_size:
        _prepare_rebalance(turn.draft(group), turn)


def _remove(group: ClassicGroup, member_id: MemberId, turn: Turn) -> None:
    member = group.remove(member_id)
    turn.deadlines.cancel((DeadlineKind.SESSION, group.group_id, member_id))
    if member is not None:
        _answer_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID, NO_MEMBER, turn)


def _answer_waiting(member: ClassicMember, code: ErrorCode, named: MemberId, turn: Turn) -> None:
    if member.joining is not None:
        turn.reply(member.joining, JoinAnswer(named, code))
    if member.syncing is not None:
        turn.reply(member.syncing, Refused(code))


def _restart_session(group: ClassicGroup, member: ClassicMember, turn: Turn) -> None:
    _set_session(group, member.member_id, member.session_timeout_ms, turn)


def _set_session(group: ClassicGroup, member_id: MemberId, timeout_ms: int, turn: Turn) -> None:
    turn.deadlines.set((DeadlineKind.SESSION, group.group_id, member_id), turn.now_ms + timeout_ms)


def _set_join_deadline(group: ClassicGroup, wait_ms: int, turn: Turn) -> None:
    turn.deadlines.set((DeadlineKind.JOIN, group.group_id, NO_MEMBER), turn.now_ms + wait_ms)
