"""The share-state shard: fencing, snapshots among updates, and what may be let go. The rules are Apache Kafka's;
where the KIP is silent they were read off Kafka 4.3.1's answers and records."""

from __future__ import annotations

from uuid import UUID

import pytest

from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import (
    CutStates,
    DeleteState,
    DropTopicState,
    InitializeState,
    ReadState,
    ShareStateAnswer,
    ShareStateCommand,
    ShareSummary,
    StateCut,
    StateRead,
    StatesCut,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import (
    ShareDropped,
    ShareFact,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.model import ErrorCode, GroupId, Refused, TopicId, TopicIdPartition

TOPIC = TopicId(UUID(int=9))
KEY = SharePartitionKey(GroupId("g"), TOPIC, 0)
OTHER = SharePartitionKey(GroupId("g"), TOPIC, 1)
ELSEWHERE = SharePartitionKey(GroupId("g"), TopicId(UUID(int=8)), 0)
DONE = StateBatch(0, 5, 2, 1)
NOW_MS = 1_000


class Bench:
    """A shard with a log behind it."""

    def __init__(self, per_snapshot: int = 500, **limits: int) -> None:
        self.shard = ShareStateShard(
            ShareStateLimits(snapshot_update_records_per_snapshot=per_snapshot, **limits)
        )
        self.log: list[ShareFact] = []

    def do(
        self, command: ShareStateCommand, now_ms: int = NOW_MS, *, exists: bool = True
    ) -> ShareStateAnswer:
        outcome = self.shard.handle(command, now_ms, exists=exists)
        self.write(*outcome.facts)
        return outcome.answer

    def write(self, *facts: ShareFact) -> None:
        for fact in facts:
            self.shard.replay(fact, len(self.log))
            self.log.append(fact)
        self.shard.check()

    def write_cold(self, now_ms: int) -> list[SharePartitionKey]:
        cold = self.shard.cold_keys(now_ms)
        for key in cold:
            again = self.shard.snapshot_again(key, now_ms)
            assert again is not None
            self.write(again)
        return cold

    def restarted(self, start: int = 0) -> ShareStateShard:
        shard = ShareStateShard(self.shard.limits)
        for offset, fact in enumerate(self.log):
            if offset >= start:
                shard.replay(fact, offset)
        return shard


def code(answer: ShareStateAnswer) -> ErrorCode:
    return answer.code if isinstance(answer, Refused) else ErrorCode.NONE


def test_what_was_never_initialized_cannot_be_read_or_written() -> None:
    bench = Bench()
    assert bench.do(ReadState(KEY, 0)) == Refused(
        ErrorCode.INVALID_REQUEST, "Read operation on uninitialized share partition not allowed."
    )
    assert bench.do(WriteState(KEY, 0, 0, 0)) == Refused(
        ErrorCode.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed."
    )
    assert bench.do(SummarizeState(KEY)) == ShareSummary(0, 0, -1, -1)
    assert bench.do(DeleteState(KEY)) == Written()
    assert bench.log == []


@pytest.mark.parametrize(("start_offset", "count"), [(-1, -1), (7, 0)])
def test_a_group_begins_with_a_snapshot(start_offset: int, count: int) -> None:
    bench = Bench()
    assert bench.do(InitializeState(KEY, 1, start_offset)) == Written()
    assert bench.log == [ShareSnapshot(KEY, 0, 1, 0, start_offset, count, NOW_MS, NOW_MS)]
    assert bench.do(ReadState(KEY, 0)) == StateRead(1, start_offset)
    assert bench.do(SummarizeState(KEY)) == ShareSummary(1, 0, start_offset, count)


def test_a_write_is_an_update_with_its_own_merged_batches() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    batches = (StateBatch(0, 10, 0, 1), StateBatch(4, 6, 2, 1))
    assert bench.do(WriteState(KEY, 1, 0, 2, 3, batches)) == Written()
    merged = (StateBatch(2, 4, 0, 1), StateBatch(4, 6, 2, 1), StateBatch(6, 10, 0, 1))
    assert bench.log[-1] == ShareUpdate(KEY, 0, 0, 2, 3, merged)
    assert bench.do(ReadState(KEY, 0)) == StateRead(1, 2, merged)


def test_a_write_without_a_start_leaves_it_where_it_is() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 3))
    bench.do(WriteState(KEY, 1, 0, batches=(DONE,)))
    assert bench.do(ReadState(KEY)) == StateRead(1, 3, (StateBatch(3, 5, 2, 1),))


