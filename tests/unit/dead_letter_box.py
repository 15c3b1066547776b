"""A broker in a box with dead letters in it, and clusters of it that die at a chosen request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from admin_cluster import BoxCluster
from broker_in_a_box import Box, in_a_box

from leaselog.admin import AsyncAdmin, NewTopic, describe_groups
from leaselog.admin.dead_letters.log_reader import read_batches
from leaselog.admin.dead_letters.topics import spans_of
from leaselog.broker.dead_letters.records import Origin, letter
from leaselog.model import GroupId, TopicPartition
from leaselog.wire.dead_letter_headers import REDRIVE_LETTER
from leaselog.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

__all__ = ["GROUP", "DeadLetterBox", "Killed", "MortalCluster", "a_letter", "dead_letter_box", "put_back_in"]

M = TypeVar("M", bound=Message)
GROUP = "packing"
NOW_MS = 1_700_000_000_000


class Killed(BaseException):
    """The process that asked is gone."""


class MortalCluster(BoxCluster):
    """Dies at request number ``dies_at``, or the first of that name: with it carried out, or (``unheard``) not.

    With ``lives`` it does not die: whoever asked is cancelled, and may still clean up.
    """

    def __init__(
        self, box: Box, dies_at: int | str | None = None, *, unheard: bool = False, lives: bool = False
    ) -> None:
        super().__init__(box)
        self._lives = lives
        self._dies_at = dies_at
        self._unheard = unheard
        self._is_dead = False
        #: what was on its way
        self.last_words: tuple[Message, type[Message]] | None = None

    async def request(self, message: Message, kind: type[M], *, node: Any = None) -> M:
        if self._is_dead:
            raise Killed
        if self._dies_at in (len(self.asked), message.NAME):
            self._is_dead, self._dies_at = not self._lives, None
            self.last_words = (message, kind)
            if not self._unheard:
                await super().request(message, kind, node=node)
            raise asyncio.CancelledError if self._lives else Killed
        return await super().request(message, kind, node=node)


class DeadLetterBox:
    def __init__(self, box: Box) -> None:
        self.box = box
        self.admin = AsyncAdmin.over(self.cluster())

    def cluster(
        self, dies_at: int | str | None = None, *, unheard: bool = False, lives: bool = False
    ) -> MortalCluster:
        return MortalCluster(self.box, dies_at, unheard=unheard, lives=lives)

    async def topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        values = {key.replace("_", "."): value for key, value in configs.items()}
        await self.admin.create_topics([NewTopic(name, partitions, configs=values)])

    async def append(self, topic: str, records: Iterable[Record], partition: int = 0) -> None:
        log = self.box.broker.logs.partition(topic, partition)
        assert log is not None
        outcome = await log.append(build_batch(records), now_ms=self.box.broker.now_ms())
        assert hasattr(outcome, "end_offset"), outcome

    async def records(self, topic: str) -> list[Record]:
        """All that the topic has, partition after partition."""
        found: list[Record] = []
        for span in await spans_of(self.cluster(), topic):
            async for batch in read_batches(self.cluster(), span.where, span.start, span.end):
                found += batch.records()
        return found

    async def forget_the_dead(self) -> None:
        """As the session time-out would."""
        group = f"{GROUP}-redrive"
        found = (await describe_groups(self.cluster(), [group]))[group]
        for member in getattr(found, "members", ()):
            await self.cluster().request(
                LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member.member_id)]),
                LeaveGroupResponse,
            )


@asynccontextmanager
async def dead_letter_box() -> AsyncIterator[DeadLetterBox]:
    async with in_a_box(
        offsets_topic_num_partitions="1",
        group_initial_rebalance_delay_ms="0",
        group_min_session_timeout_ms="100",
    ) as box:
        yield DeadLetterBox(box)


def a_letter(
    topic: str,
    partition: int,
    offset: int,
    original: Record | None,
    *,
    group: str = GROUP,
    count: int = 5,
    cause: str = "Offset rejected by client.",
    time_ms: int = NOW_MS,
) -> Record:
    """As a broker writes it."""
    origin = Origin(TopicPartition(topic, partition), offset, GroupId(group), count, cause)
    return letter(origin, original, (), time_ms)


def put_back_in(records: Iterable[Record]) -> list[str]:
    """The letters that records say they come from."""
    return [value.decode() for r in records for name, value in r.headers if name == REDRIVE_LETTER and value]
