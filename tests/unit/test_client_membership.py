"""A group member's decisions, answer by answer, with time as a number."""

from __future__ import annotations

import pytest

from leaselog.client.errors import BrokerError
from leaselog.client.membership import Ask, CountPartitions, GroupSettings, Membership, Wait
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from leaselog.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from leaselog.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from leaselog.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from leaselog.wire.schema import Message

SETTINGS = GroupSettings(
    "g", session_timeout_ms=45_000, heartbeat_interval_ms=3_000, max_poll_interval_ms=300_000
)
#: version 0, topic "t" with partitions 0 and 2, no user data
ASSIGNMENT = b"\0\0\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\2\xff\xff\xff\xff"
#: version 0, topic "t", no user data
SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"


def asked(membership: Membership, now_ms: int = 0) -> Message:
    step = membership.step(now_ms)
    assert isinstance(step, Ask), step
    return step.message


def answer(membership: Membership, message: Message, now_ms: int = 0) -> None:
    """What the next step asks is answered with this."""
    membership.answered(asked(membership, now_ms), message, now_ms)


def follower(generation: int = 5) -> JoinGroupResponse:
    return JoinGroupResponse(
        member_id="me",
        leader="other",
        generation_id=generation,
        protocol_type="consumer",
        protocol_name="range",
    )


def outsider(settings: GroupSettings = SETTINGS) -> Membership:
    membership = Membership(settings, 0)
    membership.subscribe(["t"])
    return membership


def stable(settings: GroupSettings = SETTINGS) -> Membership:
    """In generation 5 since time 0, reading t-0 and t-2."""
    membership = outsider(settings)
    answer(membership, follower())
    answer(membership, SyncGroupResponse(assignment=ASSIGNMENT))
    assert membership.take_assigned() == {TopicPartition("t", 0), TopicPartition("t", 2)}
    return membership


def test_nothing_is_asked_before_there_is_something_to_read() -> None:
    assert Membership(SETTINGS, 0).step(0) == Wait(None)


def test_a_join_waits_longer_than_the_rebalance_may_take() -> None:
    step = outsider().step(0)
    assert isinstance(step, Ask)
    assert step.timeout_ms is not None
    assert step.timeout_ms > SETTINGS.max_poll_interval_ms
    assert isinstance(step.message, JoinGroupRequest)
    assert (step.message.member_id, step.message.rebalance_timeout_ms) == ("", 300_000)
    assert [p.name for p in step.message.protocols] == ["range"]


