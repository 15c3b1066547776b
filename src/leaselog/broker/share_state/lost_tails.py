"""Share state of records that the log has lost, as it can when syncs are not waited for: `durability` interval or os.

What a power cut takes of each log is chance: state may tell of records that are gone. Their offsets are given out
again, and the records that get them would count as finished before anybody has seen them. So state is cut to its log's
end when the broker starts, or a log that had failed is open again, before anybody can write: later the log has grown
past the place, and nobody could tell.
The cut is synced whatever the durability is, or the next power cut might take it back with the log already grown
(ADR 0024).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.share_state.owner import ShareStateOwner
from leaselog.coordination.share_state_commands import (
    CutStates,
    ShareStateAnswer,
    StateCut,
    StatesCut,
)
from leaselog.model import Refused

__all__ = ["cut_to_logs"]

#: told one by one, for each partition of state; the rest is counted
TOLD = 10

log = StructuredLog("share state")


def cut_to_logs(owners: Iterable[ShareStateOwner], partitions: Iterable[Partition]) -> asyncio.Task[int]:
    """Cuts all state to where these logs end now: of how many share partitions, when that is safe. Decided when this
    returns, so whoever reads the state from now on reads it cut. Raises ``OSError``.

    A log that has failed says nothing of where it ends.
    """
    ends = {p.key: p.log.end_offset for p in partitions if p.log.failure is None}
    asked = [(owner, owner.ask(CutStates(ends))) for owner in owners]
    return asyncio.ensure_future(_kept(asked))


async def _kept(asked: list[tuple[ShareStateOwner, asyncio.Future[ShareStateAnswer]]]) -> int:
    cut_count = 0
    for owner, asking in asked:
        answer = await asking
        if isinstance(answer, Refused):
            log.error(
                "share state cannot be compared with the logs", partition=owner.partition.name, why=answer
            )
            continue
        assert isinstance(answer, StatesCut)
        if answer.cuts:
            await asyncio.to_thread(owner.partition.log.flush)
            _tell(answer.cuts)
            cut_count += len(answer.cuts)
    return cut_count


def _tell(cuts: tuple[StateCut, ...]) -> None:
    for cut in cuts[:TOLD]:
        log.warning(
            "share state was ahead of its log, which has lost records",
            key=cut.key,
            state_reached=cut.reached,
            log_end=cut.end,
        )
    if len(cuts) > TOLD:
        log.warning("share state was ahead of more logs", share_partitions=len(cuts) - TOLD)
