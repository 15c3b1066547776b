"""How fast a client may make and take away partitions: a bucket of tokens, as Apache Kafka's KIP-599 has it."""

from __future__ import annotations

from collections.abc import Sequence

from broker_in_a_box import Box, in_a_box, run

from leaselog.broker.quotas import mutation_quotas as module
from leaselog.broker.quotas.mutation_quotas import MutationAllowance, MutationQuotas
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.coordination.cluster_records import QuotaEntity
from leaselog.model import ErrorCode
from leaselog.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from leaselog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from leaselog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

ALL_CLIENTS: QuotaEntity = (("client-id", None),)
EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED
LONG_MS = 90_000


class Client:
    """Ten tokens a second, in a bucket of a hundred and ten."""

    def __init__(self) -> None:
        self.quotas = MutationQuotas(samples=11, sample_ms=1000)
        self.quotas.changed({ALL_CLIENTS: {"controller_mutation_rate": 10.0}})

    def at(self, now_ms: float, client_id: str = "a", *, is_strict: bool = True) -> MutationAllowance:
        return self.quotas.allowance("ANONYMOUS", client_id, now_ms, is_strict=is_strict)


def test_a_client_has_a_windows_worth_at_once_and_whoever_has_any_has_all_that_it_asks_for() -> None:
    client = Client()
    allowance = client.at(0)
    assert allowance.take(109) is None
    assert allowance.throttle_ms == 0
    assert allowance.take(101) is None
    assert allowance.throttle_ms == 10_000


def test_who_owes_is_refused_until_it_is_paid() -> None:
    client = Client()
    client.at(0).take(130)
    for now_ms, code in ((0, EXCEEDED), (1_990, EXCEEDED), (2_000, None)):
        refused = client.at(now_ms).take(1)
        assert (None if refused is None else refused.code) == code
    assert client.at(2_000).throttle_ms == 100


def test_who_does_not_know_the_refusal_is_only_told_to_pause() -> None:
    allowance = Client().at(0, is_strict=False)
    assert [allowance.take(110), allowance.take(10), allowance.take(10)] == [None] * 3
    assert allowance.throttle_ms == 2_000


def test_a_bucket_holds_no_more_than_a_windows_worth() -> None:
    client = Client()
    client.at(0).take(50)
    client.at(10**9).take(120)
    assert client.at(10**9).throttle_ms == 1_000


def test_each_client_has_a_bucket_and_none_is_limited_without_a_limit() -> None:
    client = Client()
    client.at(0).take(1_000)
    assert client.at(0, "b").take(1) is None
    client.quotas.changed({})
    assert client.at(0).take(10**6) is None
    assert client.at(0).throttle_ms == 0


def test_so_many_buckets_are_kept() -> None:
    client = Client()
    for number in range(module.MAX_TRACKED + 10):
        client.at(0, f"c{number}").take(1)
    assert len(client.quotas._buckets) == module.MAX_TRACKED


async def limited(box: Box, rate: float) -> None:
    wish = QuotaAlteration(entity=ALL_CLIENTS, ops=[("controller_mutation_rate", rate)])
    assert set((await box.broker.cluster.alter_quotas([wish])).values()) == {None}


async def create(
    box: Box, *counts: int, version: int = 7, validate_only: bool = False
) -> CreateTopicsResponse:
    names = [f"t{len(list(box.broker.cluster.topics()))}-{place}" for place in range(len(counts))]
    topics = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
        for name, count in zip(names, counts, strict=True)
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=validate_only)
    return await box.ask(request, CreateTopicsResponse, version)


def codes(response: CreateTopicsResponse) -> Sequence[int]:
    return [topic.error_code for topic in response.topics]


def test_topics_are_refused_one_by_one_from_version_6_on() -> None:
    async def story() -> None:
        async with in_a_box(controller_quota_window_num="1") as box:
            await limited(box, 0.01)
            first = await create(box, 5, 5)
            assert codes(first) == [0, EXCEEDED]
            assert first.throttle_time_ms > LONG_MS
            assert codes(await create(box, 1, version=6)) == [EXCEEDED]
            old = await create(box, 5, 5, version=5)
            assert codes(old) == [0, 0]
            assert old.throttle_time_ms > LONG_MS
            assert codes(await create(box, 5, validate_only=True)) == [0]

    run(story())


def test_partitions_and_deletions_count_as_well() -> None:
    async def story() -> None:
        async with in_a_box(controller_quota_window_num="1") as box:
            assert codes(await create(box, 3, 3)) == [0, 0]
            await limited(box, 0.01)
            more = CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name="t0-0", count=9, assignments=None)], timeout_ms=1000
            )
            grown = await box.ask(more, CreatePartitionsResponse, 3)
            assert (grown.results[0].error_code, grown.throttle_time_ms > LONG_MS) == (0, True)
            more.topics[0].count = 10
            assert (await box.ask(more, CreatePartitionsResponse, 3)).results[0].error_code == EXCEEDED
            assert (await box.ask(more, CreatePartitionsResponse, 2)).results[0].error_code == 0
            gone = DeleteTopicsRequest(topic_names=["t0-1"], timeout_ms=1000)
            refused = await box.ask(gone, DeleteTopicsResponse, 5)
            assert (refused.responses[0].error_code, refused.throttle_time_ms > LONG_MS) == (EXCEEDED, True)
            assert (await box.ask(gone, DeleteTopicsResponse, 4)).responses[0].error_code == 0

    run(story())


async def ask_for(box: Box, *names: str) -> MetadataResponse:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return await box.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=True), MetadataResponse, 11)


def test_topics_that_spring_into_being_count_too_and_are_unknown_while_there_is_no_quota_left() -> None:
    async def story() -> None:
        async with in_a_box(controller_quota_window_num="1") as box:
            await limited(box, 1.0)
            answer = await ask_for(box, "a", "b", "c", "d")
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert [topic.error_code for topic in answer.topics] == [0, 0, unknown, unknown]
            assert answer.throttle_time_ms > 0

    run(story())


def test_topics_that_one_request_brings_into_being_are_a_hundred_to_a_write() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            before = box.broker.cluster.features_epoch
            writes = 0
            append = box.broker.cluster._log.append

            async def counted(records: Sequence[object]) -> None:
                nonlocal writes
                writes += 1
                await append(records)  # type: ignore[arg-type]

            box.broker.cluster._log.append = counted  # type: ignore[method-assign,assignment]
            answer = await ask_for(box, *(f"n{number}" for number in range(300)))
            assert {topic.error_code for topic in answer.topics} == {0}
            assert (writes, box.broker.cluster.features_epoch - before) == (3, 600)

    run(story())


def test_there_are_so_many_partitions_and_no_more() -> None:
    async def story() -> None:
        async with in_a_box(max_partitions="10") as box:
            policy = ErrorCode.POLICY_VIOLATION
            assert codes(await create(box, 4, 7, 6)) == [0, policy, 0]
            total = sum(topic.partition_count for topic in box.broker.cluster.topics())
            assert total == 10
            assert codes(await create(box, 11)) == [policy]
            made = await box.broker.cluster.ensure_topic("__consumer_offsets")
            assert not hasattr(made, "code"), "the broker's own topics have room"

    run(story())
