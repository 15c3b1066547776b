"""How a share group stands on a partition that this node leads: what is in flight, or was when nobody is here now."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.broker.lending.limits import limits_of
from leaselog.broker.lending.loading import machine_of
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.lending.support import LendingSupport
from leaselog.broker.records.partition import Partition
from leaselog.coordination.share_state_commands import ReadState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.log import PartitionLog
from leaselog.model import ErrorCode, Refused
from leaselog.share import (
    NO_START_OFFSET,
    Inspection,
    SharePartition,
    TopicIdPartition,
    inspect,
)
from leaselog.wire.errors import DecodeError
from leaselog.wire.record_batch import HEADER_BYTES, TimestampType, read_header

__all__ = ["SharePartitionFigures", "figures_of", "stored_machine", "written_ms"]


@dataclass(frozen=True, slots=True)
class SharePartitionFigures:
    inspection: Inspection
    high_watermark: int
    #: since the batch that holds the first unfinished record was written; None if there is none, or no time in it
    oldest_age_ms: int | None

    @property
    def available(self) -> int:
        """Records to be had, in the window or behind it."""
        return self.inspection.available + max(0, self.high_watermark - self.inspection.end)


async def figures_of(
    shares: SharePartitions, key: SharePartitionKey, partition: Partition
) -> SharePartitionFigures | Refused:
    """OFFSET_NOT_AVAILABLE while the group has not begun with the partition."""
    owner = shares.find(key.group_id, TopicIdPartition(key.topic_id, key.partition))
    machine = None if owner is None or owner.is_over else owner.machine
    found = await stored_machine(shares.support, key, partition) if machine is None else machine
    if isinstance(found, Refused):
        return found
    inspection, log = inspect(found), partition.log
    at_ms = written_ms(log, inspection.first_unfinished)
    age_ms = None if at_ms is None else max(0, shares.support.runtime.now_ms() - at_ms)
    return SharePartitionFigures(inspection, log.high_watermark, age_ms)


async def stored_machine(
    support: LendingSupport, key: SharePartitionKey, partition: Partition
) -> SharePartition | Refused:
    """Nobody of the group is here: what is kept of it, in which nothing is leased. Reading it fences nobody."""
    read = await support.persister.read(ReadState(key))
    if isinstance(read, Refused):
        return read
    if read.start_offset == NO_START_OFFSET:
        return Refused(ErrorCode.OFFSET_NOT_AVAILABLE, "the group has not begun here")
    config = support.cluster.configuration.group(key.group_id)
    return machine_of(read, partition, support, config, limits_of(config))


def written_ms(log: PartitionLog, offset: int) -> int | None:
    """When the batch around ``offset`` was written, as far as it says."""
    if not log.start_offset <= offset < log.high_watermark:
        return None
    data = log.read(offset, HEADER_BYTES)
    if isinstance(data, Refused) or not data:
        return None
    try:
        header = read_header(data)
    except DecodeError:
        return None
    # compaction may have put a time to come in the place of the first record's
    is_first_told = header.timestamp_type is TimestampType.CREATE_TIME and not header.has_delete_horizon
    at_ms = header.base_timestamp if is_first_told else header.max_timestamp
    return at_ms if at_ms >= 0 else None
