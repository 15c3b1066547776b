"""Every API beside every right: refused without, with the right code and nothing changed; allowed with exactly those.

Each request is made by a client without any right, with all that it needs but one, and with just what it needs, of a
broker of its own. What is asked on the way is held against the table of rights, both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.contract.rights_cases import ASSIGNED, GROUP, SHARERS, TOPIC, Case, cases
from tests.unit.broker_in_a_box import Box, in_a_box, run

from leaselog.broker.cluster.cluster import (
    CONSUMER_OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    NewTopic,
)
from leaselog.broker.net.api import apis, load_handlers
from leaselog.broker.runtime.client import Client
from leaselog.broker.security.authorizer import AclAuthorizer
from leaselog.broker.security.authorizer_choice import STANDARD_AUTHORIZER
from leaselog.broker.security.rights import RIGHTS
from leaselog.model import ZERO_UUID, AclBinding, AclOperation, AclResourceType, ErrorCode, Principal
from leaselog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from leaselog.wire.messages.describe_transactions import DescribeTransactionsRequest
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from leaselog.wire.messages.list_transactions import ListTransactionsRequest
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from leaselog.wire.messages.share_fetch import ShareFetchResponse
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from leaselog.wire.schema import Message

CLIENT = Client(7, "127.0.0.1", 5_555, "PLAINTEXT", Principal("User", "alice"))
ROOT = Client(1, "127.0.0.1", 5_556, "PLAINTEXT", Principal("User", "root"))
LOCKED = {"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:root"} | {
    "offsets_topic_num_partitions": "1",
    "share_coordinator_state_topic_num_partitions": "1",
    "transaction_state_log_num_partitions": "1",
}
#: what says that a right is missing
DENIALS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
CODES = ("error_code", "topic_config_error_code", "acknowledge_error_code", "partition_error_code")
CASES = [case.name for case in cases(ZERO_UUID)]

Asked = set[tuple[int, AclOperation, AclResourceType]]


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every field of a message, with its name."""
    if isinstance(value, Message):
        for name in value.__slots__:
            found = getattr(value, name)
            yield name, found
            yield from walk(found)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from walk(one)


def denials(answer: Message) -> set[ErrorCode]:
    return {ErrorCode(v) for name, v in walk(answer) if name in CODES and v in DENIALS}


def says(answer: Message, name: str) -> bool:
    return any(value == name for _, value in walk(answer))


def operations(answer: Message) -> set[int]:
    """What the answer tells of what may be done to the cluster."""
    return {v for name, v in walk(answer) if name == "cluster_authorized_operations"}


async def furnish(box: Box) -> None:
    """A topic with a record, a group that committed, a share group with a member."""
    await box.broker.cluster.create_topics([NewTopic(TOPIC, 1)])
    await box.broker.cluster.ensure_topics(
        [CONSUMER_OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC]
    )
    await box.append(TOPIC, 1_000)
    place = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    wanted = OffsetCommitRequestTopic(name=TOPIC, partitions=[place])
    commit = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, topics=[wanted])
    await box.ask(commit, OffsetCommitResponse, 9, ROOT)
    join = ShareGroupHeartbeatRequest(
        group_id=SHARERS, member_id=ASSIGNED, member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    answer = await box.ask(join, ShareGroupHeartbeatResponse, 1, ROOT)
    assert answer.assignment is not None


async def begin(box: Box) -> None:
    """The member's session, which an acknowledgement needs."""
    opening = fresh("a share fetch", box)
    answer = await box.ask(opening.request, ShareFetchResponse, opening.version, ROOT)
    assert not answer.error_code


async def transact(box: Box) -> None:
    """A transaction that is open and has a partition."""
    init = InitProducerIdRequest(
        transactional_id="tx", transaction_timeout_ms=10_000, producer_id=-1, producer_epoch=-1
    )
    known = await box.ask(init, InitProducerIdResponse, 5, ROOT)
    assert not known.error_code
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=known.producer_id,
        v3_and_below_producer_epoch=known.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])],
    )
    answer = await box.ask(add, AddPartitionsToTxnResponse, 3, ROOT)
    assert not answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code


def state(box: Box) -> object:
    """All that survives, and who is there: internal topics hold what groups and share groups know."""
    broker = box.broker
    logs = sorted(
        (str(p.name), p.log.start_offset, p.log.end_offset) for p in broker.logs.partitions() if p is not None
    )
    return list(broker.cluster._shard.records()), logs, len(list(broker.shares.owners()))


