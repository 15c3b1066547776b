"""A client of any Kafka-compatible cluster: connections, metadata, an idempotent producer, consumers, share consumers.

It knows nothing of leaselog's own broker: the wire protocol is the boundary.
"""

from leaselog.client import kafka_errors
from leaselog.client.accumulator import BatchLimits
from leaselog.client.async_producer import AsyncProducer
from leaselog.client.blocking_producer import Producer
from leaselog.client.cluster import DEFAULT_API_TIMEOUT_MS, REQUEST_TIMEOUT_MS, Cluster
from leaselog.client.connection import Connection
from leaselog.client.errors import (
    BrokerError,
    ClientError,
    ConfigError,
    ConnectionLost,
    RequestTimedOut,
    Unreachable,
    UnsupportedVersion,
    raise_for,
)
from leaselog.client.fetcher import EARLIEST, LATEST, Fetched, Fetcher, FetchLimits, list_offsets
from leaselog.client.group_consumer import GroupConsumer, GroupReading
from leaselog.client.membership import GroupSettings
from leaselog.client.partitioner import Partitioner, murmur2, partition_for_key
from leaselog.client.producer import BatchProducer, Delivered, ProducerSettings
from leaselog.client.producer_config import ProducerConfig
from leaselog.client.receipts import AsyncReceipt, Receipt, RecordMetadata
from leaselog.client.serializers import Serializer, from_bytes, from_json, from_string
from leaselog.client.session import Session
from leaselog.client.share import (
    AcknowledgementCallback,
    AcknowledgeType,
    AsyncRangeConsumer,
    AsyncShareConsumer,
    CommitResults,
    ConcurrentAccess,
    Deserializer,
    IllegalState,
    Lease,
    LentRanges,
    MetricName,
    RecordDeserializationError,
    Remark,
    ShareConsumer,
    ShareConsumerConfig,
    ShareRecord,
    TopicIdPartition,
    Transient,
    WakeupError,
    as_bytes,
    as_json,
    as_string,
    reason_of,
)
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology, parse_bootstrap

__all__ = [
    "DEFAULT_API_TIMEOUT_MS",
    "EARLIEST",
    "LATEST",
    "REQUEST_TIMEOUT_MS",
    "AcknowledgeType",
    "AcknowledgementCallback",
    "AsyncProducer",
    "AsyncRangeConsumer",
    "AsyncReceipt",
    "AsyncShareConsumer",
    "BatchLimits",
    "BatchProducer",
    "BrokerError",
    "ClientError",
    "Cluster",
    "CommitResults",
    "ConcurrentAccess",
    "ConfigError",
    "Connection",
    "ConnectionLost",
    "Delivered",
    "Deserializer",
    "FetchLimits",
    "Fetched",
    "Fetcher",
    "GroupConsumer",
    "GroupReading",
    "GroupSettings",
    "IllegalState",
    "Lease",
    "LentRanges",
    "MetricName",
    "Node",
    "PartitionInfo",
    "Partitioner",
    "Producer",
    "ProducerConfig",
    "ProducerSettings",
    "Receipt",
    "RecordDeserializationError",
    "RecordMetadata",
    "Remark",
    "RequestTimedOut",
    "Serializer",
    "Session",
    "ShareConsumer",
    "ShareConsumerConfig",
    "ShareRecord",
    "TopicIdPartition",
    "TopicInfo",
    "Topology",
    "Transient",
    "Unreachable",
    "UnsupportedVersion",
    "WakeupError",
    "as_bytes",
    "as_json",
    "as_string",
    "from_bytes",
    "from_json",
    "from_string",
    "kafka_errors",
    "list_offsets",
    "murmur2",
    "parse_bootstrap",
    "partition_for_key",
    "raise_for",
    "reason_of",
]
