"""Opening a partition's directory: from whatever a crash left to a log that holds a prefix of what was written.

After a clean stop the files are taken at their word, and only the end of the last segment is read. Otherwise
every segment that reaches past the recovery point is walked batch by batch, each checksum checked; the first
batch that is torn, corrupt or out of order ends the log, and what lies behind it goes. What remains is synced
before anyone may read it, so that a second crash cannot take back what a reader has seen: each log by itself, or very
many by one sync of all that there is, before they are read (ADR 0027).

Nothing below the recovery point can be missing, since the point moves only after a sync. Recovering twice
gives what recovering once gave.

A log that never had a record has no directory: it is made for the first append. So a topic of many partitions costs
nothing on disk until they are written to, and a crash between making the topic and its partitions needs no repair.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from leaselog.log._scan import scan_valid
from leaselog.log.checkpoints import format_epochs, format_metadata, parse_epochs, parse_metadata
from leaselog.log.config import LogConfig
from leaselog.log.epochs import LeaderEpochs
from leaselog.log.files import File, Files, read_whole, replace_whole
from leaselog.log.layout import (
    EPOCHS,
    INDEX,
    LOG,
    METADATA,
    RECOVERY_POINT,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    offset_of,
    segment_path,
)
from leaselog.log.open_segments import OpenSegments
from leaselog.log.producer_state import ProducerLimit, ProducerState
from leaselog.log.recovery_point import RecoveryPoint, read_point
from leaselog.log.segment import Segment
from leaselog.log.snapshots import restore_producers
from leaselog.log.swaps import finish_swaps
from leaselog.model import TopicId
from leaselog.wire.errors import DecodeError

__all__ = ["CommonSync", "ForeignLog", "Loaded", "UnusableLog", "forget_tail", "load", "make"]

#: what is larger takes its time to check; waiting for the disk does not matter beside it
READ_AHEAD_BYTES = 256 * 1024


#: behind every log
_NOWHERE = 2**63 - 1


class UnusableLog(Exception):
    """A partition's directory is not what the broker takes it for. No record in it has been changed."""


class ForeignLog(UnusableLog):
    """The directory is that of another topic."""

    def __init__(self, directory: str, found: TopicId, expected: TopicId) -> None:
        super().__init__(f"{directory} belongs to topic id {found}, expected {expected}")
        self.topic_id = found


class CommonSync(Protocol):
    """One sync for many logs."""

    def covers(self, directory: str) -> bool:
        """Asked by a log that has something nobody has synced, before it reads that from the disk.

        True: all that a process before us wrote to the directory has been synced since that process was gone. Some of
        it may not have reached the disk, which whoever reads it there finds out.
        """

    def has_forgotten(self, directory: str) -> bool:
        """Whether ``forget_tail`` has been asked of it since that sync."""


def forget_tail(files: Files, directory: str) -> bool:
    """Have a log's last segment read from the disk, beside what happens next, unless its recovery point spares most of
    it. Whether that was asked for. Raises ``OSError``."""
    names = files.names(directory) if files.exists(directory) else []
    logs = [name for name in names if offset_of(name, LOG) is not None]
    if RECOVERY_POINT in names or len(logs) != 1:
        return False
    file = files.open(f"{directory}/{logs[0]}")
    file.forget_cached(read_ahead=file.size_bytes() <= READ_AHEAD_BYTES)
    file.close()
    return True


@dataclass(slots=True)
class Loaded:
    """A partition as found. The records in it are durable."""

    #: at least one; only the last is not sealed
    segments: list[Segment]
    epochs: LeaderEpochs
    producers: ProducerState
    #: made just now, or left behind by a process whose syncs nobody knows of: for the next sync job
    unsynced_paths: list[str]
    unsynced_directories: list[str]
    #: bytes of records found at the end and not fit to keep
    cut_bytes: int
    #: False for a log without a directory: ``make`` comes before anything is written
    is_made: bool = True


@dataclass(frozen=True, slots=True)
class _Recovery:
    files: Files
    directory: str
    config: LogConfig
    now_ms: int
    opened: OpenSegments
    in_all: ProducerLimit | None
    #: nothing from there on is kept
    upto: int
    common: CommonSync | None

    def producers(self) -> ProducerState:
        return ProducerState(expiration_ms=self.config.producer_id_expiration_ms, in_all=self.in_all)

    def segment(self, base_offset: int, *, size_bytes: int, end_offset: int) -> Segment:
        return Segment(
            self.files,
            self.directory,
            base_offset,
            size_bytes=size_bytes,
            end_offset=end_offset,
            created_ms=self.now_ms,
            opened=self.opened,
        )


