"""DescribeCluster, key 60. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["DescribeClusterBroker", "DescribeClusterRequest", "DescribeClusterResponse"]


class DescribeClusterRequest(Message):
    __slots__ = ('include_cluster_authorized_operations', 'endpoint_type', 'include_fenced_brokers')
    NAME = "DescribeClusterRequest"
    API_KEY = 60
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('include_cluster_authorized_operations', "bool", default=False),
        Field('endpoint_type', "int8", versions=Versions(1, 32767), default=1),
        Field('include_fenced_brokers', "bool", versions=Versions(2, 32767), default=False),
    )

    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations: bool = include_cluster_authorized_operations
        self.endpoint_type: int = endpoint_type
        self.include_fenced_brokers: bool = include_fenced_brokers


class DescribeClusterBroker(Message):
    __slots__ = ('broker_id', 'host', 'port', 'rack', 'is_fenced')
    NAME = "Brokers"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('broker_id', "int32", default=0),
        Field('host', "string", default=""),
        Field('port', "int32", default=0),
        Field('rack', "string", nullable=ALWAYS, default=None),
        Field('is_fenced', "bool", versions=Versions(2, 32767), default=False),
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id: int = broker_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack
        self.is_fenced: bool = is_fenced


class DescribeClusterResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message', 'endpoint_type', 'cluster_id', 'controller_id', 'brokers', 'cluster_authorized_operations')
    NAME = "DescribeClusterResponse"
    API_KEY = 60
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
        Field('endpoint_type', "int8", versions=Versions(1, 32767), default=1),
        Field('cluster_id', "string", default=""),
        Field('controller_id', "int32", default=-1),
        Field('brokers', DescribeClusterBroker, array=True, default=()),
        Field('cluster_authorized_operations', "int32", default=-2147483648),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: Sequence[DescribeClusterBroker] = (),
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.endpoint_type: int = endpoint_type
        self.cluster_id: str = cluster_id
        self.controller_id: int = controller_id
        self.brokers: Sequence[DescribeClusterBroker] = brokers
        self.cluster_authorized_operations: int = cluster_authorized_operations
