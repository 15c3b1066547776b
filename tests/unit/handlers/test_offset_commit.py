"""OffsetCommit: every partition is answered for itself, in its place."""

from __future__ import annotations

import pytest
from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.model import ErrorCode
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

NONE, UNKNOWN, TOO_LARGE = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OFFSET_METADATA_TOO_LARGE,
)


async def commit(box: Box, wanted: dict[str, list[tuple[int, str]]]) -> dict[str, list[tuple[int, int]]]:
    """Of each partition of each topic its number and code, in the order of the answer."""
    topics = [
        OffsetCommitRequestTopic(
            name=name,
            partitions=[
                OffsetCommitRequestPartition(partition_index=i, committed_offset=i, committed_metadata=said)
                for i, said in partitions
            ],
        )
        for name, partitions in wanted.items()
    ]
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=topics)
    answer = await box.ask(request, OffsetCommitResponse, 9)
    return {t.name: [(p.partition_index, p.error_code) for p in t.partitions] for t in answer.topics}


def test_each_partition_gets_its_own_code_whatever_its_neighbours_get() -> None:
    async def main() -> None:
        async with in_a_box() as box:
            await box.broker.cluster.create_topics([NewTopic("t", 3), NewTopic("u", 2)])
            await box.broker.cluster.ensure_topic("__consumer_offsets")
            long = "x" * 4_097
            assert await commit(
                box,
                {
                    "t": [(0, ""), (7, ""), (2, long), (1, "")],
                    "gone": [(0, ""), (1, long)],
                    "u": [(0, ""), (1, long)],
                },
            ) == {
                "t": [(0, NONE), (7, UNKNOWN), (2, TOO_LARGE), (1, NONE)],
                "gone": [(0, UNKNOWN), (1, UNKNOWN)],
                "u": [(0, NONE), (1, TOO_LARGE)],
            }

    run(main())


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ("x" * 4_096, NONE),
        ("é" * 4_096, NONE),
        ("😀" * 2_048, NONE),
        ("😀" * 2_049, TOO_LARGE),
        ("x" * 4_097, TOO_LARGE),
    ],
)
def test_metadata_is_as_long_as_java_says_it_is(metadata: str, code: ErrorCode) -> None:
    async def main() -> None:
        async with in_a_box() as box:
            await box.broker.cluster.create_topics([NewTopic("t", 1)])
            await box.broker.cluster.ensure_topic("__consumer_offsets")
            assert await commit(box, {"t": [(0, metadata)]}) == {"t": [(0, code)]}

    run(main())
