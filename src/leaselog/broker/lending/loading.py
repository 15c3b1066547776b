"""A share machine made of what the persister has, as far as that makes sense: anybody may have written it."""

from __future__ import annotations

from leaselog.broker.config import GroupConfig
from leaselog.broker.lending.start import reset_offset
from leaselog.broker.lending.support import LendingSupport
from leaselog.broker.records.partition import Partition
from leaselog.coordination.share_state_commands import StateRead
from leaselog.model import BrokenInvariant, ErrorCode, Refused
from leaselog.share import NO_START_OFFSET, Limits, SharePartition, StoredState
from leaselog.wire.errors import DecodeError

__all__ = ["machine_of"]


def machine_of(
    read: StateRead, partition: Partition, support: LendingSupport, config: GroupConfig, limits: Limits
) -> SharePartition | Refused:
    """It begins where the group left off, or where the group's policy says."""
    try:
        start = _start_offset(read, partition, support, config)
        if isinstance(start, Refused):
            return start
        return SharePartition.from_state(
            StoredState(read.start_offset, support.due_times.stored(read.batches)),
            log_start=partition.log.start_offset,
            reset_to=start,
            limits=limits,
            now_ms=int(support.runtime.monotonic_ms()),
        )
    except (BrokenInvariant, ValueError) as bad:
        return Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"stored state makes no sense: {bad}")
    except (OSError, DecodeError) as bad:
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"the log cannot be read: {bad}")


def _start_offset(
    read: StateRead, partition: Partition, support: LendingSupport, config: GroupConfig
) -> int | Refused:
    if read.start_offset != NO_START_OFFSET:
        return read.start_offset
    return reset_offset(config.share_auto_offset_reset, partition.log, now_ms=support.runtime.now_ms())
