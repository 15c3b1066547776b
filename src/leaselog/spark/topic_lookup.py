"""Asks a cluster what a batch query over a topic needs to know to be planned. No pyspark in here."""

from __future__ import annotations

import asyncio
import logging

from leaselog.client import EARLIEST, LATEST
from leaselog.client.fetcher import list_offsets
from leaselog.spark.range_reader import DataLoss, RangeReader
from leaselog.spark.runs import Runs
from leaselog.spark.topic_options import TopicReadOptions
from leaselog.spark.topic_range import AtTime, LogBounds, chosen_places, plan, tasks_of

__all__ = ["look_up_tasks", "reader_of"]

_log = logging.getLogger("leaselog.spark")


def reader_of(options: TopicReadOptions) -> RangeReader:
    """What the tasks read with."""
    return RangeReader(
        options.bootstrap_servers,
        client_id=options.client_id,
        include_headers=options.include_headers,
        with_delivery_count=False,
        fail_on_data_loss=options.fail_on_data_loss,
        partition_max_bytes=options.partition_max_bytes,
        request_timeout_ms=options.request_timeout_ms,
        api_timeout_ms=options.api_timeout_ms,
        security=options.security,
    )


def look_up_tasks(options: TopicReadOptions) -> list[Runs]:
    """What each task is to read, as the topics are now.

    Raises ``DataLoss``, ``ConfigError`` and what the client raises.
    """
    return asyncio.run(_look_up_tasks(options))


async def _look_up_tasks(options: TopicReadOptions) -> list[Runs]:
    async with reader_of(options).cluster() as cluster:
        topology = await cluster.topology(sorted(options.topics))
        existing = {name: len(topology.topic(name).partitions) for name in options.topics}
        places = chosen_places(options.topics, existing)
        earliest = await list_offsets(cluster, dict.fromkeys(places, EARLIEST))
        latest = await list_offsets(cluster, dict.fromkeys(places, LATEST))
        times = {edge for edge in (options.start, options.end) if isinstance(edge, AtTime)}
        by_time = {
            time: await list_offsets(cluster, dict.fromkeys(places, time.timestamp_ms)) for time in times
        }
    bounds = {where: LogBounds(earliest[where], latest[where]) for where in places}
    planned = plan(bounds, options.start, options.end, by_time)
    for loss in planned.losses:
        if options.fail_on_data_loss:
            raise DataLoss(f"{loss}. failOnDataLoss=false goes on without what is gone")
        _log.warning("%s", loss)
    return tasks_of(planned.ranges, options.parallelism, options.max_task_records)
