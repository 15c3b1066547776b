"""The options of ``kafka-topic``, of reading and of writing, checked once, on the driver. Pure.

Names and meanings are those of Spark's own Kafka source and sink; what cannot be kept is refused by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leaselog.client import ConfigError
from leaselog.client.cluster import DEFAULT_API_TIMEOUT_MS, REQUEST_TIMEOUT_MS
from leaselog.client.producer_config import ProducerConfig
from leaselog.client.security.config import GivenSecurity
from leaselog.model import TopicPartition
from leaselog.spark.given_options import MAX_TASKS, SPARKS_OWN, GivenOptions
from leaselog.spark.topic_range import EARLIEST_EDGE, LATEST_EDGE, AtTime, Boundary, Edge, Offsets

__all__ = ["TopicReadOptions", "TopicWriteOptions"]

FORMAT = "kafka-topic"
CLIENT_ID = "leaselog-spark"
PARTITION_MAX_BYTES = 4 * 1024 * 1024
#: A task has its rows at hand: with 1 KB records one costs half the processor time that it does with Kafka's 16 KB.
BATCH_BYTES = 256 * 1024
_LONG_MAX = 2**63 - 1
#: how a JSON of offsets says earliest and latest
_JSON_EDGES = {-1: LATEST_EDGE, -2: EARLIEST_EDGE}

_NO_GROUP = "a range of a topic is read without a group"
_NO_RETRIES = "requests are retried for kafka.default.api.timeout.ms"
_REFUSED_IN_READING = {
    "subscribepattern": "name the topics with subscribe",
    "startingoffsetsbytimestamp": "use startingTimestamp",
    "endingoffsetsbytimestamp": "use endingTimestamp",
    "startingoffsetsbytimestampstrategy": "a partition without a record so young gives no rows",
    "maxoffsetspertrigger": "a batch query reads its whole range; use startingOffsets and endingOffsets",
    "minoffsetspertrigger": "a batch query reads its whole range; use startingOffsets and endingOffsets",
    "maxtriggerdelay": "a batch query reads its whole range; use startingOffsets and endingOffsets",
    "groupidprefix": _NO_GROUP,
    "kafka.group.id": _NO_GROUP,
    "kafka.auto.offset.reset": "use startingOffsets",
    "kafka.share.group.id": 'use format("kafka-share")',
    "kafka.key.deserializer": "keys are binary; decode them in the query",
    "kafka.value.deserializer": "values are binary; decode them in the query",
    "kafkaconsumer.polltimeoutms": "use kafka.request.timeout.ms",
    "fetchoffset.numretries": _NO_RETRIES,
    "fetchoffset.retryintervalms": _NO_RETRIES,
}
_READING = (
    *(
        "kafka.bootstrap.servers",
        "kafka.client.id",
        "kafka.request.timeout.ms",
        "kafka.default.api.timeout.ms",
    ),
    *("kafka.max.partition.fetch.bytes", "subscribe", "assign", "startingOffsets", "endingOffsets"),
    *("startingTimestamp", "endingTimestamp", "parallelism", "minPartitions", "maxRecordsPerPartition"),
    *("includeHeaders", "failOnDataLoss", "kafka.isolation.level"),
)
_REFUSED_IN_WRITING = {
    "includeheaders": "the column headers is written if it is there",
    "kafka.key.serializer": "give the column key as binary or as string",
    "kafka.value.serializer": "give the column value as binary or as string",
    "kafka.transactional.id": "the sink has no transactions; a task that is tried again writes its records again",
    "subscribe": "use topic",
}
_WRITING = ("kafka.bootstrap.servers", "topic", *SPARKS_OWN)


@dataclass(frozen=True, slots=True)
class TopicReadOptions:
    bootstrap_servers: str
    #: partitions to read; None: all of them
    topics: Mapping[str, tuple[int, ...] | None]
    start: Boundary = EARLIEST_EDGE
    end: Boundary = LATEST_EDGE
    parallelism: int = 1
    max_task_records: int | None = None
    include_headers: bool = False
    fail_on_data_loss: bool = True
    client_id: str = CLIENT_ID
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    security: GivenSecurity = ()
    partition_max_bytes: int = PARTITION_MAX_BYTES

    @classmethod
    def of(cls, given: Mapping[str, str]) -> TopicReadOptions:
        """Raises ``ConfigError``, which names the option."""
        options = GivenOptions(given, FORMAT, _REFUSED_IN_READING)
        options.refuse_others(_READING)
        uncommitted = "every record is read, whether or not its transaction was committed"
        options.only("kafka.isolation.level", ("read_uncommitted",), uncommitted)
        return cls(
            bootstrap_servers=options.needed("kafka.bootstrap.servers"),
            topics=_topics(options),
            start=_boundary(options, "starting", EARLIEST_EDGE),
            end=_boundary(options, "ending", LATEST_EDGE),
            parallelism=_parallelism(options),
            max_task_records=options.number("maxRecordsPerPartition", None),
            include_headers=options.truth("includeHeaders", False),
            fail_on_data_loss=options.truth("failOnDataLoss", True),
            client_id=options.text("kafka.client.id") or CLIENT_ID,
            request_timeout_ms=options.whole("kafka.request.timeout.ms", REQUEST_TIMEOUT_MS),
            api_timeout_ms=options.whole("kafka.default.api.timeout.ms", DEFAULT_API_TIMEOUT_MS),
            security=options.security(),
            partition_max_bytes=options.whole("kafka.max.partition.fetch.bytes", PARTITION_MAX_BYTES),
        )


@dataclass(frozen=True, slots=True)
class TopicWriteOptions:
    bootstrap_servers: str
    #: for every row; None: the rows have a column for it
    topic: str | None = None
    #: for the producer, by Kafka's names
    client: GivenSecurity = ()

    @classmethod
    def of(cls, given: Mapping[str, str]) -> TopicWriteOptions:
        """Raises ``ConfigError``, which names the option."""
        options = GivenOptions(given, FORMAT, _REFUSED_IN_WRITING)
        options.refuse_others(_WRITING, allow_client=True)
        acknowledged = "a task is done when every in-sync replica has its records"
        options.only("kafka.acks", ("all", "-1"), acknowledged)
        twice = "always on: without it a retried request may write records twice, or out of order"
        options.only("kafka.enable.idempotence", ("true",), twice)
        made = cls(options.needed("kafka.bootstrap.servers"), options.text("topic"), options.client(_WRITING))
        made.producer_config()
        return made

    def producer_config(self) -> ProducerConfig:
        """Raises ``ConfigError`` for what the producer does not take."""
        own = {"client.id": CLIENT_ID, "batch.size": BATCH_BYTES}
        return ProducerConfig.of(own, dict(self.client), {"bootstrap.servers": self.bootstrap_servers})


def _topics(options: GivenOptions) -> dict[str, tuple[int, ...] | None]:
    text = options.text("assign")
    if text is None:
        return dict.fromkeys(options.topics())
    if options.text("subscribe") is not None:
        raise ConfigError("subscribe and assign exclude each other")
    assigned = _json_object("assign", text)
    if not assigned or not all(_is_numbers(value) for value in assigned.values()):
        raise ConfigError(f'assign={text}: expected partitions of topics, as {{"a": [0, 1]}}')
    return {topic: tuple(sorted(set(numbers))) for topic, numbers in sorted(assigned.items())}


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_number(one) and one >= 0 for one in value)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _parallelism(options: GivenOptions) -> int:
    if options.text("parallelism") and options.text("minPartitions"):
        raise ConfigError("parallelism and minPartitions both say how many tasks there are: give one of them")
    cores = os.cpu_count() or 1
    tasks = options.number("parallelism", options.number("minPartitions", cores, MAX_TASKS), MAX_TASKS)
    return tasks or cores


def _boundary(options: GivenOptions, which: str, default: Edge) -> Boundary:
    offsets_name, time_name = f"{which}Offsets", f"{which}Timestamp"
    text, time = options.text(offsets_name), options.text(time_name)
    if time is not None:
        if text is not None:
            raise ConfigError(f"{offsets_name} and {time_name} exclude each other")
        if not time.isdecimal() or int(time) > _LONG_MAX:
            raise ConfigError(f"{time_name}={time}: expected milliseconds since 1970")
        return AtTime(int(time))
    if text is None or text.lower() == default.value:
        return default
    if text.lower() in (edge.value for edge in Edge):
        raise ConfigError(f"{offsets_name}={text}: a range cannot begin with latest or end with earliest")
    return Offsets(dict(_json_offsets(offsets_name, text, default)))


def _json_offsets(name: str, text: str, default: Edge) -> Iterator[tuple[TopicPartition, int | Edge]]:
    """``{"topic": {"0": 23, "1": -1}}``, as Spark's own source has it."""
    for topic, places in _json_object(name, text).items():
        if not isinstance(places, dict):
            raise ConfigError(f"{name}={text}: expected offsets of partitions for topic {topic}")
        for partition, offset in places.items():
            if not partition.isdecimal() or not _is_number(offset) or offset < min(_JSON_EDGES):
                raise ConfigError(f"{name}={text}: expected an offset for partition {partition} of {topic}")
            edge = _JSON_EDGES.get(offset)
            if edge is not None and edge is not default:
                raise ConfigError(f"{name}={text}: a range cannot begin with latest or end with earliest")
            yield TopicPartition(topic, int(partition)), offset if edge is None else edge


def _json_object(name: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as bad:
        raise ConfigError(f"{name}={text}: expected JSON: {bad}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{name}={text}: expected a JSON object")
    return found
