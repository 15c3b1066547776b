"""Classic groups: joining, syncing, staying, leaving, and what silence does."""

from __future__ import annotations

import pytest
from group_bench import Bench, G, code_of

from leaselog.coordination.group_commands import (
    Answer,
    DescribedGroup,
    DescribeGroup,
    JoinAnswer,
    LeaveAnswer,
    SyncAnswer,
    SyncGroup,
)
from leaselog.coordination.group_facts import GroupStored, Protocol
from leaselog.coordination.group_turn import GroupLimits
from leaselog.model import ErrorCode, MemberId, Refused


def described(bench: Bench) -> DescribedGroup:
    answer = bench.ask(lambda token: DescribeGroup(token, G))
    assert isinstance(answer, DescribedGroup)
    return answer


def join_answer(answer: Answer) -> JoinAnswer:
    assert isinstance(answer, JoinAnswer)
    return answer


def test_a_stranger_is_told_to_come_back_with_its_id() -> None:
    bench = Bench()
    assert bench.join(fresh="a") == JoinAnswer(MemberId("a"), ErrorCode.MEMBER_ID_REQUIRED)
    assert described(bench).state == "Empty"
    answer = bench.join("a")
    assert (answer.code, answer.generation, answer.leader) == (ErrorCode.NONE, 1, "a")
    assert [m.member_id for m in answer.members] == ["a"]


def test_an_old_client_is_a_member_at_once() -> None:
    assert Bench().join(fresh="a", member_id_required=False).generation == 1


