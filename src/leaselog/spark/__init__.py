"""Share groups for PySpark 4.2 and later: a streaming source whose records are leased, and a sink for their outcomes.

The only room that imports pyspark, and only when it is used: ``pip install leaselog[spark]``. What is decided here
(ranges, batches, outcomes) is in modules that know nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselog.spark.foreach import foreach_batch

if TYPE_CHECKING:
    from leaselog.spark.source import KafkaShareDataSource

__all__ = ["KafkaShareDataSource", "foreach_batch", "register"]


def register(spark: Any) -> None:
    """Make ``format("kafka-share")`` known to a Spark session."""
    from leaselog.spark.source import KafkaShareDataSource

    spark.dataSource.register(KafkaShareDataSource)


def __getattr__(name: str) -> Any:
    if name == "KafkaShareDataSource":
        from leaselog.spark import source

        return source.KafkaShareDataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
