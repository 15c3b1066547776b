"""Which batches of a fetched stretch belong to aborted transactions: the rule of KIP-98, for both sides.

A broker tells the producer and the first offset of each aborted transaction that may have records in the stretch. From
that offset on the producer's transactional batches are aborted, until its marker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leaselog.wire.record_batch import BatchHeader

__all__ = ["with_fate"]


def with_fate(
    batches: Iterable[tuple[int, BatchHeader]], aborted: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, BatchHeader, bool]]:
    """Each batch, with whether its transaction was aborted. ``aborted``: producer and first offset, in any order.

    Control batches are in neither kind of transaction.
    """
    begun = sorted(((first_offset, producer_id) for producer_id, first_offset in aborted), reverse=True)
    aborting = set[int]()
    for position, header in batches:
        while begun and begun[-1][0] < header.end_offset:
            aborting.add(begun.pop()[1])
        is_aborted = header.is_transactional and header.producer_id in aborting
        if header.is_control:
            # Commit or abort, it ends whatever transaction its producer had open.
            aborting.discard(header.producer_id)
            is_aborted = False
        yield position, header, is_aborted
