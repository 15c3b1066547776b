"""Share groups through the handlers: what takes the group and the persister, and what clients are told."""

from __future__ import annotations

import asyncio
import time
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box, run, use_persister

from leaselog.broker.cluster.cluster import SHARE_STATE_TOPIC, CreatedTopic, FeatureUpdate, NewTopic
from leaselog.broker.coordinators.partitions import coordinator_partition
from leaselog.broker.share_groups import members as share_members_module
from leaselog.broker.share_state import persister as persister_module
from leaselog.broker.share_state.persister import NoOpPersister
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import DeleteState, InitializeState, WriteState, Written
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused
from leaselog.share import RecordState
from leaselog.wire.messages import (
    alter_share_group_offsets as altering,
)
from leaselog.wire.messages import (
    delete_share_group_offsets as deleting,
)
from leaselog.wire.messages import (
    describe_share_group_offsets as offsets,
)
from leaselog.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from leaselog.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


class Persister(NoOpPersister):
    """Says yes when it is told to."""

    def __init__(self) -> None:
        self.begun: list[InitializeState] = []
        self.asked = asyncio.Event()
        self.deleted: list[DeleteState] = []
        self.answer: asyncio.Future[Written | Refused] = asyncio.get_running_loop().create_future()
        self.answer.set_result(Written())

    def hold(self) -> None:
        self.answer = asyncio.get_running_loop().create_future()

    def refuse(self, code: ErrorCode) -> None:
        self.answer = asyncio.get_running_loop().create_future()
        self.answer.set_result(Refused(code))

    def initialize(self, ask: InitializeState) -> asyncio.Future[Written | Refused]:
        self.begun.append(ask)
        self.asked.set()
        return self.answer

    def delete(self, ask: DeleteState) -> asyncio.Future[Written | Refused]:
        self.deleted.append(ask)
        self.asked.set()
        return self.answer


async def prepare(box: Box, **topics: int) -> Persister:
    ask = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    await box.ask(ask, FindCoordinatorResponse, 6)
    for name, count in topics.items():
        await box.broker.cluster.create_topics([NewTopic(name, count)])
    persister = Persister()
    use_persister(box.broker, persister)
    return persister


async def has_begun(persister: Persister, count: int) -> None:
    """Returns when state of so many partitions has been asked to begin, which a write and its sync come before."""
    async with asyncio.timeout(60):
        while len(persister.begun) < count:
            persister.asked.clear()
            await persister.asked.wait()


async def has_been_deleted(persister: Persister, count: int) -> None:
    async with asyncio.timeout(60):
        while len(persister.deleted) < count:
            persister.asked.clear()
            await persister.asked.wait()


async def beat(
    box: Box, member: str, epoch: int, *topics: str, group: str = "g"
) -> ShareGroupHeartbeatResponse:
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics or None
    )
    return await box.ask(request, ShareGroupHeartbeatResponse, 1)


def held(answer: ShareGroupHeartbeatResponse) -> list[int] | None:
    if answer.assignment is None:
        return None
    return [i for topic in answer.assignment.topic_partitions for i in topic.partitions]


async def described(box: Box, group: str = "g") -> DescribedGroup:
    request = ShareGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    return (await box.ask(request, ShareGroupDescribeResponse, 1)).groups[0]


async def told(
    box: Box, topics: dict[str, list[int]] | None, version: int = 1
) -> dict[str, list[tuple[int, int, int]]]:
    asked = None
    if topics is not None:
        asked = [
            offsets.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    group = offsets.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=asked)
    request = offsets.DescribeShareGroupOffsetsRequest(groups=[group])
    answer = (await box.ask(request, offsets.DescribeShareGroupOffsetsResponse, version)).groups[0]
    assert answer.error_code == 0
    return {
        topic.topic_name: [(p.partition_index, p.start_offset, p.lag) for p in topic.partitions]
        for topic in answer.topics
    }


