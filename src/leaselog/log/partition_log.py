"""One partition's log: the door through which the broker appends, reads, syncs and forgets.

Owned by one thread. Three things may leave it: a ``SyncJob`` to be run, a ``FileSlice`` to be sent, and a
cleaning job, which reads sealed segments and writes files of its own. Their outcome comes back as a call
here.

The offsets, in order:

    start_offset <= high_watermark <= end_offset     what readers may see
    last_stable_offset <= high_watermark             what readers of committed records may see
    durable_end <= end_offset                        what a power cut leaves; the recovery point

With ``Durability.FSYNC`` the high watermark is the durable end; otherwise it is the end.

A failed write or sync ends the log's life as a writer: ``failure`` says why, every later append is refused, and
what was written before stays readable. Only opening it anew, which recovers, makes it whole (``remains`` says what that
has to know). A read that fails is refused, and that is all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from crc32c import crc32c

from leaselog.log._intake import AppendRefused, Origin
from leaselog.log._steps import Steps
from leaselog.log.aborted_index import AbortedTransaction
from leaselog.log.checkpoints import format_epochs
from leaselog.log.cleaner import CleaningJob, cleanable
from leaselog.log.config import Durability, LogConfig
from leaselog.log.files import Files, replace_whole
from leaselog.log.ingest import Duplicate, Ingested, ingest, ingest_at_once, settle
from leaselog.log.ingest_rules import IngestRules
from leaselog.log.inspection import Inspection
from leaselog.log.layout import CLEANED, EPOCHS
from leaselog.log.open_segments import OpenSegments
from leaselog.log.producer_state import Producer, ProducerLimit
from leaselog.log.recovery import CommonSync, Loaded, load, make
from leaselog.log.retention import DeleteWork, SegmentInfo, count_expired
from leaselog.log.segment import FileSlice
from leaselog.log.segment_list import SegmentList
from leaselog.log.snapshots import SnapshotWrite
from leaselog.log.sync_job import SyncJob, Unsynced
from leaselog.log.timestamps import FoundOffset, first_at_or_after, largest_timestamp
from leaselog.model import ErrorCode, Refused, TopicId
from leaselog.wire.end_markers import read_end_marker
from leaselog.wire.errors import DecodeError
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import BatchHeader, span_of

__all__ = ["AppendRefused", "Appended", "Origin", "PartitionLog", "Remains"]


class Appended(NamedTuple):
    """Where records went. They are as safe as the topic asks for once ``high_watermark`` reaches ``end_offset``."""

    first_offset: int
    end_offset: int
    #: -1 unless the topic takes the log's time
    log_append_time_ms: int
    log_start_offset: int
    #: the producer sent them before, and this is where they went then
    is_duplicate: bool = False


class Remains(NamedTuple):
    """What a log knew for certain when it failed."""

    start_offset: int
    recovery_point: int
    #: no offset before it is given out again, even if all files are gone
    end_offset: int
    cleaned_to: int
    #: nothing from there on is to be kept; None: whatever recovery finds sound
    upto: int | None


class PartitionLog:
    """Make one with ``open``. Attributes are to be read, not set."""

    def __init__(
        self,
        files: Files,
        directory: str,
        topic_id: TopicId,
        config: LogConfig,
        loaded: Loaded,
        start_offset: int,
        opened: OpenSegments,
        *,
        clean: bool,
    ) -> None:
        self.config = config
        self.directory = directory
        #: why nothing can be written any more
        self.failure: OSError | None = None
        #: a sync failed, or the files are gone: nothing more can become durable. A failed write alone leaves
        #: this False, as what was written before it can still be synced, and somebody waits for that.
        self._is_unsyncable = False
        self._files = files
        self._topic_id = topic_id
        #: False until the first append of a log that has no directory
        self._is_made = loaded.is_made
        self._segments = SegmentList(files, directory, opened, loaded.segments)
        self._epochs = loaded.epochs
        self._producers = loaded.producers
        self._rules = IngestRules.of(config)
        self.start_offset = max(start_offset, self._segments.base_offset)
        self.durable_end = self.end_offset
        self._unsynced = Unsynced(loaded.unsynced_paths, loaded.unsynced_directories)
        self._syncing: SyncJob | None = None
        self._wants_point = False
        #: all below has been through the cleaner; what the data directory's checkpoint keeps
        self.cleaned_to = 0
        #: what recovery cut off the end when the log was opened
        self.cut_bytes = loaded.cut_bytes
        self._cleaning: CleaningJob | None = None
        #: where the log ended when it was opened after a clean stop: unless it grows, close has nothing to write
        self._settled_end = self.end_offset if clean else -1

    @classmethod
    def open(
        cls,
        files: Files,
        directory: str,
        topic_id: TopicId,
        config: LogConfig,
        *,
        now_ms: int,
        clean: bool,
        recovery_point: int = 0,
        start_offset: int = 0,
        cleaned_to: int = 0,
        opened: OpenSegments | None = None,
        in_all: ProducerLimit | None = None,
        upto: int | None = None,
        common: CommonSync | None = None,
    ) -> PartitionLog:
        """Open the partition in ``directory``, recovering unless the last stop was ``clean``. One that is not there
        is an empty log, and made with the first append.

        ``recovery_point``, ``start_offset`` and ``cleaned_to`` are what the data directory's checkpoints say. A log
        that ends before its ``start_offset`` begins anew there, and one that goes past ``upto`` is cut there. Pass
        one ``opened`` and one ``in_all`` to all logs of a broker so that they share their bounds, and one ``common``
        to those that nobody has opened since a crash so that they share a sync. Raises
        ``UnusableLog`` if the directory is another topic's (``ForeignLog``) or damaged, ``OSError`` if a disk refuses.
        """
        opened = OpenSegments() if opened is None else opened
        loaded = load(
            files,
            directory,
            topic_id,
            config,
            now_ms=now_ms,
            clean=clean,
            recovery_point=recovery_point,
            start_offset=start_offset,
            opened=opened,
            in_all=in_all,
            upto=upto,
            common=common,
        )
        log = cls(files, directory, topic_id, config, loaded, start_offset, opened, clean=clean)
        # A checkpoint ahead of what recovery left says nothing; cleaning twice does no harm.
        log.cleaned_to = cleaned_to if cleaned_to <= log.end_offset else 0
        return log

    # -- the offsets ------------------------------------------------------------------------------------

    @property
    def end_offset(self) -> int:
        """The next offset to be given."""
        return self._segments.active.end_offset

    @property
    def high_watermark(self) -> int:
        """One past the last offset a reader may see. Never goes back."""
        return self.durable_end if self.config.durability is Durability.FSYNC else self.end_offset

    @property
    def last_stable_offset(self) -> int:
        """One past the last offset a reader of committed records may see: no transaction that is open, or whose marker
        is not yet visible, has a record below. Never goes back."""
        return max(self._producers.stable_end(self.high_watermark), self.start_offset)

    # -- appending --------------------------------------------------------------------------------------

    def append(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
    ) -> Appended | AppendRefused:
        """Validate batches, give them their offsets in the buffer itself, and write them. All of them or none.

        The buffer is the log's from here on; one that cannot be written is copied. What a producer sent before
        is answered with where it went then. A failed write refuses with KAFKA_STORAGE_ERROR and sets
        ``failure``.
        """
        if self.failure is not None:
            return self._storage_error(self.failure)
        outcome = ingest_at_once(
            writable(records),
            self._rules,
            self._producers,
            next_offset=self.end_offset,
            leader_epoch=leader_epoch,
            now_ms=now_ms,
            origin=origin,
        )
        return self._take(outcome, now_ms)

    def begin_append(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
    ) -> Appended | AppendRefused | Inspection:
        """As ``append``, but what takes long is left to the caller: once the inspection's steps are done it goes to
        ``append_inspected``, and the buffer may be used for something else meanwhile."""
        if self.failure is not None:
            return self._storage_error(self.failure)
        outcome = ingest(
            writable(records),
            self._rules,
            self._producers,
            next_offset=self.end_offset,
            leader_epoch=leader_epoch,
            now_ms=now_ms,
            origin=origin,
        )
        return outcome if isinstance(outcome, Inspection) else self._take(outcome, now_ms)

    def append_inspected(
        self, inspection: Inspection, *, leader_epoch: int, now_ms: int
    ) -> Appended | AppendRefused:
        """The rest of an append of a client's, at the log's end as it is now."""
        if self.failure is not None:
            return self._storage_error(self.failure)
        outcome = settle(
            inspection,
            self._producers,
            next_offset=self.end_offset,
            leader_epoch=leader_epoch,
            origin=Origin.CLIENT,
        )
        return self._take(outcome, now_ms)

    def _take(self, outcome: Ingested | Duplicate | AppendRefused, now_ms: int) -> Appended | AppendRefused:
        if isinstance(outcome, AppendRefused):
            return outcome
        if isinstance(outcome, Duplicate):
            start, end = outcome.first_offset, outcome.end_offset
            return Appended(start, end, outcome.timestamp_ms, self.start_offset, is_duplicate=True)
        try:
            self._write(outcome, now_ms)
        except OSError as error:
            self._fail(error)
            return self._storage_error(error)
        return Appended(
            outcome.first_offset, outcome.end_offset, outcome.log_append_time_ms, self.start_offset
        )

    @staticmethod
    def _storage_error(why: OSError) -> AppendRefused:
        return AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, f"the log failed: {why}")

    def _write(self, batches: Ingested, now_ms: int) -> None:
        if not self._is_made:
            self._make()
        config, active = self.config, self._segments.active
        has_room = active.has_room(
            len(batches.records),
            batches.end_offset,
            limit_bytes=config.segment_bytes,
            index_bytes=config.segment_index_bytes,
        )
        is_old = active.size_bytes and active.age_ms(batches.max_timestamp, now_ms) > self._segment_ms()
        if active.size_bytes and (is_old or not has_room):
            self.roll(now_ms)
        self._segments.active.append(
            batches.records, batches.headers, interval_bytes=config.index_interval_bytes
        )
        position = 0
        for header in batches.headers:
            if header.is_control:
                self._end_transaction(batches.records, position, header)
            else:
                self._producers.replay(header)
            position += header.size_bytes
        if batches.headers[-1].leader_epoch > self._epochs.latest:
            self._assign_epochs(batches.headers)

    def _end_transaction(self, records: Buffer, position: int, header: BatchHeader) -> None:
        aborted = self._producers.replay(header, read_end_marker(records, header, position))
        if aborted is not None:
            self._segments.active.add_aborted(aborted)

    def _make(self) -> None:
        name_tag = make(self._files, self.directory, self._topic_id, self._segments.base_offset)
        self._unsynced.add_late(name_tag)
        self._unsynced.add(directory=self.directory)
        self._unsynced.add(directory=self.directory.rpartition("/")[0])
        self._is_made = True

    def _segment_ms(self) -> int:
        config = self.config
        segment_ms = config.segment_ms
        if config.segment_jitter_ms:
            # Spread by the partition's name: the same at every start, and different for its neighbours.
            segment_ms -= crc32c(self.directory.encode()) % min(config.segment_jitter_ms, segment_ms)
        # The active segment is never cleaned, so a bound on how long cleaning may wait bounds it too.
        return min(segment_ms, config.max_compaction_lag_ms) if config.is_compacted else segment_ms

    def roll(self, now_ms: int) -> None:
        """Seal the active segment and begin the next. Raises ``OSError``."""
        self._unsynced.files += self._segments.roll(now_ms)
        self._unsynced.writes.append(SnapshotWrite(self.directory, self.end_offset, self._producers))
        self._unsynced.add(directory=self.directory)

    def _fail(self, error: OSError) -> None:
        self.failure = error
        # What the write left behind would be cut off at the next open anyway; a reader of the file is spared it.
        with suppress(OSError):
            self._segments.active.cut_back()

    def assign_epoch(self, epoch: int) -> None:
        """``epoch`` leads from the log's end on."""
        self._keep_epochs(self._epochs.assign(epoch, self.end_offset))

    def _assign_epochs(self, headers: Sequence[BatchHeader]) -> None:
        is_first = self._epochs.latest < 0
        assigned = [self._epochs.assign(header.leader_epoch, header.base_offset) for header in headers]
        self._keep_epochs(any(assigned), is_first=is_first)

    def _keep_epochs(self, is_changed: bool, *, is_first: bool = False) -> None:
        if not is_changed:
            return
        path = f"{self.directory}/{EPOCHS}"
        try:
            if not self._is_made:
                self._make()
            replace_whole(self._files, path, format_epochs(self._epochs.entries()))
        except OSError as error:
            self._fail(error)
        if is_first:
            # Without the file every batch is asked for its epoch; one that is behind the log would be believed.
            self._unsynced.add_late(path)
        self._unsynced.add(path=None if is_first else path, directory=self.directory)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) as OffsetsForLeaderEpoch answers them; (-1, -1) for one this log has not seen."""
        return self._epochs.end_offset(epoch, self.end_offset)

    # -- making it durable ------------------------------------------------------------------------------

    def pending_sync(self) -> SyncJob | None:
        """What to sync next, or None: nothing new, or a job is under way, or a sync failed before.

        ``job.run()`` may run on any thread. Its outcome comes back as ``synced`` or ``sync_failed``. In ``os``
        mode there is a job only for sealed segments, and after `flush.messages`.
        """
        if self._syncing is not None or self._is_unsyncable:
            return None
        wants_point, self._wants_point = self._wants_point, False
        flushes_all = self.config.durability is not Durability.OS
        if not flushes_all and self.end_offset - self.durable_end >= self.config.flush_messages:
            flushes_all = True
        if not flushes_all and not self._unsynced.files:
            return None
        self._syncing = self._sync_job(flushes_all, with_late=False, wants_point=wants_point)
        return self._syncing

    def ask_for_point(self) -> bool:
        """Have the next sync job write a recovery point, however little there is to say. Whether there is anything."""
        is_synced = self.config.durability is not Durability.OS and self.failure is None
        self._wants_point = is_synced and self._segments.active.bytes_since_point > 0
        return self._wants_point

    def _sync_job(self, takes_active: bool, *, with_late: bool, wants_point: bool = False) -> SyncJob | None:
        active = self._segments.active
        has_news = takes_active and active.end_offset > max(self.durable_end, active.base_offset)
        end_offset = active.end_offset if takes_active else active.base_offset
        file = active.file() if has_news else None
        point = None
        interval_bytes = 1 if wants_point else self.config.recovery_point_interval_bytes
        if takes_active and active.bytes_since_point >= interval_bytes:
            point = active.point(self._topic_id, tuple(self._producers))
        return self._unsynced.take(self._files, end_offset, file, with_late=with_late, point=point)

    def synced(self, job: SyncJob) -> None:
        """``job`` ran: what it covered is durable."""
        if job is self._syncing:
            self._syncing = None
        if job.point is not None and not job.point.is_written:
            self._segments.active.forget_point()
        if not self._is_unsyncable:
            self.durable_end = max(self.durable_end, job.end_offset)

    def sync_failed(self, job: SyncJob, error: OSError) -> None:
        """``job`` raised: nothing beyond the old durable end can be promised, now or later."""
        self._syncing = None
        self._is_unsyncable = True
        self.failure = self.failure or error

    def flush(self) -> None:
        """Make everything durable here and now. Raises the ``OSError`` that also becomes ``failure``."""
        if self.failure is not None:
            raise self.failure
        job = self._sync_job(True, with_late=True)
        if job is not None:
            self._run(job)

    def _run(self, job: SyncJob) -> None:
        try:
            job.run()
        except OSError as error:
            self.sync_failed(job, error)
            raise
        self.synced(job)

    @property
    def is_at_work(self) -> bool:
        """Whether a thread has something of this log's: it must not be opened anew until that has come back."""
        return self._syncing is not None or self._cleaning is not None

    @property
    def can_sync(self) -> bool:
        """Whether what was appended may still become durable."""
        return not self._is_unsyncable

    def remains(self) -> Remains:
        """What is certain of a log that failed, to open it anew. From here on nothing more of it becomes durable."""
        self._is_unsyncable = True
        # With FSYNC nobody was told of anything beyond the durable end, so there is no need to trust what can still be
        # read there: after a failed sync it may be in memory only. Otherwise recovery keeps what the disk returns.
        is_told = self.config.durability is not Durability.FSYNC
        end_offset = self.end_offset if is_told else self.durable_end
        return Remains(
            self.start_offset,
            self.durable_end,
            end_offset,
            self.cleaned_to,
            upto=None if is_told else end_offset,
        )

    def close(self) -> None:
        """Write what a clean open wants, make everything durable, let go of the files. Raises ``OSError``.

        A failed log only lets go: it must be opened as unclean.
        """
        if self.failure is None:
            job = self.begin_close()
            if job is not None:
                self._run(job)
        self.abandon()

    def begin_close(self) -> SyncJob | None:
        """``close`` in steps: here what a clean open wants is written. The caller runs the job, if there is one,
        reports its outcome, and lets go by ``abandon``. Raises ``OSError``, also that for which the log has failed.
        """
        if self.failure is not None:
            raise self.failure
        active = self._segments.active
        if active.size_bytes and self.end_offset != self._settled_end:
            for file in active.write_indexes():
                file.close()  # a sync finds them by name: of very many logs not all can be held open
            snapshot = SnapshotWrite(self.directory, self.end_offset, self._producers)
            snapshot.write(self._files)
            for path in (*active.index_paths, snapshot.path):
                self._unsynced.add(path=path, directory=self.directory)
        return self._sync_job(True, with_late=True)

    def abandon(self) -> None:
        """Let go of the files as they are: the partition is being deleted."""
        self._segments.forget()
        self._producers.clear()
        self._is_unsyncable = True
        self.failure = self.failure or OSError("closed")

    # -- reading ----------------------------------------------------------------------------------------

    def locate(
        self, start: int, max_bytes: int, end: int | None = None, *, min_one_batch: bool = True
    ) -> FileSlice | Refused:
        """Where the whole batches from the one holding ``start`` lie, within one segment.

        The first batch may begin before ``start``. None reaches past ``end``, by default the high watermark. When
        the first alone is larger than ``max_bytes`` it comes all the same if ``min_one_batch``. Refuses
        OFFSET_OUT_OF_RANGE outside of [start offset, end offset]; at the end, and above ``end``, the slice
        is empty.
        """
        if not self.start_offset <= start <= self.end_offset:
            known = f"[{self.start_offset}, {self.end_offset}]"
            return Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {start}, expected one in {known}")
        end = self.high_watermark if end is None else end
        try:
            return self._segments.locate(start, max_bytes, end, min_one_batch=min_one_batch)
        except DecodeError as error:
            return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))
        except OSError as error:
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def read(
        self, start: int, max_bytes: int, end: int | None = None, *, min_one_batch: bool = True
    ) -> bytes | Refused:
        """The bytes of ``locate``."""
        found = self.locate(start, max_bytes, end, min_one_batch=min_one_batch)
        return found if isinstance(found, Refused) else self.read_slice(found)

    def read_slice(self, found: FileSlice) -> bytes | Refused:
        """The bytes of what ``locate`` found, at any time later."""
        if not found.size_bytes:
            return b""
        try:
            return found.file.read_at(found.position, found.size_bytes)
        except OSError as error:
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def offset_for_timestamp(self, timestamp: int) -> Steps[FoundOffset | None]:
        """The first visible record no older than ``timestamp``. Raises ``OSError`` and ``DecodeError``."""
        return first_at_or_after(self._segments, timestamp, start=self.start_offset, end=self.high_watermark)

    def max_timestamp(self) -> Steps[FoundOffset | None]:
        """The first visible record with the largest timestamp; None if none has one. Raises the same."""
        return largest_timestamp(self._segments, start=self.start_offset, end=self.high_watermark)

    def visible_end(self, *, committed: bool) -> int:
        """One past the last offset a reader may see, one of committed records or any other."""
        return self.last_stable_offset if committed else self.high_watermark

    def aborted_among(self, batches: Buffer) -> list[AbortedTransaction] | Refused:
        """The aborted transactions that whole batches of this log may belong to."""
        if not batches or not self._segments.has_aborted:
            return []
        try:
            first, end = span_of(batches)
            return self.aborted_in(first, end)
        except DecodeError as error:
            return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))
        except OSError as error:
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def aborted_in(self, start: int, end: int) -> list[AbortedTransaction]:
        """The aborted transactions that may have records in ``[start, end)``, oldest marker first: of any other a
        reader finds all records committed. Raises ``DecodeError`` and ``OSError``."""
        return self._segments.aborted_in(start, end)

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has a transaction open here, in this very epoch."""
        return self._producers.is_in_transaction(producer_id, epoch)

    # -- forgetting -------------------------------------------------------------------------------------

    def delete_records(self, before: int) -> int | Refused:
        """Begin the log at ``before``, and return where it begins now; it never goes back.

        Refuses OFFSET_OUT_OF_RANGE above the high watermark. The space is given back by ``apply_retention``;
        the new start survives a crash only once the data directory's checkpoint has it.
        """
        if before > self.high_watermark or before < 0:
            known = f"at most {self.high_watermark}"
            return Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"delete records before {before}, expected {known}")
        self._move_start(before)
        return self.start_offset

    def apply_retention(self, now_ms: int, *, upto: int | None = None) -> DeleteWork | None:
        """Take the segments nobody needs out of the log. Their files wait, renamed, for the caller to remove them.

        By age, by size, and by where the log starts; none that reaches past ``upto``. The whole log may go, and then
        begins anew at its end. Raises ``OSError`` where it cannot be told what has expired; a disk that fails later
        sets ``failure``.
        """
        if self.failure is not None:
            return None
        infos = self._segments.infos()
        try:
            return self._forget_expired(infos, now_ms, upto)
        except OSError as error:
            self.failure = error
            return None

    def retention_end(self, now_ms: int) -> int | None:
        """The end of what ``apply_retention`` would take; None if that is nothing. Raises ``OSError``."""
        if self.failure is not None:
            return None
        infos = self._segments.infos()
        count = self._count_expired(infos, now_ms)
        return infos[count - 1].end_offset if count else None

    def _count_expired(self, infos: Sequence[SegmentInfo], now_ms: int) -> int:
        return count_expired(
            infos,
            self.config,
            now_ms=now_ms,
            start_offset=self.start_offset,
            visible_end=self.high_watermark,
        )

    def _forget_expired(
        self, infos: Sequence[SegmentInfo], now_ms: int, upto: int | None
    ) -> DeleteWork | None:
        count = self._count_expired(infos, now_ms)
        if upto is not None:
            count = sum(segment.end_offset <= upto for segment in infos[:count])
        if count == 0:
            return None
        paths = list[str]()
        if count == len(self._segments):
            # Those that are sealed first: a disk that is full may have no room to begin another.
            paths += self._let_go(count - 1)
            self.roll(now_ms)
            count = 1
        paths += self._let_go(count)
        self._unsynced.add(directory=self.directory)
        return DeleteWork(tuple(paths), now_ms + self.config.file_delete_delay_ms)

    def _let_go(self, count: int) -> list[str]:
        """Takes the oldest segments out; the log begins behind them at once, whatever fails next."""
        paths = self._segments.rename_oldest(count)
        self._move_start(self._segments.base_offset)
        return paths

    def _move_start(self, start: int) -> None:
        if start > self.start_offset:
            self.start_offset = start
            self._keep_epochs(self._epochs.cut_front(start))

    # -- compacting -------------------------------------------------------------------------------------

    def plan_cleaning(self, now_ms: int) -> CleaningJob | None:
        """A job for the cleaner, or None: not a compacted topic, not dirty enough, or one is under way.

        Run it on any thread, then hand it to ``install``, or to ``drop_cleaning`` if it failed.
        """
        if self._cleaning is not None or self.failure is not None or not self.config.is_compacted:
            return None
        safe_end = min(self.durable_end, self.last_stable_offset)
        count = cleanable(
            self._segments.candidates(),
            self.config,
            now_ms=now_ms,
            cleaned_to=self.cleaned_to,
            safe_end=safe_end,
        )
        if count == 0:
            return None
        sources = self._segments.sources(count)
        self._cleaning = CleaningJob(
            self._files,
            sources,
            self.config,
            now_ms,
            self.cleaned_to,
            self._last_offsets(),
            {known.producer_id: known.epoch for known in self._producers if not known.batches},
            self.aborted_in(sources[0].base_offset, sources[-1].end_offset),
            partial(self._segments.new_cleaned, now_ms=now_ms),
        )
        return self._cleaning

    def _last_offsets(self) -> dict[int, int]:
        known = (producer for producer in self._producers if producer.batches)
        return {producer.producer_id: producer.batches[-1].end_offset - 1 for producer in known}

    def install(self, job: CleaningJob, now_ms: int) -> DeleteWork | None:
        """Put what ``job`` made in place of its sources, which are renamed and wait for the caller to remove them.

        A group of which retention has taken a source meanwhile is left as it is. A failing disk sets ``failure``.
        """
        self._cleaning, paths = None, list[str]()
        try:
            for cleaned in job.done:
                paths += self._segments.swap_in(cleaned)
        except OSError as error:
            self.failure = error
            return None
        self.cleaned_to = max(self.cleaned_to, job.cleaned_to)
        self._unsynced.add(directory=self.directory)
        return DeleteWork(tuple(paths), now_ms + self.config.file_delete_delay_ms) if paths else None

    def drop_cleaning(self, job: CleaningJob) -> None:
        """``job`` failed or is not wanted any more: remove what it wrote, as far as the disk lets us."""
        self._cleaning = None
        with suppress(OSError):
            for name in self._files.names(self.directory):
                if name.endswith(CLEANED):
                    self._files.remove(f"{self.directory}/{name}")

    # -- what there is ----------------------------------------------------------------------------------

    def size_bytes(self) -> int:
        return self._segments.size_bytes()

    def segments(self) -> list[SegmentInfo]:
        return self._segments.infos()

    def update_config(self, config: LogConfig) -> None:
        """Takes effect from the next call on."""
        self.config = config
        self._rules = IngestRules.of(config)
        self._producers.expiration_ms = config.producer_id_expiration_ms

    def expire_producers(self, now_ms: int) -> Steps[int]:
        """Forget producers silent for longer than `producer.id.expiration.ms`. How many that were."""
        return self._producers.expire(now_ms)

    def producers(self) -> Iterator[Producer]:
        """For DescribeProducers: whoever is remembered, to be read and not changed."""
        return iter(self._producers)


def writable(records: Buffer) -> bytearray | memoryview:
    """The buffer itself if it may be stamped, else a copy."""
    if isinstance(records, bytearray) or (isinstance(records, memoryview) and not records.readonly):
        return records
    return bytearray(records)
