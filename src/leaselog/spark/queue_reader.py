"""The driver's side of the source: turns acquired records into batches, and batches that are over into outcomes.

It knows neither pyspark nor sockets: the member of the group, the box with the outcomes and the clock are given to it.
What Spark tells it, and what follows:

- `latest` with a start offset: that batch is over, whether or not `over` was called; Spark asks for the next only then.
  When the queue is idle Spark never calls commit for the last batch, so this is what keeps it from waiting for ever.
- `plan`: the end offset stands in Spark's offset log. After a restart this comes first, for the batch to be replayed.
  Its rows are those of the offset log, whoever has got the records since: an attempt of before may have brought them to
  a sink that takes a batch once. What nobody else has got is acquired again first, so that nobody gets it meanwhile.
- `over`: Spark's commit.

Records are known by topic, partition and offset, which a topic that is deleted and made again gives to others, and of
which another group has not done the same. So a batch says of which topics, by their ids, and of which group it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from leaselog.client import AcknowledgeType, ClientError
from leaselog.model import TopicPartition
from leaselog.spark.batch import BEGINNING, Batch, Epochs, Lives
from leaselog.spark.extras import Placed, placed
from leaselog.spark.ledger import Leased, Ledger, Settlement
from leaselog.spark.options import Acknowledge, SourceOptions
from leaselog.spark.outcome_box import Report
from leaselog.spark.outcomes import Decision, decide, newest
from leaselog.spark.room import FETCH_MAX_BYTES, FETCH_MAX_RECORDS, Room
from leaselog.spark.runs import Run, Runs, count, overlaps, runs_of, split, subtract

__all__ = ["Acquisition", "Box", "LeaseRanOut", "Member", "NoOutcomes", "Progress", "QueueReader", "Settled"]

L = TypeVar("L")

#: The very first time, for then the member has to join, and because Spark takes whatever offset comes first for news:
#: told that there is nothing, it runs a batch of nothing, once.
JOIN_WAIT_S = 5.0
#: how long an idle queue is watched before Spark is told that there is nothing
FIRST_WAIT_S = 0.5
#: how long a batch that has something waits for more
LINGER_S = 0.05
#: a batch is put together for no longer, even if it may hold everything
MAX_PLANNING_S = 10.0
#: What was there at the start and does not come for so long is held by somebody else. A member that was killed keeps
#: its seat, and the partitions that go with it, until its session times out after 45 seconds.
DRAIN_IDLE_S = 60.0
#: of a batch that is replayed, what is not leased again by then is somebody else's
MAX_TAKING_BACK_S = 10.0

_log = logging.getLogger("leaselog.spark")


class NoOutcomes(RuntimeError):
    """acknowledge=explicit, and nobody said what became of a batch."""


class LeaseRanOut(RuntimeError):
    """A batch took longer than its leases, which the group does not allow to renew."""


@dataclass(frozen=True, slots=True)
class Acquisition:
    leased: Sequence[Leased[Any]]
    size_bytes: int
    #: of the topics it is from
    lives: Lives = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the group has come in a partition, as its coordinator knows it."""

    #: everything below is done; what is done lately may not show here yet
    start: int
    #: records that are not done; None if unknown
    lag: int | None


@dataclass(frozen=True, slots=True)
class Settled:
    error: ClientError | None = None
    #: the lease could have been kept, had the group allowed it
    renewal_refused: bool = False


class Member(Protocol):
    """A member of the share group; each call blocks."""

    def acquire(self, timeout_s: float, records: int, size_bytes: int) -> Acquisition: ...
    def has_ended(self, lease: Any) -> bool: ...
    def epochs(self, places: Iterable[TopicPartition]) -> Epochs: ...
    def settle(self, settlements: Sequence[Settlement[Any]]) -> Sequence[Settled]: ...
    def log_ends(self) -> Mapping[TopicPartition, int]: ...
    def progress(self) -> Mapping[TopicPartition, Progress]: ...
    def close(self) -> None: ...


class Box(Protocol):
    def begin(self, number: int) -> None: ...
    def read(self) -> list[Report]: ...
    def discard(self, reports: Sequence[Report]) -> None: ...