def load(
    files: Files,
    directory: str,
    topic_id: TopicId,
    config: LogConfig,
    *,
    now_ms: int,
    clean: bool,
    recovery_point: int,
    start_offset: int,
    opened: OpenSegments,
    in_all: ProducerLimit | None = None,
    upto: int | None = None,
    common: CommonSync | None = None,
) -> Loaded:
    """Open the directory, if there is one, and keep what lies before ``upto``.

    Raises ``UnusableLog`` if it belongs to another topic or is damaged where nothing but damage explains it, and
    ``OSError``.
    """
    upto = _NOWHERE if upto is None else upto
    place = _Recovery(files, directory, config, now_ms, opened, in_all, upto, common)
    if not files.exists(directory):
        return _nothing(place, start_offset)
    try:
        return _load(place, topic_id, clean=clean, recovery_point=recovery_point, start_offset=start_offset)
    except DecodeError as damage:
        # What was synced long ago, or by a stop in good order, does not read any more.
        raise UnusableLog(f"{directory}: {damage}") from damage


def _load(
    place: _Recovery, topic_id: TopicId, *, clean: bool, recovery_point: int, start_offset: int
) -> Loaded:
    files, directory, now_ms = place.files, place.directory, place.now_ms
    has_new_tag = _claim(place, topic_id, clean)
    names = _sweep(place)
    if any(name.endswith(SWAP) for name in names):
        finish_swaps(files, directory)
        names = files.names(directory)
    found_bytes = 0 if clean else _size_bytes(place, names)
    point = None if clean or RECOVERY_POINT not in names else read_point(files, directory, topic_id)
    if point is not None and point.end_offset <= place.upto:
        recovery_point = max(recovery_point, point.end_offset)
        found = _load_segments(place, names, clean, recovery_point, point)
    else:
        found = _load_segments(place, names, clean, recovery_point, None)
    segments = found.segments
    cut_bytes = max(found_bytes - sum(segment.size_bytes for segment in segments), 0)
    if segments and segments[-1].end_offset < start_offset:
        # Offsets once given up by DeleteRecords are not given out again. Java does the same.
        _drop(place, [segment.base_offset for segment in segments])
        segments = []
    if not segments:
        segments = [_first_segment(place, start_offset)]
    epochs = _load_epochs(place, segments, _NOWHERE if clean else recovery_point)
    unindexed_from = _start_unindexed(found)
    producers = place.producers()
    snapshots = [offset for name in names if (offset := offset_of(name, SNAPSHOT)) is not None]
    restore_producers(
        files,
        directory,
        segments,
        producers,
        snapshots=snapshots,
        now_ms=now_ms,
        point=found.resumed,
        unindexed_from=unindexed_from,
    )
    _keep_aborted(place, [segment for segment in segments if segment.end_offset > unindexed_from])
    if point is not None and segments[-1].end_offset < point.end_offset:
        # A disk that lost what it had synced: the point must not be believed once the log has grown past it.
        files.remove(f"{directory}/{RECOVERY_POINT}")
        files.sync_directory(directory)
    is_doubtful = has_new_tag or not (clean or found.is_covered)
    paths = [f"{directory}/{name}" for name in (METADATA, EPOCHS)] if is_doubtful else []
    directories = [directory, directory.rpartition("/")[0]] if is_doubtful else []
    segments[-1].let_go()
    unsynced = [path for path in paths if files.exists(path)]
    return Loaded(segments, epochs, producers, unsynced, directories, cut_bytes)


def make(files: Files, directory: str, topic_id: TopicId, base_offset: int) -> str:
    """Make the directory of a log that had none. Returns the path of its name tag.

    Records are safe once the directory and the one above it are synced with them. A name tag, and a first list of
    epochs, that a power cut takes are written anew by ``load``.
    """
    files.make_directory(directory)
    name_tag = f"{directory}/{METADATA}"
    replace_whole(files, name_tag, format_metadata(topic_id)).close()
    files.open(segment_path(directory, base_offset, LOG), writable=True, create=True).close()
    return name_tag


