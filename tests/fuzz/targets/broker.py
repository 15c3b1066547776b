"""A whole broker in memory, new for every input, and what one client sends it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

from broker_in_a_box import in_a_box

from fuzz.socketless import Escaped, send
from fuzz.targets.target import TOPIC_ID, Unwanted
from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.config.listeners import read_listeners
from leaselog.broker.net import connection as connection_module
from leaselog.broker.net.api import load_handlers

__all__ = ["broker", "logins"]

load_handlers()
_LOG = connection_module.log
#: the password is random, as an input could be anything
LOCKED = {
    "listeners": "IN://127.0.0.1:0",
    "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.in.plain.sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{token_hex()}";'
    ),
    "listener.name.in.oauthbearer.sasl.server.callback.handler.class": "fuzz.targets.broker:no_token",
    "connection.failed.authentication.delay.ms": "0",
}


async def no_token(token: str) -> None:
    """Takes none."""


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


def logins(data: bytes) -> None:
    """What strangers send where a login is asked for. None of it is a password: who gets in is a finding."""
    if len(data) < 4:
        raise Unwanted
    with _nothing_escapes(), asyncio.Runner() as runner:
        runner.run(_knocked(data))


async def _knocked(data: bytes) -> None:
    async with in_a_box(**LOCKED) as box:
        (listener,) = read_listeners(box.broker.config)
        box.broker.logins.open([listener])
        await send(box.broker, *_frames(data), listener=listener)
        entered = [count for (_, _, is_let_in, _), count in box.broker.metrics.logins.items() if is_let_in]
        assert entered == [], "nobody gets in without a password"


def _frames(stream: bytes) -> list[bytes]:
    frames = []
    while len(stream) >= 4:
        size = min(int.from_bytes(stream[:4], "big"), len(stream) - 4)
        frames.append(stream[4 : 4 + size])
        stream = stream[4 + size :]
    return frames


async def _answered(data: bytes) -> bytes:
    async with in_a_box(group_initial_rebalance_delay_ms="0") as box:
        await box.broker.cluster.create_topics([NewTopic("t", 2)])
        await box.append("t", 1_700_000_000_000)
        await box.broker.groups.start()
        try:
            topic = box.broker.cluster.topic("t")
            assert topic is not None
            frames = _frames(data.replace(TOPIC_ID.bytes, topic.topic_id.bytes))
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