class QueueReader:
    def __init__(
        self, options: SourceOptions, member: Member, box: Box | None, clock: Callable[[], float]
    ) -> None:
        self._options = options
        self._group_id = options.box.group_id
        self._member = member
        self._box = box
        self._clock = clock
        self._ledger = Ledger[Any]()
        #: the last batch known to be over
        self._over_number = 0
        #: made here and not known to be over
        self._planned = BEGINNING
        #: held and in no batch yet
        self._pending: Runs = ()
        #: of the present run until all is drained: what counts, and what came later and stays out
        self._target: Runs | None = None
        #: what they add to outcomes
        self._extras: Placed = {}
        self._has_joined = False
        #: of the group's state, since this process is a member: it cannot change before it leaves
        self._epochs = dict[TopicPartition, int]()
        #: of the topics, as far as somebody held records of them
        self._lives = dict[str, str]()
        #: as an earlier process had them; None once it is known what became of them
        self._epochs_before: Epochs | None = None

    # what Spark asks

    def latest(self, start: Mapping[str, Any], room: Room) -> Mapping[str, Any]:
        """The next batch's offset, or ``start`` itself while there is nothing to do."""
        batch = Batch.from_offset(start)
        if self._box is not None and batch.number == 0:
            self._box.discard(self._box.read())  # of another checkpoint: of this one nothing has begun
        self._finish(batch)
        if self._planned.number == batch.number + 1:
            return self._planned.to_offset()
        ranges = self._acquire(room)
        if not ranges:
            return start
        topics = {run.topic for run in ranges}
        lives = {topic: life for topic, life in self._lives.items() if topic in topics}
        self._planned = Batch(batch.number + 1, ranges, self._epochs_of(ranges), lives, self._group_id)
        return self._planned.to_offset()

    def plan(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[Runs]:
        """What each task is to read."""
        first, last = Batch.from_offset(start), Batch.from_offset(end)
        self._finish(first)
        if last.number <= first.number:
            return []
        if self._box is not None:
            self._box.begin(last.number)
        if last.number > self._planned.number:
            self._planned = last  # of an earlier process, carried out again by this one
            self._take_back(last.ranges)
        if self._options.acknowledge is Acknowledge.ON_PLAN:
            self._finish(last)
        return split(last.ranges, self._options.parallelism)

    def over(self, end: Mapping[str, Any]) -> None:
        self._finish(Batch.from_offset(end))

    def begin_draining(self) -> None:
        """From here on only what is in the topics now makes batches."""
        ends = self._member.log_ends()
        self._target = runs_of(Run(where.topic, where.partition, 0, end, 0) for where, end in ends.items())

    def backlog(self) -> dict[str, Any]:
        """Records that are not done, as the group's coordinator knows them, for the query's progress."""
        by_topic = dict[str, dict[str, int]]()
        for where, progress in sorted(self._member.progress().items()):
            if progress.lag is not None:
                by_topic.setdefault(where.topic, {})[str(where.partition)] = progress.lag
        return {"backlog": by_topic, "held": self._ledger.held_count}

    def stop(self) -> None:
        """What is held goes back to the group."""
        self._member.close()

    # batches that are over

    def _finish(self, batch: Batch) -> None:
        if batch.number <= self._over_number:
            return
        is_ours = batch.number == self._planned.number
        if not is_ours and batch.group_id not in ("", self._group_id):
            _log.warning(
                "the checkpoint is of share group %s: %s begins anew", batch.group_id, self._group_id
            )
            self._over_number = batch.number
            return
        decision = self._decide(batch, is_ours)
        self._over_number = batch.number
        if not is_ours:
            self._epochs_before = batch.epochs
            self._lives = {**batch.lives, **self._lives}
        self._settle(self._ledger.decide(decision, is_of_before=not is_ours))

    def _decide(self, batch: Batch, is_ours: bool) -> Decision:
        if self._box is None:
            return Decision(accepted=batch.ranges)
        reports = self._box.read()
        told = [report for report in reports if report.number == batch.number]
        if not told:
            return self._decide_without_report(batch, is_ours)
        # Kept until the batch after this one is over: who comes back after a crash has to know once more.
        self._box.discard([report for report in reports if report.number < batch.number])
        self._extras = placed(report.extras for report in told)
        outcomes = newest((report.batch_id, report.outcomes) for report in told)
        return decide(batch.ranges, outcomes, self._options.unmentioned)

    def _decide_without_report(self, batch: Batch, is_ours: bool) -> Decision:
        if is_ours:
            raise NoOutcomes(
                f"batch {batch.number} of share group {self._group_id} is over and nobody said what"
                f" became of its {count(batch.ranges)} records: with acknowledge=explicit write them to"
                f' writeStream.format("kafka-share"), or use leaselog.spark.foreach_batch'
            )
        _log.warning(
            "batch %d was over before this process began, and its outcomes are not there: records of it that come"
            " again are processed again",
            batch.number,
        )
        return Decision(released=batch.ranges)

    def _settle(self, settlements: Sequence[Settlement[Any]]) -> None:
        if not settlements:
            return
        if self._extras:
            settlements = [replace(settlement, extras=self._extras) for settlement in settlements]
        failed: list[tuple[Settlement[Any], Settled]] = []
        for settlement, settled in zip(settlements, self._member.settle(settlements), strict=True):
            if settled.error is None:
                self._ledger.confirmed(settlement)
            else:
                failed.append((settlement, settled))
        for settlement, settled in failed:
            _log.warning(
                "%d records could not be told to be %s: %s. Those that come here again are told then",
                count(settlement.ranges),
                _SAID[settlement.outcome],
                settled.error,
            )
        if any(settled.renewal_refused for _, settled in failed):
            raise LeaseRanOut(
                f"a batch took longer than the leases of its records, and share group"
                f" {self._group_id} does not allow to renew them: set its config"
                f" share.renew.acknowledge.enable=true, give it a longer share.record.lock.duration.ms, or make"
                f" batches smaller with maxRecordsPerBatch. Other members may have processed records again"
            )

    # batches to come

    def _acquire(self, room: Room) -> Runs:
        least = 1 if self._target is not None else room.least_records
        began = quiet_since = self._clock()
        wait_s = self._first_wait_s()
        # It may have been held for long; what others have by now is theirs.
        gone = self._ledger.forget_ended(self._pending, self._member.has_ended)
        self._pending = tuple(subtract(self._pending, gone))
        found = room.fitting(self._within_target(self._pending))
        room = room.without(count(found), 0)
        while room.is_left:
            lives = dict(self._lives)
            got, new = self._lend(wait_s, room.fetch_records, room.fetch_bytes)
            self._pending = runs_of([*self._pending, *new])
            found = tuple(run for run in found if lives.get(run.topic) == self._lives.get(run.topic))
            wanted = room.fitting(tuple(subtract(self._within_target(new), found)))
            found = runs_of([*found, *(again.run for again in overlaps(new, found))])
            now = self._clock()
            if wanted:
                found = runs_of([*found, *wanted])
                room, wait_s, quiet_since = room.without(count(wanted), got.size_bytes), LINGER_S, now
            elif found or not self._is_drain_unfinished(now - quiet_since):
                break
            if found and now - began >= MAX_PLANNING_S:
                break
        if count(found) < least:
            return ()
        self._pending = tuple(subtract(self._pending, found))
        return found

    def _first_wait_s(self) -> float:
        wait_s = FIRST_WAIT_S if self._has_joined else JOIN_WAIT_S
        self._has_joined = True
        return wait_s

    def _lend(self, wait_s: float, records: int, size_bytes: int) -> tuple[Acquisition, Runs]:
        """What came, and what of it is new. What has its outcome already is settled."""
        got = self._member.acquire(wait_s, records, size_bytes)
        self._notice_lives(got.lives)
        if got.leased and self._epochs_before is not None:
            self._dispel_doubts(self._epochs_before)
            self._epochs_before = None
        new, settlements = self._ledger.acquire(got.leased)
        self._settle(settlements)
        return got, new

    def _notice_lives(self, lives: Lives) -> None:
        for topic, life in lives.items():
            if self._lives.setdefault(topic, life) != life:
                _log.warning("topic %s was deleted and made again: all of its records are new", topic)
                self._lives[topic] = life
                self._ledger.forget_topic(topic)
                self._pending = tuple(run for run in self._pending if run.topic != topic)
                self._epochs = {where: n for where, n in self._epochs.items() if where.topic != topic}

    def _dispel_doubts(self, before: Epochs) -> None:
        """Now, as a member: before that the group might be set back between the look and the join."""
        now = self._known_epochs(before)
        self._ledger.trust({where for where, epoch in before.items() if now.get(where) == epoch})

    def _epochs_of(self, ranges: Runs) -> Epochs:
        return self._known_epochs({TopicPartition(run.topic, run.partition) for run in ranges})

    def _known_epochs(self, places: Collection[TopicPartition]) -> Epochs:
        if missing := sorted(set(places) - self._epochs.keys()):
            self._epochs.update(self._member.epochs(missing))
        return {where: self._epochs[where] for where in sorted(places) if where in self._epochs}

    def _take_back(self, ranges: Runs) -> None:
        """Hold again what an earlier process held, as far as nobody else does. What else comes waits for its batch."""
        wait_s, deadline = self._first_wait_s(), self._clock() + MAX_TAKING_BACK_S
        missing, is_coming = ranges, True
        while missing and is_coming and self._clock() < deadline:
            got, new = self._lend(wait_s, min(FETCH_MAX_RECORDS, count(missing)), FETCH_MAX_BYTES)
            self._pending = runs_of([*self._pending, *subtract(new, ranges)])
            missing = tuple(subtract(missing, new))
            is_coming, wait_s = bool(got.leased), FIRST_WAIT_S

    def _within_target(self, some: Runs) -> Runs:
        if self._target is None:
            return some
        return runs_of(found.run for found in overlaps(some, self._target))

    def _is_drain_unfinished(self, quiet_s: float) -> bool:
        if self._target is None or quiet_s >= DRAIN_IDLE_S:
            return False
        progress = self._member.progress()
        return any(
            not _is_done(progress.get(TopicPartition(run.topic, run.partition)), run.end)
            for run in self._target
        )


def _is_done(progress: Progress | None, end: int) -> bool:
    return progress is not None and (progress.lag == 0 or progress.start >= end)


_SAID = {
    AcknowledgeType.ACCEPT: "accepted",
    AcknowledgeType.RELEASE: "released",
    AcknowledgeType.REJECT: "rejected",
}
