"""The states of a record in a share group, with Kafka's ids: the share machine's, and what share state topics say."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["RecordState"]


class RecordState(IntEnum):
    """Kafka's ids: these go into ``__share_group_state`` as they are. ACQUIRED never does."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    #: on its way to the dead-letter queue (KIP-1191); becomes ARCHIVED once it is there
    ARCHIVING = 3
    ARCHIVED = 4
