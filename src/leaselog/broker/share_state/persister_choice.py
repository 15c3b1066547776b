"""Which persister a broker uses: `group.share.persister.class.name`, with Apache Kafka's class names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselog.broker.config import ConfigError
from leaselog.broker.share_state.colocated_persister import ColocatedPersister
from leaselog.broker.share_state.coordinator import share_state_limits
from leaselog.broker.share_state.persister import InProcessPersister, NoOpPersister, Persister

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["choose_persister"]

KEY = "group.share.persister.class.name"

DEFAULT = "org.apache.kafka.server.share.persister.DefaultStatePersister"
NO_OP = "org.apache.kafka.server.share.persister.NoOpStatePersister"
#: KIP-932's older design never had a class in a release; the name is ours
COLOCATED = "leaselog.ColocatedPersister"


def choose_persister(broker: Broker) -> Persister:
    """Raises ``ConfigError`` for a class that is not known here, as Kafka does for one it cannot load."""
    name = broker.config.group_share_persister_class_name
    if name == DEFAULT:
        return InProcessPersister(broker.share_coordinator)  # of every key, as this is the only node
    if name in (NO_OP, ""):  # Kafka takes an empty name for it, and its tests give one
        return NoOpPersister()
    if name == COLOCATED:
        return ColocatedPersister(broker, share_state_limits(broker.config))
    raise ConfigError(
        f"Invalid value {name} for configuration {KEY}: known are {DEFAULT}, {NO_OP}, {COLOCATED}"
    )
