"""Consumer groups of KIP-848: who joins, what each is to have, and that nobody has what somebody else still has."""

from __future__ import annotations

import pytest
from consumer_group_bench import REBALANCE_MS, ConsumerBench, Member, World, settle
from share_group_bench import G

from leaselog.coordination.cluster_view import ConsumerSettings
from leaselog.coordination.consumer_group_commands import ConsumerBeat, ConsumerHeartbeat
from leaselog.coordination.group_commands import (
    CommitOffsets,
    DeleteGroup,
    DescribeGroup,
    Done,
    FetchedOffsets,
    FetchOffsets,
    GroupListing,
    JoinAnswer,
    JoinGroup,
    LeaveAnswer,
    LeaveGroup,
    Leaver,
    ListGroups,
    OffsetToCommit,
    PartitionCodes,
)
from leaselog.coordination.group_facts import Protocol
from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId, TopicPartition


class Topics(World):
    def __init__(self, **counts: int) -> None:
        super().__init__()
        self.consumers = ConsumerSettings(assignment_interval_ms=0)
        for name, partitions in counts.items():
            self.make(name, partitions)

    def topics_matching(self, pattern: str) -> frozenset[str]:
        return frozenset(name for name in self.topics if name.startswith(pattern.removesuffix(".*")))

    def consumer_settings(self, group_id: GroupId) -> ConsumerSettings:
        return self.consumers


def bench(**counts: int) -> ConsumerBench:
    return ConsumerBench(Topics(**(counts or {"t": 4})))


def refused(answer: object) -> ErrorCode:
    assert isinstance(answer, Refused), answer
    return answer.code


def sizes(*members: Member) -> list[int]:
    return [len(member.owned) for member in members]


def test_the_first_member_has_everything_with_its_first_heartbeat() -> None:
    group = bench()
    member = Member(group)
    answer = member.beat()
    assert isinstance(answer, ConsumerBeat)
    assert (answer.epoch, answer.heartbeat_interval_ms) == (2, 5_000)
    assert sizes(member) == [4]
    assert group.describe().state == "Stable"


def test_who_joins_gets_nothing_before_others_have_let_go_of_it() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    first.beat()
    second.beat()
    assert sizes(first, second) == [4, 0]
    first.beat(lets_go=False)
    assert group.describe().state == "Reconciling"
    second.beat()
    assert sizes(first, second) == [4, 0], "the first has been told, and has let go of nothing yet"
    first.beat()
    second.beat()
    assert sizes(first, second) == [2, 2]
    assert group.describe().state == "Stable"


