"""The small text files beside the segments, in Kafka's formats. Text in, values out; the disk is elsewhere.

    leader-epoch-checkpoint                    version, count, then "epoch start_offset" lines
    *-offset-checkpoint (in the data dir)      version, count, then "topic partition offset" lines
    partition.metadata                         "version: 0" and "topic_id: <base64>"

and one in a format of our own:

    *-offset-checkpoint-by-id (in the data dir)  version, count, then "topic_id partition offset" lines

A file that does not read as such raises ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from uuid import UUID

from leaselog.log.layout import topic_id_from_text, topic_id_to_text
from leaselog.model import TopicId, TopicIdPartition, TopicPartition

__all__ = [
    "format_epochs",
    "format_metadata",
    "format_offsets_by_id",
    "parse_epochs",
    "parse_metadata",
    "parse_offsets",
    "parse_offsets_by_id",
]


def format_epochs(epochs: Iterable[tuple[int, int]]) -> bytes:
    return _format(f"{epoch} {start}" for epoch, start in epochs)


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    epochs = [(int(epoch), int(start)) for epoch, start in _parse(data, fields=2)]
    if any(b[0] <= a[0] or b[1] <= a[1] for a, b in pairwise(epochs)):
        raise ValueError(f"leader epochs {epochs}, expected both columns to rise")
    return epochs


def parse_offsets(data: bytes) -> dict[TopicPartition, int]:
    """Of Kafka's files, which know topics by name only: written by earlier versions, and read once."""
    lines = _parse(data, fields=3)
    return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in lines}


def format_offsets_by_id(offsets: Mapping[TopicIdPartition, int]) -> bytes:
    return _format(
        f"{topic_id_to_text(topic_id)} {partition} {offset}"
        for (topic_id, partition), offset in offsets.items()
    )


def parse_offsets_by_id(data: bytes) -> dict[TopicIdPartition, int]:
    lines = _parse(data, fields=3)
    return {
        TopicIdPartition(topic_id_from_text(topic_id), int(partition)): int(offset)
        for topic_id, partition, offset in lines
    }


def format_metadata(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {topic_id_to_text(topic_id)}".encode()


def parse_metadata(data: bytes) -> TopicId:
    pairs = dict(line.split(": ", 1) for line in data.decode().splitlines() if line)
    if pairs.get("version") != "0" or "topic_id" not in pairs:
        raise ValueError(f"partition metadata {data!r}, expected version 0 and a topic id")
    return topic_id_from_text(pairs["topic_id"])


def _format(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in ("0", str(len(entries)), *entries)).encode()


def _parse(data: bytes, *, fields: int) -> list[list[str]]:
    lines = data.decode().splitlines()
    if len(lines) < 2 or lines[0] != "0" or int(lines[1]) != len(lines) - 2 or not data.endswith(b"\n"):
        # Without the last line's end the number in it may be half of one.
        raise ValueError(
            f"checkpoint {lines[:2]} with {len(lines)} lines, expected version 0 and the count of the rest, whole"
        )
    entries = [line.split() for line in lines[2:]]
    if any(len(entry) != fields for entry in entries):
        raise ValueError(f"checkpoint entries {entries}, expected {fields} fields each")
    return entries