def test_a_member_comes_back_at_once_with_the_id_it_is_given() -> None:
    membership = outsider()
    answer(membership, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me"))
    message = asked(membership)
    assert isinstance(message, JoinGroupRequest)
    assert message.member_id == "me"


def test_a_follower_asks_for_its_part_and_is_told_once() -> None:
    membership = outsider()
    answer(membership, follower())
    message = asked(membership)
    assert isinstance(message, SyncGroupRequest)
    assert (message.generation_id, message.member_id, list(message.assignments)) == (5, "me", [])
    membership.answered(message, SyncGroupResponse(assignment=ASSIGNMENT), 0)
    assert membership.take_assigned() == {TopicPartition("t", 0), TopicPartition("t", 2)}
    assert membership.take_assigned() is None


def test_a_leader_divides_by_the_partitions_it_was_told_of() -> None:
    membership = outsider()
    joined = follower()
    joined.leader = "me"
    joined.members = [
        JoinGroupResponseMember(member_id=name, metadata=SUBSCRIPTION) for name in ("me", "other")
    ]
    answer(membership, joined)
    assert membership.step(0) == CountPartitions(("t",))
    membership.counted({"t": 3})
    message = asked(membership)
    assert isinstance(message, SyncGroupRequest)
    mine = {a.member_id: a.assignment for a in message.assignments}["me"]
    membership.answered(message, SyncGroupResponse(assignment=mine), 0)
    assert membership.take_assigned() == {TopicPartition("t", 0), TopicPartition("t", 1)}


def test_a_static_leader_that_returns_may_be_told_not_to_divide() -> None:
    membership = outsider()
    joined = follower()
    joined.leader, joined.skip_assignment = "me", True
    answer(membership, joined)
    message = asked(membership)
    assert isinstance(message, SyncGroupRequest)
    assert list(message.assignments) == []


def test_heartbeats_come_at_their_interval() -> None:
    membership = stable()
    assert membership.step(0) == Wait(3_000)
    assert isinstance(asked(membership, 3_000), HeartbeatRequest)
    assert membership.step(3_000) == Wait(6_000)


def test_a_rebalance_waits_until_everything_is_given_up_and_heartbeats_go_on() -> None:
    membership = stable()
    answer(membership, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 3_000)
    assert membership.must_give_up
    assert membership.may_commit
    assert isinstance(asked(membership, 6_000), HeartbeatRequest)
    membership.given_up()
    message = asked(membership, 6_000)
    assert isinstance(message, JoinGroupRequest)
    assert message.member_id == "me"


@pytest.mark.parametrize(
    ("code", "member_id"), [(ErrorCode.UNKNOWN_MEMBER_ID, ""), (ErrorCode.ILLEGAL_GENERATION, "me")]
)
def test_who_was_thrown_out_commits_nothing_and_joins_anew(code: ErrorCode, member_id: str) -> None:
    membership = stable()
    answer(membership, HeartbeatResponse(error_code=code), 3_000)
    assert (membership.must_give_up, membership.may_commit) == (True, False)
    assert membership.step(3_000) == Wait(None)
    membership.given_up()
    message = asked(membership, 3_000)
    assert isinstance(message, JoinGroupRequest)
    assert message.member_id == member_id


def test_an_answer_to_a_heartbeat_of_an_earlier_generation_means_nothing() -> None:
    membership = stable()
    late = asked(membership, 3_000)
    membership.rejoin()
    membership.given_up()
    answer(membership, follower(generation=6), 3_000)
    answer(membership, SyncGroupResponse(assignment=ASSIGNMENT), 3_000)
    membership.answered(late, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), 3_001)
    assert not membership.must_give_up


def test_a_coordinator_that_moved_is_asked_again_soon_and_nothing_is_given_up() -> None:
    membership = stable()
    answer(membership, HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), 3_000)
    assert not membership.must_give_up
    assert membership.step(3_000) == Wait(3_100)
    assert isinstance(asked(membership, 3_100), HeartbeatRequest)


def test_tries_that_fail_come_at_growing_intervals_up_to_a_second() -> None:
    membership, now_ms, waits = outsider(), 0, list[int]()
    for _ in range(6):
        assert isinstance(asked(membership, now_ms), JoinGroupRequest)
        membership.unanswered(now_ms)
        step = membership.step(now_ms)
        assert isinstance(step, Wait)
        assert step.until_ms is not None
        waits.append(step.until_ms - now_ms)
        now_ms = step.until_ms
    assert waits == [100, 200, 400, 800, 1000, 1000]


def test_a_sync_without_an_answer_is_a_join_again() -> None:
    membership = outsider()
    answer(membership, follower())
    assert isinstance(asked(membership), SyncGroupRequest)
    membership.unanswered(0)
    message = asked(membership, 100)
    assert isinstance(message, JoinGroupRequest)
    assert message.member_id == "me"