async def alter(box: Box, **wanted: int) -> altering.AlterShareGroupOffsetsResponse:
    topics: dict[str, list[altering.AlterShareGroupOffsetsRequestPartition]] = {}
    for place, offset in wanted.items():
        partition = altering.AlterShareGroupOffsetsRequestPartition(
            partition_index=int(place[1:]), start_offset=offset
        )
        topics.setdefault(place[0], []).append(partition)
    request = altering.AlterShareGroupOffsetsRequest(
        group_id="g",
        topics=[
            altering.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )
    return await box.ask(request, altering.AlterShareGroupOffsetsResponse, 0)


async def delete_offsets(box: Box, *topics: str) -> deleting.DeleteShareGroupOffsetsResponse:
    request = deleting.DeleteShareGroupOffsetsRequest(
        group_id="g",
        topics=[deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics],
    )
    return await box.ask(request, deleting.DeleteShareGroupOffsetsResponse, 0)


async def delete_group(box: Box) -> ErrorCode:
    answer = await box.ask(DeleteGroupsRequest(groups_names=["g"]), DeleteGroupsResponse, 2)
    return ErrorCode(answer.results[0].error_code)


# Heartbeats


def test_the_first_answer_has_partitions_whose_state_has_begun() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=2)
            joined = await beat(box, "a", 0, "t")
            topic = box.broker.cluster.topic("t")
            assert topic is not None
            assert (joined.error_code, joined.member_epoch) == (0, 3)
            assert held(joined) == [0, 1]
            begun = [(*ask.key, ask.state_epoch, ask.start_offset) for ask in persister.begun]
            assert begun == [("g", topic.topic_id, i, 2, -1) for i in (0, 1)]
            assert held(await beat(box, "a", 3)) is None

    run(work())


def test_everybody_who_needs_state_waits_for_it_and_it_begins_once() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=3)
            persister.hold()
            first = asyncio.ensure_future(beat(box, "a", 0, "t"))
            second = asyncio.ensure_future(beat(box, "b", 0, "t"))
            await has_begun(persister, 3)
            assert not first.done()
            assert not second.done()
            persister.answer.set_result(Written())
            both = [*(held(await first) or []), *(held(await second) or [])]
            assert sorted(both) == [0, 1, 2]
            assert len(persister.begun) == 3

    run(work())


def test_a_client_that_goes_away_does_not_take_the_state_with_it() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1)
            persister.hold()
            gone = asyncio.ensure_future(beat(box, "a", 0, "t"))
            await has_begun(persister, 1)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            persister.answer.set_result(Written())
            assert held(await beat(box, "b", 0, "t")) == [0]
            assert len(persister.begun) == 1

    run(work())


def test_a_persister_that_refuses_leaves_a_member_without_until_it_comes_back() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1)
            persister.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            joined = await beat(box, "a", 0, "t")
            assert (joined.error_code, held(joined)) == (0, [])
            persister.answer = asyncio.get_running_loop().create_future()
            persister.answer.set_result(Written())
            assert held(await beat(box, "a", joined.member_epoch)) == [0]

    run(work())


@pytest.mark.parametrize("member", ["", "x" * 37])
def test_a_member_id_is_one_to_36_characters(member: str) -> None:
    async def work() -> None:
        async with in_a_box() as box:
            await prepare(box)
            answer = await beat(box, member, 0, "t")
            assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, None)

    run(work())


def test_a_group_may_have_its_own_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with in_a_box(group_share_heartbeat_interval_ms="7000") as box:
            await prepare(box)
            await beat(box, "a", 0, "t")
            monkeypatch.setattr(box.broker.runtime, "monotonic_ms", lambda: time.monotonic() * 1000 + 7_000)
            assert (await beat(box, "a", 2)).heartbeat_interval_ms == 7_000

    run(work())


