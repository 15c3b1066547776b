"""The share consumer of KIP-932: a sans-I/O core, an asyncio consumer over it, and a blocking one over that."""

from leaselog.client.share.acknowledgements import AcknowledgeType, Lease, TopicIdPartition
from leaselog.client.share.async_consumer import AcknowledgementCallback, AsyncShareConsumer, CommitResults
from leaselog.client.share.blocking import ShareConsumer
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.deserializers import Deserializer, as_bytes, as_json, as_string
from leaselog.client.share.errors import (
    ConcurrentAccess,
    IllegalState,
    RecordDeserializationError,
    Transient,
    WakeupError,
)
from leaselog.client.share.metrics import MetricName
from leaselog.client.share.range_consumer import AsyncRangeConsumer
from leaselog.client.share.range_core import LentRanges
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.remarks import Remark, reason_of

__all__ = [
    "AcknowledgeType",
    "AcknowledgementCallback",
    "AsyncRangeConsumer",
    "AsyncShareConsumer",
    "CommitResults",
    "ConcurrentAccess",
    "Deserializer",
    "IllegalState",
    "Lease",
    "LentRanges",
    "MetricName",
    "RecordDeserializationError",
    "Remark",
    "ShareConsumer",
    "ShareConsumerConfig",
    "ShareRecord",
    "TopicIdPartition",
    "Transient",
    "WakeupError",
    "as_bytes",
    "as_json",
    "as_string",
    "reason_of",
]
