"""kio, whose codecs somebody else generated, reads what we write and writes it again: the bytes must be the same."""

from __future__ import annotations

import contextlib
import io
import random

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from fuzz.messages import make, protocol_messages
from leaselog.wire import codec
from leaselog.wire.errors import DecodeError
from leaselog.wire.extensions import FIRST_EXTENSION_KEY
from leaselog.wire.schema import Message

CASES_EACH = 4
#: newer than kio's definitions
NOT_IN_KIO = {
    ("ApiVersionsRequest", 5), ("ApiVersionsResponse", 5), ("TxnOffsetCommitRequest", 6),
    ("TxnOffsetCommitResponse", 6), ("DeleteGroupsRequest", 3), ("DeleteGroupsResponse", 3),
    ("StreamsGroupHeartbeatRequest", 1), ("StreamsGroupHeartbeatResponse", 1),
    ("StreamsGroupDescribeRequest", 1), ("StreamsGroupDescribeResponse", 1),
    ("UnregisterControllerRequest", 0), ("UnregisterControllerResponse", 0),
    ("StreamsGroupTopologyDescriptionUpdateRequest", 0), ("StreamsGroupTopologyDescriptionUpdateResponse", 0),
}  # fmt: skip


def top_messages() -> list[tuple[type[Message], int]]:
    return [
        (kind, version)
        for kind, version in protocol_messages()
        if kind.API_KEY < FIRST_EXTENSION_KEY and (kind.NAME, version) not in NOT_IN_KIO
    ]


@pytest.mark.parametrize(("kind", "version"), top_messages(), ids=lambda x: getattr(x, "NAME", str(x)))
def test_kio_writes_the_same_bytes(kind: type[Message], version: int) -> None:
    load = load_request_schema if kind.NAME.endswith("Request") else load_response_schema
    schema = load(kind.API_KEY, version)
    chance = random.Random(f"{kind.NAME} {version}")
    for _ in range(CASES_EACH):
        ours = codec.encode(make(kind, version, chance), version)
        entity, read = entity_reader(schema)(ours, 0)
        assert read == len(ours)
        out = io.BytesIO()
        entity_writer(schema)(out, entity)
        assert out.getvalue() == ours


@pytest.mark.parametrize(("kind", "version"), top_messages(), ids=lambda x: getattr(x, "NAME", str(x)))
def test_what_is_written_reads_back(kind: type[Message], version: int) -> None:
    chance = random.Random(f"{kind.NAME} {version} back")
    for _ in range(CASES_EACH):
        message = make(kind, version, chance)
        assert codec.decode(kind, version, codec.encode(message, version)) == message


@pytest.mark.parametrize(("kind", "version"), top_messages(), ids=lambda x: getattr(x, "NAME", str(x)))
def test_damaged_bytes_raise_the_one_error_family(kind: type[Message], version: int) -> None:
    chance = random.Random(f"{kind.NAME} {version} damaged")
    for _ in range(CASES_EACH):
        data = bytearray(codec.encode(make(kind, version, chance), version))
        damaged = chance.choice([_cut, _flip, _grow])(data, chance)
        with contextlib.suppress(DecodeError):
            codec.decode(kind, version, damaged)


def _cut(data: bytearray, chance: random.Random) -> bytearray:
    return data[: chance.randrange(len(data) + 1)]


def _flip(data: bytearray, chance: random.Random) -> bytearray:
    for _ in range(3):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return data


def _grow(data: bytearray, chance: random.Random) -> bytearray:
    return data + chance.randbytes(chance.randrange(1, 9))