async def ask(box: Box, case: Case) -> Message:
    return await box.ask(case.request, case.answer, case.version, CLIENT)


def fresh(name: str, box: Box) -> Case:
    """The case by its name, with the topic's id in it and bytes that no broker has written into."""
    topic = box.broker.cluster.topic(TOPIC)
    assert topic is not None
    return next(case for case in cases(topic.topic_id) if case.name == name)


def overhear(box: Box, key: int, asked: Asked) -> None:
    guard = box.broker.guard
    assert guard is not None
    real = guard._authorizer
    assert isinstance(real, AclAuthorizer)

    class Listening:
        def allows(self, *question: Any) -> bool:
            asked.add((key, question[2], question[3]))
            return real.allows(*question)

        def allows_some(self, *question: Any) -> bool:
            asked.add((key, question[2], question[3]))
            return real.allows_some(*question)

        def changed(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
            real.changed(added, removed)

    guard._authorizer = Listening()


async def play(name: str, rights: int | None, asked: Asked | None = None) -> tuple[Case, Message, bool]:
    """The answer with the first so many of the rights, or all of them, and whether anything changed."""
    async with in_a_box(**LOCKED) as box:
        await furnish(box)
        case = fresh(name, box)
        if case.request.API_KEY == ShareAcknowledgeRequest.API_KEY:
            await begin(box)
        if case.request.API_KEY in (DescribeTransactionsRequest.API_KEY, ListTransactionsRequest.API_KEY):
            await transact(box)
        needed = case.needs if rights is None else case.needs[:rights]
        answers = await box.broker.cluster.create_acls(needed)
        assert answers == [None] * len(needed)
        if asked is not None:
            overhear(box, case.request.API_KEY, asked)
        before = state(box)
        answer = await ask(box, case)
        return case, answer, state(box) != before


@pytest.mark.parametrize("name", CASES)
def test_without_any_right_it_is_refused_and_nothing_changes(name: str) -> None:
    case, answer, is_changed = run(play(name, 0))
    if case.code is not None:
        assert denials(answer) == {case.code}
    elif case.hides:
        assert not says(answer, case.hides)
    elif not operations(answer):
        assert denials(answer) & {ErrorCode.GROUP_AUTHORIZATION_FAILED}
    else:
        assert operations(answer) == {0}
    assert not is_changed


@pytest.mark.parametrize("name", [case.name for case in cases(ZERO_UUID) if len(case.needs) > 1])
def test_with_all_rights_but_the_last_it_is_refused_too(name: str) -> None:
    case, answer, is_changed = run(play(name, -1))
    if case.hides:
        assert not says(answer, case.hides)
        return
    is_group = case.needs[-1].resource_type is AclResourceType.GROUP
    missing = ErrorCode.GROUP_AUTHORIZATION_FAILED if is_group else ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert denials(answer) == {missing}
    if not case.name.startswith("a topic created"):  # it is made, and its configs are not told
        assert not is_changed


@pytest.mark.parametrize("name", CASES)
def test_with_exactly_the_needed_rights_it_is_allowed(name: str) -> None:
    case, answer, _ = run(play(name, None))
    assert not denials(answer)
    if case.hides:
        assert says(answer, case.hides)
    assert not operations(answer) & {0}


def test_what_apis_ask_for_is_what_the_table_says() -> None:
    asked: Asked = set()
    for name in CASES:
        for rights in (0, None):
            run(play(name, rights, asked))
    told = {(key, right.operation, right.resource) for key, row in RIGHTS.items() for right in row}
    #: authorized-operations fields look at every operation there is
    looks = {3, 15, 60, 69, 75, 77}
    assert {one for one in asked if one[0] not in looks} <= told
    #: no member of a consumer group with an assignment is there
    assert told - asked <= {(69, AclOperation.DESCRIBE, AclResourceType.TOPIC)}


def test_every_api_has_a_row_and_every_row_that_asks_has_a_case() -> None:
    load_handlers()
    keys = {api.key for api in apis()}
    assert keys == RIGHTS.keys(), "a new handler says in the table of rights what it asks for"
    played = {case.request.API_KEY for case in cases(ZERO_UUID)}
    assert played == {key for key, row in RIGHTS.items() if row}
