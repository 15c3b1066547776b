"""The headers of dead letters, and of records that were put back: names that brokers and clients agree on (KIP-1191).

Those of `REDRIVE` and `HOPS` are leaselog's own; nobody else reads them, and nobody minds them.
"""

from __future__ import annotations

__all__ = [
    "DELIVERY_COUNT",
    "ERRORS",
    "GROUP",
    "HOPS",
    "MESSAGE",
    "OFFSET",
    "PARTITION",
    "REDRIVE",
    "REDRIVE_GROUP",
    "REDRIVE_HOPS",
    "REDRIVE_LETTER",
    "TOPIC",
]

ERRORS = "__dlq.errors."
TOPIC, PARTITION, OFFSET = ERRORS + "topic", ERRORS + "partition", ERRORS + "offset"
GROUP, DELIVERY_COUNT, MESSAGE = ERRORS + "group", ERRORS + "delivery.count", ERRORS + "message"
#: the topics that a letter about a letter has come through
HOPS = ERRORS + "hops"

#: of a record that was put back: the letter it comes from, the group that had failed, and how often it was put back
REDRIVE = "__dlq.redrive."
REDRIVE_LETTER, REDRIVE_GROUP, REDRIVE_HOPS = REDRIVE + "letter", REDRIVE + "group", REDRIVE + "hops"
