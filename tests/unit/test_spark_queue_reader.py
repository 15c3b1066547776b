"""The driver's side of the source, without Spark and without a broker: what it plans, settles and remembers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from leaselog.client import AcknowledgeType, ConnectionLost
from leaselog.client.share.extras import Extra
from leaselog.model import TopicPartition
from leaselog.spark.batch import BEGINNING, Batch
from leaselog.spark.ledger import Leased, Settlement
from leaselog.spark.options import SourceOptions
from leaselog.spark.outcome_box import Report
from leaselog.spark.queue_reader import (
    DRAIN_IDLE_S,
    FIRST_WAIT_S,
    JOIN_WAIT_S,
    Acquisition,
    LeaseRanOut,
    NoOutcomes,
    Progress,
    QueueReader,
    Settled,
)
from leaselog.spark.room import Room
from leaselog.spark.runs import Run, Runs, count, runs_of

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
BEGIN = BEGINNING.to_offset()
Offset = Mapping[str, Any]


def run(start: int, end: int, value: int = 1) -> Run:
    return Run("t", 0, start, end, value)


class FakeMember:
    """Lends what a test lays out, one fetch at a time and never more than asked for; with nothing, time passes."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.fetches: list[list[Run]] = []
        self.asked: list[tuple[int, int]] = []
        self.settled: list[Settlement[Any]] = []
        self.answers: list[Settled] = []
        self.ends: dict[TopicPartition, int] = {}
        self.coming: dict[TopicPartition, Progress] = {}
        self.ended: set[str] = set()
        self.state_epoch: int | None = None
        #: which topic of the name it is
        self.life = "first"
        self.is_closed = False

    def acquire(self, timeout_s: float, records: int, size_bytes: int) -> Acquisition:
        self.asked.append((records, size_bytes))
        if not self.fetches:
            self.now_s += timeout_s
            return Acquisition([], 0)
        ranges = runs_of(self.fetches.pop(0))
        assert count(ranges) <= records
        leased = [Leased(f"lease {len(self.asked)}", ranges)]
        return Acquisition(leased, count(ranges) * 100, {"t": self.life})

    def epochs(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        assert self.asked, "only a member can rely on them"
        return {} if self.state_epoch is None else dict.fromkeys(places, self.state_epoch)

    def has_ended(self, lease: Any) -> bool:
        return lease in self.ended

    def settle(self, settlements: Sequence[Settlement[Any]]) -> Sequence[Settled]:
        self.settled += settlements
        return [self.answers.pop(0) if self.answers else Settled() for _ in settlements]

    def log_ends(self) -> Mapping[TopicPartition, int]:
        return self.ends

    def progress(self) -> Mapping[TopicPartition, Progress]:
        return self.coming

    def close(self) -> None:
        self.is_closed = True

    def told(self) -> dict[AcknowledgeType, Runs]:
        told: dict[AcknowledgeType, list[Run]] = {}
        for settlement in self.settled:
            told.setdefault(settlement.outcome, []).extend(settlement.ranges)
        return {outcome: runs_of(ranges) for outcome, ranges in told.items()}


class FakeBox:
    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.number = 0

    def begin(self, number: int) -> None:
        self.number = number

    def drop(self, batch_id: int, *outcomes: Run) -> None:
        name = f"report {len(self.reports)}"
        self.reports.append(Report(name, batch_id, runs_of(outcomes), number=self.number))

    def read(self) -> list[Report]:
        return list(self.reports)

    def discard(self, reports: Iterable[Report]) -> None:
        gone = {report.name for report in reports}
        self.reports = [report for report in self.reports if report.name not in gone]


def reader(member: FakeMember, box: FakeBox | None = None, **more: str) -> QueueReader:
    given = {"kafka.bootstrap.servers": "h:1", "kafka.share.group.id": "g", "subscribe": "t", **more}
    if box is not None:
        given["acknowledge"] = "explicit"
    return QueueReader(SourceOptions.of(given), member, box, lambda: member.now_s)


def as_spark_keeps_it(offset: Offset) -> dict[str, Any]:
    return dict(json.loads(json.dumps(offset)))


def latest(queue: QueueReader, start: Offset, room: Room | None = None) -> dict[str, Any]:
    return as_spark_keeps_it(queue.latest(start, room or Room()))


def test_an_idle_queue_makes_no_batch() -> None:
    assert json.dumps(reader(FakeMember()).latest(BEGIN, Room())) == json.dumps(BEGIN)


def test_the_first_look_waits_for_the_member_to_join_and_the_others_are_short() -> None:
    member = FakeMember()
    queue = reader(member)
    latest(queue, BEGIN)
    assert member.now_s == JOIN_WAIT_S
    latest(queue, BEGIN)
    assert member.now_s == JOIN_WAIT_S + FIRST_WAIT_S


def test_a_batch_is_what_was_acquired_and_tasks_share_it() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 100)], [run(200, 300, 2)]]
    queue = reader(member, parallelism="4")
    end = latest(queue, BEGIN)
    assert Batch.from_offset(end) == Batch(
        1, (run(0, 100), run(200, 300, 2)), lives={"t": "first"}, group_id="g"
    )
    assert [count(share) for share in queue.plan(BEGIN, end)] == [50, 50, 50, 50]
    assert member.settled == []


