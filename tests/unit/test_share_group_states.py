"""Share groups: administration of their state, and one namespace with groups of other kinds."""

from __future__ import annotations

import pytest
from group_bench import commit, join
from share_group_bench import G, ShareBench, World, code_of

from leaselog.coordination.group_commands import (
    Answer,
    DeleteGroup,
    DeleteOffsets,
    DescribedGroup,
    DescribeGroup,
    Done,
    FetchedOffsets,
    FetchOffsets,
    GroupListing,
    Heartbeat,
    JoinAnswer,
    LeaveAnswer,
    LeaveGroup,
    Leaver,
    ListedGroup,
    ListGroups,
    SyncGroup,
)
from leaselog.coordination.share_group_commands import (
    AlterShareOffsets,
    DeleteShareOffsets,
    DescribeShareGroup,
    ForgetShareStates,
    KnownShareStates,
    ListShareStates,
    ShareOffsetsToSet,
    ShareStatesToDelete,
    StatesOfTopic,
)
from leaselog.coordination.share_group_facts import ShareStateStored
from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId, TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def left(**topics: int) -> ShareBench:
    """A group that has state for all of the topics, and nobody in it."""
    world = World()
    for name, count in topics.items():
        world.make(name, count)
    group = ShareBench(world)
    group.beat("a", 0, *topics)
    group.leave("a")
    return group


def alter(bench: ShareBench, **offsets: int) -> Answer:
    wanted = {TopicPartition(name[0], int(name[1:])): offset for name, offset in offsets.items()}
    return bench.ask(lambda token: AlterShareOffsets(token, G, wanted))


def known(bench: ShareBench) -> dict[str, list[int]]:
    answer = bench.ask(lambda token: ListShareStates(token, G))
    assert isinstance(answer, KnownShareStates)
    return {topic.name: sorted(topic.partitions) for topic in answer.topics}


def delete(bench: ShareBench, *topics: str) -> Answer:
    return bench.ask(lambda token: DeleteShareOffsets(token, G, topics))


def forget(bench: ShareBench, *topics: TopicId) -> None:
    bench.ask(lambda token: ForgetShareStates(token, G, frozenset(topics)))


def delete_group(bench: ShareBench) -> Answer:
    return bench.ask(lambda token: DeleteGroup(token, G))


# Offsets


def test_offsets_are_set_with_the_groups_epoch_and_leave_it_alone() -> None:
    group = left(t=2)
    answer = alter(group, t0=5)
    assert answer == ShareOffsetsToSet(frozenset(), 4)
    assert group.described().epoch == 4


def test_what_does_not_exist_is_named_and_the_rest_is_set() -> None:
    answer = alter(left(t=2), t1=5, t2=5, x0=5)
    assert isinstance(answer, ShareOffsetsToSet)
    assert answer.unknown == {TopicPartition("t", 2), TopicPartition("x", 0)}


def test_setting_offsets_makes_the_group() -> None:
    group = ShareBench()
    topic = group.world.make("t", 2)
    assert alter(group, t1=5) == ShareOffsetsToSet(frozenset(), 1)
    group.settle({topic: frozenset({1})})
    assert known(group) == {"t": [1]}
    assert (group.described().state, group.described().epoch) == ("Empty", 1)
    assert known(group.restarted()) == {"t": [1]}
    assert group.beat("a", 0, "t").epoch == 3


def test_setting_nothing_that_exists_makes_no_group() -> None:
    group = ShareBench()
    alter(group, x0=5)
    assert code_of(group.ask(lambda token: DescribeShareGroup(token, G))) is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("act", [lambda b: alter(b, t0=1), lambda b: delete(b, "t"), delete_group])
