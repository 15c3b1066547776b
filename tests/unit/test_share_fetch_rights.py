"""Share fetches that wait while rights are given and taken away (ADR 0038)."""

from __future__ import annotations

import asyncio

from tests.unit.broker_in_a_box import Box, in_a_box, run, until_quiet

from leaselog.broker.cluster.cluster import CONSUMER_OFFSETS_TOPIC, SHARE_STATE_TOPIC, NewTopic
from leaselog.broker.runtime.client import Client
from leaselog.broker.security.authorizer_choice import STANDARD_AUTHORIZER
from leaselog.model import AclBinding, AclFilter, AclOperation, AclResourceType, ErrorCode, Principal
from leaselog.wire.messages.share_fetch import (
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
ALICE = Client(7, "127.0.0.1", 5_555, "PLAINTEXT", Principal("User", "alice"))
ROOT = Client(1, "127.0.0.1", 5_556, "PLAINTEXT", Principal("User", "root"))
LOCKED = {
    "authorizer_class_name": STANDARD_AUTHORIZER,
    "super_users": "User:root",
    "offsets_topic_num_partitions": "1",
    "share_coordinator_state_topic_num_partitions": "1",
}
LONG_MS = 60_000


def leave(resource: AclResourceType, name: str) -> AclBinding:
    return AclBinding(resource, name, "User:alice", AclOperation.READ)


GROUP_READ = leave(AclResourceType.GROUP, "g")
TOPIC_READ = leave(AclResourceType.TOPIC, "t")


async def furnish(box: Box, *rights: AclBinding) -> ShareFetchRequest:
    """A topic with a member of a group, who has these rights. Its first request."""
    await box.broker.cluster.create_topics([NewTopic("t", 1)])
    await box.broker.cluster.ensure_topics([CONSUMER_OFFSETS_TOPIC, SHARE_STATE_TOPIC])
    join = ShareGroupHeartbeatRequest(
        group_id="g", member_id=MEMBER, member_epoch=0, subscribed_topic_names=["t"]
    )
    await box.ask(join, ShareGroupHeartbeatResponse, 1, ROOT)
    await box.broker.cluster.create_acls(rights)
    topic = box.broker.cluster.topic("t")
    assert topic is not None
    return ShareFetchRequest(
        group_id="g",
        member_id=MEMBER,
        share_session_epoch=0,
        max_wait_ms=LONG_MS,
        min_bytes=1,
        max_bytes=9_999,
        max_records=10,
        batch_size=10,
        topics=[FetchTopic(topic_id=topic.topic_id, partitions=[FetchPartition(partition_index=0)])],
    )


async def begin(box: Box, request: ShareFetchRequest) -> asyncio.Task[ShareFetchResponse]:
    waiting = asyncio.ensure_future(box.ask(request, ShareFetchResponse, 1, ALICE))
    await until_quiet()
    assert not waiting.done(), "clients ask again at once"
    return waiting


def test_a_share_fetch_without_the_topic_waits_and_has_its_records_as_soon_as_it_may_read() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            request = await furnish(box, GROUP_READ)
            waiting = await begin(box, request)
            await box.broker.cluster.create_acls([TOPIC_READ])
            await until_quiet()
            await box.append("t", 1_000)
            answer = await asyncio.wait_for(waiting, 5)
            [partition] = answer.responses[0].partitions
            assert (partition.error_code, len(partition.acquired_records)) == (0, 1)

    run(scenario())


def test_a_share_fetch_without_the_group_is_answered_when_the_lists_change() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            request = await furnish(box, TOPIC_READ)
            waiting = await begin(box, request)
            await box.broker.cluster.create_acls([GROUP_READ])
            answer = await asyncio.wait_for(waiting, 5)
            assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED

    run(scenario())


def test_a_topic_that_is_taken_away_while_a_share_fetch_waits_gives_it_nothing() -> None:
    async def scenario() -> None:
        async with in_a_box(**LOCKED) as box:
            request = await furnish(box, GROUP_READ, TOPIC_READ)
            request.max_wait_ms = 400
            waiting = await begin(box, request)
            await box.broker.cluster.delete_acls([AclFilter(resource_type=AclResourceType.TOPIC)])
            await box.append("t", 1_000)
            answer = await asyncio.wait_for(waiting, 5)
            [partition] = answer.responses[0].partitions
            assert partition.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            assert not partition.acquired_records
            assert not partition.records

    run(scenario())