def test_a_batch_is_accepted_when_spark_commits_it_and_only_once() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 100)]]
    queue = reader(member)
    end = latest(queue, BEGIN)
    queue.over(end)
    queue.over(end)
    assert latest(queue, end) == end
    assert [(s.ranges, s.outcome) for s in member.settled] == [((run(0, 100),), ACCEPT)]


def test_the_last_batch_of_a_queue_that_falls_idle_is_accepted_without_a_commit() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    end = latest(queue, BEGIN)
    assert latest(queue, end) == end
    assert member.told() == {ACCEPT: (run(0, 10),)}


def test_a_limit_of_records_is_never_exceeded() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 60)], [run(60, 100)], [run(100, 200)]]
    end = latest(reader(member), BEGIN, Room(records=100))
    assert count(Batch.from_offset(end).ranges) == 100
    assert [records for records, _ in member.asked] == [100, 40]


def test_a_limit_of_bytes_ends_a_batch() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 60)], [run(60, 100)], [run(100, 200)]]
    end = latest(reader(member), BEGIN, Room(size_bytes=7_000))
    assert count(Batch.from_offset(end).ranges) == 100
    assert [size for _, size in member.asked] == [7_000, 1_000]


def test_too_few_records_are_held_until_there_are_enough() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    assert latest(queue, BEGIN, Room(least_records=15)) == BEGIN
    member.fetches = [[run(10, 20)]]
    assert Batch.from_offset(latest(queue, BEGIN, Room(least_records=15))).ranges == (run(0, 20),)
    assert member.settled == []


def test_a_batch_that_was_planned_and_not_run_is_planned_again() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)], []]
    queue = reader(member)
    end = latest(queue, BEGIN)
    member.fetches = [[run(10, 20)]]
    assert latest(queue, BEGIN) == end


def test_a_restart_replays_the_unfinished_batch_and_accepts_what_the_broker_lends_again() -> None:
    first = FakeMember()
    first.fetches = [[run(0, 10)], []]
    before = reader(first)
    one = latest(before, BEGIN)
    first.fetches = [[run(10, 30)]]
    two = latest(before, one)

    member = FakeMember()  # the driver was killed while it ran the second batch
    queue = reader(member, parallelism="1")
    assert queue.plan(one, two) == [(run(10, 30),)]
    member.fetches = [[run(0, 30, 2), run(30, 40)]]
    three = latest(queue, two)
    assert Batch.from_offset(three) == Batch(3, (run(30, 40),), lives={"t": "first"}, group_id="g")
    assert member.told() == {ACCEPT: (run(0, 30, 2),)}


def test_a_replayed_batch_is_acquired_again_before_it_runs_and_accepted_when_it_is_over() -> None:
    member = FakeMember()
    # the batch before, which nobody has accepted, and the first half of this one; then the other half
    member.fetches = [[run(0, 20, 2)], [run(20, 30, 2)]]
    queue = reader(member, parallelism="1")
    one, two = Batch(1, (run(0, 10),)).to_offset(), Batch(2, (run(10, 30),)).to_offset()
    assert queue.plan(one, two) == [(run(10, 30),)], "as the offset log has it"
    assert member.asked[0][0] == 20
    assert member.told() == {ACCEPT: (run(0, 10, 2),)}
    queue.over(two)
    assert member.told() == {ACCEPT: (run(0, 30, 2),)}


