"""What holds for every log with transactions: committed readers see what a plain model says, whatever happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from leaselog.log import Appended, LogConfig, MemoryFiles, Origin, PartitionLog
from leaselog.model import TopicId
from leaselog.wire.end_markers import EndMarker, build_end_marker
from leaselog.wire.isolation import with_fate
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

TOPIC = TopicId(UUID(int=7))
NOW_MS = 10_000_000
RETENTION_MS = 1000
DIRECTORY = "d/t-0"


@dataclass
class Model:
    """A log without bytes: every record, and what became of its transaction."""

    end: int = 0
    #: offset, key, producer (0: none) and whether it is committed (None: not yet known)
    records: list[list[object]] = field(default_factory=list)
    sequences: dict[int, int] = field(default_factory=dict)

    def stable(self) -> int:
        return min((int(str(one[0])) for one in self.records if one[3] is None), default=self.end)

    def committed(self) -> dict[int, int]:
        """The keys by their offsets, as far as a committed reader may see."""
        stable = self.stable()
        return {
            int(str(o)): int(str(key)) for o, key, _, fate in self.records if fate and int(str(o)) < stable
        }


class Pair:
    """A log and its model."""

    def __init__(self, policy: str) -> None:
        self.files, self.model, self.now_ms = MemoryFiles(), Model(), NOW_MS
        self.settings = {
            "segment.bytes": 600,
            "cleanup.policy": policy,
            "min.cleanable.dirty.ratio": 0.0,
            "delete.retention.ms": RETENTION_MS,
            "recovery.point.interval.bytes": 300,
            "durability": "fsync",
        }
        self.log = self.opened(clean=True)

    def opened(self, *, clean: bool) -> PartitionLog:
        config = LogConfig.of(self.settings)
        return PartitionLog.open(self.files, DIRECTORY, TOPIC, config, now_ms=self.now_ms, clean=clean)

    def write(self, producer: int, key: int) -> None:
        model = self.model
        sequence = model.sequences.get(producer, 0)
        who = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence} if producer else {}
        record = Record(b"%d" % key, b"%d" % model.end, (), self.now_ms)
        batch = build_batch([record], is_transactional=producer > 0, **who)
        outcome = self.log.append(batch, leader_epoch=0, now_ms=self.now_ms)
        assert isinstance(outcome, Appended), outcome
        model.sequences[producer] = sequence + 1
        model.records.append([model.end, key, producer, None if producer else True])
        model.end += 1

    def finish(self, producer: int, *, commit: bool) -> None:
        batch = build_end_marker(producer, 0, EndMarker(commit, 0), now_ms=self.now_ms)
        outcome = self.log.append(batch, leader_epoch=0, now_ms=self.now_ms, origin=Origin.COORDINATOR)
        assert isinstance(outcome, Appended), outcome
        for one in self.model.records:
            if one[2] == producer and one[3] is None:
                one[3] = commit
        self.model.end += 1

    def sync(self) -> None:
        while (job := self.log.pending_sync()) is not None:
            job.run()
            self.log.synced(job)

    def restart(self, *, clean: bool, loses: str) -> None:
        self.sync()
        if clean:
            self.log.close()
        else:
            for name in self.files.names(DIRECTORY) if loses and self.files.exists(DIRECTORY) else ():
                if name.endswith(loses) or name == loses:
                    self.files.remove(f"{DIRECTORY}/{name}")
        self.log = self.opened(clean=clean)

    def clean(self) -> None:
        if self.log.segments()[-1].size_bytes:
            self.log.roll(self.now_ms)
        self.sync()
        self.log.cleaned_to = 0
        self.now_ms += RETENTION_MS
        job = self.log.plan_cleaning(self.now_ms)
        if job is None:
            return
        job.run()
        work = self.log.install(job, self.now_ms)
        assert self.log.failure is None
        for path in work.paths if work is not None else ():
            self.files.remove(path)

    def seen(self) -> dict[int, int]:
        """What a committed reader gets, fetch by fetch, in small ones."""
        found, offset, end = dict[int, int](), self.log.start_offset, self.log.last_stable_offset
        while offset < end:
            data = self.log.read(offset, 250, end)
            assert isinstance(data, bytes)
            if not data:
                break
            aborted = self.log.aborted_among(data)
            assert isinstance(aborted, list)
            told = [(one.producer_id, one.first_offset) for one in aborted]
            for position, header, is_aborted in with_fate(iterate_headers(data), told):
                offset = header.end_offset
                if not is_aborted and not header.is_control:
                    found |= {
                        r.offset: int(r.key or b"") for r in read_records(data, header, position)
                    }  # fmt: skip
        return found


producers = st.integers(1, 3)
writes = st.tuples(st.just("write"), st.integers(0, 3), st.integers(0, 4))
steps = st.lists(
    st.one_of(
        writes,
        writes,
        st.tuples(st.just("finish"), producers, st.booleans()),
        st.tuples(st.just("finish"), producers, st.booleans()),
        st.tuples(st.just("restart"), st.booleans(), st.sampled_from(["", ".snapshot", "recovery-point"])),
        st.tuples(st.just("clean"), st.none(), st.none()),
    ),
    min_size=5,
    max_size=60,
)


def play(pair: Pair, step: tuple[str, object, object]) -> None:
    what, first, second = step
    if what == "write":
        pair.write(int(str(first)), int(str(second)))
    elif what == "finish":
        pair.finish(int(str(first)), commit=bool(second))
    elif what == "restart":
        pair.restart(clean=bool(first), loses=str(second))
    else:
        pair.clean()


@given(steps=steps)
def test_a_committed_reader_sees_what_is_committed_before_the_first_open_transaction(
    steps: list[tuple[str, object, object]],
) -> None:
    pair = Pair("delete")
    for step in steps:
        play(pair, step)
    pair.sync()
    assert (pair.log.last_stable_offset, pair.seen()) == (pair.model.stable(), pair.model.committed())
    pair.restart(clean=False, loses="")
    assert (pair.log.last_stable_offset, pair.seen()) == (pair.model.stable(), pair.model.committed())


@given(steps=steps)
def test_compaction_takes_nothing_from_a_committed_reader_and_opens_no_transaction(
    steps: list[tuple[str, object, object]],
) -> None:
    pair = Pair("compact")
    for step in steps:
        play(pair, step)
    pair.sync()
    for loses in ("", ".snapshot"):
        committed, seen = pair.model.committed(), pair.seen()
        assert pair.log.last_stable_offset == pair.model.stable()
        assert seen.items() <= committed.items()
        assert last(seen) == last(committed)
        pair.restart(clean=False, loses=loses)
        pair.clean()


def last(found: dict[int, int]) -> dict[int, int]:
    """The last offset of each key."""
    return {key: offset for offset, key in sorted(found.items())}
