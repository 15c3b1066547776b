"""Share groups for PySpark 4.2 and later: a streaming source whose records are leased, and a sink for their outcomes.

Topics, what is known of the records of share groups, and the letters of those that failed, are tables.

The only room that imports pyspark, and only when it is used: ``pip install leaselog[spark]``. What is decided here
(ranges, batches, outcomes) is in modules that know nothing of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leaselog.spark.foreach import foreach_batch

if TYPE_CHECKING:
    from leaselog.spark.letter_source import KafkaDeadLettersDataSource
    from leaselog.spark.source import KafkaShareDataSource
    from leaselog.spark.state_source import KafkaShareStateDataSource
    from leaselog.spark.topic_source import KafkaTopicDataSource

__all__ = [
    "KafkaDeadLettersDataSource",
    "KafkaShareDataSource",
    "KafkaShareStateDataSource",
    "KafkaTopicDataSource",
    "foreach_batch",
    "register",
]

#: by class, the module that has it
_DATA_SOURCES = {
    "KafkaDeadLettersDataSource": "leaselog.spark.letter_source",
    "KafkaShareDataSource": "leaselog.spark.source",
    "KafkaShareStateDataSource": "leaselog.spark.state_source",
    "KafkaTopicDataSource": "leaselog.spark.topic_source",
}


def register(spark: Any) -> None:
    """Make ``kafka-share``, ``kafka-topic``, ``kafka-share-state`` and ``kafka-dead-letters`` known to a session."""
    for name in _DATA_SOURCES:
        spark.dataSource.register(__getattr__(name))


def __getattr__(name: str) -> Any:
    if name in _DATA_SOURCES:
        return getattr(import_module(_DATA_SOURCES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
