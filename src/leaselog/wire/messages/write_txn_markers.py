"""WriteTxnMarkers, key 27. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["WritableTxnMarker", "WritableTxnMarkerPartitionResult", "WritableTxnMarkerResult", "WritableTxnMarkerTopic", "WritableTxnMarkerTopicResult", "WriteTxnMarkersRequest", "WriteTxnMarkersResponse"]


class WritableTxnMarkerTopic(Message):
    __slots__ = ('name', 'partition_indexes')
    NAME = "Topics"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partition_indexes', "int32", array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: Sequence[int] = partition_indexes


class WritableTxnMarker(Message):
    __slots__ = ('producer_id', 'producer_epoch', 'transaction_result', 'topics', 'coordinator_epoch', 'transaction_version')
    NAME = "Markers"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('producer_id', "int64", default=0),
        Field('producer_epoch', "int16", default=0),
        Field('transaction_result', "bool", default=False),
        Field('topics', WritableTxnMarkerTopic, array=True, default=()),
        Field('coordinator_epoch', "int32", default=0),
        Field('transaction_version', "int8", versions=Versions(2, 32767), default=0),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: Sequence[WritableTxnMarkerTopic] = (),
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.transaction_result: bool = transaction_result
        self.topics: Sequence[WritableTxnMarkerTopic] = topics
        self.coordinator_epoch: int = coordinator_epoch
        self.transaction_version: int = transaction_version


class WriteTxnMarkersRequest(Message):
    __slots__ = ('markers',)
    NAME = "WriteTxnMarkersRequest"
    API_KEY = 27
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('markers', WritableTxnMarker, array=True, default=()),
    )

    def __init__(
        self,
        *,
        markers: Sequence[WritableTxnMarker] = (),
    ) -> None:
        self.markers: Sequence[WritableTxnMarker] = markers


class WritableTxnMarkerPartitionResult(Message):
    __slots__ = ('partition_index', 'error_code')
    NAME = "Partitions"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('partition_index', "int32", default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code


class WritableTxnMarkerTopicResult(Message):
    __slots__ = ('name', 'partitions')
    NAME = "Topics"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('name', "string", default=""),
        Field('partitions', WritableTxnMarkerPartitionResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[WritableTxnMarkerPartitionResult] = (),
    ) -> None:
        self.name: str = name
        self.partitions: Sequence[WritableTxnMarkerPartitionResult] = partitions


class WritableTxnMarkerResult(Message):
    __slots__ = ('producer_id', 'topics')
    NAME = "Markers"
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('producer_id', "int64", default=0),
        Field('topics', WritableTxnMarkerTopicResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        topics: Sequence[WritableTxnMarkerTopicResult] = (),
    ) -> None:
        self.producer_id: int = producer_id
        self.topics: Sequence[WritableTxnMarkerTopicResult] = topics


class WriteTxnMarkersResponse(Message):
    __slots__ = ('markers',)
    NAME = "WriteTxnMarkersResponse"
    API_KEY = 27
    VERSIONS = Versions(1, 2)
    FLEXIBLE = Versions(1, 32767)
    FIELDS = (
        Field('markers', WritableTxnMarkerResult, array=True, default=()),
    )

    def __init__(
        self,
        *,
        markers: Sequence[WritableTxnMarkerResult] = (),
    ) -> None:
        self.markers: Sequence[WritableTxnMarkerResult] = markers
