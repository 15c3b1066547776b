"""DescribeLogDirs (key 35), versions 1 to 5: the one data directory and what its partitions take of it.

- Needs leave to DESCRIBE the cluster.
- Null topics mean every partition; unknown ones are left out, as Kafka does.
- Bytes of the volume, all and usable, from v4; -1 when everything is in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from leaselog.broker.net.api import RequestContext, serves
from leaselog.broker.records.partition import Partition
from leaselog.log import OsFiles
from leaselog.model import AclOperation
from leaselog.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


@serves(DescribeLogDirsRequest, versions=(1, 5), kips="KIP-113, 784, 827, 1066")
async def describe_log_dirs(
    request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    refused = context.refuse_cluster(AclOperation.DESCRIBE)
    if refused is not None:
        return DescribeLogDirsResponse(error_code=refused.code)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    async for partition in context.broker.turns.each(_asked(request, context)):
        if partition is None:
            continue
        topics.setdefault(partition.name.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=partition.name.partition, partition_size=partition.log.size_bytes()
            )
        )
    directory = context.broker.logs.directory
    total_bytes, usable_bytes = -1, -1
    if isinstance(directory.files, OsFiles):
        volume = os.statvfs(directory.path)
        total_bytes, usable_bytes = volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                log_dir=_absolute(directory.path),
                topics=[DescribeLogDirsTopic(name=name, partitions=found) for name, found in topics.items()],
                total_bytes=total_bytes,
                usable_bytes=usable_bytes,
            )
        ]
    )


def _absolute(path: str) -> str:
    return os.path.abspath(path)


def _asked(request: DescribeLogDirsRequest, context: RequestContext) -> Iterator[Partition | None]:
    """Each as it is when its turn has come: a log that failed may be back by then, in another partition."""
    logs = context.broker.logs
    if request.topics is None:
        for partition in list(logs.partitions()):
            yield logs.partition(*partition.name)
        return
    seen = set[tuple[str, int]]()
    for topic in request.topics:
        for index in topic.partitions:
            if (topic.topic, index) not in seen:
                seen.add((topic.topic, index))
                yield logs.partition(topic.topic, index)
