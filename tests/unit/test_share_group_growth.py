"""Share groups and topics that get more partitions: what begins at 0, and what where the group's policy says."""

from __future__ import annotations

from share_group_bench import G, ShareBench, World, partitions_of

from leaselog.broker.groups.records import decode_fact, encode_fact
from leaselog.coordination.group_commands import Done
from leaselog.coordination.group_facts import GroupFact
from leaselog.coordination.share_group_commands import (
    AdoptShareStates,
    AlterShareOffsets,
    DeleteShareOffsets,
    ForgetShareStates,
    KnownShareStates,
    ListShareStates,
    Places,
    ShareBeat,
)
from leaselog.coordination.share_group_facts import ShareStates, ShareStateStored, TopicPartitions
from leaselog.model import TopicId, TopicPartition


def bench(**topics: int) -> ShareBench:
    world = World()
    for name, count in topics.items():
        world.make(name, count)
    return ShareBench(world)


def begun(group: ShareBench, member: str, epoch: int, *topics: str) -> tuple[list[int], list[int]]:
    """What of the topic `t` a heartbeat wants begun: where the policy says, and at 0."""
    beat = group.try_beat(member, epoch, *topics)
    assert isinstance(beat, ShareBeat)
    topic = topic_id(group)
    wanted = (beat.to_initialize or {}).get(topic, frozenset())
    added = beat.added.get(topic, frozenset())
    assert added <= wanted
    return sorted(wanted - added), sorted(added)


def topic_id(group: ShareBench, name: str = "t") -> TopicId:
    return group.world.topics[name].topic_id


def settle(group: ShareBench, done: set[int], failed: set[int] | None = None) -> None:
    places: list[Places] = [{topic_id(group): frozenset(of)} if of else {} for of in (done, failed or set())]
    group.settle(*places)


def epoch_of(group: ShareBench, member: str) -> int:
    return next(m.epoch for m in group.described().members if m.member_id == member)


def states_of(group: ShareBench) -> ShareStates:
    facts = [fact for fact in group.facts if isinstance(fact, ShareStateStored)]
    assert facts[-1].states is not None
    return facts[-1].states


def test_what_a_topic_has_when_it_is_subscribed_to_begins_where_the_policy_says() -> None:
    assert begun(bench(t=3), "a", 0, "t") == ([0, 1, 2], [])


def test_a_partition_that_is_added_to_a_topic_the_group_consumes_begins_at_0() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.world.make("t", 4)
    assert begun(group, "a", epoch_of(group, "a")) == ([], [2, 3])


def test_a_partition_that_is_added_while_nobody_is_in_the_group_begins_at_0() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.leave("a")
    group.world.make("t", 2)
    assert begun(group.restarted(), "b", 0, "t") == ([], [1])


def test_a_topic_that_grows_before_its_first_state_has_begun_begins_with_what_it_had_by_policy() -> None:
    group = bench(t=2)
    group.try_beat("a", 0, "t")
    group.world.make("t", 3)
    group = group.restarted()  # whoever was at it is gone, and the group asks again
    assert begun(group, "a", epoch_of(group, "a")) == ([0, 1], [2])


def test_an_added_partition_whose_beginning_was_interrupted_begins_at_0() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.world.make("t", 3)
    group.try_beat("a", epoch_of(group, "a"))
    group.world.make("t", 4)
    group = group.restarted()
    assert begun(group, "a", epoch_of(group, "a")) == ([], [2, 3])


def test_what_failed_to_begin_at_first_begins_where_the_policy_says_in_the_end() -> None:
    group = bench(t=4)
    group.try_beat("a", 0, "t")
    settle(group, {0, 1}, {2, 3})
    group = group.restarted()
    group.world.make("t", 5)
    assert begun(group, "a", epoch_of(group, "a")) == ([2, 3], [4])


def test_what_was_added_and_failed_to_begin_begins_at_0_in_the_end() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.world.make("t", 4)
    group.try_beat("a", epoch_of(group, "a"))
    settle(group, {2, 3}, {1})
    group = group.restarted()
    assert begun(group, "a", epoch_of(group, "a")) == ([], [1])