def test_a_write_that_comes_after_a_newer_one_does_not_move_the_start_back() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 1, 0, 10, 1, (StateBatch(20, 21, 2, 1),)))
    assert bench.do(WriteState(KEY, 1, 0, 0, 15, (StateBatch(8, 15, 2, 1),))) == Written()
    kept = (StateBatch(10, 15, 2, 1), StateBatch(20, 21, 2, 1))
    assert bench.do(ReadState(KEY)) == StateRead(1, 10, kept)
    assert bench.do(SummarizeState(KEY)) == ShareSummary(1, 0, 10, 1)
    assert bench.restarted().snapshots() == bench.shard.snapshots()


def test_new_offsets_may_lie_before_the_old() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 10))
    bench.do(InitializeState(KEY, 1, 3))
    assert bench.do(WriteState(KEY, 1, 0, 3, 0, (StateBatch(4, 5, 2, 1),))) == Written()
    assert bench.do(ReadState(KEY)) == StateRead(1, 3, (StateBatch(4, 5, 2, 1),))


def test_a_write_with_a_lower_count_changes_nothing_that_is_stored() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 1, 0, batches=(StateBatch(0, 5, 0, 2),)))
    bench.do(WriteState(KEY, 1, 0, batches=(StateBatch(0, 5, 2, 1),)))
    assert bench.do(ReadState(KEY)) == StateRead(1, 0, (StateBatch(0, 5, 0, 2),))


def test_a_new_leader_fences_the_old_by_reading() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 1, 0, 0, 5, (DONE,)))
    assert bench.do(ReadState(KEY, 4)) == StateRead(1, 0, (DONE,))
    assert bench.log[-1] == ShareUpdate(KEY, 0, 4, 0, 5)
    assert code(bench.do(ReadState(KEY, 3))) is ErrorCode.FENCED_LEADER_EPOCH
    assert code(bench.do(WriteState(KEY, 1, 3))) is ErrorCode.FENCED_LEADER_EPOCH
    assert code(bench.do(WriteState(KEY, 1, 4))) is ErrorCode.NONE
    assert bench.do(SummarizeState(KEY, 0)) == ShareSummary(1, 4, 0, -1)


def test_reading_again_writes_nothing() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(ReadState(KEY, 4))
    written = len(bench.log)
    bench.do(ReadState(KEY, 4))
    bench.do(ReadState(KEY, -1))
    assert len(bench.log) == written


def test_a_writer_does_not_make_itself_the_leader() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 9, 9))
    assert bench.do(SummarizeState(KEY)) == ShareSummary(1, 0, 0, -1)
    assert code(bench.do(WriteState(KEY, 1, 0))) is ErrorCode.NONE


def test_new_offsets_fence_whoever_worked_on_the_old() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 1, 0, batches=(DONE,)))
    bench.do(InitializeState(KEY, 2, 3))
    assert bench.log[-1] == ShareSnapshot(KEY, 1, 2, 0, 3, 0, NOW_MS, NOW_MS)
    assert code(bench.do(WriteState(KEY, 1, 0))) is ErrorCode.FENCED_STATE_EPOCH
    assert code(bench.do(InitializeState(KEY, 1, 0))) is ErrorCode.FENCED_STATE_EPOCH
    assert bench.do(ReadState(KEY, 0)) == StateRead(2, 3)


def test_a_new_beginning_lets_no_old_leader_in() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(ReadState(KEY, 4))
    bench.do(InitializeState(KEY, 2, 3))
    assert bench.do(SummarizeState(KEY)) == ShareSummary(2, 0, 3, 0)
    assert code(bench.do(ReadState(KEY, 3))) is ErrorCode.FENCED_LEADER_EPOCH
    assert code(bench.do(WriteState(KEY, 2, 3))) is ErrorCode.FENCED_LEADER_EPOCH


def test_epochs_that_are_not_given_are_not_looked_at() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 5, 0))
    bench.do(ReadState(KEY, 5))
    assert bench.do(WriteState(KEY, -1, -1)) == Written()
    assert bench.do(InitializeState(KEY, -1, 0)) == Written()
    assert code(bench.do(InitializeState(KEY, 4, 0))) is ErrorCode.FENCED_STATE_EPOCH


def test_fences_are_told_before_a_topic_that_is_not_there() -> None:
    bench = Bench()
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code(bench.do(InitializeState(KEY, 1, 0), exists=False)) is unknown
    assert code(bench.do(DeleteState(KEY), exists=False)) is unknown
    assert code(bench.do(SummarizeState(KEY), exists=False)) is unknown
    assert code(bench.do(WriteState(KEY), exists=False)) is ErrorCode.INVALID_REQUEST
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(ReadState(KEY, 2))
    assert code(bench.do(WriteState(KEY, 1, 2), exists=False)) is unknown
    assert code(bench.do(ReadState(KEY, 2), exists=False)) is unknown
    assert code(bench.do(WriteState(KEY, 1, 1), exists=False)) is ErrorCode.FENCED_LEADER_EPOCH
    assert code(bench.do(ReadState(KEY, 1), exists=False)) is ErrorCode.FENCED_LEADER_EPOCH
    assert code(bench.do(WriteState(KEY, 0, 2), exists=False)) is ErrorCode.FENCED_STATE_EPOCH
    assert code(bench.do(InitializeState(KEY, 0, 2), exists=False)) is ErrorCode.FENCED_STATE_EPOCH


