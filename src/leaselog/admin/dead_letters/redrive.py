"""Puts dead letters back: window after window, each written down before it is sent (ADR 0015).

At every moment the offsets of the group's redrive tell which letters are settled and which few may or may not be in
their target. Whoever comes next first makes sure of those.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from leaselog.admin.dead_letters.accounts import RedriveResult, Tally
from leaselog.admin.dead_letters.claim import (
    SESSION_TIMEOUT_MS,
    Claim,
    RedriveStopped,
    committed,
    group_of_redrive,
)
from leaselog.admin.dead_letters.letter import Letter, read_letter
from leaselog.admin.dead_letters.log_reader import read_offsets
from leaselog.admin.dead_letters.memory import MAX_TEXT, Memory, PendingBatch, PendingWindow, read_memory
from leaselog.admin.dead_letters.originals import look_up
from leaselog.admin.dead_letters.putting import Identity, is_there, put
from leaselog.admin.dead_letters.selection import Selection
from leaselog.admin.dead_letters.sorting import Sorted, bytes_of, record_of, sort_letters
from leaselog.admin.dead_letters.topics import Span, name_of_topic, read_letters, spans_of
from leaselog.client import LATEST, BrokerError, ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.client.machine import monotonic_s, wall_ms
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.records import Record

__all__ = ["MAX_HOPS", "memories_of", "redrive"]

MAX_HOPS = 16
#: letters that are sent without being written down once more in between
WINDOW_LETTERS = 500
WINDOW_BYTES = 512 * 1024


async def redrive(
    cluster: Cluster,
    group_id: str,
    *,
    topic: str | None = None,
    to: str | None = None,
    where: Sequence[str] = (),
    rate: float | None = None,
    max_hops: int | None = MAX_HOPS,
    dry_run: bool = False,
    on_progress: Callable[[RedriveResult], None] | None = None,
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
) -> RedriveResult:
    """Put back what is in the dead-letter topic as of now. See ``AsyncAdmin.redrive``."""
    if rate is not None and rate <= 0:
        raise ValueError(f"a rate of {rate} would never put anything back")
    if max_hops is not None and max_hops < 1:
        raise ValueError(f"max_hops of {max_hops} would put nothing back")
    selection = Selection.of(where)
    topic = topic or await name_of_topic(cluster, group_id)
    if to == topic:
        raise ValueError(f"letters of topic {topic} cannot be put back into it")
    order = _Order(group_id, selection, to, rate, max_hops)
    tally = Tally(group_id, topic, dry_run)
    if dry_run:
        spans = await spans_of(cluster, topic)
        memories = await memories_of(cluster, group_id, spans)
        return await _Redrive(cluster, order, tally, None, on_progress).run(spans, memories)
    count = len(await spans_of(cluster, topic))
    async with Claim(cluster, group_id, topic, count, session_timeout_ms=session_timeout_ms) as claim:
        spans = await spans_of(cluster, topic)
        memories = await memories_of(cluster, group_id, spans)
        return await _Redrive(cluster, order, tally, claim, on_progress).run(spans, memories)


async def memories_of(cluster: Cluster, group_id: str, spans: Iterable[Span]) -> dict[TopicPartition, Memory]:
    """What is remembered of each partition. Raises ``RedriveStopped`` if it is not understood."""
    starts = {span.where: span.start for span in spans}
    told = await committed(cluster, group_of_redrive(group_id), starts)
    try:
        found = {where: read_memory(*told.get(where, (0, ""))) for where in starts}
    except ValueError as newer:
        raise RedriveStopped(str(newer)) from None
    return {where: memory.without_walks_before(starts[where]) for where, memory in found.items()}


@dataclass(frozen=True, slots=True)
class _Order:
    """What was asked for."""

    group_id: str
    selection: Selection
    to: str | None
    rate: float | None
    max_hops: int | None

    @property
    def window_letters(self) -> int:
        """About half a second's worth, where there is a rate."""
        return WINDOW_LETTERS if self.rate is None else max(1, min(WINDOW_LETTERS, int(self.rate / 2)))