def test_setting_one_offset_of_a_topic_leaves_its_other_partitions_to_the_policy() -> None:
    group = bench(t=3)
    group.ask(lambda token: AlterShareOffsets(token, G, {TopicPartition("t", 0): 5}))
    settle(group, {0})
    group.world.make("t", 4)
    assert begun(group.restarted(), "a", 0, "t") == ([1, 2], [3])


def test_a_topic_that_is_made_anew_is_a_new_one() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.delete_topic("t")
    group.world.make("t", 3)
    assert begun(group, "a", epoch_of(group, "a")) == ([0, 1, 2], [])


def test_a_topic_whose_offsets_were_deleted_is_a_new_one() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.leave("a")
    group.world.make("t", 2)
    group.ask(lambda token: DeleteShareOffsets(token, G, ("t",)))
    group.ask(lambda token: ForgetShareStates(token, G, frozenset({topic_id(group)})))
    assert begun(group, "a", 0, "t") == ([0, 1], [])


def test_how_a_topic_was_at_first_is_only_noted_while_its_partitions_do_not_tell() -> None:
    group = bench(t=2)
    group.try_beat("a", 0, "t")
    assert states_of(group).first_counts == {}
    settle(group, {0}, {1})
    assert states_of(group).first_counts == {topic_id(group): 2}
    assert begun(group, "a", epoch_of(group, "a")) == ([1], [])
    settle(group, {1})
    assert states_of(group).first_counts == {}


def test_how_a_topic_was_at_first_survives_its_record() -> None:
    group = bench(t=2, u=3)
    group.try_beat("a", 0, "t", "u")
    settle(group, {0}, {1})
    fact: GroupFact = ShareStateStored(G, states_of(group))
    assert states_of(group).first_counts
    assert decode_fact(encode_fact(fact, 7)) == fact


# State that is to begin anew


def test_members_do_not_wait_for_offsets_whose_setting_was_interrupted() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    group.leave("a")
    group.ask(lambda token: AlterShareOffsets(token, G, {TopicPartition("t", 1): 5}))
    group = group.restarted()
    beat = group.beat("a", 0, "t")
    assert (beat.to_initialize, beat.is_initializing) == (None, False)
    assert states_of(group).initializing == {}
    known = group.ask(lambda token: ListShareStates(token, G))
    assert [sorted(topic.partitions) for topic in known.topics] == [[0, 1]]  # type: ignore[union-attr]


# State that the group has forgotten, with the end of its log


def adopt(group: ShareBench, partitions: set[int], state_epoch: int) -> None:
    places = {topic_id(group): TopicPartitions("t", frozenset(partitions))}
    assert group.ask(lambda token: AdoptShareStates(token, G, places, state_epoch)) == Done()


def test_a_group_that_was_forgotten_takes_on_the_state_that_there_is() -> None:
    group = bench(t=2)
    adopt(group, {0, 1}, 7)
    group = group.restarted()
    assert (group.described().state, group.described().epoch) == ("Empty", 7)
    beat = group.beat("a", 0, "t")
    assert (beat.to_initialize, partitions_of(beat)) == (None, [0, 1])
    assert beat.epoch > 7


def test_state_that_a_group_forgot_is_not_begun_anew() -> None:
    group = bench(t=3)
    group.try_beat("a", 0, "t")
    epoch = group.described().epoch
    adopt(group, {0, 2}, epoch)
    assert group.described().epoch == epoch
    assert begun(group.restarted(), "a", epoch_of(group, "a")) == ([1], [])


def test_a_group_learns_nothing_from_state_that_it_knows() -> None:
    group = bench(t=2)
    group.beat("a", 0, "t")
    written = len(group.facts)
    adopt(group, {0, 1}, 1)
    assert len(group.facts) == written


def test_state_that_is_to_go_is_not_taken_on_again() -> None:
    group = bench(t=1)
    group.beat("a", 0, "t")
    group.leave("a")
    group.ask(lambda token: DeleteShareOffsets(token, G, ("t",)))
    adopt(group, {0}, 1)
    known = group.ask(lambda token: ListShareStates(token, G))
    assert known == KnownShareStates(())
