"""The segment log: append, read, sync, recover, forget, compact. Synchronous; the disk only through ``Files``.

Knows nothing of requests, groups or time: the caller says what time it is, and decides on which thread a
``SyncJob`` runs. Layout and file formats are Apache Kafka's.
"""

from leaselog.log._intake import AppendRefused, Origin, RecordError
from leaselog.log._steps import Heavy, Steps, finish
from leaselog.log.aborted_index import AbortedTransaction
from leaselog.log.checkpoints import format_offsets_by_id, parse_offsets, parse_offsets_by_id
from leaselog.log.cleaner import CleaningJob
from leaselog.log.config import Durability, LogConfig
from leaselog.log.files import Buffer, File, Files, OsFiles, read_whole, remove_tree, replace_whole
from leaselog.log.inspection import Inspection
from leaselog.log.layout import (
    deleted_directory_name,
    directory_name,
    is_deleted_directory,
    parse_directory_name,
)
from leaselog.log.memory_files import MemoryFiles
from leaselog.log.open_segments import OpenSegments
from leaselog.log.partition_log import Appended, PartitionLog, Remains
from leaselog.log.producer_state import ProducerLimit
from leaselog.log.recovery import CommonSync, ForeignLog, UnusableLog, forget_tail
from leaselog.log.retention import DeleteWork, SegmentInfo
from leaselog.log.segment import FileSlice
from leaselog.log.sync_job import SyncJob
from leaselog.log.timestamps import FoundOffset

__all__ = [
    "AbortedTransaction",
    "AppendRefused",
    "Appended",
    "Buffer",
    "CleaningJob",
    "CommonSync",
    "DeleteWork",
    "Durability",
    "File",
    "FileSlice",
    "Files",
    "ForeignLog",
    "FoundOffset",
    "Heavy",
    "Inspection",
    "LogConfig",
    "MemoryFiles",
    "OpenSegments",
    "Origin",
    "OsFiles",
    "PartitionLog",
    "ProducerLimit",
    "RecordError",
    "Remains",
    "SegmentInfo",
    "Steps",
    "SyncJob",
    "UnusableLog",
    "deleted_directory_name",
    "directory_name",
    "finish",
    "forget_tail",
    "format_offsets_by_id",
    "is_deleted_directory",
    "parse_directory_name",
    "parse_offsets",
    "parse_offsets_by_id",
    "read_whole",
    "remove_tree",
    "replace_whole",
]
