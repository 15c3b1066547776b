"""The options of ``kafka-share-state``, checked once, on the driver. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from leaselog.client.cluster import DEFAULT_API_TIMEOUT_MS, REQUEST_TIMEOUT_MS
from leaselog.client.security.config import GivenSecurity
from leaselog.spark.given_options import MAX_TASKS, GivenOptions

__all__ = ["StateOptions", "View"]

FORMAT = "kafka-share-state"
CLIENT_ID = "leaselog-spark"

_WHOLE = "the whole state topic is read, for only that tells what holds now; filter by time in the query"
_REFUSED = {
    "subscribe": "filter by topic in the query",
    "assign": "filter by topic and partition in the query",
    "startingoffsets": _WHOLE,
    "endingoffsets": _WHOLE,
    "startingtimestamp": _WHOLE,
    "endingtimestamp": _WHOLE,
    "minpartitions": "use parallelism, the number of tasks",
    "maxrecordsperpartition": "use parallelism, the number of tasks",
    "kafka.group.id": "use kafka.share.group.id",
    "failondataloss": "what is deleted from the state topic was told again by a later record",
}
_KNOWN = (
    *(
        "kafka.bootstrap.servers",
        "kafka.client.id",
        "kafka.request.timeout.ms",
        "kafka.default.api.timeout.ms",
    ),
    *("kafka.share.group.id", "view", "parallelism"),
)


class View(Enum):
    #: a row for each thing that a record of the state topic says
    LOG = "log"
    #: a row for each stretch of records and what holds of it now
    RECORDS = "records"


@dataclass(frozen=True, slots=True)
class StateOptions:
    bootstrap_servers: str
    view: View = View.LOG
    #: only this group; None: all of them
    group_id: str | None = None
    parallelism: int = 1
    client_id: str = CLIENT_ID
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    security: GivenSecurity = ()

    @classmethod
    def of(cls, given: Mapping[str, str]) -> StateOptions:
        """Raises ``ConfigError``, which names the option."""
        options = GivenOptions(given, FORMAT, _REFUSED)
        options.refuse_others(_KNOWN)
        return cls(
            bootstrap_servers=options.needed("kafka.bootstrap.servers"),
            view=options.choice("view", View, View.LOG),
            group_id=options.text("kafka.share.group.id"),
            parallelism=options.number("parallelism", None, MAX_TASKS) or os.cpu_count() or 1,
            client_id=options.text("kafka.client.id") or CLIENT_ID,
            request_timeout_ms=options.whole("kafka.request.timeout.ms", REQUEST_TIMEOUT_MS),
            api_timeout_ms=options.whole("kafka.default.api.timeout.ms", DEFAULT_API_TIMEOUT_MS),
            security=options.security(),
        )
