"""Which right each API asks for: the one table, from which the page of rights is made.

It is what Apache Kafka's brokers ask for (KafkaApis, ControllerApis), with the APIs that leaselog has beside them. The
handlers ask, each where the decision is made; the matrix of `tests/contract/test_rights_matrix.py` holds them to this
table, both ways: what is asked stands here, and what stands here is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from leaselog.model import AclOperation, AclResourceType
from leaselog.wire.extensions import FIRST_EXTENSION_KEY

__all__ = ["RIGHTS", "Right"]


@dataclass(frozen=True, slots=True)
class Right:
    operation: AclOperation
    resource: AclResourceType
    #: which resources, or when
    of: str


_O, _R = AclOperation, AclResourceType


def _cluster(operation: AclOperation, of: str = "") -> Right:
    return Right(operation, _R.CLUSTER, of)


def _topic(operation: AclOperation, of: str = "each topic") -> Right:
    return Right(operation, _R.TOPIC, of)


def _group(operation: AclOperation, of: str = "the group") -> Right:
    return Right(operation, _R.GROUP, of)


def _transaction(operation: AclOperation, of: str) -> Right:
    return Right(operation, _R.TRANSACTIONAL_ID, of)


#: by API key. An empty row: whoever may speak may ask.
RIGHTS: Mapping[int, tuple[Right, ...]] = MappingProxyType(
    {
        # Produce, Fetch, ListOffsets, Metadata
        0: (_topic(_O.WRITE), _transaction(_O.WRITE, "with a transactional id")),
        1: (_topic(_O.READ), _cluster(_O.CLUSTER_ACTION, "as a replica, instead")),
        2: (_topic(_O.DESCRIBE),),
        3: (
            _topic(_O.DESCRIBE, "each topic; others are hidden"),
            _cluster(_O.CREATE, "to make topics that are missing"),
            _topic(_O.CREATE, "otherwise each topic to be made"),
            _cluster(_O.DESCRIBE, "to be told what may be done to the cluster"),
        ),
        # OffsetCommit, OffsetFetch, FindCoordinator
        8: (_group(_O.READ), _topic(_O.READ)),
        9: (_group(_O.DESCRIBE), _topic(_O.DESCRIBE, "each topic; others are hidden")),
        10: (
            _group(_O.DESCRIBE, "a group's coordinator"),
            _transaction(_O.DESCRIBE, "a transactional id's coordinator"),
            _cluster(_O.CLUSTER_ACTION, "a share partition's coordinator"),
        ),
        # JoinGroup, Heartbeat, LeaveGroup, SyncGroup, DescribeGroups, ListGroups
        11: (_group(_O.READ),),
        12: (_group(_O.READ),),
        13: (_group(_O.READ),),
        14: (_group(_O.READ),),
        15: (_group(_O.DESCRIBE),),
        16: (
            _cluster(_O.DESCRIBE, "to see every group"),
            _group(_O.DESCRIBE, "otherwise each group; others are hidden"),
        ),
        # SaslHandshake, ApiVersions
        17: (),
        18: (),
        # CreateTopics, DeleteTopics, DeleteRecords, InitProducerId, OffsetForLeaderEpoch
        19: (
            _cluster(_O.CREATE, "all topics"),
            _topic(_O.CREATE, "otherwise each topic"),
            _topic(_O.DESCRIBE_CONFIGS, "to be told the configs of what was made"),
        ),
        20: (
            _cluster(_O.DELETE, "all topics"),
            _topic(_O.DELETE, "otherwise each topic"),
            _topic(_O.DESCRIBE, "to be told whether there is such a topic"),
        ),
        21: (_topic(_O.DELETE),),
        22: (
            _cluster(_O.IDEMPOTENT_WRITE, "without a transactional id"),
            _topic(_O.WRITE, "or any topic"),
            _transaction(_O.WRITE, "with a transactional id"),
        ),
        23: (_cluster(_O.CLUSTER_ACTION, "as a replica"), _topic(_O.DESCRIBE, "otherwise each topic")),
        # AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, TxnOffsetCommit
        24: (
            _transaction(_O.WRITE, "up to version 3"),
            _topic(_O.WRITE, "up to version 3, each topic"),
            _cluster(_O.CLUSTER_ACTION, "from version 4"),
        ),
        25: (_transaction(_O.WRITE, "the transactional id"), _group(_O.READ)),
        26: (_transaction(_O.WRITE, "the transactional id"),),
        27: (_cluster(_O.ALTER, ""), _cluster(_O.CLUSTER_ACTION, "otherwise")),
        28: (_transaction(_O.WRITE, "the transactional id"), _group(_O.READ), _topic(_O.READ)),
        # DescribeAcls, CreateAcls, DeleteAcls
        29: (_cluster(_O.DESCRIBE),),
        30: (_cluster(_O.ALTER),),
        31: (_cluster(_O.ALTER),),
        # DescribeConfigs, AlterConfigs
        32: (
            _topic(_O.DESCRIBE_CONFIGS),
            _group(_O.DESCRIBE_CONFIGS, "each group"),
            _cluster(_O.DESCRIBE_CONFIGS, "brokers, loggers, metrics subscriptions"),
        ),
        33: (
            _topic(_O.ALTER_CONFIGS),
            _group(_O.ALTER_CONFIGS, "each group"),
            _cluster(_O.ALTER_CONFIGS, "brokers, metrics subscriptions"),
        ),
        # DescribeLogDirs, SaslAuthenticate, CreatePartitions, DeleteGroups, ElectLeaders
        35: (_cluster(_O.DESCRIBE),),
        36: (),
        37: (_topic(_O.ALTER),),
        42: (_group(_O.DELETE, "each group"),),
        43: (_cluster(_O.ALTER),),
        # IncrementalAlterConfigs, AlterPartitionReassignments, ListPartitionReassignments, OffsetDelete
        44: (
            _topic(_O.ALTER_CONFIGS),
            _group(_O.ALTER_CONFIGS, "each group"),
            _cluster(_O.ALTER_CONFIGS, "brokers, loggers, metrics subscriptions"),
        ),
        45: (_cluster(_O.ALTER),),
        46: (_cluster(_O.DESCRIBE),),
        47: (_group(_O.DELETE), _topic(_O.READ)),
        # DescribeClientQuotas, AlterClientQuotas, DescribeUserScramCredentials, AlterUserScramCredentials
        48: (_cluster(_O.DESCRIBE_CONFIGS),),
        49: (_cluster(_O.ALTER_CONFIGS),),
        50: (_cluster(_O.DESCRIBE),),
        51: (_cluster(_O.ALTER),),
        # DescribeQuorum, UpdateFeatures, DescribeCluster, DescribeProducers
        55: (_cluster(_O.DESCRIBE),),
        57: (_cluster(_O.ALTER),),
        60: (_cluster(_O.DESCRIBE, "to be told what may be done to the cluster"),),
        61: (_topic(_O.READ),),
        # DescribeTransactions, ListTransactions
        65: (
            _transaction(_O.DESCRIBE, "each transactional id"),
            _topic(_O.DESCRIBE, "each topic; others are hidden"),
        ),
        66: (_transaction(_O.DESCRIBE, "each transactional id; others are hidden"),),
        # ConsumerGroupHeartbeat, ConsumerGroupDescribe
        68: (_group(_O.READ), _topic(_O.DESCRIBE, "each topic that is subscribed to by name")),
        69: (
            _group(_O.DESCRIBE, "each group"),
            _topic(_O.DESCRIBE, "every topic that is assigned to a member; else the group is hidden"),
        ),
        # ListConfigResources, DescribeTopicPartitions
        74: (_cluster(_O.DESCRIBE_CONFIGS),),
        75: (_topic(_O.DESCRIBE, "each topic; others are hidden"),),
        # ShareGroupHeartbeat, ShareGroupDescribe, ShareFetch, ShareAcknowledge
        76: (_group(_O.READ), _topic(_O.DESCRIBE, "each topic that is subscribed to")),
        77: (
            _group(_O.DESCRIBE, "each group"),
            _topic(_O.DESCRIBE, "every topic that is assigned to a member; else the group is hidden"),
        ),
        78: (_group(_O.READ), _topic(_O.READ)),
        79: (_group(_O.READ), _topic(_O.READ)),
        # the state of share partitions: Initialize, Read, Write, Delete, ReadSummary
        83: (_cluster(_O.CLUSTER_ACTION),),
        84: (_cluster(_O.CLUSTER_ACTION),),
        85: (_cluster(_O.CLUSTER_ACTION),),
        86: (_cluster(_O.CLUSTER_ACTION),),
        87: (_cluster(_O.CLUSTER_ACTION),),
        # DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets
        90: (
            _group(_O.DESCRIBE, "each group"),
            _topic(_O.DESCRIBE, "each topic; of all topics others are hidden"),
        ),
        91: (_group(_O.READ), _topic(_O.READ)),
        92: (_group(_O.DELETE), _topic(_O.READ)),
        # leaselog's own: DescribeSharePartitions
        FIRST_EXTENSION_KEY: (_group(_O.DESCRIBE), _topic(_O.DESCRIBE)),
    }
)