def test_after_so_many_updates_comes_a_snapshot() -> None:
    bench = Bench(per_snapshot=3)
    bench.do(InitializeState(KEY, 1, 0))
    for i in range(9):
        bench.do(WriteState(KEY, 1, 0, 0, i, (StateBatch(2 * i, 2 * i + 1, 2, 1),)), NOW_MS + i)
    kinds = [type(fact) for fact in bench.log]
    assert kinds == [
        ShareSnapshot,
        *[ShareUpdate] * 3,
        ShareSnapshot,
        *[ShareUpdate] * 3,
        ShareSnapshot,
        ShareUpdate,
    ]
    snapshot = bench.log[4]
    assert isinstance(snapshot, ShareSnapshot)
    assert (snapshot.snapshot_epoch, snapshot.created_ms, snapshot.written_ms) == (1, NOW_MS + 3, NOW_MS + 3)
    assert snapshot.batches == tuple(StateBatch(2 * i, 2 * i + 1, 2, 1) for i in range(4))
    assert snapshot.delivery_complete_count == 3
    assert [f.snapshot_epoch for f in bench.log if isinstance(f, ShareUpdate)] == [0, 0, 0, 1, 1, 1, 2]


def test_a_read_can_be_the_one_that_makes_a_snapshot() -> None:
    bench = Bench(per_snapshot=0)
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 1, 0, 0, 5, (DONE,)))
    bench.do(ReadState(KEY, 7))
    assert bench.log[-1] == ShareSnapshot(KEY, 2, 1, 7, 0, 5, NOW_MS, NOW_MS, (DONE,))


# Logs that have lost records


def cut(bench: Bench, **ends: int) -> StatesCut:
    """Of the partitions of the topic, named by their numbers."""
    answer = bench.do(CutStates({TopicIdPartition(TOPIC, int(i[1:])): end for i, end in ends.items()}))
    assert isinstance(answer, StatesCut)
    assert bench.restarted().snapshots() == bench.shard.snapshots()
    return answer


def test_state_that_tells_of_records_which_the_log_has_lost_is_cut_to_its_end() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    batches = (StateBatch(3, 5, 2, 1), StateBatch(6, 9, 0, 2), StateBatch(9, 12, 4, 3))
    bench.do(WriteState(KEY, 1, 0, 2, 5, batches))
    assert cut(bench, p0=8) == StatesCut((StateCut(KEY, 12, 8),))
    assert bench.do(ReadState(KEY, 0)) == StateRead(1, 2, (StateBatch(3, 5, 2, 1), StateBatch(6, 8, 0, 2)))
    assert bench.do(SummarizeState(KEY)) == ShareSummary(1, 0, 2, 2)


def test_a_start_beyond_the_logs_end_is_brought_back_to_it() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(WriteState(KEY, 1, 0, 10, 0))
    assert cut(bench, p0=2) == StatesCut((StateCut(KEY, 10, 2),))
    assert bench.do(ReadState(KEY, 0)) == StateRead(1, 2)
    assert bench.do(WriteState(KEY, 1, 0, 2, 1, (StateBatch(3, 4, 2, 1),))) == Written()
    assert bench.do(ReadState(KEY, 0)) == StateRead(1, 2, (StateBatch(3, 4, 2, 1),))


def test_state_that_its_log_bears_out_is_left_alone() -> None:
    bench = Bench()
    for key in (KEY, OTHER, ELSEWHERE):
        bench.do(InitializeState(key, 1, 0))
        bench.do(WriteState(key, 1, 0, 4, 0, (StateBatch(5, 8, 2, 1),)))
    bench.do(InitializeState(OTHER, 2))  # nobody has decided yet where it begins
    written = len(bench.log)
    assert cut(bench, p0=8, p1=0) == StatesCut(())
    assert len(bench.log) == written


def test_every_group_of_a_log_is_cut() -> None:
    bench = Bench()
    keys = [SharePartitionKey(GroupId(group), TOPIC, 0) for group in "gh"]
    for key in keys:
        bench.do(InitializeState(key, 1, 7))
    assert cut(bench, p0=3) == StatesCut(tuple(StateCut(key, 7, 3) for key in keys))


