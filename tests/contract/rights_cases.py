"""One request for each right of each API: what is asked, what it needs, and with which code it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from leaselog.broker.net.api import api_of, load_handlers
from leaselog.model import (
    CLUSTER_NAME,
    ZERO_UUID,
    AclBinding,
    AclOperation,
    AclResourceType,
    ErrorCode,
)
from leaselog.wire import extensions as own
from leaselog.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    read_share_group_state,
    read_share_group_state_summary,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    sync_group,
    txn_offset_commit,
    update_features,
    write_share_group_state,
    write_txn_markers,
)
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

__all__ = ["ALICE", "ASSIGNED", "GROUP", "SHARERS", "TOPIC", "Case", "cases"]

ALICE = "User:alice"
TOPIC, GROUP, SHARERS = "jobs", "readers", "workers"
#: of a share member that is there
ASSIGNED = "m" * 22

_O, _R = AclOperation, AclResourceType
OF_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
OF_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
OF_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
OF_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    request: Message
    answer: type[Message]
    #: exactly these are enough, and none of them too many
    needs: tuple[AclBinding, ...]
    #: the code that stands in the answer without them; None: the answer hides what may not be seen
    code: ErrorCode | None
    version: int
    #: with none of the rights the answer says nothing of this
    hides: str = ""


def topic(operation: AclOperation, name: str = TOPIC) -> AclBinding:
    return AclBinding(_R.TOPIC, name, ALICE, operation)


def group(operation: AclOperation, name: str = GROUP) -> AclBinding:
    return AclBinding(_R.GROUP, name, ALICE, operation)


def cluster(operation: AclOperation) -> AclBinding:
    return AclBinding(_R.CLUSTER, CLUSTER_NAME, ALICE, operation)


def transaction(operation: AclOperation) -> AclBinding:
    return AclBinding(_R.TRANSACTIONAL_ID, "tx", ALICE, operation)


def _case(
    name: str,
    request: Message,
    answer: type[Message],
    needs: tuple[AclBinding, ...] | AclBinding,
    code: ErrorCode | None,
    version: int | None = None,
    hides: str = "",
) -> Case:
    load_handlers()
    api = api_of(request.API_KEY)
    assert api is not None
    rights = needs if isinstance(needs, tuple) else (needs,)
    return Case(name, request, answer, rights, code, api.versions.last if version is None else version, hides)


def cases(topic_id: UUID) -> list[Case]:
    return [
        *_records(),
        *_cluster(),
        *_configs(),
        *_security(),
        *_groups(),
        *_share_groups(topic_id),
        *_state(topic_id),
        *_transactions(),
        *_consumer_groups(),
    ]


def _records() -> list[Case]:
    batch = memoryview(bytearray(build_batch([Record(b"k", b"v", timestamp_ms=1)])))
    data = produce.PartitionProduceData(index=0, records=batch)
    asked = fetch.FetchTopic(
        topic=TOPIC, partitions=[fetch.FetchPartition(partition=0, partition_max_bytes=9_999)]
    )
    return [
        _case(
            "produce",
            produce.ProduceRequest(
                acks=-1,
                timeout_ms=1,
                topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])],
            ),
            produce.ProduceResponse,
            topic(_O.WRITE),
            OF_TOPIC,
            12,
        ),
        _case(
            "fetch",
            fetch.FetchRequest(max_wait_ms=0, max_bytes=9_999, topics=[asked]),
            fetch.FetchResponse,
            topic(_O.READ),
            OF_TOPIC,
            12,
        ),
        _case(
            "fetch as a replica",
            fetch.FetchRequest(replica_id=3, max_wait_ms=0, max_bytes=9_999, topics=[asked]),
            fetch.FetchResponse,
            cluster(_O.CLUSTER_ACTION),
            OF_TOPIC,
            12,
        ),
        _case(
            "list offsets",
            list_offsets.ListOffsetsRequest(
                replica_id=-1,
                topics=[
                    list_offsets.ListOffsetsTopic(
                        name=TOPIC,
                        partitions=[list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)],
                    )
                ],
            ),
            list_offsets.ListOffsetsResponse,
            topic(_O.DESCRIBE),
            OF_TOPIC,
        ),
        _case(
            "delete records",
            delete_records.DeleteRecordsRequest(
                topics=[
                    delete_records.DeleteRecordsTopic(
                        name=TOPIC,
                        partitions=[delete_records.DeleteRecordsPartition(partition_index=0, offset=-1)],
                    )
                ],
                timeout_ms=1,
            ),
            delete_records.DeleteRecordsResponse,
            topic(_O.DELETE),
            OF_TOPIC,
        ),
        _case(
            "an idempotent producer, by the cluster",
            init_producer_id.InitProducerIdRequest(transactional_id=None, producer_id=-1, producer_epoch=-1),
            init_producer_id.InitProducerIdResponse,
            cluster(_O.IDEMPOTENT_WRITE),
            OF_CLUSTER,
        ),
        _case(
            "an idempotent producer, by any topic",
            init_producer_id.InitProducerIdRequest(transactional_id=None, producer_id=-1, producer_epoch=-1),
            init_producer_id.InitProducerIdResponse,
            topic(_O.WRITE, "whatever"),
            OF_CLUSTER,
        ),
        _case(
            "an offset by its epoch",
            offset_for_leader_epoch.OffsetForLeaderEpochRequest(
                replica_id=-1,
                topics=[
                    offset_for_leader_epoch.OffsetForLeaderTopic(
                        topic=TOPIC,
                        partitions=[offset_for_leader_epoch.OffsetForLeaderPartition(partition=0)],
                    )
                ],
            ),
            offset_for_leader_epoch.OffsetForLeaderEpochResponse,
            topic(_O.DESCRIBE),
            OF_TOPIC,
        ),
        _case(
            "producers",
            describe_producers.DescribeProducersRequest(
                topics=[describe_producers.TopicRequest(name=TOPIC, partition_indexes=[0])]
            ),
            describe_producers.DescribeProducersResponse,
            topic(_O.READ),
            OF_TOPIC,
        ),
        _case(
            "log directories",
            describe_log_dirs.DescribeLogDirsRequest(topics=None),
            describe_log_dirs.DescribeLogDirsResponse,
            cluster(_O.DESCRIBE),
            OF_CLUSTER,
        ),
    ]


def _cluster() -> list[Case]:
    return [
        _case(
            "a topic's metadata",
            metadata.MetadataRequest(
                topics=[metadata.MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False
            ),
            metadata.MetadataResponse,
            topic(_O.DESCRIBE),
            OF_TOPIC,
        ),
        _case(
            "every topic's metadata",
            metadata.MetadataRequest(topics=None),
            metadata.MetadataResponse,
            topic(_O.DESCRIBE),
            None,
            hides=TOPIC,
        ),
        _case(
            "a topic made when it is asked for",
            metadata.MetadataRequest(
                topics=[metadata.MetadataRequestTopic(name="new")], allow_auto_topic_creation=True
            ),
            metadata.MetadataResponse,
            (topic(_O.DESCRIBE, "new"), topic(_O.CREATE, "new")),
            OF_TOPIC,
        ),
        _case(
            "a topic made when it is asked for, by the cluster",
            metadata.MetadataRequest(
                topics=[metadata.MetadataRequestTopic(name="new")], allow_auto_topic_creation=True
            ),
            metadata.MetadataResponse,
            (topic(_O.DESCRIBE, "new"), cluster(_O.CREATE)),
            OF_TOPIC,
        ),
        _case(
            "a topic created",
            create_topics.CreateTopicsRequest(
                topics=[create_topics.CreatableTopic(name="new", num_partitions=1, replication_factor=1)]
            ),
            create_topics.CreateTopicsResponse,
            (topic(_O.CREATE, "new"), topic(_O.DESCRIBE_CONFIGS, "new")),
            OF_TOPIC,
        ),
        _case(
            "a topic created, by the cluster",
            create_topics.CreateTopicsRequest(
                topics=[create_topics.CreatableTopic(name="new", num_partitions=1, replication_factor=1)]
            ),
            create_topics.CreateTopicsResponse,
            (cluster(_O.CREATE), topic(_O.DESCRIBE_CONFIGS, "new")),
            OF_TOPIC,
        ),
        _case(
            "a topic deleted",
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=TOPIC, topic_id=ZERO_UUID)]
            ),
            delete_topics.DeleteTopicsResponse,
            topic(_O.DELETE),
            OF_TOPIC,
        ),
        _case(
            "a topic deleted, by the cluster",
            delete_topics.DeleteTopicsRequest(
                topics=[delete_topics.DeleteTopicState(name=TOPIC, topic_id=ZERO_UUID)]
            ),
            delete_topics.DeleteTopicsResponse,
            cluster(_O.DELETE),
            OF_TOPIC,
        ),
        _case(
            "more partitions",
            create_partitions.CreatePartitionsRequest(
                topics=[create_partitions.CreatePartitionsTopic(name=TOPIC, count=3, assignments=None)]
            ),
            create_partitions.CreatePartitionsResponse,
            topic(_O.ALTER),
            OF_TOPIC,
        ),
        _case(
            "an election",
            elect_leaders.ElectLeadersRequest(
                topic_partitions=[elect_leaders.TopicPartitions(topic=TOPIC, partitions=[0])]
            ),
            elect_leaders.ElectLeadersResponse,
            cluster(_O.ALTER),
            OF_CLUSTER,
        ),
        _case(
            "a reassignment",
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(
                topics=[
                    alter_partition_reassignments.ReassignableTopic(
                        name=TOPIC,
                        partitions=[
                            alter_partition_reassignments.ReassignablePartition(
                                partition_index=0, replicas=[0]
                            )
                        ],
                    )
                ]
            ),
            alter_partition_reassignments.AlterPartitionReassignmentsResponse,
            cluster(_O.ALTER),
            OF_CLUSTER,
        ),
        _case(
            "reassignments",
            list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None),
            list_partition_reassignments.ListPartitionReassignmentsResponse,
            cluster(_O.DESCRIBE),
            OF_CLUSTER,
        ),
        _case(
            "the quorum",
            describe_quorum.DescribeQuorumRequest(
                topics=[
                    describe_quorum.TopicData(
                        topic_name="__cluster_metadata",
                        partitions=[describe_quorum.PartitionData(partition_index=0)],
                    )
                ]
            ),
            describe_quorum.DescribeQuorumResponse,
            cluster(_O.DESCRIBE),
            OF_CLUSTER,
        ),
        _case(
            "a feature",
            update_features.UpdateFeaturesRequest(
                feature_updates=[
                    update_features.FeatureUpdateKey(
                        feature="share.version", max_version_level=0, upgrade_type=2
                    )
                ]
            ),
            update_features.UpdateFeaturesResponse,
            cluster(_O.ALTER),
            OF_CLUSTER,
        ),
        _case(
            "what may be done to the cluster",
            describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True),
            describe_cluster.DescribeClusterResponse,
            cluster(_O.DESCRIBE),
            None,
        ),
        _case(
            "what may be done to the cluster, by metadata",
            metadata.MetadataRequest(topics=[], include_cluster_authorized_operations=True),
            metadata.MetadataResponse,
            cluster(_O.DESCRIBE),
            None,
            10,
        ),
        _case(
            "a topic's partitions",
            describe_topic_partitions.DescribeTopicPartitionsRequest(
                topics=[describe_topic_partitions.TopicRequest(name=TOPIC)], response_partition_limit=9
            ),
            describe_topic_partitions.DescribeTopicPartitionsResponse,
            topic(_O.DESCRIBE),
            OF_TOPIC,
        ),
        _case(
            "every topic's partitions",
            describe_topic_partitions.DescribeTopicPartitionsRequest(response_partition_limit=9),
            describe_topic_partitions.DescribeTopicPartitionsResponse,
            topic(_O.DESCRIBE),
            None,
            hides=TOPIC,
        ),
    ]


#: type, name, key, its value, who has to allow it, and the code without that
_CONFIGURED = (
    (2, TOPIC, "retention.ms", "5000", topic, OF_TOPIC),
    (32, SHARERS, "share.session.timeout.ms", "50000", lambda op: group(op, SHARERS), OF_GROUP),
    (4, "0", "log.retention.ms", "5000", cluster, OF_CLUSTER),
    (16, "subscribed", "interval.ms", "5000", cluster, OF_CLUSTER),
)


def _configs() -> list[Case]:
    found: list[Case] = []
    for type_, name, key, value, right, code in _CONFIGURED:
        found += [
            _case(
                f"configs of type {type_} described",
                describe_configs.DescribeConfigsRequest(
                    resources=[
                        describe_configs.DescribeConfigsResource(
                            resource_type=type_, resource_name=name, configuration_keys=None
                        )
                    ]
                ),
                describe_configs.DescribeConfigsResponse,
                right(_O.DESCRIBE_CONFIGS),
                code,
            ),
            _case(
                f"configs of type {type_} replaced",
                alter_configs.AlterConfigsRequest(
                    resources=[
                        alter_configs.AlterConfigsResource(
                            resource_type=type_,
                            resource_name=name,
                            configs=[alter_configs.AlterableConfig(name=key, value=value)],
                        )
                    ]
                ),
                alter_configs.AlterConfigsResponse,
                right(_O.ALTER_CONFIGS),
                code,
            ),
            _case(
                f"configs of type {type_} altered",
                incremental_alter_configs.IncrementalAlterConfigsRequest(
                    resources=[
                        incremental_alter_configs.AlterConfigsResource(
                            resource_type=type_,
                            resource_name=name,
                            configs=[incremental_alter_configs.AlterableConfig(name=key, value=value)],
                        )
                    ]
                ),
                incremental_alter_configs.IncrementalAlterConfigsResponse,
                right(_O.ALTER_CONFIGS),
                code,
            ),
        ]
    limited = [alter_client_quotas.EntityData(entity_type="user", entity_name="u")]
    rate = [alter_client_quotas.OpData(key="producer_byte_rate", value=5.0)]
    return [
        *found,
        _case(
            "what has configs",
            list_config_resources.ListConfigResourcesRequest(),
            list_config_resources.ListConfigResourcesResponse,
            cluster(_O.DESCRIBE_CONFIGS),
            OF_CLUSTER,
        ),
        _case(
            "quotas",
            describe_client_quotas.DescribeClientQuotasRequest(),
            describe_client_quotas.DescribeClientQuotasResponse,
            cluster(_O.DESCRIBE_CONFIGS),
            OF_CLUSTER,
        ),
        _case(
            "a quota",
            alter_client_quotas.AlterClientQuotasRequest(
                entries=[alter_client_quotas.EntryData(entity=limited, ops=rate)]
            ),
            alter_client_quotas.AlterClientQuotasResponse,
            cluster(_O.ALTER_CONFIGS),
            OF_CLUSTER,
        ),
    ]


def _security() -> list[Case]:
    everything = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": "User:nobody",
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    entry = create_acls.AclCreation(
        resource_type=_R.TOPIC,
        resource_name="x",
        principal="User:x",
        host="*",
        operation=_O.READ,
        permission_type=3,
    )
    password = alter_user_scram_credentials.ScramCredentialUpsertion(
        name="bob", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"p" * 32
    )
    return [
        _case(
            "the access control lists",
            describe_acls.DescribeAclsRequest(**everything),  # type: ignore[arg-type]
            describe_acls.DescribeAclsResponse,
            cluster(_O.DESCRIBE),
            OF_CLUSTER,
        ),
        _case(
            "an entry made",
            create_acls.CreateAclsRequest(creations=[entry]),
            create_acls.CreateAclsResponse,
            cluster(_O.ALTER),
            OF_CLUSTER,
        ),
        _case(
            "entries deleted",
            delete_acls.DeleteAclsRequest(
                filters=[delete_acls.DeleteAclsFilter(**everything)]  # type: ignore[arg-type]
            ),
            delete_acls.DeleteAclsResponse,
            cluster(_O.ALTER),
            OF_CLUSTER,
        ),
        _case(
            "credentials described",
            describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users=None),
            describe_user_scram_credentials.DescribeUserScramCredentialsResponse,
            cluster(_O.DESCRIBE),
            OF_CLUSTER,
        ),
        _case(
            "credentials altered",
            alter_user_scram_credentials.AlterUserScramCredentialsRequest(upsertions=[password]),
            alter_user_scram_credentials.AlterUserScramCredentialsResponse,
            cluster(_O.ALTER),
            OF_CLUSTER,
        ),
    ]


def _groups() -> list[Case]:
    committed = offset_commit.OffsetCommitRequestTopic(
        name=TOPIC,
        partitions=[offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)],
    )
    wanted = offset_fetch.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
    key = "workers:AAAAAAAAAAAAAAAAAAAAAQ:0"

    def coordinator(key_type: int, name: str) -> Message:
        return find_coordinator.FindCoordinatorRequest(key_type=key_type, coordinator_keys=[name])

    found = find_coordinator.FindCoordinatorResponse
    return [
        _case(
            "an offset committed",
            offset_commit.OffsetCommitRequest(
                group_id=GROUP, generation_id_or_member_epoch=-1, topics=[committed]
            ),
            offset_commit.OffsetCommitResponse,
            (group(_O.READ), topic(_O.READ)),
            None,
            9,
        ),
        _case(
            "an offset fetched",
            offset_fetch.OffsetFetchRequest(
                groups=[offset_fetch.OffsetFetchRequestGroup(group_id=GROUP, topics=[wanted])]
            ),
            offset_fetch.OffsetFetchResponse,
            (group(_O.DESCRIBE), topic(_O.DESCRIBE)),
            None,
            9,
        ),
        _case("a group's coordinator", coordinator(0, GROUP), found, group(_O.DESCRIBE), OF_GROUP),
        _case(
            "a transaction's coordinator",
            coordinator(1, "tx"),
            found,
            transaction(_O.DESCRIBE),
            OF_TRANSACTION,
        ),
        _case(
            "a share partition's coordinator",
            coordinator(2, key),
            found,
            cluster(_O.CLUSTER_ACTION),
            OF_CLUSTER,
        ),
        _case(
            "a join",
            join_group.JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                protocol_type="consumer",
                protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=b"")],
            ),
            join_group.JoinGroupResponse,
            group(_O.READ),
            OF_GROUP,
        ),
        _case(
            "a heartbeat",
            heartbeat.HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="m"),
            heartbeat.HeartbeatResponse,
            group(_O.READ),
            OF_GROUP,
        ),
        _case(
            "a leave",
            leave_group.LeaveGroupRequest(
                group_id=GROUP, members=[leave_group.MemberIdentity(member_id="m", group_instance_id=None)]
            ),
            leave_group.LeaveGroupResponse,
            group(_O.READ),
            OF_GROUP,
        ),
        _case(
            "a sync",
            sync_group.SyncGroupRequest(
                group_id=GROUP,
                generation_id=1,
                member_id="m",
                protocol_type="consumer",
                protocol_name="range",
            ),
            sync_group.SyncGroupResponse,
            group(_O.READ),
            OF_GROUP,
        ),
        _case(
            "a group described",
            describe_groups.DescribeGroupsRequest(groups=[GROUP], include_authorized_operations=True),
            describe_groups.DescribeGroupsResponse,
            group(_O.DESCRIBE),
            OF_GROUP,
        ),
        _case(
            "groups, by the cluster",
            list_groups.ListGroupsRequest(),
            list_groups.ListGroupsResponse,
            cluster(_O.DESCRIBE),
            None,
            hides=GROUP,
        ),
        _case(
            "groups",
            list_groups.ListGroupsRequest(),
            list_groups.ListGroupsResponse,
            group(_O.DESCRIBE),
            None,
            hides=GROUP,
        ),
        _case(
            "a group deleted",
            delete_groups.DeleteGroupsRequest(groups_names=[GROUP]),
            delete_groups.DeleteGroupsResponse,
            group(_O.DELETE),
            OF_GROUP,
        ),
        _case(
            "an offset deleted",
            offset_delete.OffsetDeleteRequest(
                group_id=GROUP,
                topics=[
                    offset_delete.OffsetDeleteRequestTopic(
                        name=TOPIC,
                        partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=0)],
                    )
                ],
            ),
            offset_delete.OffsetDeleteResponse,
            (group(_O.DELETE), topic(_O.READ)),
            None,
        ),
    ]


def _share_groups(topic_id: UUID) -> list[Case]:
    sharers = [AclBinding(_R.GROUP, SHARERS, ALICE, op) for op in (_O.READ, _O.DESCRIBE, _O.DELETE)]
    reads, describes, deletes = sharers
    done = share_acknowledge.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    return [
        _case(
            "a share member's heartbeat",
            share_group_heartbeat.ShareGroupHeartbeatRequest(
                group_id=SHARERS, member_id="n" * 22, member_epoch=0, subscribed_topic_names=[TOPIC]
            ),
            share_group_heartbeat.ShareGroupHeartbeatResponse,
            (reads, topic(_O.DESCRIBE)),
            None,
        ),
        _case(
            "a share group",
            share_group_describe.ShareGroupDescribeRequest(
                group_ids=[SHARERS], include_authorized_operations=True
            ),
            share_group_describe.ShareGroupDescribeResponse,
            (describes, topic(_O.DESCRIBE)),
            None,
        ),
        _case(
            "a share fetch",
            share_fetch.ShareFetchRequest(
                group_id=SHARERS,
                member_id=ASSIGNED,
                share_session_epoch=0,
                max_wait_ms=0,
                min_bytes=1,
                max_bytes=9_999,
                max_records=10,
                batch_size=10,
                topics=[
                    share_fetch.FetchTopic(
                        topic_id=topic_id, partitions=[share_fetch.FetchPartition(partition_index=0)]
                    )
                ],
            ),
            share_fetch.ShareFetchResponse,
            (reads, topic(_O.READ)),
            None,
        ),
        _case(
            "an acknowledgement",
            share_acknowledge.ShareAcknowledgeRequest(
                group_id=SHARERS,
                member_id=ASSIGNED,
                share_session_epoch=1,
                topics=[
                    share_acknowledge.AcknowledgeTopic(
                        topic_id=topic_id,
                        partitions=[
                            share_acknowledge.AcknowledgePartition(
                                partition_index=0, acknowledgement_batches=[done]
                            )
                        ],
                    )
                ],
            ),
            share_acknowledge.ShareAcknowledgeResponse,
            (reads, topic(_O.READ)),
            None,
        ),
        _case(
            "a share group's offsets",
            describe_share_group_offsets.DescribeShareGroupOffsetsRequest(
                groups=[
                    describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(
                        group_id=SHARERS,
                        topics=[
                            describe_share_group_offsets.DescribeShareGroupOffsetsRequestTopic(
                                topic_name=TOPIC, partitions=[0]
                            )
                        ],
                    )
                ]
            ),
            describe_share_group_offsets.DescribeShareGroupOffsetsResponse,
            (describes, topic(_O.DESCRIBE)),
            None,
        ),
        _case(
            "a share group's offsets altered",
            alter_share_group_offsets.AlterShareGroupOffsetsRequest(
                group_id=SHARERS,
                topics=[
                    alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(
                        topic_name=TOPIC,
                        partitions=[
                            alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(
                                partition_index=0, start_offset=1
                            )
                        ],
                    )
                ],
            ),
            alter_share_group_offsets.AlterShareGroupOffsetsResponse,
            (reads, topic(_O.READ)),
            None,
        ),
        _case(
            "a share group's offsets deleted",
            delete_share_group_offsets.DeleteShareGroupOffsetsRequest(
                group_id=SHARERS,
                topics=[delete_share_group_offsets.DeleteShareGroupOffsetsRequestTopic(topic_name=TOPIC)],
            ),
            delete_share_group_offsets.DeleteShareGroupOffsetsResponse,
            (deletes, topic(_O.READ)),
            None,
        ),
        _case(
            "what a share group has in flight",
            own.DescribeSharePartitionsRequest(
                group_id=SHARERS,
                topics=[own.DescribeSharePartitionsRequestTopic(name=TOPIC, partitions=[0])],
            ),
            own.DescribeSharePartitionsResponse,
            (describes, topic(_O.DESCRIBE)),
            None,
        ),
    ]


def _consumer_groups() -> list[Case]:
    return [
        _case(
            "a consumer's heartbeat",
            consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
                group_id="others",
                member_id="n" * 22,
                rebalance_timeout_ms=1_000,
                topic_partitions=[],
                subscribed_topic_names=[TOPIC],
            ),
            consumer_group_heartbeat.ConsumerGroupHeartbeatResponse,
            (group(_O.READ, "others"), topic(_O.DESCRIBE)),
            OF_GROUP,
        ),
        _case(
            "a consumer group",
            consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=[GROUP]),
            consumer_group_describe.ConsumerGroupDescribeResponse,
            group(_O.DESCRIBE),
            OF_GROUP,
        ),
    ]


def _transactions() -> list[Case]:
    added = add_partitions_to_txn.AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])
    batch = memoryview(
        bytearray(
            build_batch(
                [Record(b"k", b"v", timestamp_ms=1)],
                is_transactional=True,
                producer_id=5,
                producer_epoch=0,
                base_sequence=0,
            )
        )
    )
    data = produce.PartitionProduceData(index=0, records=batch)
    marker = write_txn_markers.WritableTxnMarker(
        producer_id=5,
        topics=[write_txn_markers.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])],
    )

    def markers() -> Message:
        return write_txn_markers.WriteTxnMarkersRequest(markers=[marker])

    told = write_txn_markers.WriteTxnMarkersResponse
    return [
        _case(
            "a produce of a transaction",
            produce.ProduceRequest(
                transactional_id="tx",
                acks=-1,
                timeout_ms=1,
                topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])],
            ),
            produce.ProduceResponse,
            (transaction(_O.WRITE), topic(_O.WRITE)),
            OF_TRANSACTION,
            12,
        ),
        _case(
            "a transactional producer",
            init_producer_id.InitProducerIdRequest(
                transactional_id="tx", transaction_timeout_ms=1_000, producer_id=-1, producer_epoch=-1
            ),
            init_producer_id.InitProducerIdResponse,
            transaction(_O.WRITE),
            OF_TRANSACTION,
        ),
        _case(
            "partitions of a transaction",
            add_partitions_to_txn.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="tx", v3_and_below_topics=[added]
            ),
            add_partitions_to_txn.AddPartitionsToTxnResponse,
            (transaction(_O.WRITE), topic(_O.WRITE)),
            OF_TRANSACTION,
            3,
        ),
        _case(
            "partitions of a transaction, by a broker",
            add_partitions_to_txn.AddPartitionsToTxnRequest(
                transactions=[
                    add_partitions_to_txn.AddPartitionsToTxnTransaction(
                        transactional_id="tx", verify_only=True, topics=[added]
                    )
                ]
            ),
            add_partitions_to_txn.AddPartitionsToTxnResponse,
            cluster(_O.CLUSTER_ACTION),
            OF_CLUSTER,
        ),
        _case(
            "offsets of a transaction",
            add_offsets_to_txn.AddOffsetsToTxnRequest(transactional_id="tx", group_id=GROUP),
            add_offsets_to_txn.AddOffsetsToTxnResponse,
            (transaction(_O.WRITE), group(_O.READ)),
            OF_TRANSACTION,
        ),
        _case(
            "a transaction's end",
            end_txn.EndTxnRequest(transactional_id="tx"),
            end_txn.EndTxnResponse,
            transaction(_O.WRITE),
            OF_TRANSACTION,
        ),
        _case("markers", markers(), told, cluster(_O.ALTER), OF_CLUSTER),
        _case("markers, by a broker", markers(), told, cluster(_O.CLUSTER_ACTION), OF_CLUSTER),
        _case(
            "an offset committed by a transaction",
            txn_offset_commit.TxnOffsetCommitRequest(
                transactional_id="tx",
                group_id=GROUP,
                generation_id_or_member_epoch=-1,
                topics=[
                    txn_offset_commit.TxnOffsetCommitRequestTopic(
                        name=TOPIC,
                        partitions=[
                            txn_offset_commit.TxnOffsetCommitRequestPartition(
                                partition_index=0, committed_offset=1
                            )
                        ],
                    )
                ],
            ),
            txn_offset_commit.TxnOffsetCommitResponse,
            (transaction(_O.WRITE), group(_O.READ), topic(_O.READ)),
            OF_TRANSACTION,
            5,
        ),
        _case(
            "a transaction described",
            describe_transactions.DescribeTransactionsRequest(transactional_ids=["tx"]),
            describe_transactions.DescribeTransactionsResponse,
            transaction(_O.DESCRIBE),
            OF_TRANSACTION,
        ),
        _case(
            "a transaction's topics",
            describe_transactions.DescribeTransactionsRequest(transactional_ids=["tx"]),
            describe_transactions.DescribeTransactionsResponse,
            (transaction(_O.DESCRIBE), topic(_O.DESCRIBE)),
            OF_TRANSACTION,
            hides=TOPIC,
        ),
        _case(
            "transactions",
            list_transactions.ListTransactionsRequest(),
            list_transactions.ListTransactionsResponse,
            transaction(_O.DESCRIBE),
            None,
            hides="tx",
        ),
    ]


def _state(topic_id: UUID) -> list[Case]:
    found: list[Case] = []
    for module, name, part in (
        (initialize_share_group_state, "InitializeShareGroupState", "InitializeStateData"),
        (read_share_group_state, "ReadShareGroupState", "ReadStateData"),
        (write_share_group_state, "WriteShareGroupState", "WriteStateData"),
        (delete_share_group_state, "DeleteShareGroupState", "DeleteStateData"),
        (read_share_group_state_summary, "ReadShareGroupStateSummary", "ReadStateSummaryData"),
    ):
        places = [getattr(module, part)(topic_id=topic_id, partitions=[module.PartitionData(partition=0)])]
        found.append(
            _case(
                name,
                getattr(module, f"{name}Request")(group_id=SHARERS, topics=places),
                getattr(module, f"{name}Response"),
                cluster(_O.CLUSTER_ACTION),
                OF_CLUSTER,
            )
        )
    return found
