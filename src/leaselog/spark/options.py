"""The options of the source and of the sink, checked once, on the driver. Pure.

Names are those of Spark's own Kafka source where the meaning is the same. Where a familiar name could not keep its
promise over a share group it is refused by name, with what to use instead; so is what nobody knows, since that is a
mistyped name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from leaselog.client import AcknowledgeType, ConfigError
from leaselog.client.security.config import GivenSecurity
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.spark.given_options import INT_MAX, MAX_TASKS, SPARKS_OWN, GivenOptions

__all__ = ["Acknowledge", "BoxOptions", "SourceOptions", "StartingOffsets"]

DEFAULT_MAX_BYTES = 64 * 1024 * 1024
FORMAT = "kafka-share"

#: by lower-case name: what it would have to mean, and why it cannot
_REFUSED = {
    "assign": "a share group gives out partitions itself; name topics with subscribe",
    "subscribepattern": "name the topics with subscribe",
    "endingoffsets": "a queue has no end; use trigger(availableNow=True)",
    "endingoffsetsbytimestamp": "a queue has no end; use trigger(availableNow=True)",
    "endingtimestamp": "a queue has no end; use trigger(availableNow=True)",
    "startingoffsetsbytimestamp": "set the group's offsets with leaselog share-groups --reset-offsets",
    "startingtimestamp": "set the group's offsets with leaselog share-groups --reset-offsets",
    "startingoffsetsbytimestampstrategy": "set the group's offsets with leaselog share-groups --reset-offsets",
    "maxoffsetspertrigger": "use maxRecordsPerBatch",
    "minoffsetspertrigger": "leases would run while the batch waits for more",
    "maxtriggerdelay": "leases would run while the batch waits for more",
    "minpartitions": "use parallelism, the number of tasks",
    "maxrecordsperpartition": "use parallelism, the number of tasks",
    "groupidprefix": "use kafka.share.group.id",
    "kafka.group.id": "use kafka.share.group.id",
    "kafkaconsumer.polltimeoutms": "use kafka.fetch.max.wait.ms",
    "fetchoffset.numretries": "requests are retried for kafka.default.api.timeout.ms",
    "fetchoffset.retryintervalms": "use kafka.retry.backoff.ms",
    "kafka.share.acknowledgement.mode": "use acknowledge",
    "kafka.share.acquire.mode": "use maxRecordsPerBatch; records are acquired one by one",
    "kafka.max.poll.records": "use maxRecordsPerBatch",
    "kafka.max.poll.interval.ms": "leases are renewed for as long as a batch takes",
    "kafka.fetch.max.bytes": "use maxBytesPerBatch",
    "kafka.key.deserializer": "keys are binary; decode them in the query",
    "kafka.value.deserializer": "values are binary; decode them in the query",
    "kafka.share.unacknowledged.records": "use unmentioned",
}
_BOX = ("kafka.bootstrap.servers", "kafka.share.group.id", "outcomesLocation", "outcomesChannel")
_SOURCE = (
    *_BOX,
    *("subscribe", "maxRecordsPerBatch", "maxBytesPerBatch", "parallelism", "includeHeaders", "acknowledge"),
    *("unmentioned", "startingOffsets", "failOnDataLoss"),
)


class Acknowledge(Enum):
    ON_COMMIT = "on-commit"
    ON_PLAN = "on-plan"
    EXPLICIT = "explicit"


class StartingOffsets(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"


class Unmentioned(Enum):
    ACCEPT = "accept"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class BoxOptions:
    """Where the outcomes of a query's records wait for the source: the same for the source and for its sink."""

    bootstrap_servers: str
    group_id: str
    #: a folder on the driver's machine; None: below the folder for temporary files
    location: str | None = None
    #: tells two queries of one group apart
    channel: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> BoxOptions:
        """For the sink. Raises ``ConfigError``."""
        options = GivenOptions(given, FORMAT, _REFUSED)
        options.refuse_others((*_BOX, *SPARKS_OWN))
        return _box(options)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    box: BoxOptions
    topics: tuple[str, ...]
    #: for the client, by Kafka's names
    client: GivenSecurity = ()
    max_records: int | None = None
    max_bytes: int = DEFAULT_MAX_BYTES
    parallelism: int = 1
    include_headers: bool = False
    acknowledge: Acknowledge = Acknowledge.ON_COMMIT
    unmentioned: AcknowledgeType = AcknowledgeType.ACCEPT
    starting_offsets: StartingOffsets | None = None
    fail_on_data_loss: bool = True
    #: what of `client` says how it is let in
    security: GivenSecurity = ()

    @classmethod
    def of(cls, given: Mapping[str, str]) -> SourceOptions:
        """Raises ``ConfigError``, which names the option."""
        options = GivenOptions(given, FORMAT, _REFUSED)
        options.refuse_others(_SOURCE, allow_client=True)
        made = cls(
            box=_box(options),
            topics=options.topics(),
            client=options.client(_SOURCE),
            max_records=options.number("maxRecordsPerBatch", None),
            max_bytes=options.number("maxBytesPerBatch", DEFAULT_MAX_BYTES) or DEFAULT_MAX_BYTES,
            parallelism=options.number("parallelism", os.cpu_count() or 1, MAX_TASKS) or 1,
            include_headers=options.truth("includeHeaders", False),
            acknowledge=options.choice("acknowledge", Acknowledge, Acknowledge.ON_COMMIT),
            unmentioned=AcknowledgeType[options.choice("unmentioned", Unmentioned, Unmentioned.ACCEPT).name],
            starting_offsets=options.choice("startingOffsets", StartingOffsets, None),
            fail_on_data_loss=options.truth("failOnDataLoss", True),
            security=options.security(),
        )
        made.consumer_config()
        return made

    def consumer_config(self) -> dict[str, object]:
        """For the member of the group. Raises ``ConfigError`` for what the client does not take."""
        config: dict[str, object] = {
            **dict(self.client),
            "bootstrap.servers": self.box.bootstrap_servers,
            "group.id": self.box.group_id,
            "share.acknowledgement.mode": "explicit",
            "share.acquire.mode": "record_limit",
            "max.poll.interval.ms": str(INT_MAX),
        }
        ShareConsumerConfig.of(config)
        return config


def _box(options: GivenOptions) -> BoxOptions:
    location = options.text("outcomesLocation")
    if location is not None and not os.path.isabs(location):
        raise ConfigError(
            f"outcomesLocation={location}: expected the full path of a folder on the driver's machine: source and sink"
            f" are processes of their own, and may run in different folders"
        )
    return BoxOptions(
        options.needed("kafka.bootstrap.servers"),
        options.needed("kafka.share.group.id"),
        location,
        options.text("outcomesChannel") or "",
    )