def test_a_deletion_forgets_fences_and_all() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 5, 0))
    bench.do(ReadState(KEY, 5))
    assert bench.do(DeleteState(KEY)) == Written()
    assert bench.log[-1] == ShareDropped(KEY)
    assert bench.do(SummarizeState(KEY)) == ShareSummary()
    assert bench.do(InitializeState(KEY, 0, 3)) == Written()
    assert bench.do(ReadState(KEY, 0)) == StateRead(0, 3)


def test_a_topic_takes_all_its_keys_with_it_and_no_others() -> None:
    bench = Bench()
    for key in (KEY, OTHER, ELSEWHERE):
        bench.do(InitializeState(key, 1, 0))
    bench.do(DropTopicState(TOPIC))
    assert set(bench.shard.snapshots()) == {ELSEWHERE}
    assert bench.shard.topic_ids() == {ELSEWHERE.topic_id}


def test_a_state_that_would_fit_in_no_record_is_refused() -> None:
    bench = Bench(batches_max=3)
    bench.do(InitializeState(KEY, 1, 0))
    islands = tuple(StateBatch(i, i + 1, 2, 1) for i in range(0, 8, 2))
    written = len(bench.log)
    assert code(bench.do(WriteState(KEY, 1, 0, batches=islands))) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(bench.log) == written
    assert bench.do(WriteState(KEY, 1, 0, batches=islands[:3])) == Written()
    assert bench.do(WriteState(KEY, 1, 0, batches=(StateBatch(1, 2, 2, 1),))) == Written()
    assert code(bench.do(WriteState(KEY, 1, 0, batches=(StateBatch(7, 8, 2, 1),)))) is ErrorCode.NONE
    assert code(bench.do(WriteState(KEY, 1, 0, batches=(StateBatch(9, 10, 2, 1),)))) is not ErrorCode.NONE


def test_all_before_the_oldest_snapshot_that_counts_may_go() -> None:
    bench = Bench(per_snapshot=2)
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(InitializeState(OTHER, 1, 0))
    for i in range(4):
        bench.do(WriteState(KEY, 1, 0, batches=(StateBatch(i, i + 1, 2, 1),)))
    assert bench.shard.needed_from(len(bench.log)) == 1
    bench.do(InitializeState(OTHER, 2, 0))
    needed_from = bench.shard.needed_from(len(bench.log))
    assert needed_from == 4
    assert bench.restarted(needed_from).snapshots() == bench.shard.snapshots()


def test_when_nothing_is_left_everything_may_go() -> None:
    bench = Bench()
    bench.do(InitializeState(KEY, 1, 0))
    bench.do(DeleteState(KEY))
    assert bench.shard.needed_from(len(bench.log)) == 2


def test_a_cold_key_is_written_anew_so_that_the_log_can_be_cut() -> None:
    bench = Bench(cold_partition_snapshot_interval_ms=100)
    bench.do(InitializeState(KEY, 1, 0), 1_000)
    bench.do(WriteState(KEY, 1, 0, 0, 5, (DONE,)), 1_050)
    bench.do(InitializeState(OTHER, 1, 0), 1_060)
    assert bench.write_cold(1_099) == []
    assert bench.write_cold(1_100) == [KEY]
    assert bench.log[-1] == ShareSnapshot(KEY, 1, 1, 0, 0, 5, 1_000, 1_100, (DONE,))
    assert bench.shard.needed_from(len(bench.log)) == 2


def test_keys_that_are_all_cold_are_left_alone() -> None:
    bench = Bench(cold_partition_snapshot_interval_ms=100)
    bench.do(InitializeState(KEY, 1, 0), 1_000)
    bench.do(InitializeState(OTHER, 1, 0), 1_000)
    assert bench.write_cold(1_100) == [KEY, OTHER]
    assert bench.write_cold(2_000) == []
    bench.do(InitializeState(OTHER, 2, 0), 2_000)
    assert bench.write_cold(2_050) == [KEY]


def test_a_key_deleted_meanwhile_is_not_written_anew() -> None:
    bench = Bench()
    assert bench.shard.snapshot_again(KEY, NOW_MS) is None


def test_an_update_whose_snapshot_is_gone_is_passed_over() -> None:
    shard = ShareStateShard(ShareStateLimits())
    shard.replay(ShareUpdate(KEY, 3, 0, 5, 1, (DONE,)), 7)
    assert len(shard) == 0


def test_a_key_is_named_as_kafka_names_it() -> None:
    key = SharePartitionKey(GroupId("g:h"), TopicId(UUID("71bc4a0e-80f3-4630-a76a-96dca4ae2b27")), 12)
    assert str(key) == "g:h:cbxKDoDzRjCnapbcpK4rJw:12"
