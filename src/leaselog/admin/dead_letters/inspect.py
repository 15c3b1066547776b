"""Looks through a group's dead letters, and at the records of the few that are shown. Reads, and writes nothing."""

from __future__ import annotations

from leaselog.admin.dead_letters.originals import look_up
from leaselog.admin.dead_letters.redrive import memories_of
from leaselog.admin.dead_letters.report import DeadLetterReport, Findings
from leaselog.admin.dead_letters.topics import name_of_topic, read_letters, spans_of
from leaselog.client.cluster import Cluster
from leaselog.model import TopicPartition
from leaselog.wire.records import Record

__all__ = ["inspect_dead_letters"]


async def inspect_dead_letters(
    cluster: Cluster, group_id: str, *, topic: str | None = None, samples: int = 1
) -> DeadLetterReport:
    """See ``AsyncAdmin.inspect_dead_letters``."""
    topic = topic or await name_of_topic(cluster, group_id)
    spans = await spans_of(cluster, topic)
    memories = await memories_of(cluster, group_id, spans)
    findings = Findings(samples)
    for span in spans:
        memory = memories[span.where]
        async for letter in read_letters(cluster, span.where, span.start, span.end, group_id):
            findings.add(letter, is_settled=memory.is_settled(letter))
    originals = dict[tuple[TopicPartition, int], Record]()
    for where, some in findings.sampled().items():
        found = await look_up(cluster, some)
        originals.update(((where, offset), record) for offset, record in found.items())
    return findings.report(group_id, topic, originals)
