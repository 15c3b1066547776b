"""Typed administration over the client: topics and configs."""

from leaselog.admin.configs import (
    ConfigEntry,
    ConfigSource,
    Resource,
    ResourceType,
    Synonym,
    alter_configs,
    configured_names,
    describe_configs,
)
from leaselog.admin.topics import (
    NewTopic,
    PartitionDescription,
    TopicDescription,
    add_partitions,
    create_topic,
    delete_topic,
    describe_topics,
    topic_id_text,
)

__all__ = [
    "ConfigEntry",
    "ConfigSource",
    "NewTopic",
    "PartitionDescription",
    "Resource",
    "ResourceType",
    "Synonym",
    "TopicDescription",
    "add_partitions",
    "alter_configs",
    "configured_names",
    "create_topic",
    "delete_topic",
    "describe_configs",
    "describe_topics",
    "topic_id_text",
]