def test_a_group_with_members_is_not_administered(act: object) -> None:
    group = left(t=1)
    group.beat("a", 0, "t")
    written = len(group.facts)
    assert act(group) == Refused(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")  # type: ignore[operator]
    assert len(group.facts) == written


def test_deleted_offsets_are_gone_when_the_persister_says_so() -> None:
    group = left(t=2, u=1)
    t, u = (group.world.topics[name].topic_id for name in "tu")
    assert delete(group, "t") == ShareStatesToDelete((StatesOfTopic(t, "t", frozenset({0, 1})),), {})
    assert known(group) == {"u": [0]}
    forget(group, t)
    again = delete(group, "t", "x")
    assert isinstance(again, ShareStatesToDelete)
    assert {name: refused.message for name, refused in again.refused.items()} == {
        "t": "There is no offset information to delete.",
        "x": "This server does not host this topic-partition.",
    }
    assert u in {topic.topic_id for topic in _doomed(delete(group, "u"))}


def test_a_deletion_that_failed_may_be_tried_again_also_after_a_restart() -> None:
    group = left(t=2)
    delete(group, "t")
    assert [sorted(topic.partitions) for topic in _doomed(delete(group.restarted(), "t"))] == [[0, 1]]


def test_members_that_come_while_a_deletion_is_under_way_begin_anew() -> None:
    group = left(t=1)
    topic = group.world.topics["t"].topic_id
    delete(group, "t")
    group.beat("a", 0, "t")
    forget(group, topic)
    assert known(group) == {"t": [0]}


def test_a_topics_end_takes_it_out_of_every_list() -> None:
    group = left(t=1, u=1)
    group.delete_topic("t")
    assert known(group) == {"u": [0]}
    assert known(group.restarted()) == {"u": [0]}


def test_what_settles_after_its_topic_is_gone_is_ignored() -> None:
    group = ShareBench()
    topic = group.world.make("t", 1)
    group.try_beat("a", 0, "t")
    group.delete_topic("t")
    group.settle({topic: frozenset({0})})
    assert known(group) == {}


def _doomed(answer: Answer) -> tuple[StatesOfTopic, ...]:
    assert isinstance(answer, ShareStatesToDelete)
    return answer.topics


# The group


def test_a_group_goes_when_its_state_has_gone() -> None:
    group = left(t=1)
    assert len(_doomed(delete_group(group))) == 1
    assert group.described().state == "Empty"
    forget(group, group.world.topics["t"].topic_id)
    assert delete_group(group) == Done()
    gone = Refused(ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert group.ask(lambda token: DescribeShareGroup(token, G)) == gone
    assert group.restarted().ask(lambda token: DescribeShareGroup(token, G)) == gone


def test_a_deleted_groups_name_is_free_for_any_kind() -> None:
    group = left(t=1)
    delete_group(group)
    forget(group, group.world.topics["t"].topic_id)
    delete_group(group)
    answer = group.ask(lambda token: join(token, fresh="x"))
    assert isinstance(answer, JoinAnswer)
    assert answer.code is ErrorCode.MEMBER_ID_REQUIRED


def test_tombstones_alone_make_no_group() -> None:
    group = ShareBench()
    group.facts.append(ShareStateStored(G, None))
    assert group.restarted().ask(lambda token: ListGroups(token, frozenset(), frozenset())) == GroupListing(
        ()
    )


def test_share_groups_are_listed_as_such() -> None:
    group = left(t=1)
    listed = (ListedGroup(G, "Empty", "share", "share"),)
    for states, types in (([], []), (["empty"], ["share"]), ([], ["share", "classic"])):
        answer = group.ask(lambda token, s=states, t=types: ListGroups(token, frozenset(s), frozenset(t)))  # type: ignore[misc]
        assert answer == GroupListing(listed)
    assert group.ask(lambda token: ListGroups(token, frozenset(), frozenset({"classic"}))) == GroupListing(())


# Other kinds


def test_a_classic_member_may_not_join_a_share_group_even_an_empty_one() -> None:
    answer = left(t=1).ask(lambda token: join(token, "m"))
    assert answer == JoinAnswer(MemberId(""), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def test_what_classic_members_ask_of_a_share_group_is_refused_as_kafka_does() -> None:
    group = left(t=1)
    m = MemberId("m")
    assert code_of(group.ask(lambda t: Heartbeat(t, G, m, None, 1))) is ErrorCode.UNKNOWN_MEMBER_ID
    sync = group.ask(lambda t: SyncGroup(t, G, m, None, 1, None, None, {}))
    assert code_of(sync) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    leaver = Leaver(m)
    assert group.ask(lambda t: LeaveGroup(t, G, (leaver,))) == LeaveAnswer(
        ((leaver, ErrorCode.UNKNOWN_MEMBER_ID),)
    )
    assert code_of(group.ask(lambda t: commit(t, 5))) is ErrorCode.GROUP_ID_NOT_FOUND
    assert code_of(group.ask(lambda t: DeleteOffsets(t, G, (T0,)))) is ErrorCode.GROUP_ID_NOT_FOUND
    assert group.ask(lambda t: FetchOffsets(t, G, None)) == FetchedOffsets(())
    assert group.ask(lambda t: DescribeGroup(t, G)) == Refused(
        ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a classic group."
    )


def test_what_share_members_and_their_administrators_ask_of_a_classic_group_is_refused() -> None:
    group = ShareBench()
    group.world.make("t", 1)
    group.ask(lambda token: commit(token, 5))
    other = Refused(ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a share group.")
    assert [group.try_beat("a", epoch, "t") for epoch in (0, 1, -1)] == [other] * 3
    assert group.ask(lambda token: DescribeShareGroup(token, G)) == other
    assert alter(group, t0=1) == other
    assert delete(group, "t") == other
    assert known(group) == {}
    described = group.ask(lambda token: DescribeGroup(token, G))
    assert isinstance(described, DescribedGroup)


def test_a_group_without_a_name_is_refused() -> None:
    group = ShareBench()
    refused = group.ask(lambda token: DescribeShareGroup(token, GroupId("")))
    assert refused == Refused(ErrorCode.INVALID_GROUP_ID)
    assert group.try_beat("a", 0, "t", group=GroupId("")) == Refused(
        ErrorCode.INVALID_REQUEST, "GroupId can't be empty."
    )