def test_a_member_is_described_with_what_it_is_to_have() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            await prepare(box, t=2)
            await beat(box, "a", 0, "t")
            await beat(box, "b", 0, "t")
            group = await described(box)
            assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 4, 4)
            assert (group.assignor_name, group.authorized_operations) == ("simple", 3400)
            a = group.members[0]
            assert (a.member_id, a.member_epoch, a.client_id, a.client_host) == ("a", 3, "test", "/127.0.0.1")
            topics = [(t.topic_name, list(t.partitions)) for t in a.assignment.topic_partitions]
            assert (list(a.subscribed_topic_names), topics) == (["t"], [("t", [0])])
            assert (await described(box, "x")).error_message == "Group x not found."

    run(work())


def test_share_groups_are_listed_by_type() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            await prepare(box)
            await beat(box, "a", 0, "t")
            for types, count in (["Share"], 1), (["classic"], 0), ([], 1):
                answer = await box.ask(ListGroupsRequest(types_filter=types), ListGroupsResponse, 5)
                assert len(answer.groups) == count

    run(work())


def test_without_the_feature_nothing_of_share_groups_is_served() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            await prepare(box, t=1)
            assert await box.broker.cluster.update_features([FeatureUpdate("share.version", 0, 2)]) is None
            no = ErrorCode.UNSUPPORTED_VERSION
            assert (await beat(box, "a", 0, "t")).error_code == no
            assert (await described(box)).error_code == no
            assert (await alter(box, t0=1)).error_code == no
            assert (await delete_offsets(box, "t")).error_code == no
            request = offsets.DescribeShareGroupOffsetsRequest(
                groups=[offsets.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)]
            )
            answer = await box.ask(request, offsets.DescribeShareGroupOffsetsResponse, 1)
            assert answer.groups[0].error_code == no

    run(work())


# Offsets


def test_offsets_that_were_set_are_told_with_the_lag_behind_the_end() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            state = box.broker.persister
            await prepare(box, t=2)
            use_persister(box.broker, state)
            await box.append("t", 1, 2, 3, 4, 5)
            answer = await alter(box, t0=2, t7=1, x0=1)
            assert [
                (topic.topic_name, [(p.partition_index, p.error_code) for p in topic.partitions])
                for topic in answer.responses
            ] == [("t", [(0, 0), (7, 3)]), ("x", [(0, 3)])]
            assert await told(box, None) == {"t": [(0, 2, 3)]}
            assert await told(box, {"t": [1, 0, 9], "x": [0]}) == {
                "t": [(1, -1, -1), (0, 2, 3), (9, -1, -1)],
                "x": [(0, -1, -1)],
            }
            assert await told(box, None, version=0) == {"t": [(0, 2, -1)]}
            assert await told(box, {}) == {}
            assert (await described(box)).group_state == "Empty"

    run(work())


def test_the_lag_counts_nothing_that_the_log_no_longer_has() -> None:
    """Found by simulation: retention empties a partition, and its group was never again without a lag."""

    async def work() -> None:
        async with in_a_box() as box:
            state = box.broker.persister
            await prepare(box, t=1)
            use_persister(box.broker, state)
            await box.append("t", 1, 2, 3, 4, 5)
            await alter(box, t0=1)
            partition = box.broker.logs.partition("t", 0)
            assert partition is not None
            assert partition.log.delete_records(3) == 3
            assert await told(box, None) == {"t": [(0, 1, 2)]}
            assert partition.log.delete_records(5) == 5
            assert await told(box, None) == {"t": [(0, 1, 0)]}

    run(work())


