"""Every API is sent identifiers at and beyond every bound, while groups that have nothing to do with it are at work:
these lose nothing, whatever the answer.

All texts of a request are the same, so that a name is met wherever the broker keeps one. A text that an encoder of ours
would not write is put in by hand. What the broker cannot take ends the connection, as on Apache Kafka; nothing that
escapes a handler passes, nor does any owner begin anew.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from broker_in_a_box import Box
from handlers.share_member import ACCEPT, Group, Member, a_group, codes, ranges, run

from fuzz.socketless import Escaped, send
from leaselog.broker.groups import owner as group_owner
from leaselog.broker.net import connection as connection_module
from leaselog.broker.net.api import Api, apis, load_handlers
from leaselog.broker.share_state import owner as share_coordinator_owner
from leaselog.wire.codec import encode, is_flexible
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from leaselog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from leaselog.wire.primitives import encode_uvarint
from leaselog.wire.schema import Field, Message

load_handlers()

TEXTS = {
    "empty": b"",
    "blank": b" ",
    "a topic's longest": b"x" * 249,
    "one more": b"x" * 250,
    "a file name's longest": b"x" * 255,
    "a text's longest": b"x" * 32_767,
    "a text's longest, of two bytes each": "é".encode() * 16_383,
    "a text's longest, of two units each": "😀".encode() * 8_191,
    "one byte more": b"x" * 32_768,
    "megabytes": b"x" * 3_000_000,
    "a zero": b"a\x00b",
    "the way out": b"../../etc",
    "half a pair": b"\xed\xa0\x80",
    "no text": b"\xff\xfe",
}
#: stands for the text while the request is encoded
MARK = "<%TEXT%>"
#: what makes of an odd request one that gets as far as to be written down
USUAL: dict[str, Any] = {
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 60_000,
    "member_epoch": 0,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "num_partitions": 1,
    "replication_factor": 1,
    "max_wait_ms": 0,
    "timeout_ms": 100,
    "start_offset": 0,
    "share_session_epoch": 0,
}


def odd(kind: type[Message], version: int) -> Message:
    return kind(**{f.name: _value(f, version) for f in kind.FIELDS if version in f.versions})  # type: ignore[call-arg]


def _value(field: Field, version: int) -> Any:
    one: Any
    if field.name in USUAL:
        return USUAL[field.name]
    if not isinstance(field.kind, str):
        one = odd(field.kind, version)
    else:
        one = {"string": MARK, "bytes": b"", "records": b"", "uuid": UUID(int=7), "bool": False}.get(
            field.kind, 0
        )
    return [one] if field.array else one


def frame(api: Api, version: int, text: bytes) -> bytes | None:
    """None if this version has no room for it."""
    flexible = is_flexible(api.request, version)
    body = encode(odd(api.request, version), version)
    mark = MARK.encode()
    if flexible:
        body = body.replace(encode_uvarint(len(mark) + 1) + mark, encode_uvarint(len(text) + 1) + text)
    elif len(text) > 32_767:
        return None
    else:
        body = body.replace(struct.pack(">h", len(mark)) + mark, struct.pack(">h", len(text)) + text)
    client = text[:32_767]
    head = struct.pack(">hhih", api.key, version, 7, len(client)) + client
    return head + (b"\x00" if flexible else b"") + body


class Innocents:
    """A share group and a consumer that commits, both on a topic of their own."""

    def __init__(self, group: Group, member: Member) -> None:
        self.group = group
        self.member = member
        self.done = 0

    async def work(self, why: str) -> None:
        """One record through the share group, one commit that is read back."""
        at = self.done
        await self.group.produce(1)
        assert ranges(await self.member.fetch()) == [(at, at, 1)], why
        assert codes(await self.member.acknowledge({0: [(at, at, [ACCEPT])]})) == {0: 0}, why
        self.done += 1
        await self._commit(at, why)

    async def _commit(self, offset: int, why: str) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
        ask = OffsetCommitRequest(
            group_id="quiet", generation_id_or_member_epoch=-1, member_id="", topics=topics
        )
        box = self.group.box
        committed = await box.ask(ask, OffsetCommitResponse, 9)
        assert [p.error_code for p in committed.topics[0].partitions] == [0], why
        wanted = OffsetFetchRequestGroup(
            group_id="quiet", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
        )
        found = await box.ask(OffsetFetchRequest(groups=[wanted]), OffsetFetchResponse, 9)
        assert found.groups[0].topics[0].partitions[0].committed_offset == offset, why


@asynccontextmanager
async def at_work() -> AsyncIterator[tuple[Box, Innocents]]:
    settings = {
        "share_coordinator_state_topic_num_partitions": "1",
        "offsets_topic_num_partitions": "1",
        "group_initial_rebalance_delay_ms": "0",
    }
    async with a_group(partitions=1, **settings) as group:
        await group.box.broker.cluster.ensure_topic("__consumer_offsets")
        await group.box.broker.groups.start()
        innocents = Innocents(group, group.member(connection=99))  # the others are all the first
        await innocents.work("before anything")
        yield group.box, innocents
        await group.box.broker.groups.stop()


@pytest.fixture(autouse=True)
def _nothing_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def escaped(event: str, **facts: object) -> None:
        raise Escaped(f"{event}: {str(facts)[:500]}")

    for module, level in (
        (connection_module, "exception"),
        (group_owner, "exception"),
        (group_owner, "error"),
        (share_coordinator_owner, "exception"),
        (share_coordinator_owner, "error"),
    ):
        monkeypatch.setattr(module.log, level, escaped)
    monkeypatch.setattr(connection_module.log, "warning", lambda event, **facts: None)


def versions(api: Api) -> list[int]:
    """The newest and the oldest; and the newest that is not flexible."""
    first, last = api.versions
    stiff = [v for v in range(first, last + 1) if not is_flexible(api.request, v)]
    return sorted({first, last, *stiff[-1:]})


@pytest.mark.parametrize("name", TEXTS)
def test_innocent_groups_lose_nothing_to_a_text(name: str) -> None:
    async def main() -> None:
        async with at_work() as (box, innocents):
            for api in apis():
                for version in versions(api):
                    sent = frame(api, version, TEXTS[name])
                    if sent is None:
                        continue
                    why = f"{api.name} v{version} with {name}"
                    try:
                        await send(box.broker, sent)
                    except Exception as escaped:
                        raise AssertionError(why) from escaped
                await innocents.work(f"{api.name} with {name}")
            assert {"active"} == {
                *box.broker.groups.owner_states(),
                *box.broker.share_coordinator.owner_states(),
            }

    run(main())


def test_a_member_is_given_an_id_that_fits_however_long_its_clients_is() -> None:
    async def main() -> None:
        async with at_work() as (box, _):
            for prefix in ("x" * 32_767, "é" * 16_383, "😀" * 8_191):
                member_id = box.broker.groups.fresh_member_id(prefix)
                assert len(member_id.encode()) <= 32_767
                assert member_id.startswith(prefix[:8_000])
            assert box.broker.groups.fresh_member_id("consumer-1").startswith("consumer-1-")

    run(main())