def _nothing(place: _Recovery, start_offset: int) -> Loaded:
    segment = place.segment(start_offset, size_bytes=0, end_offset=start_offset)
    segment.start_indexes()
    return Loaded([segment], LeaderEpochs([]), place.producers(), [], [], cut_bytes=0, is_made=False)


def _size_bytes(place: _Recovery, names: Sequence[str]) -> int:
    return sum(
        place.files.size_bytes(f"{place.directory}/{name}")
        for name in names
        if offset_of(name, LOG) is not None
    )


def _claim(place: _Recovery, topic_id: TopicId, clean: bool) -> bool:
    """Make sure that the directory is this topic's. True if its name tag had to be written."""
    path = f"{place.directory}/{METADATA}"
    try:
        found = parse_metadata(read_whole(place.files, path)) if place.files.exists(path) else None
    except ValueError as error:
        # Torn: the power went before it was first synced, and nothing in here had been promised by then.
        if clean:
            raise UnusableLog(f"{path}: {error}") from None
        found = None
    if found is None:
        replace_whole(place.files, path, format_metadata(topic_id))
        return True
    if found != topic_id:
        raise ForeignLog(place.directory, found, topic_id)
    return False


def _sweep(place: _Recovery) -> list[str]:
    """Remove what no segment owns: files on their way out, half-written ones, indexes without a log. The names left."""
    names, kept = set(found := place.files.names(place.directory)), list[str]()
    for name in found:
        stem = name[:20]
        is_leftover = name.endswith((".deleted", ".cleaned", ".tmp"))
        is_orphan = name.endswith((INDEX, TIME_INDEX, TXN_INDEX)) and stem + LOG not in names
        is_index_swap = name.endswith((INDEX + SWAP, TIME_INDEX + SWAP))  # made anew, so not worth keeping
        if is_leftover or is_orphan or is_index_swap:
            place.files.remove(f"{place.directory}/{name}")
        else:
            kept.append(name)
    return kept


def _first_segment(place: _Recovery, start_offset: int) -> Segment:
    path = segment_path(place.directory, start_offset, LOG)
    place.files.open(path, writable=True, create=True).close()
    segment = place.segment(start_offset, size_bytes=0, end_offset=start_offset)
    segment.start_indexes()
    return segment


class _Found(NamedTuple):
    segments: list[Segment]
    #: the point if the last of them was resumed there
    resumed: RecoveryPoint | None
    #: all that lay in the directory is durable by a sync of many logs
    is_covered: bool
    #: transactions aborted before it are in the indexes
    unindexed_from: int


def _load_segments(
    place: _Recovery, names: Sequence[str], clean: bool, recovery_point: int, point: RecoveryPoint | None
) -> _Found:
    resumed, is_covered, unindexed_from = None, False, _NOWHERE
    found = sorted(base for name in names if (base := offset_of(name, LOG)) is not None)
    bases = [base for base in found if base <= place.upto]
    _drop(place, found[len(bases) :])
    segments: list[Segment] = []
    is_whole = bases == found
    for at, base in enumerate(bases):
        next_base = bases[at + 1] if at + 1 < len(bases) else None
        size_bytes = place.files.size_bytes(segment_path(place.directory, base, LOG))
        segment = place.segment(base, size_bytes=size_bytes, end_offset=base)
        if next_base is not None and (clean or next_base <= recovery_point):
            segment.end_offset, segment.is_sealed = next_base, True
            segment.has_aborted = f"{base:020d}{TXN_INDEX}" in names
            segments.append(segment)
            continue
        if segments and segments[-1].end_offset != base:
            # Bytes of the segment before it were lost, these were not: what they follow is gone.
            _drop(place, bases[at:])
            is_whole = False
            break
        segments.append(segment)
        if clean and segment.find_end():
            segment.has_aborted = f"{base:020d}{TXN_INDEX}" in names
            continue
        size_bytes = segment.size_bytes
        if point is not None and next_base is None and segment.resume(point):
            resumed, unindexed_from = point, point.end_offset
        else:
            segment.size_bytes, segment.end_offset = 0, base
            segment.start_indexes()
            unindexed_from = min(unindexed_from, base)
        known_to = min(recovery_point, place.upto)
        if segment.size_bytes == size_bytes:
            continue
        if segment.end_offset < known_to and _count_in(place, segment, size_bytes, upto=known_to):
            continue
        # Asked before anything is read: what cannot be written now must not be found in memory.
        is_covered = place.common is not None and place.common.covers(place.directory)
        if not (is_covered and place.common is not None and place.common.has_forgotten(place.directory)):
            # A sync may have failed before the broker died: what it lost can still be read, in memory only.
            segment.file().forget_cached()
        if not _count_in(place, segment, size_bytes, upto=place.upto):
            segment.cut_back()
            _drop(place, bases[at + 1 :])
            is_whole = False
            break
    # What a sync has told of is on the disk. Of ten thousand logs nearly all end there, and so many syncs take long.
    is_on_disk = is_whole and bool(segments) and segments[-1].end_offset <= recovery_point
    _settle(place, segments, is_on_disk=clean or is_on_disk or (is_whole and is_covered))
    return _Found(segments, resumed, is_covered, unindexed_from)