@pytest.mark.parametrize(
    ("epoch_before", "epoch_now", "is_done"),
    [(7, 7, True), (7, 8, False), (None, 7, False), (7, None, False)],
)
def test_a_delivery_that_was_not_counted_is_told_from_a_group_that_was_set_back_by_the_epoch_of_its_state(
    epoch_before: int | None, epoch_now: int | None, is_done: bool
) -> None:
    first = FakeMember()
    first.state_epoch = epoch_before
    first.fetches = [[run(0, 10)]]
    one = latest(reader(first), BEGIN)

    member = (
        FakeMember()
    )  # the driver was killed when Spark had committed the batch, and before the broker knew
    member.state_epoch = epoch_now
    member.fetches = [[run(0, 10), run(10, 20)]]
    two = latest(reader(member), one)
    if is_done:
        assert Batch.from_offset(two).ranges == (run(10, 20),)
        assert member.told() == {ACCEPT: (run(0, 10),)}
    else:
        assert Batch.from_offset(two).ranges == (run(0, 20),)
        assert member.settled == []


def test_a_topic_that_is_made_again_while_a_batch_runs_is_processed_from_its_first_record_on() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)], []]
    queue = reader(member)
    end = latest(queue, BEGIN)
    member.answers = [Settled(ConnectionLost("the topic is no more"))]
    member.life = "second"
    member.fetches = [[run(0, 5)]]
    two = Batch.from_offset(latest(queue, end))
    assert (two.ranges, two.lives) == ((run(0, 5),), {"t": "second"})
    assert member.told() == {ACCEPT: (run(0, 10),)}, "of those of before alone"


def test_what_waits_for_its_batch_is_gone_with_its_topic() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    assert latest(queue, BEGIN, Room(least_records=15)) == BEGIN
    member.life = "second"
    member.fetches = [[run(20, 40)]]
    end = latest(queue, BEGIN, Room(least_records=15))
    assert Batch.from_offset(end).ranges == (run(20, 40),)
    queue.over(end)
    assert member.told() == {ACCEPT: (run(20, 40),)}


@pytest.mark.parametrize("deliveries", [1, 2])
def test_a_topic_that_was_made_again_while_the_driver_was_down_is_processed_from_its_first_record_on(
    deliveries: int,
) -> None:
    first = FakeMember()
    first.state_epoch = 7
    first.fetches = [[run(0, 10)]]
    one = latest(reader(first), BEGIN)

    member = FakeMember()
    member.state_epoch, member.life = 7, "second"
    member.fetches = [[run(0, 10, deliveries)]]
    assert Batch.from_offset(latest(reader(member), one)).ranges == (run(0, 10, deliveries),)
    assert member.settled == []


@pytest.mark.parametrize("deliveries", [1, 2])
def test_another_group_over_the_same_checkpoint_begins_anew(deliveries: int) -> None:
    first = FakeMember()
    first.state_epoch = 7
    first.fetches = [[run(0, 10)]]
    one = latest(reader(first), BEGIN)

    member = FakeMember()
    member.state_epoch = 7
    member.fetches = [[run(0, 10, deliveries)]]
    queue = reader(member, **{"kafka.share.group.id": "other"})
    two = Batch.from_offset(latest(queue, one))
    assert (two.number, two.ranges, two.group_id) == (2, (run(0, 10, deliveries),), "other")
    assert member.settled == []


def test_what_others_have_got_of_a_replayed_batch_is_read_all_the_same_and_not_waited_for() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 4, 2)]]
    queue = reader(member, parallelism="1")
    end = Batch(1, (run(0, 10),)).to_offset()
    assert queue.plan(BEGIN, end) == [(run(0, 10),)]
    assert member.now_s < DRAIN_IDLE_S
    queue.over(end)
    assert member.told() == {ACCEPT: (run(0, 4, 2),)}


def test_what_waits_for_its_batch_is_never_more_than_a_limit_of_records() -> None:
    member = FakeMember()
    queue = reader(member)
    member.fetches = [[run(0, 10), run(50, 90)]]
    end = Batch(1, (run(0, 50),)).to_offset()
    queue.plan(BEGIN, end)
    batch = Batch.from_offset(latest(queue, end, Room(records=15)))
    assert batch == Batch(2, (run(50, 65),), lives={"t": "first"}, group_id="g")
    assert Batch.from_offset(latest(queue, batch.to_offset(), Room(records=100))).ranges == (run(65, 90),)


