"""Looks up the records that dead letters are about: what was not copied, and the headers, which nobody copies."""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.admin.dead_letters.letter import Letter, is_same
from leaselog.admin.dead_letters.log_reader import read_offsets
from leaselog.client import EARLIEST, LATEST
from leaselog.client.cluster import Cluster
from leaselog.client.fetcher import list_offsets
from leaselog.model import TopicPartition
from leaselog.wire.records import Record

__all__ = ["look_up"]

#: records that failed are few and far between: whole megabytes would be read for one of them
FETCH_BYTES = 256 * 1024


async def look_up(cluster: Cluster, letters: Iterable[Letter]) -> dict[int, Record]:
    """By the letters' own offsets, the records that are still where the letters say they lay."""
    by_source = dict[TopicPartition, list[Letter]]()
    for letter in letters:
        by_source.setdefault(letter.source, []).append(letter)
    topics = sorted({source.topic for source in by_source})
    existing = (await cluster.retrying(lambda: cluster.fetch_topology(topics))).topics if topics else {}
    places = [
        source
        for source in by_source
        if source.topic in existing and source.partition < len(existing[source.topic].partitions)
    ]
    if not places:
        return {}
    earliest = await list_offsets(cluster, dict.fromkeys(places, EARLIEST))
    latest = await list_offsets(cluster, dict.fromkeys(places, LATEST))
    found = dict[int, Record]()
    for source in places:
        wanted = [x for x in by_source[source] if earliest[source] <= x.source_offset < latest[source]]
        records = await read_offsets(
            cluster, source, {letter.source_offset for letter in wanted}, max_bytes=FETCH_BYTES
        )
        for letter in wanted:
            original = records.get(letter.source_offset)
            if original is not None and is_same(letter, original):
                found[letter.offset] = original
    return found
