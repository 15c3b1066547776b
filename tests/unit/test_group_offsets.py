"""Offsets that groups commit: who may, who may not, how they are found again, when they go."""

from __future__ import annotations

from uuid import UUID

import pytest
from group_bench import PARTITION, Bench, G, code_of

from leaselog.coordination.group_commands import (
    CommitOffsets,
    DeleteGroup,
    DeleteOffsets,
    DescribedGroup,
    DescribeGroup,
    DropTopics,
    FetchedOffsets,
    FetchOffsets,
    GroupListing,
    ListGroups,
    OffsetToCommit,
    PartitionCodes,
)
from leaselog.coordination.group_facts import (
    NO_TOPIC_ID,
    GroupDropped,
    GroupMetadata,
    GroupStored,
    OffsetDropped,
    Protocol,
)
from leaselog.coordination.group_turn import GroupLimits
from leaselog.model import ErrorCode, GroupId, MemberId, TopicId, TopicPartition

OTHER = TopicPartition("other", 3)
DAY_MS = 24 * 3_600_000


def committed(
    bench: Bench, partition: TopicPartition = PARTITION, topic_id: TopicId = NO_TOPIC_ID
) -> int | None:
    answer = bench.ask(lambda token: FetchOffsets(token, G, ((partition, topic_id),)))
    assert isinstance(answer, FetchedOffsets)
    (found,) = answer.offsets
    return None if found[1] is None else found[1].offset


def state(bench: Bench) -> str:
    answer = bench.ask(lambda token: DescribeGroup(token, G))
    return answer.state if isinstance(answer, DescribedGroup) else "Dead"


def test_a_consumer_without_a_group_may_commit() -> None:
    bench = Bench()
    assert bench.commit(7) == PartitionCodes((ErrorCode.NONE,))
    assert committed(bench) == 7
    assert state(bench) == "Empty"
    assert committed(bench.restarted()) == 7