def test_records_whose_lease_ended_while_they_waited_for_their_batch_are_left_to_others() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    assert latest(queue, BEGIN, Room(least_records=15)) == BEGIN
    member.ended = {"lease 1"}
    member.fetches = [[run(8, 40, 2)]]
    assert Batch.from_offset(latest(queue, BEGIN, Room(least_records=15))).ranges == (run(8, 40, 2),)


def test_what_is_lent_anew_is_settled_under_the_new_lease_alone() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    latest(queue, BEGIN, Room(least_records=15))
    member.fetches = [[run(0, 20, 2)]]
    queue.over(latest(queue, BEGIN, Room(least_records=15)))
    assert [(s.lease, s.ranges) for s in member.settled] == [("lease 3", (run(0, 20, 2),))]


def test_a_batch_whose_leases_were_lost_is_accepted_when_it_comes_again() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    end = latest(queue, BEGIN)
    member.answers = [Settled(ConnectionLost("gone"))]
    member.fetches = [[run(0, 10, 2)]]
    assert latest(queue, end) == end
    assert [(s.ranges, s.outcome) for s in member.settled] == [
        ((run(0, 10, 1),), ACCEPT),
        ((run(0, 10, 2),), ACCEPT),
    ]


def test_on_plan_a_batch_is_accepted_before_it_runs() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member, acknowledge="on-plan")
    end = latest(queue, BEGIN)
    assert member.settled == []
    assert count(queue.plan(BEGIN, end)[0]) > 0
    assert member.told() == {ACCEPT: (run(0, 10),)}
    queue.over(end)
    assert len(member.settled) == 1


def test_each_record_gets_the_outcome_that_was_reported_and_the_others_the_options() -> None:
    for unmentioned, expected in (
        ("accept", {ACCEPT: (run(0, 3), run(5, 10)), RELEASE: (run(3, 4),), REJECT: (run(4, 5),)}),
        ("release", {ACCEPT: (run(0, 3),), RELEASE: (run(3, 4), run(5, 10)), REJECT: (run(4, 5),)}),
    ):
        member, box = FakeMember(), FakeBox()
        member.fetches = [[run(0, 10)]]
        queue = reader(member, box, unmentioned=unmentioned)
        end = latest(queue, BEGIN)
        queue.plan(BEGIN, end)
        box.drop(7, run(0, 3, ACCEPT), run(3, 4, RELEASE), run(4, 5, REJECT), run(900, 901, REJECT))
        queue.over(end)
        assert member.told() == expected


def test_a_batch_of_which_nothing_was_said_is_an_error() -> None:
    member, box = FakeMember(), FakeBox()
    member.fetches = [[run(0, 10)]]
    queue = reader(member, box)
    end = latest(queue, BEGIN)
    with pytest.raises(NoOutcomes, match="batch 1 of share group g"):
        queue.over(end)
    assert member.settled == []


def test_outcomes_that_were_reported_before_a_crash_are_told_after_it() -> None:
    member, box = FakeMember(), FakeBox()
    box.begin(1)
    box.drop(0, run(0, 2, REJECT), run(2, 3, RELEASE))
    queue = reader(member, box)
    member.fetches = [[run(0, 10, 2)]]
    offset = Batch(1, (run(0, 10),)).to_offset()
    assert Batch.from_offset(latest(queue, offset)).ranges == (run(2, 3, 2),)
    assert member.told() == {REJECT: (run(0, 2, 2),), ACCEPT: (run(3, 10, 2),)}


def test_without_the_outcomes_of_before_a_crash_the_records_are_processed_again() -> None:
    member = FakeMember()
    queue = reader(member, FakeBox())
    member.fetches = [[run(0, 10, 2)]]
    end = latest(queue, Batch(1, (run(0, 10),)).to_offset())
    assert Batch.from_offset(end).ranges == (run(0, 10, 2),)
    assert member.settled == []


