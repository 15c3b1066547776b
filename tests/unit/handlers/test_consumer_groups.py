"""ConsumerGroupHeartbeat and ConsumerGroupDescribe, on a broker in memory."""

from __future__ import annotations

from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.model import ErrorCode
from leaselog.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from leaselog.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


async def prepare(box: Box) -> None:
    await box.broker.cluster.create_topics([NewTopic("t", 3), NewTopic("tt", 2)])
    await box.broker.cluster.ensure_topic("__consumer_offsets")


async def join(
    box: Box, *, version: int = 1, member_id: str = "m", **more: object
) -> ConsumerGroupHeartbeatResponse:
    fields: dict[str, object] = {"subscribed_topic_names": ["t"], **more}
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        topic_partitions=[],
        **fields,  # type: ignore[arg-type]
    )
    return await box.ask(request, ConsumerGroupHeartbeatResponse, version)


async def describe(box: Box) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=True)
    answer = await box.ask(request, ConsumerGroupDescribeResponse, 1)
    return answer.groups[0]


def partitions(answer: ConsumerGroupHeartbeatResponse) -> list[list[int]]:
    assert answer.assignment is not None
    return [list(topic.partitions) for topic in answer.assignment.topic_partitions]


def test_a_member_joins_has_partitions_and_is_described_with_them() -> None:
    async def main() -> None:
        async with in_a_box() as box:
            await prepare(box)
            answer = await join(box)
            assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m", 2)
            assert partitions(answer) == [[0, 1, 2]]
            group = await describe(box)
            assert (group.group_state, group.assignor_name, group.group_epoch) == ("Stable", "uniform", 2)
            (member,) = group.members
            for assignment in (member.assignment, member.target_assignment):
                assert [(t.topic_name, list(t.partitions)) for t in assignment.topic_partitions] == [
                    ("t", [0, 1, 2])
                ]
            assert member.member_type == 1
            assert group.authorized_operations > 0

    run(main())


def test_before_version_1_a_member_without_an_id_gets_one() -> None:
    async def main() -> None:
        async with in_a_box() as box:
            await prepare(box)
            answer = await join(box, version=0, member_id="")
            assert answer.error_code == 0
            assert answer.member_id
            assert (await join(box, member_id="")).error_code == ErrorCode.INVALID_REQUEST

    run(main())


def test_a_pattern_is_matched_by_re2_and_refused_if_it_is_none() -> None:
    async def main() -> None:
        async with in_a_box() as box:
            await prepare(box)
            answer = await join(box, subscribed_topic_names=None, subscribed_topic_regex="t+")
            assert sorted(partitions(answer)) == [[0, 1], [0, 1, 2]]
            wrong = await join(box, subscribed_topic_regex="t(")
            assert wrong.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
            assert "missing )" in (wrong.error_message or "")

    run(main())


def test_where_the_config_leaves_the_protocol_out_both_are_unsupported() -> None:
    async def main() -> None:
        async with in_a_box(group_coordinator_rebalance_protocols="classic") as box:
            await prepare(box)
            assert (await join(box)).error_code == ErrorCode.UNSUPPORTED_VERSION
            assert (await describe(box)).error_code == ErrorCode.UNSUPPORTED_VERSION

    run(main())
