"""A client of any Kafka-compatible cluster: connections, metadata, an idempotent producer, consumers, share consumers.

It knows nothing of leaselog's own broker: the wire protocol is the boundary.
"""

from leaselog.client import kafka_errors
from leaselog.client.accumulator import BatchLimits
from leaselog.client.cluster import Cluster
from leaselog.client.connection import Connection
from leaselog.client.errors import (
    BrokerError,
    ClientError,
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
from leaselog.client.producer import Delivered, Producer, ProducerSettings
from leaselog.client.session import Session
from leaselog.client.share import (
    AcknowledgementCallback,
    AcknowledgeType,
    AsyncShareConsumer,
    CommitResults,
    ConcurrentAccess,
    ConfigError,
    Deserializer,
    IllegalState,
    MetricName,
    RecordDeserializationError,
    ShareConsumer,
    ShareConsumerConfig,
    ShareRecord,
    TopicIdPartition,
    Transient,
    WakeupError,
    as_bytes,
    as_json,
    as_string,
)
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology, parse_bootstrap

__all__ = [
    "AcknowledgementCallback",
    "AcknowledgeType",
    "AsyncShareConsumer",
    "CommitResults",
    "ConcurrentAccess",
    "ConfigError",
    "Deserializer",
    "IllegalState",
    "MetricName",
    "RecordDeserializationError",
    "ShareConsumer",
    "ShareConsumerConfig",
    "ShareRecord",
    "TopicIdPartition",
    "Transient",
    "WakeupError",
    "as_bytes",
    "as_json",
    "as_string",
    "EARLIEST",
    "LATEST",
    "BatchLimits",
    "BrokerError",
    "ClientError",
    "Cluster",
    "Connection",
    "ConnectionLost",
    "Delivered",
    "FetchLimits",
    "Fetched",
    "Fetcher",
    "GroupConsumer",
    "GroupReading",
    "GroupSettings",
    "Node",
    "PartitionInfo",
    "Partitioner",
    "Producer",
    "ProducerSettings",
    "RequestTimedOut",
    "Session",
    "TopicInfo",
    "Topology",
    "Unreachable",
    "UnsupportedVersion",
    "kafka_errors",
    "list_offsets",
    "murmur2",
    "parse_bootstrap",
    "partition_for_key",
    "raise_for",
]
