"""Configuration with Kafka's names, types, defaults and bounds: static, dynamic, per topic and per group.

``BrokerConfig`` is what the process was started with, ``Configuration`` what holds while it runs. Pure but for one
table read at import; nothing here opens a user's file, and nothing outside needs to know how a key is spelled.
"""

from leaselog.broker.config.broker_config import AUTHORIZER_KEYS, BrokerConfig
from leaselog.broker.config.configuration import Configuration
from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.group_config import GroupConfig
from leaselog.broker.config.ip_overrides import connections_by_address
from leaselog.broker.config.properties import parse_properties
from leaselog.broker.config.resources import (
    Alteration,
    AlterOp,
    ConfigEntry,
    ConfigSource,
    Resource,
    Synonym,
)
from leaselog.broker.config.topic_config import TopicConfig

__all__ = [
    "AUTHORIZER_KEYS",
    "AlterOp",
    "Alteration",
    "BrokerConfig",
    "ConfigEntry",
    "ConfigError",
    "ConfigSource",
    "Configuration",
    "GroupConfig",
    "Resource",
    "Synonym",
    "TopicConfig",
    "connections_by_address",
    "parse_properties",
]
