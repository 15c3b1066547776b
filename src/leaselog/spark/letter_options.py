"""The options of ``kafka-dead-letters``, checked once, on the driver. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from leaselog.client import ConfigError
from leaselog.client.cluster import DEFAULT_API_TIMEOUT_MS, REQUEST_TIMEOUT_MS
from leaselog.client.security.config import GivenSecurity
from leaselog.spark.given_options import MAX_TASKS, GivenOptions

__all__ = ["LetterOptions"]

FORMAT = "kafka-dead-letters"
CLIENT_ID = "leaselog-spark"

_WHOLE = "all letters that the topic has are read; filter by time in the query"
_REFUSED = {
    "subscribe": "use topic, or kafka.share.group.id, whose config names it",
    "assign": "filter by letter_topic and letter_partition in the query",
    "startingoffsets": _WHOLE,
    "endingoffsets": _WHOLE,
    "startingtimestamp": _WHOLE,
    "endingtimestamp": _WHOLE,
    "minpartitions": "use parallelism, the number of tasks",
    "maxrecordsperpartition": "use parallelism, the number of tasks",
    "includeheaders": "the column headers is always there",
    "kafka.group.id": "use kafka.share.group.id",
    "failondataloss": "letters that are deleted while the query runs are not in the table",
}
_KNOWN = (
    *(
        "kafka.bootstrap.servers",
        "kafka.client.id",
        "kafka.request.timeout.ms",
        "kafka.default.api.timeout.ms",
    ),
    *("kafka.share.group.id", "topic", "readOriginals", "parallelism"),
)


@dataclass(frozen=True, slots=True)
class LetterOptions:
    """``group_id`` or ``topic`` is there, or both."""

    bootstrap_servers: str
    #: only its letters; None: those of every group
    group_id: str | None = None
    #: None: the one that the group's config names
    topic: str | None = None
    #: whether records are looked up in their topics, for their headers, and for key and value that were not copied
    read_originals: bool = True
    parallelism: int = 1
    client_id: str = CLIENT_ID
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    security: GivenSecurity = ()

    @classmethod
    def of(cls, given: Mapping[str, str]) -> LetterOptions:
        """Raises ``ConfigError``, which names the option."""
        options = GivenOptions(given, FORMAT, _REFUSED)
        options.refuse_others(_KNOWN)
        group_id, topic = options.text("kafka.share.group.id"), options.text("topic")
        if group_id is None and topic is None:
            raise ConfigError("the option kafka.share.group.id is missing, or topic")
        return cls(
            bootstrap_servers=options.needed("kafka.bootstrap.servers"),
            group_id=group_id,
            topic=topic,
            read_originals=options.truth("readOriginals", True),
            parallelism=options.number("parallelism", None, MAX_TASKS) or os.cpu_count() or 1,
            client_id=options.text("kafka.client.id") or CLIENT_ID,
            request_timeout_ms=options.whole("kafka.request.timeout.ms", REQUEST_TIMEOUT_MS),
            api_timeout_ms=options.whole("kafka.default.api.timeout.ms", DEFAULT_API_TIMEOUT_MS),
            security=options.security(),
        )