def _count_in(place: _Recovery, segment: Segment, size_bytes: int, *, upto: int) -> bool:
    """Count in every batch from the segment's end on that holds up, as far as ``upto``. Whether those were all."""
    batches = scan_valid(
        segment.file(),
        size_bytes,
        segment.base_offset,
        position=segment.size_bytes,
        next_offset=segment.end_offset,
    )
    for _, header, _ in batches:
        if header.end_offset > upto:
            break
        segment.index(header, place.config.index_interval_bytes)
    return segment.size_bytes == size_bytes


def _drop(place: _Recovery, bases: list[int]) -> None:
    for base in bases:
        for suffix in (INDEX, TIME_INDEX, TXN_INDEX, LOG):
            path = segment_path(place.directory, base, suffix)
            if place.files.exists(path):
                place.files.remove(path)


def _settle(place: _Recovery, segments: list[Segment], *, is_on_disk: bool) -> None:
    """Seal all but the last, and make what was recovered durable."""
    unsynced: list[File] = []
    for segment in segments[:-1]:
        if not segment.is_sealed:
            unsynced += segment.seal()
    if unsynced or not is_on_disk:
        if segments:
            unsynced.append(segments[-1].file())
        for file in unsynced:
            file.sync()
        place.files.sync_directory(place.directory)


def _start_unindexed(found: _Found) -> int:
    """From where on batches are asked for the transactions they abort. The segments from there on begin with none."""
    unindexed_from = found.unindexed_from
    for segment in found.segments:
        if segment.base_offset < unindexed_from and not segment.has_sound_aborted():
            unindexed_from = segment.base_offset
        if segment.base_offset >= unindexed_from:
            segment.start_aborted()
    return unindexed_from


def _keep_aborted(place: _Recovery, segments: list[Segment]) -> None:
    """Have the files of aborted transactions say what was found: at once where nothing is appended any more, and
    where nothing was found."""
    for segment in segments:
        path = segment.path(TXN_INDEX)
        is_there = place.files.exists(path)
        if segment.is_sealed and segment.has_aborted:
            segment.write_aborted().sync()
        elif is_there and not segment.has_aborted:
            place.files.remove(path)
        else:
            continue
        place.files.sync_directory(place.directory)


def _load_epochs(place: _Recovery, segments: list[Segment], known_to: int) -> LeaderEpochs:
    """The epochs from their checkpoint, up to ``known_to``, and from there on from the batches themselves."""
    path = f"{place.directory}/{EPOCHS}"
    is_there = place.files.exists(path)
    kept: list[tuple[int, int]] = []
    with suppress(ValueError):  # torn, so every batch is asked
        kept = parse_epochs(read_whole(place.files, path)) if is_there else []
    epochs = LeaderEpochs(kept)
    epochs.cut_back(segments[-1].end_offset)
    for segment in segments:
        if segment.size_bytes and (segment.end_offset > known_to or not kept):
            known_here = kept and known_to > segment.base_offset
            for _, header in segment.headers(segment.batch_of(known_to) if known_here else 0):
                epochs.assign(header.leader_epoch, header.base_offset)
    if epochs.entries() != kept:
        # An epoch that was cut off must not come back once the log has grown past its start.
        file = replace_whole(place.files, path, format_epochs(epochs.entries()))
        file.sync()
        place.files.sync_directory(place.directory)
    return epochs
