"""A whole broker in memory, new for every input, and what one client sends it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from broker_in_a_box import in_a_box

from fuzz.socketless import Escaped, send
from fuzz.targets.target import TOPIC_ID, Unwanted
from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.net import connection as connection_module
from leaselog.broker.net.api import load_handlers

__all__ = ["broker"]

load_handlers()
_LOG = connection_module.log


def broker(data: bytes) -> None:
    """Frames on a line. An exception that gets as far as a supervisor is a finding, as is half an answer."""
    if len(data) < 4:
        raise Unwanted
    with _nothing_escapes(), asyncio.Runner() as runner:
        sent = runner.run(_answered(data))
    while sent:
        size = int.from_bytes(sent[:4], "big")
        assert 4 <= size <= len(sent) - 4, "an answer is whole or not there"
        sent = sent[4 + size :]


async def _answered(data: bytes) -> bytes:
    async with in_a_box(group_initial_rebalance_delay_ms="0") as box:
        await box.broker.cluster.create_topics([NewTopic("t", 2)])
        await box.append("t", 1_700_000_000_000)
        await box.broker.groups.start()
        try:
            topic = box.broker.cluster.topic("t")
            assert topic is not None
            stream, frames = data.replace(TOPIC_ID.bytes, topic.topic_id.bytes), list[bytes]()
            while len(stream) >= 4:
                size = min(int.from_bytes(stream[:4], "big"), len(stream) - 4)
                frames.append(stream[4 : 4 + size])
                stream = stream[4 + size :]
            sent = bytes((await send(box.broker, *frames)).sent)
            assert len(box.broker.waiting_room) == 0, "who has gone waits for nothing"
            return sent
        finally:
            await box.broker.groups.stop()


@contextmanager
def _nothing_escapes() -> Iterator[None]:
    def escaped(event: str, **facts: object) -> None:
        raise Escaped(f"{event}: {facts}") from sys.exc_info()[1]

    before = _LOG.exception, _LOG.warning
    _LOG.exception, _LOG.warning = escaped, lambda event, **facts: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        _LOG.exception, _LOG.warning = before  # type: ignore[method-assign]