def test_a_name_is_written_down_before_its_first_member_is() -> None:
    bench = Bench()
    bench.join(fresh="a")
    assert [type(fact) for fact in bench.facts] == [GroupStored]
    assert code_of(bench.restarted().join(fresh="b")) is ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize(
    ("session_timeout_ms", "code"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_session_timeouts_have_bounds(session_timeout_ms: int, code: ErrorCode) -> None:
    assert Bench().join(session_timeout_ms=session_timeout_ms).code is code


def test_an_id_nobody_gave_out_is_unknown() -> None:
    bench = Bench()
    assert bench.join("ghost").code is ErrorCode.UNKNOWN_MEMBER_ID
    bench.stable("a")
    assert bench.join("ghost").code is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_first_rebalance_waits_for_more_members_while_they_keep_coming() -> None:
    bench = Bench(GroupLimits(initial_rebalance_delay_ms=3_000))
    first = bench.send_join(fresh="a", member_id_required=False)
    bench.wait(2_000)
    second = bench.send_join(fresh="b", member_id_required=False)
    bench.wait(1_500)
    assert first not in bench.answers
    bench.wait(2_500)
    assert join_answer(bench.answers[first]).generation == 1
    assert len(join_answer(bench.answers[first]).members) == 2
    assert join_answer(bench.answers[second]).members == ()


def test_the_first_rebalance_is_put_off_no_longer_than_the_rebalance_timeout() -> None:
    bench = Bench(GroupLimits(initial_rebalance_delay_ms=3_000))
    first = bench.send_join(fresh="m0", member_id_required=False, rebalance_timeout_ms=8_000)
    for i in range(1, 8):
        bench.wait(1_000)
        bench.send_join(fresh=f"m{i}", member_id_required=False, rebalance_timeout_ms=8_000)
        assert first not in bench.answers
    bench.wait(1_000)
    assert len(join_answer(bench.answers[first]).members) == 8


def test_a_follower_waits_for_the_leaders_assignment() -> None:
    bench = Bench()
    bench.stable("a")
    second = bench.send_join(fresh="b", member_id_required=False)
    assert bench.heartbeat("a", 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.join("a").generation == 2
    assert join_answer(bench.answers[second]).leader == "a"
    follower = bench.sync("b", 2)
    assert follower not in bench.answers
    leader = bench.sync("a", 2, a=b"1", b=b"2")
    assert bench.answers[leader] == SyncAnswer("consumer", "range", b"1")
    assert bench.answers[follower] == SyncAnswer("consumer", "range", b"2")
    assert described(bench).state == "Stable"


def test_a_sync_that_another_join_overtakes_is_told_to_rejoin() -> None:
    bench = Bench()
    bench.stable("a", "b")
    generation = bench.shard.stored_groups()[G].generation
    both = [bench.send_join("b", protocols=(Protocol("range", b"new"),)), bench.send_join("a")]
    assert [join_answer(bench.answers[t]).generation for t in both] == [generation + 1] * 2
    waiting = bench.sync("b", generation + 1)
    bench.send_join(fresh="c", member_id_required=False)
    assert bench.answers[waiting] == Refused(ErrorCode.REBALANCE_IN_PROGRESS)


@pytest.mark.parametrize(
    ("protocol_type", "protocol", "generation", "member", "code"),
    [
        ("connect", "range", 1, "a", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", "sticky", 1, "a", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", "range", 2, "a", ErrorCode.ILLEGAL_GENERATION),
        ("consumer", "range", 1, "x", ErrorCode.UNKNOWN_MEMBER_ID),
        (None, None, 1, "a", ErrorCode.NONE),
    ],
)
def test_a_sync_must_know_its_group(
    protocol_type: str | None, protocol: str | None, generation: int, member: str, code: ErrorCode
) -> None:
    bench = Bench()
    bench.stable("a")
    answer = bench.ask(
        lambda token: SyncGroup(token, G, MemberId(member), None, generation, protocol_type, protocol, {})
    )
    assert code_of(answer) is code


def test_the_protocol_is_one_that_all_know_and_most_prefer() -> None:
    bench = Bench(GroupLimits(initial_rebalance_delay_ms=10))
    wishes = {"a": ("only-a", "x", "y"), "b": ("y", "x"), "c": ("y", "x")}
    tokens = [
        bench.send_join(fresh=m, member_id_required=False, protocols=[Protocol(p) for p in names])
        for m, names in wishes.items()
    ]
    bench.wait(100)
    assert join_answer(bench.answers[tokens[0]]).protocol == "y"
    assert bench.join(fresh="d", protocols=(Protocol("z"),)).code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.join(fresh="d", protocol_type="connect").code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_join_without_protocols_is_inconsistent_even_in_an_empty_group() -> None:
    assert Bench().join(protocols=()).code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_follower_that_rejoins_unchanged_disturbs_nobody() -> None:
    bench = Bench()
    generation = bench.stable("a", "b")
    assert bench.join("b").generation == generation
    assert described(bench).state == "Stable"


def test_a_leader_that_rejoins_wants_a_rebalance() -> None:
    bench = Bench()
    generation = bench.stable("a")
    assert bench.join("a").generation == generation + 1


def test_a_lost_join_answer_is_given_again() -> None:
    bench = Bench()
    first = bench.join(fresh="a", member_id_required=False)
    assert bench.join("a") == first


def test_members_that_do_not_rejoin_in_time_are_dropped() -> None:
    bench = Bench()
    bench.stable("a", "b", rebalance_timeout_ms=5_000, session_timeout_ms=30_000)
    rejoined = bench.send_join("a", protocols=(Protocol("range", b"new"),), rebalance_timeout_ms=5_000)
    bench.wait(4_999)
    assert rejoined not in bench.answers
    bench.wait(1)
    assert [m.member_id for m in join_answer(bench.answers[rejoined]).members] == ["a"]
    assert bench.heartbeat("b", 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_never_syncs_is_dropped() -> None:
    bench = Bench()
    bench.join(fresh="a", member_id_required=False, rebalance_timeout_ms=7_000, session_timeout_ms=30_000)
    bench.wait(7_000)
    assert described(bench).state == "Empty"


def test_silence_ends_membership_and_a_heartbeat_prevents_it() -> None:
    bench = Bench()
    bench.stable("a", session_timeout_ms=10_000)
    bench.wait(9_999)
    assert bench.heartbeat("a", 1) is ErrorCode.NONE
    bench.wait(9_999)
    assert described(bench).state == "Stable"
    bench.wait(1)
    assert described(bench).state == "Empty"
    assert bench.shard.stored_groups()[G].members == ()


def test_an_offset_commit_is_a_sign_of_life() -> None:
    bench = Bench()
    bench.stable("a", session_timeout_ms=10_000)
    bench.wait(9_000)
    bench.commit(5, "a", 1)
    bench.wait(9_000)
    assert bench.heartbeat("a", 1) is ErrorCode.NONE


def test_an_id_that_is_never_used_delays_the_others_one_session_at_most() -> None:
    bench = Bench()
    bench.stable("a", session_timeout_ms=60_000)
    bench.join(fresh="ghost", session_timeout_ms=10_000)
    rejoined = bench.send_join("a", session_timeout_ms=60_000)
    bench.wait(9_999)
    assert rejoined not in bench.answers
    bench.wait(1)
    assert join_answer(bench.answers[rejoined]).generation == 2


def test_a_member_that_leaves_makes_room_at_once() -> None:
    bench = Bench()
    bench.stable("a", "b")
    left = bench.leave(("a", None), ("ghost", None))
    assert isinstance(left, LeaveAnswer)
    assert [code for _, code in left.members] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    generation = bench.shard.stored_groups()[G].generation
    assert bench.heartbeat("b", generation) is ErrorCode.REBALANCE_IN_PROGRESS
    assert bench.join("b").leader == "b"


def test_a_parked_sync_of_a_member_that_is_removed_is_answered() -> None:
    bench = Bench()
    bench.stable("a")
    bench.send_join(fresh="b", instance="i", member_id_required=False)
    bench.join("a")
    parked = bench.sync("b", 2, "i")
    bench.leave(("", "i"))
    assert bench.answers[parked] == Refused(ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_full_group_takes_nobody_in() -> None:
    bench = Bench(GroupLimits(initial_rebalance_delay_ms=0, max_size=2))
    bench.stable("a", "b")
    assert bench.join(fresh="c").code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert described(bench).state == "Stable"


def test_ids_given_out_have_a_bound() -> None:
    bench = Bench(GroupLimits(pending_joins_max=1))
    assert bench.join(fresh="a").code is ErrorCode.MEMBER_ID_REQUIRED
    assert bench.join(fresh="b").code is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_group_too_large_to_write_down_does_not_become_stable() -> None:
    bench = Bench(GroupLimits(initial_rebalance_delay_ms=0, record_bytes_max=1_000))
    bench.join(fresh="a", member_id_required=False)
    assert bench.answers[bench.sync("a", 1, a=bytes(2_000))] == Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert described(bench).state == "PreparingRebalance"


# Static members


def test_a_returning_static_member_takes_its_place_without_a_rebalance() -> None:
    bench = Bench()
    bench.stable("a")
    bench.send_join(fresh="s1", instance="i")
    bench.join("a")
    bench.sync("a", 2, a=b"1", s1=b"2")
    answer = bench.join(fresh="s2", instance="i")
    assert (answer.code, answer.member_id, answer.generation) == (ErrorCode.NONE, "s2", 2)
    assert bench.answers[bench.sync("s2", 2, "i")] == SyncAnswer("consumer", "range", b"2")
    assert bench.heartbeat("s1", 2, "i") is ErrorCode.FENCED_INSTANCE_ID
    assert bench.heartbeat("s2", 2, "i") is ErrorCode.NONE
    assert bench.restarted().heartbeat("s2", 2, "i") is ErrorCode.NONE


@pytest.mark.parametrize(("may_skip", "leader", "members"), [(True, "s2", 1), (False, "s1", 0)])
def test_a_returning_static_leader_leaves_the_assignment_alone(
    may_skip: bool, leader: str, members: int
) -> None:
    bench = Bench()
    bench.join(fresh="s1", instance="i")
    bench.sync("s1", 1, "i", s1=b"1")
    answer = bench.join(fresh="s2", instance="i", may_skip_assignment=may_skip)
    assert (answer.skip_assignment, answer.leader, len(answer.members)) == (may_skip, leader, members)
    assert described(bench).members[0].assignment == b"1"


def test_a_static_member_that_changed_its_mind_rebalances_the_group() -> None:
    bench = Bench()
    both = (Protocol("range"), Protocol("sticky"))
    bench.join(fresh="s1", instance="i", protocols=both)
    bench.sync("s1", 1, "i", s1=b"1")
    assert bench.join(fresh="s2", instance="i", protocols=both[::-1]).generation == 2


def test_the_old_id_of_a_static_member_is_fenced_where_it_waits() -> None:
    bench = Bench()
    bench.stable("a")
    waiting = bench.send_join(fresh="s1", instance="i")
    bench.send_join(fresh="s2", instance="i")
    assert join_answer(bench.answers[waiting]).code is ErrorCode.FENCED_INSTANCE_ID
    assert join_answer(bench.answers[waiting]).member_id == "s1"


def test_a_static_member_stays_through_a_rebalance_it_misses() -> None:
    bench = Bench()
    bench.stable("a", rebalance_timeout_ms=5_000, session_timeout_ms=60_000)
    bench.send_join(fresh="s", instance="i", rebalance_timeout_ms=5_000, session_timeout_ms=60_000)
    bench.join("a", rebalance_timeout_ms=5_000, session_timeout_ms=60_000)
    bench.sync("s", 2, "i")
    bench.sync("a", 2, a=b"1", s=b"2")
    again = bench.send_join("a", rebalance_timeout_ms=5_000, session_timeout_ms=60_000)
    bench.wait(5_000)
    assert {m.member_id for m in join_answer(bench.answers[again]).members} == {"a", "s"}


# Restarts


def test_members_survive_a_restart_and_expire_after_it() -> None:
    bench = Bench()
    generation = bench.stable("a", "b", session_timeout_ms=10_000)
    after = bench.restarted()
    assert after.heartbeat("a", generation) is ErrorCode.NONE
    assert described(after).members == described(bench).members
    after.wait(10_000)
    assert described(after).state == "Empty"


def test_a_group_over_its_bound_after_a_restart_rebalances_down() -> None:
    bench = Bench()
    generation = bench.stable("a", "b", "c")
    bench.limits = GroupLimits(initial_rebalance_delay_ms=0, max_size=2)
    after = bench.restarted()
    assert after.heartbeat("a", generation) is ErrorCode.REBALANCE_IN_PROGRESS
    first, second = after.send_join("a"), after.send_join("b")
    assert after.join("c").code is ErrorCode.GROUP_MAX_SIZE_REACHED
    after.wait(60_000)
    assert [join_answer(after.answers[t]).generation for t in (first, second)] == [generation + 1] * 2


def test_a_half_done_rebalance_is_begun_anew_after_a_restart() -> None:
    bench = Bench()
    bench.stable("a")
    bench.send_join(fresh="b", member_id_required=False)
    after = bench.restarted()
    assert after.heartbeat("a", 1) is ErrorCode.NONE
    assert after.join("b").code is ErrorCode.UNKNOWN_MEMBER_ID