def test_the_lag_counts_nothing_twice_that_was_finished_before_retention_took_what_was_not() -> None:
    """Kafka subtracts what is finished from the stored start on, and that has not moved yet."""

    async def work() -> None:
        async with in_a_box() as box:
            state = box.broker.persister
            await prepare(box, t=1)
            use_persister(box.broker, state)
            await box.append("t", *range(10))
            await alter(box, t0=0)
            topic, partition = box.broker.cluster.topic("t"), box.broker.logs.partition("t", 0)
            assert topic is not None
            assert partition is not None
            key = SharePartitionKey(GroupId("g"), topic.topic_id, 0)
            done = (StateBatch(2, 4, RecordState.ACKNOWLEDGED.value, 1), StateBatch(6, 9, 4, 1))
            wrote = await state.write(
                WriteState(key, delivery_complete_count=5, start_offset=0, batches=done)
            )
            assert wrote == Written()
            assert await told(box, None) == {"t": [(0, 0, 5)]}
            assert partition.log.delete_records(3) == 3
            assert await told(box, None) == {"t": [(0, 0, 3)]}  # 4, 5 and 9
            assert partition.log.delete_records(7) == 7
            assert await told(box, None) == {"t": [(0, 0, 1)]}

    run(work())


def test_a_group_that_is_not_there_has_no_offsets_and_that_is_no_error() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            await prepare(box)
            assert await told(box, None) == {}

    run(work())


def test_offsets_that_the_persister_will_not_set_are_refused_one_by_one() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1)
            persister.refuse(ErrorCode.FENCED_STATE_EPOCH)
            answer = await alter(box, t0=2, t1=2)
            codes = [p.error_code for topic in answer.responses for p in topic.partitions]
            assert (answer.error_code, codes) == (0, [124, 3])

    run(work())


def test_offsets_of_a_group_with_members_stay() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1)
            await beat(box, "a", 0, "t")
            begun = len(persister.begun)
            for answer in (await alter(box, t0=2)), (await delete_offsets(box, "t")):
                assert (answer.error_code, answer.error_message) == (68, "The group is not empty.")
                assert answer.responses == []
            assert await delete_group(box) is ErrorCode.NON_EMPTY_GROUP
            assert (len(persister.begun), persister.deleted) == (begun, [])

    run(work())


def test_a_topic_is_forgotten_when_the_persister_has_forgotten_it() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=2)
            await beat(box, "a", 0, "t")
            await beat(box, "a", -1)
            persister.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            assert [t.error_code for t in (await delete_offsets(box, "t")).responses] == [15]
            persister.answer = asyncio.get_running_loop().create_future()
            persister.answer.set_result(Written())
            answer = await delete_offsets(box, "t", "x")
            assert [(t.topic_name, t.error_code) for t in answer.responses] == [("t", 0), ("x", 3)]
            again = (await delete_offsets(box, "t")).responses[0]
            assert (again.topic_id, again.error_message) == (
                UUID(int=0),
                "There is no offset information to delete.",
            )

    run(work())


def test_a_group_goes_with_all_its_state_or_stays() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=2)
            await beat(box, "a", 0, "t")
            await beat(box, "a", -1)
            persister.refuse(ErrorCode.NOT_COORDINATOR)
            assert await delete_group(box) is ErrorCode.NOT_COORDINATOR
            assert (await described(box)).group_state == "Empty"
            persister.answer = asyncio.get_running_loop().create_future()
            persister.answer.set_result(Written())
            assert await delete_group(box) is ErrorCode.NONE
            assert {ask.key.partition for ask in persister.deleted} == {0, 1}
            assert await delete_group(box) is ErrorCode.GROUP_ID_NOT_FOUND

    run(work())


def test_who_joins_a_group_that_is_being_deleted_founds_the_next_one() -> None:
    """Not in between: the state of its second topic would go after it had begun."""

    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1, u=1)
            await beat(box, "a", 0, "t", "u")
            await beat(box, "a", -1)
            persister.begun.clear()
            persister.hold()
            deleting = asyncio.ensure_future(delete_group(box))
            await has_been_deleted(persister, 1)
            joining = asyncio.ensure_future(beat(box, "b", 0, "t", "u"))
            await box.ask(ListGroupsRequest(), ListGroupsResponse, 5)  # the join has been read by now
            assert not joining.done()
            assert persister.begun == []
            persister.answer.set_result(Written())
            assert await deleting is ErrorCode.NONE
            assert held(await joining) == [0, 0]
            assert len(persister.deleted) == len(persister.begun) == 2

    run(work())