def test_who_does_not_let_go_in_time_is_fenced_and_loses_everything() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    first.beat()
    second.beat()
    first.beat(lets_go=False)
    for _ in range(4):
        group.wait(REBALANCE_MS // 4)
        if first.member_id in [m.member_id for m in group.describe().members]:
            first.beat(lets_go=False)
        second.beat()
    assert sizes(second) == [4]
    assert refused(first.beat()) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_is_silent_is_fenced_and_others_have_its_partitions() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    settle(first, second)
    group.wait(30_000)
    second.beat()
    group.wait(20_000)
    second.beat()
    assert sizes(second) == [4]
    assert refused(first.beat()) is ErrorCode.UNKNOWN_MEMBER_ID
    settle(first, second)
    assert sizes(first, second) == [2, 2]


def test_who_leaves_gives_its_partitions_to_the_others_with_their_next_heartbeat() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    settle(first, second)
    assert first.leave() == ConsumerBeat(first.member_id, -1)
    second.beat()
    assert sizes(second) == [4]
    second.leave()
    assert group.describe().state == "Empty"


def test_a_target_is_computed_at_most_once_an_interval_unless_somebody_goes_without() -> None:
    group = bench()
    assert isinstance(group.world, Topics)
    group.world.consumers = ConsumerSettings(assignment_interval_ms=1_000)
    member = Member(group)
    member.beat()
    group.world.make("t", 6)
    member.beat()
    assert sizes(member) == [4]
    assert group.describe().state == "Assigning"
    group.wait(1_000)
    member.beat()
    assert sizes(member) == [6]


def test_the_answer_that_was_lost_is_given_again() -> None:
    group = bench()
    member = Member(group)
    member.beat()
    group.world.make("t", 5)
    member.beat(is_answered=False)
    assert sizes(member) == [4]
    member.beat(says_all=True)
    assert sizes(member) == [5]


def test_an_epoch_that_is_not_the_members_fences_it() -> None:
    group = bench()
    member = Member(group)
    member.beat()
    member.epoch = 7
    assert refused(member.beat()) is ErrorCode.FENCED_MEMBER_EPOCH
    assert isinstance(member.beat(), ConsumerBeat), "it comes back under its id"
    assert sizes(member) == [4]


def test_a_pattern_takes_in_topics_as_they_come_and_go() -> None:
    group = bench(ta=1, other=5)
    member = Member(group, (), pattern="t.*")
    member.beat()
    assert sizes(member) == [1]
    group.world.make("tb", 3)
    member.beat()
    assert sizes(member) == [4]
    group.world.delete("ta")
    member.beat()
    member.beat()
    assert sizes(member) == [3]


def test_a_static_member_that_comes_back_has_what_it_had_and_nobody_notices() -> None:
    group = bench()
    static, other = Member(group, instance_id="i"), Member(group)
    settle(static, other)
    before, epoch = static.owned, group.describe().epoch
    assert static.leave(for_a_while=True) == ConsumerBeat(static.member_id, -2)
    again = Member(group, instance_id="i")
    again.beat()
    assert again.owned == before
    assert group.describe().epoch == epoch
    assert refused(static.beat()) is ErrorCode.UNRELEASED_INSTANCE_ID


def test_the_instance_of_a_member_that_is_there_is_not_given_away() -> None:
    group = bench()
    static = Member(group, instance_id="i")
    static.beat()
    assert refused(Member(group, instance_id="i").beat()) is ErrorCode.UNRELEASED_INSTANCE_ID
    stranger = Member(group, instance_id="i")
    stranger.epoch = 2
    assert refused(stranger.beat()) is ErrorCode.FENCED_INSTANCE_ID
    nobody = Member(group, instance_id="j")
    nobody.epoch = 1
    assert refused(nobody.beat()) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_does_not_come_back_in_time_has_left() -> None:
    group = bench()
    static, other = Member(group, instance_id="i"), Member(group)
    settle(static, other)
    static.leave(for_a_while=True)
    group.wait(30_000)
    other.beat()
    group.wait(20_000)
    other.beat()
    assert sizes(other) == [4]


def test_members_may_want_a_range_of_each_topic() -> None:
    group = bench(t=3, u=3)
    members = [Member(group, ("t", "u"), assignor="range") for _ in range(2)]
    settle(*members)
    assert sizes(*members) == [4, 2]
    assert group.describe().assignor == "range"


def test_a_full_group_takes_nobody_more() -> None:
    group = bench()
    assert isinstance(group.world, Topics)
    group.world.consumers = ConsumerSettings(max_size=1)
    Member(group).beat()
    assert refused(Member(group).beat()) is ErrorCode.GROUP_MAX_SIZE_REACHED


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"member_id": MemberId("")}, ErrorCode.INVALID_REQUEST),
        ({"group_id": GroupId(" ")}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"owned": frozenset({(TopicId.__supertype__(int=1), 0)})}, ErrorCode.INVALID_REQUEST),
        ({"topics": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"assignor": "mine"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"member_epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_heartbeat_that_makes_no_sense_founds_nothing(changes: dict[str, object], code: ErrorCode) -> None:
    group = bench()
    ask = ConsumerHeartbeat(
        token=None,  # type: ignore[arg-type]
        group_id=G,
        member_id=MemberId("m"),
        member_epoch=0,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=REBALANCE_MS,
        topics=("t",),
        owned=frozenset(),
    )._replace(**changes)
    assert refused(group.ask(lambda token: ask._replace(token=token))) is code
    assert not list(group.shard.listed())


def test_members_that_come_together_are_seen_to_together() -> None:
    group = bench()
    assert isinstance(group.world, Topics)
    group.world.consumers = ConsumerSettings(assignment_interval_ms=1_000)
    first, second = Member(group), Member(group)
    first.beat()
    answer = second.beat()
    assert isinstance(answer, ConsumerBeat)
    assert (answer.epoch, sizes(first, second)) == (2, [4, 0])
    settle(first, second)
    assert sizes(first, second) == [2, 2]


def test_what_somebody_had_who_is_gone_waits_for_no_interval() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    settle(first, second)
    assert isinstance(group.world, Topics)
    group.world.consumers = ConsumerSettings(assignment_interval_ms=60_000)
    first.leave()
    second.beat()
    assert sizes(second) == [4]


def test_who_is_described_has_what_it_has_yet_to_let_go_of() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    first.beat()
    second.beat()
    first.beat(lets_go=False)
    held = {member.member_id: member.assigned for member in group.describe().members}
    assert [len(partitions) for partitions in held[first.member_id].values()] == [4]
    assert not held[second.member_id]


def test_an_administrator_takes_members_out() -> None:
    group = bench()
    static, other, stays = Member(group, instance_id="i"), Member(group), Member(group)
    settle(static, other, stays)
    leavers = (
        Leaver(MemberId(""), "i"),
        Leaver(other.member_id),
        Leaver(MemberId("x")),
        Leaver(MemberId(""), "nobody"),
    )
    answer = group.ask(lambda token: LeaveGroup(token, G, leavers))
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    codes = (ErrorCode.NONE, ErrorCode.NONE, unknown, unknown)
    assert answer == LeaveAnswer(tuple(zip(leavers, codes, strict=True)))
    stays.beat()
    assert sizes(stays) == [4]


# Offsets


def commit(group: ConsumerBench, member: Member, epoch: int, *, member_id: MemberId | None = None) -> object:
    offset = OffsetToCommit(TopicPartition("t", 0), 5, -1, "", group.world.topics["t"].topic_id)
    return group.ask(
        lambda token: CommitOffsets(
            token, G, member.member_id if member_id is None else member_id, None, epoch, (offset,)
        )
    )


def test_offsets_are_committed_at_the_members_epoch_and_by_nobody_else() -> None:
    group = bench()
    member = Member(group)
    member.beat()
    assert commit(group, member, 2) == PartitionCodes((ErrorCode.NONE,))
    assert refused(commit(group, member, 3)) is ErrorCode.STALE_MEMBER_EPOCH
    assert refused(commit(group, member, 2, member_id=MemberId("x"))) is ErrorCode.UNKNOWN_MEMBER_ID
    group.world.make("t", 6)
    member.beat()
    assert member.epoch == 3
    assert commit(group, member, 2) == PartitionCodes((ErrorCode.NONE,)), (
        "it has had that partition since then"
    )


def test_offsets_are_fetched_at_the_members_epoch_or_by_an_administrator() -> None:
    group = bench()
    member = Member(group)
    member.beat()

    def fetch(member_id: MemberId | None, epoch: int) -> object:
        return group.ask(lambda token: FetchOffsets(token, G, None, False, member_id, epoch))

    assert fetch(member.member_id, 2) == fetch(None, -1) == FetchedOffsets(())
    assert refused(fetch(member.member_id, 0)) is ErrorCode.STALE_MEMBER_EPOCH
    assert refused(fetch(MemberId("x"), 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_without_members_goes_with_its_offsets() -> None:
    group = bench()
    member = Member(group)
    member.beat()
    commit(group, member, 2)
    assert refused(group.ask(lambda token: DeleteGroup(token, G))) is ErrorCode.NON_EMPTY_GROUP
    member.leave()
    assert group.ask(lambda token: DeleteGroup(token, G)) == Done()
    assert not group.shard.stored_offsets()
    assert not list(group.restarted().shard.listed())


def test_offsets_that_nobody_wants_any_more_expire_and_an_empty_group_with_them() -> None:
    group = bench()
    member = Member(group)
    member.beat()
    commit(group, member, 2)
    member.leave()
    group.wait(8 * 24 * 3_600_000)
    assert not group.shard.stored_offsets()
    assert not list(group.shard.listed())


# Groups of other kinds


def join(group: ConsumerBench) -> object:
    return group.ask_and_wait(
        lambda token: JoinGroup(
            token, G, MemberId(""), MemberId("c"), None, "c", "/h", 10_000, 10_000, "consumer",
            (Protocol("range"),), member_id_required=False,
        )
    )  # fmt: skip


def test_a_classic_member_may_not_join_while_there_are_members_and_takes_an_empty_group_over() -> None:
    group = bench()
    member = Member(group)
    member.beat()
    commit(group, member, 2)
    answer = join(group)
    assert isinstance(answer, JoinAnswer)
    assert answer.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    member.leave()
    answer = join(group)
    assert isinstance(answer, JoinAnswer)
    assert answer.code is ErrorCode.NONE
    assert [listed.type for listed in group.shard.listed()] == ["classic"]
    again = group.restarted()
    assert [listed.type for listed in again.shard.listed()] == ["classic"]
    assert group.shard.stored_offsets() == again.shard.stored_offsets() != {}


def test_a_consumer_group_goes_on_from_the_offsets_of_a_classic_one_without_members() -> None:
    group = bench()
    commit(group, Member(group), -1, member_id=MemberId(""))
    assert [listed.type for listed in group.shard.listed()] == ["classic"]
    Member(group).beat()
    assert [listed.type for listed in group.shard.listed()] == ["consumer"]
    assert group.shard.stored_offsets()
    again = group.restarted()
    assert [listed.type for listed in again.shard.listed()] == ["consumer"]


def test_a_consumer_group_is_listed_as_one_and_described_as_no_classic_one() -> None:
    group = bench()
    Member(group).beat()
    listing = group.ask(lambda token: ListGroups(token, frozenset(), frozenset({"consumer"})))
    assert isinstance(listing, GroupListing)
    assert [(found.group_id, found.state, found.protocol_type) for found in listing.groups] == [
        (G, "Stable", "consumer")
    ]
    assert refused(group.ask(lambda token: DescribeGroup(token, G))) is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_restart_keeps_who_has_what() -> None:
    group = bench()
    first, second = Member(group), Member(group)
    settle(first, second)
    again = group.restarted()
    assert again.describe() == group.describe()
    first.bench = second.bench = again
    first.beat()
    second.beat()
    assert sizes(first, second) == [2, 2]
