"""Which names a topic may have, in Kafka's rules and words."""

from __future__ import annotations

from leaselog.model import ErrorCode, Refused, why_illegal_topic

__all__ = [
    "CLUSTER_METADATA_TOPIC",
    "CONSUMER_OFFSETS_TOPIC",
    "INTERNAL_TOPICS",
    "SHARE_STATE_TOPIC",
    "TRANSACTION_STATE_TOPIC",
    "collision_key",
    "is_internal",
    "refuse_topic_name",
]

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
SHARE_STATE_TOPIC = "__share_group_state"
TRANSACTION_STATE_TOPIC = "__transaction_state"
#: topics that clients see marked as internal
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC})


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS


def refuse_topic_name(name: str) -> Refused | None:
    """Why no topic may have this name, or None."""
    reason = why_illegal_topic(name)
    if reason is None:
        return None
    return Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def collision_key(name: str) -> str:
    """Equal for two names that metric systems cannot tell apart, which is why Kafka wants only one of them."""
    return name.replace(".", "_")