@pytest.mark.parametrize("work", ["delete", "delete offsets", "alter"])
def test_who_would_wait_for_long_until_a_group_may_be_joined_comes_back_for_it(
    work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_members_module, "PATIENCE_S", 0.01)

    async def story() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1)
            await beat(box, "a", 0, "t")
            await beat(box, "a", -1)
            persister.begun.clear()
            persister.hold()
            how = {
                "delete": lambda: delete_group(box),
                "delete offsets": lambda: delete_offsets(box, "t"),
                "alter": lambda: alter(box, t0=0),
            }
            working = asyncio.ensure_future(how[work]())
            await (has_begun if work == "alter" else has_been_deleted)(persister, 1)
            told_off = await beat(box, "b", 0, "t")
            assert told_off.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            persister.answer.set_result(Written())
            await working
            assert held(await beat(box, "b", 0, "t")) == [0]

    run(story())


def test_two_who_delete_a_group_at_once_are_told_what_two_in_turn_are() -> None:
    async def work() -> None:
        async with in_a_box() as box:
            persister = await prepare(box, t=1)
            await beat(box, "a", 0, "t")
            await beat(box, "a", -1)
            answers = await asyncio.gather(*(delete_group(box) for _ in range(2)))
            assert sorted(answers) == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]
            assert len(persister.deleted) == 1

    run(work())


def test_share_groups_survive_a_restart(tmp_path: object) -> None:
    async def before() -> None:
        async with in_a_box(str(tmp_path)) as box:
            await prepare(box, t=2)
            await beat(box, "a", 0, "t")

    async def after() -> None:
        async with in_a_box(str(tmp_path)) as box:
            group = await described(box)
            assert (group.group_state, group.group_epoch, len(group.members)) == ("Stable", 3, 1)
            assert held(await beat(box, "a", 3, "t")) == [0, 1]

    run(before())
    run(after())


def test_state_that_begins_while_its_topic_is_being_opened_waits_for_that_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(persister_module, "BACKOFF_S", 3_600)

    async def story() -> None:
        # so many that opening them takes many turns of the loop
        async with in_a_box(share_coordinator_state_topic_num_partitions="500") as box:
            cluster, persister = box.broker.cluster, box.broker.persister
            [made] = await cluster.create_topics([NewTopic("t", 1)])
            assert isinstance(made, CreatedTopic)
            keys = (SharePartitionKey(GroupId(f"g{i}"), made.topic.topic_id, 0) for i in range(10_000))
            late = next(key for key in keys if coordinator_partition(str(key), 500) > 450)
            persister.prepare()
            async with asyncio.timeout(60):
                for _ in range(1_000_000):
                    if cluster.topic(SHARE_STATE_TOPIC) is not None:
                        break
                    await asyncio.sleep(0)
                assert box.broker.logs.partition(SHARE_STATE_TOPIC, 499) is None
                assert await persister.initialize(InitializeState(late, 0, 0)) == Written()

    run(story())


def test_a_join_begins_the_topic_of_share_state_beside_its_own_write() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            ask = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
            await box.ask(ask, FindCoordinatorResponse, 6)
            await box.broker.cluster.create_topics([NewTopic("t", 2)])
            prepared: list[int] = []
            box.broker.persister.prepare = lambda: prepared.append(1)  # type: ignore[method-assign]
            assert held(await beat(box, "a", 0, "t")) == [0, 1]
            await beat(box, "a", 1)
            assert prepared == [1]

    run(story())


def test_a_join_to_a_topic_that_is_not_there_makes_no_topic_either() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            ask = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
            await box.ask(ask, FindCoordinatorResponse, 6)
            assert held(await beat(box, "a", 0, "t")) == []
            assert box.broker.cluster.topic(SHARE_STATE_TOPIC) is None

    run(story())
