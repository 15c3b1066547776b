"""The share consumer of KIP-932: a sans-I/O core, an asyncio consumer over it, and a blocking one over that."""

from leaselog.client.errors import IllegalState
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import TopicIdPartition
from leaselog.client.share.async_consumer import AsyncShareConsumer
from leaselog.client.share.blocking import ShareConsumer
from leaselog.client.share.deserializers import as_json, as_string
from leaselog.client.share.errors import (
    ConcurrentAccess,
    RecordDeserializationError,
    Reject,
    Transient,
    WakeupError,
)
from leaselog.client.share.record import ShareRecord

__all__ = [
    "AcknowledgeType",
    "AsyncShareConsumer",
    "ConcurrentAccess",
    "IllegalState",
    "RecordDeserializationError",
    "Reject",
    "ShareConsumer",
    "ShareRecord",
    "TopicIdPartition",
    "Transient",
    "WakeupError",
    "as_json",
    "as_string",
]