def test_what_one_batch_said_of_a_record_does_not_hold_for_the_next_one_to_which_it_came_again() -> None:
    """Also where the driver was killed, and the reports of both are there."""
    box = FakeBox()
    box.begin(1)
    box.drop(0, run(0, 2, RELEASE))
    box.begin(2)
    box.drop(1, run(1, 2, REJECT))
    member = FakeMember()
    member.fetches = [[run(0, 2, 3)]]
    queue = reader(member, box)
    two = Batch(2, (run(0, 2, 2),)).to_offset()
    assert latest(queue, two) == two
    assert member.told() == {ACCEPT: (run(0, 1, 3),), REJECT: (run(1, 2, 3),)}


def test_what_was_said_over_another_checkpoint_does_not_hold_for_a_new_one() -> None:
    box = FakeBox()
    for number in (1, 7):
        box.begin(number)
        box.drop(number, run(0, 10, REJECT))
    member = FakeMember()
    member.fetches = [[run(0, 10, 2)]]
    queue = reader(member, box)
    one = latest(queue, BEGIN)
    queue.plan(BEGIN, one)
    box.drop(0)
    queue.over(one)
    assert member.told() == {ACCEPT: (run(0, 10, 2),)}


def test_the_outcomes_of_a_batch_are_kept_until_the_next_one_is_over() -> None:
    member, box = FakeMember(), FakeBox()
    queue = reader(member, box)
    member.fetches = [[run(0, 10)], []]
    one = latest(queue, BEGIN)
    queue.plan(BEGIN, one)
    box.drop(0, run(0, 1, REJECT))
    member.fetches = [[run(10, 20)]]
    two = latest(queue, one)
    assert len(box.reports) == 1
    queue.plan(one, two)
    box.drop(1)
    queue.over(two)
    assert [report.batch_id for report in box.reports] == [1]
    assert member.told() == {REJECT: (run(0, 1),), ACCEPT: (run(1, 20),)}


def test_a_lease_that_may_not_be_renewed_and_ran_out_is_an_error_that_names_the_config() -> None:
    member = FakeMember()
    member.fetches = [[run(0, 10)]]
    queue = reader(member)
    end = latest(queue, BEGIN)
    member.answers = [Settled(ConnectionLost("late"), renewal_refused=True)]
    with pytest.raises(LeaseRanOut, match=r"share\.renew\.acknowledge\.enable"):
        queue.over(end)


def test_draining_ends_when_all_that_was_there_is_done_and_leaves_out_what_came_later() -> None:
    member, where = FakeMember(), TopicPartition("t", 0)
    member.ends = {where: 100}
    member.coming = {where: Progress(0, 150)}
    queue = reader(member)
    queue.begin_draining()
    member.fetches = [[], [run(0, 120)]]
    end = latest(queue, BEGIN)
    assert Batch.from_offset(end).ranges == (run(0, 100),)
    member.coming = {where: Progress(100, 50)}
    began_s = member.now_s
    assert latest(queue, end) == end
    assert member.now_s - began_s < DRAIN_IDLE_S
    queue.stop()
    assert member.is_closed
    assert member.told() == {ACCEPT: (run(0, 100),)}


def test_draining_does_not_wait_for_ever_for_records_that_others_hold() -> None:
    member, where = FakeMember(), TopicPartition("t", 0)
    member.ends = {where: 100}
    member.coming = {where: Progress(0, 100)}
    queue = reader(member)
    queue.begin_draining()
    assert latest(queue, BEGIN) == BEGIN
    assert DRAIN_IDLE_S <= member.now_s < DRAIN_IDLE_S * 2


def test_delays_and_reasons_are_told_with_the_outcomes() -> None:
    member, box = FakeMember(), FakeBox()
    queue = reader(member, box)
    member.fetches = [[run(0, 4)]]
    offset = latest(queue, BEGIN)
    extras = {Extra(delay_ms=500): (run(1, 2, 0),), Extra(reason="bad"): (run(2, 3, 0),)}
    outcomes = runs_of([run(0, 1, ACCEPT), run(1, 2, RELEASE), run(2, 4, REJECT)])
    box.reports.append(Report("report", 0, outcomes, extras, number=1))
    queue.over(offset)
    told = {settlement.outcome: settlement.extras[TopicPartition("t", 0)] for settlement in member.settled}
    expected = {1: Extra(delay_ms=500), 2: Extra(reason="bad")}
    assert told == {ACCEPT: expected, RELEASE: expected, REJECT: expected}  # the member takes what fits
