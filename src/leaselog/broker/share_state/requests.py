"""What the five share-state APIs have in common: many keys in a request, each decided and answered for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar
from uuid import UUID

from leaselog.broker.share_state.coordinator import ShareCoordinator
from leaselog.coordination.share_state_commands import KeyedCommand, ShareStateAnswer
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused, TopicId

__all__ = ["ask_each", "error_of"]

P = TypeVar("P", bound="_AskedPartition")
R = TypeVar("R")
P_co = TypeVar("P_co", bound="_AskedPartition", covariant=True)


class _AskedPartition(Protocol):
    partition: int


class _AskedTopic(Protocol[P_co]):
    @property
    def topic_id(self) -> UUID: ...

    @property
    def partitions(self) -> Iterable[P_co]: ...


def ask_each(
    coordinator: ShareCoordinator,
    group_id: str,
    topics: Iterable[_AskedTopic[P]],
    command: Callable[[SharePartitionKey, P], KeyedCommand],
    result: Callable[[int, ShareStateAnswer], R],
    denied: Refused | None,
) -> Awaitable[list[tuple[UUID, list[R]]]]:
    """Decides everything now; the results come when all is safe. Nothing at all for a request without a group.

    ``denied``: why nothing is done, which each is answered.
    """
    asked = [
        (
            topic.topic_id,
            [
                (
                    p.partition,
                    denied
                    or coordinator.ask(
                        command(SharePartitionKey(GroupId(group_id), TopicId(topic.topic_id), p.partition), p)
                    ),
                )
                for p in topic.partitions
            ],
        )
        for topic in (topics if group_id else ())
    ]
    return _results(asked, result)


async def _results(
    asked: list[tuple[UUID, list[tuple[int, Refused | asyncio.Future[ShareStateAnswer]]]]],
    result: Callable[[int, ShareStateAnswer], R],
) -> list[tuple[UUID, list[R]]]:
    return [
        (
            topic_id,
            [
                result(partition, answer if isinstance(answer, Refused) else await answer)
                for partition, answer in partitions
            ],
        )
        for topic_id, partitions in asked
        if partitions
    ]


def error_of(answer: ShareStateAnswer) -> tuple[ErrorCode, str | None]:
    return (answer.code, answer.message) if isinstance(answer, Refused) else (ErrorCode.NONE, None)
