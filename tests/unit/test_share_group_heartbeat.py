"""Share groups: joining, staying, leaving, falling silent, and topics that change meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from share_group_bench import ShareBench, World, code_of, partitions_of

from leaselog.coordination.cluster_view import ShareSettings
from leaselog.coordination.share_group_commands import ShareBeat
from leaselog.coordination.share_group_facts import (
    ShareAssignmentStored,
    ShareCurrentStored,
    ShareEpochStored,
    ShareMemberStored,
    ShareTargetStored,
)
from leaselog.model import ErrorCode, Refused


def bench(**topics: int) -> ShareBench:
    world = World()
    for name, count in topics.items():
        world.make(name, count)
    return ShareBench(world)


def test_the_first_heartbeat_brings_every_partition() -> None:
    group = bench(t=3)
    beat = group.beat("a", 0, "t")
    assert (beat.epoch, partitions_of(beat)) == (3, [0, 1, 2])


def test_nothing_is_assigned_before_its_state_has_begun() -> None:
    group = bench(t=2)
    beat = group.try_beat("a", 0, "t")
    assert isinstance(beat, ShareBeat)
    assert beat.to_initialize == {group.world.topics["t"].topic_id: frozenset({0, 1})}
    assert (beat.epoch, beat.state_epoch, beat.assignment) == (2, 2, {})


def test_who_comes_while_state_begins_is_told_to_wait_for_it() -> None:
    group = bench(t=2)
    group.try_beat("a", 0, "t")
    beat = group.try_beat("b", 0, "t")
    assert isinstance(beat, ShareBeat)
    assert (beat.to_initialize, beat.is_initializing) == (None, True)


def test_state_that_failed_to_begin_is_tried_again_with_the_next_heartbeat() -> None:
    group = bench(t=2)
    first = group.try_beat("a", 0, "t")
    assert isinstance(first, ShareBeat)
    assert first.to_initialize
    topic = group.world.topics["t"].topic_id
    group.settle({topic: frozenset({0})}, {topic: frozenset({1})})
    again = group.try_beat("a", 2)
    assert isinstance(again, ShareBeat)
    assert again.to_initialize == {topic: frozenset({1})}
    assert partitions_of(again) == [0]


def test_state_that_nobody_says_anything_about_is_tried_again_in_time() -> None:
    group = bench(t=1)
    group.try_beat("a", 0, "t")
    group.wait(29_999)
    waiting = group.try_beat("a", 2)
    group.wait(1)
    again = group.try_beat("a", 2)
    assert isinstance(waiting, ShareBeat)
    assert isinstance(again, ShareBeat)
    assert (waiting.to_initialize, bool(again.to_initialize)) == (None, True)


def test_a_restart_forgets_who_was_at_it() -> None:
    group = bench(t=1)
    group.try_beat("a", 0, "t")
    again = group.restarted().try_beat("a", 2)
    assert isinstance(again, ShareBeat)
    assert again.to_initialize


def test_an_unchanged_assignment_is_told_to_those_who_ask_in_full() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    assert group.beat("a", 3).assignment is None
    assert partitions_of(group.beat("a", 3, "t")) == [0]


@pytest.mark.parametrize("count", [1, 4])
def test_members_share_and_nobody_who_joins_waits(count: int) -> None:
    group = bench(t=2)
    held = {m: partitions_of(group.beat(m, 0, "t")) for m in ("a", "b", "c", "d")[:count]}
    targets = {m.member_id: sorted(*m.target.values()) for m in group.described().members}
    assert all(held.values())
    assert targets == ({"a": [0, 1]} if count == 1 else {"a": [0], "b": [1], "c": [0], "d": [1]})


def test_others_learn_their_new_share_with_their_next_heartbeat() -> None:
    group = bench(t=4)
    group.beat("a", 0, "t")
    assert partitions_of(group.beat("b", 0, "t")) == [2, 3]
    assert partitions_of(group.beat("a", 3)) == [0, 1]
    assert group.beat("a", 4).assignment is None


def busy(group: ShareBench, member: str, epoch: int, *topics: str, not_held: Iterable[int] = ()) -> ShareBeat:
    """A heartbeat of a member that may hold records; it lets go of partitions of `t`."""
    places = {group.world.topics["t"].topic_id: frozenset(not_held)}
    beat = group.try_beat(member, epoch, *topics, may_hold=True, not_held=places)
    assert isinstance(beat, ShareBeat), beat
    return beat


def test_what_a_member_may_hold_records_of_it_keeps_until_it_lets_go() -> None:
    group = bench(t=4)
    t = group.world.topics["t"].topic_id
    group.beat("a", 0, "t")
    assert partitions_of(group.beat("b", 0, "t")) == [2, 3], "who comes does not wait for it"
    first = busy(group, "a", 3)
    assert (first.epoch, first.assignment) == (4, None)
    assert (first.target, first.revoking) == ({t: {0, 1}}, {t: {2, 3}})
    second = busy(group, "a", 4, not_held=[3])
    assert (partitions_of(second), second.revoking) == ([0, 1, 2], {t: {2}})
    third = busy(group, "a", 4, not_held=[2])
    assert (partitions_of(third), third.revoking) == ([0, 1], {})


def test_a_restart_does_not_forget_what_a_member_keeps() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.beat("b", 0, "t")
    busy(group, "a", 3)
    again = group.restarted()
    assert busy(again, "a", 4).revoking == {group.world.topics["t"].topic_id: {1}}
    assert partitions_of(busy(again, "a", 4, not_held=[1])) == [0]


def test_what_comes_back_before_it_was_let_go_does_not_leave() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.beat("b", 0, "t")
    busy(group, "a", 3)
    group.leave("b")
    beat = busy(group, "a", 4)
    assert (beat.assignment, beat.revoking, sorted(*beat.target.values())) == (None, {}, [0, 1])


def test_a_member_drops_what_it_does_not_want_itself() -> None:
    group = bench(t=2, u=1)
    group.beat("a", 0, "t", "u")
    beat = busy(group, "a", 3, "t")
    assert (partitions_of(beat), beat.revoking) == ([0, 1], {})


def test_nobody_keeps_what_has_been_deleted() -> None:
    group = bench(t=2, u=1)
    group.beat("a", 0, "t", "u")
    group.wait(1_000)
    group.delete_topic("u")
    beat = busy(group, "a", 3)
    assert (partitions_of(beat), beat.revoking) == ([0, 1], {})


def test_after_a_change_members_are_asked_again_as_soon_as_it_is_ago_and_at_most_at_the_interval() -> None:
    group = bench(t=4)
    asked = [group.beat("a", 0, "t").heartbeat_interval_ms]
    for pause_ms in (500, 500, 1_000, 2_000, 4_000):
        group.wait(pause_ms)
        asked.append(group.beat("a", 3).heartbeat_interval_ms)
    assert asked == [500, 500, 1_000, 2_000, 4_000, 5_000]
    assert group.beat("b", 0, "t").heartbeat_interval_ms == 500
    assert group.beat("a", 3).heartbeat_interval_ms == 500


def test_an_interval_shorter_than_that_stays_what_it_is() -> None:
    group = ShareBench(World(ShareSettings(heartbeat_interval_ms=100)))
    assert group.beat("a", 0, "t").heartbeat_interval_ms == 100


def test_a_clock_that_was_set_back_does_not_keep_members_beating() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.wait(-60_000)
    assert group.beat("a", 3).heartbeat_interval_ms == 5_000


def test_a_target_is_computed_once_an_interval_if_nobody_goes_without() -> None:
    group = bench(t=1, u=1)
    group.beat("a", 0, "t", "u")
    assert group.beat("a", 3, "t").epoch == 3
    group.wait(1_000)
    assert group.beat("a", 3).epoch == 4


def test_what_a_topic_lost_is_no_longer_assigned_although_the_target_is_old() -> None:
    group = bench(t=1, u=1)
    group.beat("a", 0, "t", "u")
    assert partitions_of(group.beat("a", 3, "t")) == [0]


def test_what_a_member_leaves_behind_does_not_wait_for_the_interval() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.beat("b", 0, "t")
    assert partitions_of(group.beat("a", 3)) == [0]
    group.leave("b")
    assert partitions_of(group.beat("a", 4)) == [0, 1]


@pytest.mark.parametrize(("count", "added"), [(1, [0, 1, 2]), (0, [0, 1, 2])])
def test_new_partitions_come_with_the_next_heartbeat(count: int, added: list[int]) -> None:
    group = bench(**({"t": count} if count else {}))
    epoch = group.beat("a", 0, "t").epoch
    group.world.make("t", 3)
    assert partitions_of(group.beat("a", epoch)) == added


def test_a_deleted_topic_is_gone_with_the_next_heartbeat_and_its_name_may_come_back() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.wait(1_000)
    group.delete_topic("t")
    assert group.beat("a", 3).assignment == {}
    topic = group.world.make("t", 1)
    assert group.beat("a", 4).assignment == {topic: frozenset({0})}


def test_a_topic_deleted_while_the_shard_was_not_there_is_forgotten() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    old = group.world.topics.pop("t").topic_id
    new = group.world.make("t", 1)
    after = group.restarted().beat("a", 3)
    assert (old in (after.assignment or {}), new in (after.assignment or {})) == (False, True)


def test_topics_change_the_epoch_once_and_what_has_begun_once_more() -> None:
    group = bench(t=1)
    epoch = group.beat("a", 0, "t").epoch
    group.wait(1_000)
    group.world.make("t", 2)
    assert group.beat("a", epoch).epoch == epoch + 2
    group.world.make("other", 1)
    assert group.beat("a", epoch + 2).epoch == epoch + 2


# Epochs


def test_a_lost_answer_may_be_asked_for_again() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.beat("b", 0, "t")
    group.beat("a", 3)
    assert group.beat("a", 3).epoch == 4


@pytest.mark.parametrize(("epoch", "word"), [(5, "greater"), (1, "smaller")])
def test_an_epoch_that_was_never_told_is_fenced(epoch: int, word: str) -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.beat("b", 0, "t")
    group.beat("a", 3)
    refused = group.try_beat("a", epoch)
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused.message is not None
    assert f"a {word} member epoch ({epoch})" in refused.message


def test_a_fenced_member_comes_back_under_its_id() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    back = group.beat("a", 0, "t")
    assert (back.epoch, partitions_of(back)) == (3, [0])


def test_a_fenced_heartbeat_does_not_keep_a_member_alive() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.wait(44_000)
    group.try_beat("a", 99)
    group.wait(1_000)
    assert code_of(group.try_beat("a", 3)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_epochs_survive_a_restart() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    after = group.restarted()
    assert after.described() == group.described()
    assert after.beat("a", 3).assignment is None
    assert after.described().epoch == group.described().epoch


# Who may


@pytest.mark.parametrize(
    ("member", "epoch", "topics", "code", "message"),
    [
        (" ", 0, ("t",), ErrorCode.INVALID_REQUEST, "MemberId can't be empty."),
        ("a", 0, (), ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request."),
        ("a", -2, (), ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid."),
        ("a", 1, (), ErrorCode.GROUP_ID_NOT_FOUND, "Share group g not found."),
        ("a", -1, (), ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found."),
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_refused_in_kafkas_words(
    member: str, epoch: int, topics: tuple[str, ...], code: ErrorCode, message: str
) -> None:
    group = bench()
    assert group.try_beat(member, epoch, *topics) == Refused(code, message)
    assert group.facts == []


def test_an_empty_rack_is_refused() -> None:
    assert code_of(bench().try_beat("a", 0, "t", rack="")) is ErrorCode.INVALID_REQUEST


def test_a_stranger_is_told_so() -> None:
    group = bench()
    group.beat("a", 0, "t")
    unknown = Refused(ErrorCode.UNKNOWN_MEMBER_ID, "Member b is not a member of group g.")
    assert group.try_beat("b", 3) == unknown
    assert group.try_beat("b", -1) == unknown


def test_a_full_group_takes_nobody_but_those_it_has() -> None:
    group = ShareBench(World(ShareSettings(max_size=2)))
    group.beat("a", 0, "t")
    group.beat("b", 0, "t")
    assert code_of(group.try_beat("c", 0, "t")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    group.beat("a", 0, "t")
    group.leave("b")
    group.beat("c", 0, "t")


def test_settings_take_effect_with_the_next_heartbeat() -> None:
    group = bench()
    group.beat("a", 0, "t")
    group.world.settings = replace(
        group.world.settings, session_timeout_ms=100_000, heartbeat_interval_ms=9_000
    )
    group.wait(9_000)
    assert group.beat("a", 2).heartbeat_interval_ms == 9_000
    group.wait(99_999)
    assert group.described().state == "Stable"


def test_silence_ends_a_membership() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.wait(44_999)
    assert group.described().state == "Stable"
    group.wait(1)
    assert (group.described().state, group.described().epoch) == ("Empty", 4)


def test_after_a_restart_members_have_their_whole_time() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.wait(44_000)
    after = group.restarted()
    after.wait(44_999)
    assert after.described().state == "Stable"
    after.wait(1)
    assert after.described().state == "Empty"


def test_an_empty_share_group_stays() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.leave("a")
    group.wait(30 * 24 * 3_600_000)
    assert group.described().state == "Empty"
    assert partitions_of(group.restarted().beat("a", 0, "t")) == [0]


def test_what_a_member_says_of_itself_is_kept_sorted_and_once() -> None:
    group = bench()
    group.try_beat("a", 0, "u", "t", "u", rack="r1")
    group.try_beat("a", 2, client="other")
    member = group.described().members[0]
    assert (member.topics, member.rack_id, member.client_id) == (("t", "u"), "r1", "other")


# What is written


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    written = len(group.facts)
    group.beat("a", 3)
    group.beat("a", 3, "t")
    assert len(group.facts) == written


def test_a_join_is_written_in_kafkas_order() -> None:
    group = bench()
    group.beat("a", 0, "t")
    assert [type(fact) for fact in group.facts] == [
        ShareMemberStored,
        ShareEpochStored,
        ShareTargetStored,
        ShareAssignmentStored,
        ShareCurrentStored,
    ]


def test_a_leave_is_written_in_kafkas_order() -> None:
    group = bench()
    group.beat("a", 0, "t")
    before = len(group.facts)
    group.leave("a")
    assert [type(fact) for fact in group.facts[before:]] == [
        ShareCurrentStored,
        ShareTargetStored,
        ShareMemberStored,
        ShareEpochStored,
    ]
