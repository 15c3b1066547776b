"""StreamsGroupTopologyDescriptionUpdate, key 93. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["StreamsGroupTopologyDescriptionUpdateRequest", "StreamsGroupTopologyDescriptionUpdateResponse", "TopologyDescription", "TopologyDescriptionGlobalStore", "TopologyDescriptionNode", "TopologyDescriptionSubtopology"]


class TopologyDescriptionNode(Message):
    __slots__ = ('name', 'node_type', 'source_topics', 'sink_topic', 'stores', 'successors')
    NAME = "TopologyDescriptionNode"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('name', "string", default=""),
        Field('node_type', "int8", default=0),
        Field('source_topics', "string", array=True, default=()),
        Field('sink_topic', "string", nullable=ALWAYS, default=None),
        Field('stores', "string", array=True, default=()),
        Field('successors', "string", array=True, default=()),
    )

    def __init__(
        self,
        *,
        name: str = "",
        node_type: int = 0,
        source_topics: Sequence[str] = (),
        sink_topic: str | None = None,
        stores: Sequence[str] = (),
        successors: Sequence[str] = (),
    ) -> None:
        self.name: str = name
        self.node_type: int = node_type
        self.source_topics: Sequence[str] = source_topics
        self.sink_topic: str | None = sink_topic
        self.stores: Sequence[str] = stores
        self.successors: Sequence[str] = successors


class TopologyDescriptionSubtopology(Message):
    __slots__ = ('subtopology_id', 'nodes')
    NAME = "TopologyDescriptionSubtopology"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopology_id', "string", default=""),
        Field('nodes', TopologyDescriptionNode, array=True, default=()),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        nodes: Sequence[TopologyDescriptionNode] = (),
    ) -> None:
        self.subtopology_id: str = subtopology_id
        self.nodes: Sequence[TopologyDescriptionNode] = nodes


class TopologyDescriptionGlobalStore(Message):
    __slots__ = ('source', 'processor')
    NAME = "TopologyDescriptionGlobalStore"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('source', TopologyDescriptionNode, default=TopologyDescriptionNode()),
        Field('processor', TopologyDescriptionNode, default=TopologyDescriptionNode()),
    )

    def __init__(
        self,
        *,
        source: TopologyDescriptionNode | None = None,
        processor: TopologyDescriptionNode | None = None,
    ) -> None:
        self.source: TopologyDescriptionNode = TopologyDescriptionNode() if source is None else source
        self.processor: TopologyDescriptionNode = TopologyDescriptionNode() if processor is None else processor


class TopologyDescription(Message):
    __slots__ = ('subtopologies', 'global_stores')
    NAME = "TopologyDescription"
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('subtopologies', TopologyDescriptionSubtopology, array=True, default=()),
        Field('global_stores', TopologyDescriptionGlobalStore, array=True, default=()),
    )

    def __init__(
        self,
        *,
        subtopologies: Sequence[TopologyDescriptionSubtopology] = (),
        global_stores: Sequence[TopologyDescriptionGlobalStore] = (),
    ) -> None:
        self.subtopologies: Sequence[TopologyDescriptionSubtopology] = subtopologies
        self.global_stores: Sequence[TopologyDescriptionGlobalStore] = global_stores


class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    __slots__ = ('group_id', 'member_id', 'topology_epoch', 'topology_description')
    NAME = "StreamsGroupTopologyDescriptionUpdateRequest"
    API_KEY = 93
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('group_id', "string", default=""),
        Field('member_id', "string", default=""),
        Field('topology_epoch', "int32", default=0),
        Field('topology_description', TopologyDescription, default=TopologyDescription()),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        topology_epoch: int = 0,
        topology_description: TopologyDescription | None = None,
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.topology_epoch: int = topology_epoch
        self.topology_description: TopologyDescription = TopologyDescription() if topology_description is None else topology_description


class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'error_message')
    NAME = "StreamsGroupTopologyDescriptionUpdateResponse"
    API_KEY = 93
    VERSIONS = Versions(0, 0)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('error_message', "string", nullable=ALWAYS, default=None),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
