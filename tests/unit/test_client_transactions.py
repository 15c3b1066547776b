"""What a producer's transactions make of answers: tried again, spoiled, fenced, in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from leaselog.client.errors import BrokerError, ClientError, IllegalState, RequestTimedOut
from leaselog.client.transactions import GroupMetadata, Transactions, checked_offsets
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from leaselog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


class Cluster:
    """Answers with what it is told, and tries again as often as it takes but for what ``gives_up``."""

    request_timeout_ms = 1_000

    def __init__(self, version: int = 2) -> None:
        self.version = version
        self.asked: list[Any] = []
        self.ends: list[Any] = []
        self.gives_up = False

    async def any_connection(self) -> Any:
        return SimpleNamespace(transaction_version=self.version)

    async def coordinator(self, key: str, key_type: int) -> Any:
        return key

    async def request(self, request: Any, kind: Any, *, node: Any) -> Any:
        self.asked.append(request)
        if isinstance(request, InitProducerIdRequest):
            return InitProducerIdResponse(producer_id=7, producer_epoch=len(self.asked))
        assert isinstance(request, EndTxnRequest)
        answer = self.ends.pop(0) if self.ends else EndTxnResponse(producer_id=7, producer_epoch=50)
        if isinstance(answer, ClientError):
            raise answer
        return answer

    async def retrying(self, attempt: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await attempt()
            except ClientError as failed:
                if not failed.is_retriable or self.gives_up:
                    raise


class Batches:
    def __init__(self) -> None:
        self.producers: list[tuple[int, int]] = []

    def become(self, producer_id: int, producer_epoch: int) -> None:
        self.producers.append((producer_id, producer_epoch))

    async def flush(self) -> None: ...

    async def drop_all(self, why: ClientError) -> None: ...


async def begun(cluster: Cluster, batches: Batches | None = None) -> Transactions:
    made: Any = cluster
    transactions = Transactions(made, batches or Batches(), "id", 60_000)
    await transactions.init()
    transactions.begin()
    await transactions.join([TopicPartition("t", 0)]) if cluster.version >= 2 else None
    return transactions


def test_what_may_be_tried_again_is_and_the_next_epoch_is_taken() -> None:
    async def story() -> None:
        cluster, batches = Cluster(), Batches()
        cluster.ends = [
            EndTxnResponse(error_code=ErrorCode.CONCURRENT_TRANSACTIONS),
            EndTxnResponse(error_code=ErrorCode.NOT_COORDINATOR),
        ]
        await (await begun(cluster, batches)).commit()
        assert len(cluster.asked) == 4
        assert batches.producers[-1] == (7, 50)

    asyncio.run(story())


def test_a_transaction_that_is_spoiled_can_only_be_aborted() -> None:
    async def story() -> None:
        transactions = await begun(Cluster())
        spoiled = BrokerError(ErrorCode.MESSAGE_TOO_LARGE)
        transactions.failed(spoiled)
        for call in (transactions.commit, transactions.check_open):
            with pytest.raises(BrokerError):
                await (call() or asyncio.sleep(0))  # type: ignore[func-returns-value]
        await transactions.abort()
        transactions.begin()
        transactions.check_open()

    asyncio.run(story())


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED])
def test_a_producer_that_is_fenced_is_so_for_ever(code: ErrorCode) -> None:
    async def story() -> None:
        cluster = Cluster()
        cluster.ends = [EndTxnResponse(error_code=code)]
        transactions = await begun(cluster)
        with pytest.raises(BrokerError):
            await transactions.commit()
        assert not transactions.may_abort
        with pytest.raises(BrokerError):
            transactions.begin()

    asyncio.run(story())


def test_a_commit_that_nobody_answered_is_asked_for_again_and_not_aborted() -> None:
    async def story() -> None:
        cluster = Cluster()
        cluster.ends, cluster.gives_up = [RequestTimedOut("no answer")], True
        transactions = await begun(cluster)
        with pytest.raises(RequestTimedOut):
            await transactions.commit()
        assert not transactions.may_abort
        with pytest.raises(IllegalState, match="commit_transaction again"):
            await transactions.abort()
        await transactions.commit()
        transactions.begin()

    asyncio.run(story())


def test_a_transaction_of_nothing_ends_without_a_word() -> None:
    async def story() -> None:
        cluster: Any = Cluster()
        transactions = Transactions(cluster, Batches(), "id", 60_000)
        await transactions.init()
        transactions.begin()
        await transactions.commit()
        assert len(cluster.asked) == 1

    asyncio.run(story())


def test_before_kip_890_a_spoiled_transaction_is_followed_by_an_epoch_of_its_own() -> None:
    async def story() -> None:
        cluster = Cluster(version=1)
        transactions = await begun(cluster)
        transactions.failed(BrokerError(ErrorCode.MESSAGE_TOO_LARGE))
        await transactions.abort()
        again = cluster.asked[-1]
        assert (again.producer_id, again.producer_epoch) == (7, 1)

    asyncio.run(story())


def test_offsets_are_checked_before_anybody_is_asked() -> None:
    where = TopicPartition("t", 0)
    assert checked_offsets({where: 5}, "g")[1] == GroupMetadata("g")
    with pytest.raises(ValueError, match="negative"):
        checked_offsets({where: -1}, "g")
    with pytest.raises(ValueError, match="empty"):
        checked_offsets({where: 1}, "")
