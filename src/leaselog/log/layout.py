"""The names of files and directories in a data directory: Kafka's own, so that Apache's tools can read them."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

from leaselog.model import TopicId, TopicPartition

__all__ = [
    "CLEANED",
    "DELETED",
    "EPOCHS",
    "INDEX",
    "LOG",
    "METADATA",
    "RECOVERY_POINT",
    "SNAPSHOT",
    "SWAP",
    "TIME_INDEX",
    "TXN_INDEX",
    "deleted_directory_name",
    "directory_name",
    "is_deleted_directory",
    "offset_of",
    "parse_directory_name",
    "segment_path",
    "topic_id_from_text",
    "topic_id_to_text",
]

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
#: of aborted transactions; a segment without any has none
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
EPOCHS = "leader-epoch-checkpoint"
METADATA = "partition.metadata"
#: not Kafka's: see ``recovery_point``
RECOVERY_POINT = "recovery-point"

_OFFSET_DIGITS = 20
_SEGMENT_NAME = re.compile(rf"(\d{{{_OFFSET_DIGITS}}})(\.[a-z.]+)")
_PARTITION_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9]\d{0,9})")
_DELETED_DIRECTORY = re.compile(r".+\.[0-9a-f]{32}-delete")
_NAME_LIMIT = 255


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    return f"{directory}/{base_offset:0{_OFFSET_DIGITS}d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in a file's name if its suffix is exactly ``suffix``."""
    match = _SEGMENT_NAME.fullmatch(name)
    return int(match[1]) if match and match[2] == suffix else None


def directory_name(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def parse_directory_name(name: str) -> TopicPartition | None:
    """The partition a directory belongs to; None for anything else, a directory being deleted included."""
    match = _PARTITION_DIRECTORY.fullmatch(name)
    return TopicPartition(match[1], int(match[2])) if match else None


def deleted_directory_name(partition: TopicPartition, unique: UUID) -> str:
    """A name no live partition has, so that the topic can be made again at once."""
    # Kafka cuts the topic's name so that the whole stays a legal file name.
    suffix = f"-{partition.partition}.{unique.hex}-delete"
    return partition.topic[: _NAME_LIMIT - len(suffix)] + suffix


def is_deleted_directory(name: str) -> bool:
    return _DELETED_DIRECTORY.fullmatch(name) is not None


def topic_id_to_text(topic_id: UUID) -> str:
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def topic_id_from_text(text: str) -> TopicId:
    """Raises ``ValueError`` unless ``text`` is 16 bytes of base64."""
    return TopicId(UUID(bytes=urlsafe_b64decode(text + "==")))