class _Redrive:
    """``claim`` None writes nothing."""

    def __init__(
        self,
        cluster: Cluster,
        order: _Order,
        tally: Tally,
        claim: Claim | None,
        on_progress: Callable[[RedriveResult], None] | None,
    ) -> None:
        self._cluster = cluster
        self._order = order
        self._tally = tally
        self._claim = claim
        self._on_progress = on_progress
        self._identity = Identity(cluster)
        #: of the topics that letters go to
        self._partitions = dict[str, int]()
        #: offsets behind which everything that is sent from now on will be
        self._since = dict[TopicPartition, int]()
        self._sent = 0
        self._began_s = 0.0
        #: done, and not written down yet
        self._unwritten: tuple[TopicPartition, Memory] | None = None

    async def run(self, spans: Sequence[Span], memories: Mapping[TopicPartition, Memory]) -> RedriveResult:
        for span in spans:
            await self._count(span, memories[span.where])
        self._began_s = monotonic_s()
        self._show()
        try:
            for span in spans:
                before = memories[span.where]
                after = await self._walk(span, await self._finish(span, before))
                if after != before:
                    await self._commit(span.where, after)
        finally:
            await self._write_what_is_done()
        self._tally.end()
        self._show()
        return self._tally.result

    def _show(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._tally.result)

    async def _count(self, span: Span, memory: Memory) -> None:
        """What there is, before any of it moves: so that all of it can be accounted for, whatever happens."""
        pending = memory.pending.letters if memory.pending else frozenset[int]()
        group_id, tally = self._order.group_id, self._tally
        async for letter in read_letters(self._cluster, span.where, span.start, span.end, group_id):
            tally.letters += 1
            if letter.offset in pending:
                continue
            if memory.is_settled(letter):
                tally.before += 1
            elif not self._order.selection.holds_of(letter):
                tally.skipped += 1

    async def _walk(self, span: Span, memory: Memory) -> Memory:
        selection = self._order.selection
        start = memory.start_of(selection, span.start)
        async for letters, end in self._windows(span, start, memory):
            memory = await self._window(span.where, letters, end, memory)
        return memory.walked(selection, span.end)

    async def _windows(
        self, span: Span, start: int, memory: Memory
    ) -> AsyncIterator[tuple[list[Letter], int]]:
        """Letters to be put back, a few at a time, and the offset before which none is left out."""
        chosen, size_bytes = list[Letter](), 0
        async for letter in read_letters(self._cluster, span.where, start, span.end, self._order.group_id):
            if memory.is_settled(letter) or not self._order.selection.holds_of(letter):
                continue
            more_bytes = bytes_of(letter)
            if chosen and (
                len(chosen) >= self._order.window_letters or size_bytes + more_bytes > WINDOW_BYTES
            ):
                yield chosen, letter.offset
                chosen, size_bytes = [], 0
            chosen.append(letter)
            size_bytes += more_bytes
        if chosen:
            yield chosen, span.end

    async def _window(
        self, where: TopicPartition, letters: Sequence[Letter], end: int, memory: Memory
    ) -> Memory:
        """Put these letters back, as far as they can be. What it returns is yet to be written down."""
        done = await self._sort(letters)
        after = memory.walked(self._order.selection, end).leaving(
            more=done.too_often, less=(*done.ready, *done.gone)
        )
        window = PendingWindow(*await self._next_identity(), done.batches(self._since))
        written = replace(after, pending=window if window.batches else None)
        if len(written.text) > MAX_TEXT:
            return await self._halve(where, letters, end, memory)
        self._tally.gone += len(done.gone)
        self._tally.too_often += len(done.too_often)
        if window.batches:
            await self._commit(where, written)
            refused = await self._carry_out(window, {o: record for o, (_, record) in done.ready.items()})
            after = await self._isolate(where, letters, end, after, refused)
            self._unwritten = where, after
        self._show()
        await self._pace()
        return after

    async def _halve(
        self, where: TopicPartition, letters: Sequence[Letter], end: int, memory: Memory
    ) -> Memory:
        """It could not be written down what is sent: then less is sent at a time."""
        middle = len(letters) // 2
        if not middle:
            raise RedriveStopped(
                f"more than can be remembered of {where}: too many selections were begun, or too many letters"
                " left behind. Without any condition, and with higher limits, one redrive settles them"
            )
        memory = await self._window(where, letters[:middle], letters[middle].offset, memory)
        return await self._window(where, letters[middle:], end, memory)

    async def _isolate(
        self,
        where: TopicPartition,
        letters: Sequence[Letter],
        end: int,
        memory: Memory,
        refused: Sequence[PendingBatch],
    ) -> Memory:
        """One letter that the target does not take is not to keep out those that were sent with it."""
        memory = memory.leaving(more=(offset for batch in refused for offset in batch.letters))
        for batch in refused:
            alone = [letter for letter in letters if letter.offset in batch.letters]
            if len(alone) == 1:
                self._tally.refused += 1
                continue
            for letter in alone:
                memory = await self._window(where, [letter], end, memory)
        return memory

    # what a window needs to know

    async def _sort(self, letters: Sequence[Letter]) -> Sorted:
        order = self._order
        originals = await look_up(self._cluster, letters)
        await self._know({letter.source.topic if order.to is None else order.to for letter in letters})
        done = sort_letters(
            letters, originals, self._partitions, to=order.to, max_hops=order.max_hops, now_ms=wall_ms()
        )
        unknown = {target for target, _ in done.ready.values()} - self._since.keys()
        if unknown:
            self._since |= await list_offsets(self._cluster, dict.fromkeys(sorted(unknown), LATEST))
        return done

    async def _know(self, topics: set[str]) -> None:
        """How many partitions the targets have. Raises ``RedriveStopped`` for one that does not exist."""
        unknown = sorted(topics - self._partitions.keys())
        if not unknown:
            return
        found = await self._cluster.retrying(lambda: self._cluster.fetch_topology(unknown))
        for name in unknown:
            if found.errors.get(name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise RedriveStopped(f"topic {name}, where letters are to go, does not exist")
            self._partitions[name] = len(found.topic(name).partitions)

    async def _next_identity(self) -> tuple[int, int]:
        return (0, 0) if self._claim is None else await self._identity.next()

    # effects

    async def _commit(self, where: TopicPartition, memory: Memory) -> None:
        if self._claim is None:
            return
        came_to = max(walk.end for walk in memory.walks if walk.selection == self._order.selection)
        await self._claim.commit({where: (came_to, memory.text)})
        self._unwritten = None  # what is pending from here on must not be forgotten by a commit of less

    async def _write_what_is_done(self) -> None:
        """For whoever was stopped between two windows: the next one need not look for what has arrived."""
        if self._unwritten is not None:
            with suppress(ClientError):
                await self._commit(*self._unwritten)

    async def _carry_out(self, window: PendingWindow, records: Mapping[int, Record]) -> list[PendingBatch]:
        """Send what is pending; the batches that their target does not take."""
        outcomes = await asyncio.gather(
            *(self._put(window, batch, [records[offset] for offset in batch.letters]) for batch in window.batches)
        )  # fmt: skip
        refused = [batch for batch, is_put in zip(window.batches, outcomes, strict=True) if not is_put]
        for batch in window.batches:
            if batch not in refused:
                count = sum(1 for _ in batch.letters)
                self._tally.by_target[batch.target.topic] += count
                self._sent += count
        return refused

    async def _put(self, window: PendingWindow, batch: PendingBatch, records: Sequence[Record]) -> bool:
        if self._claim is None:
            return True
        outcome = await put(self._cluster, batch.target, records, window.producer_id, window.epoch)
        if isinstance(outcome, BrokerError):
            return False
        self._since[batch.target] = max(outcome, self._since.get(batch.target, 0))
        return True

    async def _pace(self) -> None:
        if self._order.rate is not None and self._claim is not None:
            await asyncio.sleep(max(0.0, self._began_s + self._sent / self._order.rate - monotonic_s()))

    # what an earlier one began

    async def _finish(self, span: Span, memory: Memory) -> Memory:
        """Make sure of what may or may not be in its target. What it returns is yet to be written down."""
        window = memory.pending
        if window is None:
            return memory
        letters = await self._read_again(span.where, window)
        originals = await look_up(self._cluster, letters.values())
        targets = sorted({batch.target.topic for batch in window.batches})
        existing = (await self._cluster.retrying(lambda: self._cluster.fetch_topology(targets))).topics
        for batch in window.batches:
            there = [offset for offset in batch.letters if offset >= span.start]
            if batch.target.topic not in existing:  # and what was in it went with it
                memory = memory.leaving(more=there)
                continue
            records = {
                o: record_of(letters[o], originals.get(o), wall_ms()) for o in batch.letters if o in letters
            }
            left = [record for record in records.values() if record is not None]
            if await is_there(self._cluster, window, batch):
                self._tally.by_target[batch.target.topic] += len(there)
            elif not left:
                self._tally.gone += len(there)
            elif await self._put(window, batch, left):
                self._tally.by_target[batch.target.topic] += len(left)
                self._tally.gone += len(there) - len(left)
            else:
                memory = memory.leaving(more=there)
        self._show()
        return replace(memory, pending=None)

    async def _read_again(self, where: TopicPartition, window: PendingWindow) -> dict[int, Letter]:
        records = await read_offsets(self._cluster, where, window.letters)
        letters = {offset: read_letter(record, where) for offset, record in records.items()}
        return {offset: letter for offset, letter in letters.items() if letter is not None}