@pytest.mark.parametrize(
    ("knows", "code"), [(True, ErrorCode.GROUP_ID_NOT_FOUND), (False, ErrorCode.ILLEGAL_GENERATION)]
)
def test_a_generation_of_an_unknown_group_is_refused(knows: bool, code: ErrorCode) -> None:
    assert code_of(Bench().commit(7, "a", 1, knows_group_id_not_found=knows)) is code


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        ("a", 1, ErrorCode.NONE),
        ("a", 2, ErrorCode.ILLEGAL_GENERATION),
        ("a", -1, ErrorCode.ILLEGAL_GENERATION),
        ("x", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_group_with_members_takes_offsets_from_them_alone(
    member: str, generation: int, code: ErrorCode
) -> None:
    bench = Bench()
    bench.stable("a")
    assert code_of(bench.commit(7, member, generation)) is code
    assert committed(bench) == (7 if code is ErrorCode.NONE else None)


def test_nobody_commits_between_join_and_assignment() -> None:
    bench = Bench()
    bench.join(fresh="a", member_id_required=False)
    assert code_of(bench.commit(7, "a", 1)) is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_may_still_commit_while_the_group_prepares() -> None:
    bench = Bench()
    bench.stable("a")
    bench.send_join(fresh="b", member_id_required=False)
    assert code_of(bench.commit(7, "a", 1)) is ErrorCode.NONE


def test_one_offset_with_too_much_metadata_does_not_stop_the_others() -> None:
    bench = Bench(GroupLimits(offset_metadata_bytes_max=3))
    offsets = tuple(
        OffsetToCommit(partition, 7, -1, metadata, NO_TOPIC_ID)
        for partition, metadata in ((PARTITION, "1234"), (OTHER, "123"))
    )
    answer = bench.ask(lambda token: CommitOffsets(token, G, MemberId(""), None, -1, offsets))
    assert answer == PartitionCodes((ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE))
    assert (committed(bench), committed(bench, OTHER)) == (None, 7)


def test_an_offset_of_an_earlier_topic_of_the_same_name_is_not_found() -> None:
    bench = Bench()
    one, two = TopicId(UUID(int=1)), TopicId(UUID(int=2))
    offset = OffsetToCommit(PARTITION, 7, -1, "", one)
    bench.ask(lambda token: CommitOffsets(token, G, MemberId(""), None, -1, (offset,)))
    assert committed(bench, topic_id=one) == 7
    assert committed(bench, topic_id=two) is None
    assert committed(bench) == 7


def test_everything_a_group_has_can_be_asked_for() -> None:
    bench = Bench()
    bench.commit(7)
    bench.commit(8, partition=OTHER)
    answer = bench.ask(lambda token: FetchOffsets(token, G, None))
    assert isinstance(answer, FetchedOffsets)
    assert {p: c.offset for p, c in answer.offsets if c is not None} == {PARTITION: 7, OTHER: 8}


def test_offsets_of_a_subscribed_topic_are_not_deleted() -> None:
    bench = Bench()
    bench.commit(7)
    bench.commit(8, partition=OTHER)
    bench.stable("a")
    answer = bench.ask(lambda token: DeleteOffsets(token, G, (PARTITION, OTHER)))
    assert answer == PartitionCodes((ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE))
    assert (committed(bench), committed(bench, OTHER)) == (7, None)


def test_offsets_of_members_that_are_no_consumers_are_not_deleted_at_all() -> None:
    bench = Bench()
    bench.stable("a", protocol_type="connect", protocols=(Protocol("p"),))
    answer = bench.ask(lambda token: DeleteOffsets(token, G, (PARTITION,)))
    assert code_of(answer) is ErrorCode.NON_EMPTY_GROUP


def test_a_subscription_nobody_can_read_counts_as_one_to_everything() -> None:
    bench = Bench()
    bench.commit(7)
    bench.stable("a", protocols=(Protocol("range", b"?"),))
    answer = bench.ask(lambda token: DeleteOffsets(token, G, (PARTITION,)))
    assert answer == PartitionCodes((ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,))


def test_a_group_is_deleted_with_all_it_committed() -> None:
    bench = Bench()
    bench.commit(7)
    bench.ask(lambda token: DeleteGroup(token, G))
    assert bench.facts[-2:] == [OffsetDropped(G, PARTITION), GroupDropped(G)]
    assert (state(bench), committed(bench)) == ("Dead", None)
    assert state(bench.restarted()) == "Dead"


def test_a_group_with_members_and_one_that_is_not_there_are_not_deleted() -> None:
    bench = Bench()
    assert code_of(bench.ask(lambda token: DeleteGroup(token, G))) is ErrorCode.GROUP_ID_NOT_FOUND
    bench.stable("a")
    assert code_of(bench.ask(lambda token: DeleteGroup(token, G))) is ErrorCode.NON_EMPTY_GROUP


def test_offsets_go_with_their_topic() -> None:
    bench = Bench()
    bench.commit(7)
    bench.commit(8, partition=OTHER)
    bench.ask(lambda token: DropTopics(token, frozenset({"t"})))
    assert (committed(bench), committed(bench, OTHER)) == (None, 8)


def test_offsets_without_members_expire_after_the_retention_and_the_group_with_them() -> None:
    bench = Bench()
    bench.commit(7)
    bench.wait(7 * DAY_MS - 1)
    assert committed(bench) == 7
    bench.wait(600_001)
    assert (state(bench), committed(bench)) == ("Dead", None)


def test_the_retention_starts_when_the_last_member_leaves() -> None:
    bench = Bench()
    bench.stable("a", session_timeout_ms=1_800_000)
    bench.commit(7, "a", 1)
    for _ in range(8 * 96):
        bench.wait(DAY_MS // 96)
        bench.heartbeat("a", 1)
    bench.leave(("a", None))
    bench.wait(6 * DAY_MS)
    assert committed(bench) == 7
    bench.wait(DAY_MS + 600_000)
    assert (state(bench), committed(bench)) == ("Dead", None)


def test_offsets_of_a_topic_no_longer_subscribed_expire_while_the_group_lives() -> None:
    bench = Bench()
    bench.stable("a", session_timeout_ms=1_800_000)
    bench.commit(7, "a", 1)
    bench.commit(8, "a", 1, partition=OTHER)
    for _ in range(8 * 96):
        bench.wait(DAY_MS // 96)
        bench.heartbeat("a", 1)
    assert (committed(bench), committed(bench, OTHER)) == (7, None)


def test_an_old_client_sets_its_own_retention() -> None:
    bench = Bench()
    bench.commit(7, retention_ms=60_000)
    bench.commit(8, partition=OTHER)
    bench.wait(600_000)
    assert (committed(bench), committed(bench, OTHER)) == (None, 8)


def test_a_retention_of_for_ever_is_one_that_can_be_stored() -> None:
    bench = Bench()
    bench.commit(7, retention_ms=2**63 - 1)
    (offset,) = bench.shard.stored_offsets().values()
    assert offset.expire_ms == 2**63 - 1


def test_expiry_is_done_in_bounded_turns() -> None:
    bench = Bench(GroupLimits(offsets_retention_ms=1_000, expired_per_turn=3))
    groups = [GroupId(f"g{i}") for i in range(10)]
    for group in groups:
        bench.commit(7, group=group)
    bench.now_ms += 600_000
    outcome = bench.shard.expire(bench.now_ms)
    assert outcome is not None
    assert len(outcome.facts) == 4
    bench.shard.apply(outcome, bench.now_ms)
    bench.run_due()
    assert bench.shard.stored_offsets() == {}


def test_groups_are_listed_by_state_and_type_whatever_the_case() -> None:
    bench = Bench()
    bench.commit(7, group=GroupId("simple"))
    bench.stable("a")

    def listed(*states: str, types: tuple[str, ...] = ()) -> list[tuple[str, str, str, str]]:
        answer = bench.ask(lambda token: ListGroups(token, frozenset(states), frozenset(types)))
        assert isinstance(answer, GroupListing)
        return [(g.group_id, g.state, g.type, g.protocol_type) for g in answer.groups]

    both = [("simple", "Empty", "classic", ""), ("g", "Stable", "classic", "consumer")]
    assert listed() == both
    assert listed("stable") == both[1:]
    assert listed("empty", types=("classic",)) == both[:1]
    assert listed(types=("share",)) == []


def test_an_empty_group_keeps_its_protocol_type() -> None:
    bench = Bench()
    bench.stable("a")
    bench.leave(("a", None))
    last = bench.facts[-1]
    assert isinstance(last, GroupStored)
    assert last.metadata == GroupMetadata("consumer", 2, None, None, bench.now_ms, ())
    assert code_of(bench.commit(9)) is ErrorCode.NONE
