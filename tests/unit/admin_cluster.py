"""A cluster of one broker in a box: the admin side talks to the real handlers, without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from broker_in_a_box import Box, in_a_box

from leaselog.broker.net.api import api_of
from leaselog.client import UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.wire.schema import Message

M = TypeVar("M", bound=Message)

__all__ = ["BoxCluster", "box_cluster"]


class BoxCluster(Cluster):
    """``answers`` are given first, by the API's name, in turn; an exception is raised, None lets the broker answer."""

    def __init__(self, box: Box, **answers: list[Message | Exception | None]) -> None:
        super().__init__("127.0.0.1:1", api_timeout_ms=5_000)
        self.box = box
        self.answers = answers
        self.asked = list[str]()
        #: not served here
        self.missing = set[str]()

    async def request(self, message: Message, kind: type[M], *, node: Any = None) -> M:
        name = message.NAME.removesuffix("Request")
        self.asked.append(name)
        if self.answers.get(name):
            answer = self.answers[name].pop(0)
            if isinstance(answer, Exception):
                raise answer
            if answer is not None:
                assert isinstance(answer, kind)
                return answer
        api = api_of(message.API_KEY)
        if api is None or name in self.missing:
            raise UnsupportedVersion(f"the broker does not serve {name}")
        return await self.box.ask(message, kind, min(api.versions.last, message.VERSIONS.last))


@asynccontextmanager
async def box_cluster(**answers: list[Message | Exception | None]) -> AsyncIterator[BoxCluster]:
    async with in_a_box(offsets_topic_num_partitions="2", num_partitions="1") as box:
        yield BoxCluster(box, **answers)
