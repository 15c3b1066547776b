"""Clients of any Kafka-compatible cluster: producers, consumers, share consumers, and what they raise and return.

They know nothing of leaselog's own broker: the wire protocol is the boundary. What is here is what applications use,
and is described in the guides; the modules of this room are for the other rooms.
"""

from leaselog.client import kafka_errors
from leaselog.client.async_producer import AsyncProducer
from leaselog.client.blocking_producer import Producer
from leaselog.client.committed_offsets import CommittedOffset
from leaselog.client.consumer import AsyncConsumer, Consumer, ConsumerRecord
from leaselog.client.errors import (
    AuthenticationFailed,
    AuthorizationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    ConnectionLost,
    DeliveryFailed,
    IllegalState,
    RequestTimedOut,
    Unreachable,
    UnsupportedVersion,
)
from leaselog.client.fetcher import EARLIEST, LATEST
from leaselog.client.receipts import AsyncReceipt, Receipt, RecordMetadata
from leaselog.client.serializers import from_json, from_string
from leaselog.client.share import (
    AcknowledgeType,
    AsyncShareConsumer,
    ConcurrentAccess,
    RecordDeserializationError,
    Reject,
    ShareConsumer,
    ShareRecord,
    TopicIdPartition,
    Transient,
    WakeupError,
    as_json,
    as_string,
)
from leaselog.client.worker import Worker, trace_headers
from leaselog.model import TopicPartition

__all__ = [
    "AcknowledgeType",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncReceipt",
    "AsyncShareConsumer",
    "AuthenticationFailed",
    "AuthorizationFailed",
    "BrokerError",
    "ClientError",
    "CommittedOffset",
    "ConcurrentAccess",
    "ConfigError",
    "ConnectionLost",
    "Consumer",
    "ConsumerRecord",
    "DeliveryFailed",
    "EARLIEST",
    "IllegalState",
    "LATEST",
    "Producer",
    "Receipt",
    "RecordDeserializationError",
    "RecordMetadata",
    "Reject",
    "RequestTimedOut",
    "ShareConsumer",
    "ShareRecord",
    "TopicIdPartition",
    "TopicPartition",
    "Transient",
    "Unreachable",
    "UnsupportedVersion",
    "WakeupError",
    "Worker",
    "as_json",
    "as_string",
    "from_json",
    "from_string",
    "kafka_errors",
    "trace_headers",
]