@pytest.mark.parametrize(
    ("code", "member_id", "at_ms"),
    [
        (ErrorCode.REBALANCE_IN_PROGRESS, "me", 0),
        (ErrorCode.UNKNOWN_MEMBER_ID, "", 0),
        (ErrorCode.ILLEGAL_GENERATION, "me", 0),
        (ErrorCode.NOT_COORDINATOR, "me", 100),
    ],
)
def test_a_refused_sync_is_a_join_again(code: ErrorCode, member_id: str, at_ms: int) -> None:
    membership = outsider()
    answer(membership, follower())
    answer(membership, SyncGroupResponse(error_code=code))
    message = asked(membership, at_ms)
    assert isinstance(message, JoinGroupRequest)
    assert message.member_id == member_id


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INVALID_SESSION_TIMEOUT, ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ],
)  # fmt: skip
def test_what_trying_again_would_not_mend_is_raised(code: ErrorCode) -> None:
    with pytest.raises(BrokerError, match=code.name):
        answer(outsider(), JoinGroupResponse(error_code=code))


def test_a_group_of_another_kind_is_refused() -> None:
    joined = follower()
    joined.protocol_type = "connect"
    with pytest.raises(BrokerError, match=r"INCONSISTENT_GROUP_PROTOCOL.*connect"):
        answer(outsider(), joined)


def test_another_subscription_or_other_partitions_take_a_rebalance() -> None:
    for change in (lambda m: m.subscribe(["t", "u"]), lambda m: m.rejoin()):
        membership = stable()
        membership.subscribe(["t"])
        assert not membership.must_give_up
        change(membership)
        assert membership.must_give_up


def test_a_subscription_that_changes_during_a_join_takes_another_one() -> None:
    membership = outsider()
    join = asked(membership)
    membership.subscribe(["t", "u"])
    membership.answered(join, follower(), 0)
    answer(membership, SyncGroupResponse(assignment=ASSIGNMENT))
    assert membership.must_give_up
    assert membership.take_assigned() is None


def test_an_owner_that_no_longer_polls_leaves_and_comes_back_when_it_does() -> None:
    membership = stable()
    membership.polled(1_000)
    assert isinstance(asked(membership, 300_999), HeartbeatRequest)
    message = asked(membership, 301_000)
    assert isinstance(message, LeaveGroupRequest)
    assert [m.member_id for m in message.members] == ["me"]
    membership.answered(message, LeaveGroupResponse(), 301_000)
    assert membership.step(900_000) == Wait(None)
    assert (membership.must_give_up, membership.may_commit) == (True, False)
    membership.polled(900_000)
    membership.given_up()
    assert isinstance(asked(membership, 900_000), JoinGroupRequest)


def test_a_commit_that_was_overtaken_says_so_to_its_own_generation_only() -> None:
    membership = stable()
    membership.thrown_out(ErrorCode.ILLEGAL_GENERATION, 4)
    assert not membership.must_give_up
    membership.thrown_out(ErrorCode.REBALANCE_IN_PROGRESS, 5)
    assert (membership.must_give_up, membership.may_commit) == (True, True)
    membership.thrown_out(ErrorCode.UNKNOWN_MEMBER_ID, 5)
    assert (membership.must_give_up, membership.may_commit) == (True, False)


def test_leaving_is_said_by_those_the_group_knows_and_not_by_static_members() -> None:
    left = stable().leave("done")
    assert left is not None
    assert isinstance(left.message, LeaveGroupRequest)
    assert outsider().leave("done") is None
    assert stable(GroupSettings("g", instance_id="i")).leave("done") is None


def test_an_empty_assignment_is_no_partitions_and_a_broken_one_an_error() -> None:
    membership = outsider()
    answer(membership, follower())
    answer(membership, SyncGroupResponse(assignment=b""))
    assert membership.take_assigned() == frozenset()
    for broken in (b"\0", b"\0\0\0\0\0\1\0\1"):
        membership = outsider()
        answer(membership, follower())
        with pytest.raises(DecodeError):
            answer(membership, SyncGroupResponse(assignment=broken))


def test_an_assignment_in_a_newer_layout_reads_by_what_is_known_of_it() -> None:
    membership = outsider()
    answer(membership, follower())
    answer(membership, SyncGroupResponse(assignment=b"\0\x09" + ASSIGNMENT[2:] + b"more"))
    assert membership.take_assigned() == {TopicPartition("t", 0), TopicPartition("t", 2)}
