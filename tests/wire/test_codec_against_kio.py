"""kio, whose codecs somebody else generated, reads what we write and writes it again: the bytes must be the same."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import re
import uuid
from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from leaselog.wire import codec
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages import MODULES
from leaselog.wire.schema import Field, Message

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
    found = []
    for module_name in MODULES.values():
        module = importlib.import_module(f"leaselog.wire.messages.{module_name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Message) and kind.API_KEY >= 0:
                found += [
                    (kind, v)
                    for v in range(kind.VERSIONS.first, kind.VERSIONS.last + 1)
                    if (kind.NAME, v) not in NOT_IN_KIO
                ]
    return found


def make(kind: type[Message], version: int, chance: random.Random) -> Message:
    """A message with a random value in every field that the version has."""
    message = kind()
    for field in kind.FIELDS:
        if version in field.versions:
            setattr(message, field.name, _value(field, version, chance))
    return message


def _value(field: Field, version: int, chance: random.Random) -> Any:
    struct_tag = field.tag >= 0 and not isinstance(field.kind, str) and not field.array
    if chance.random() < 0.2 and (struct_tag or (version in field.nullable and version not in field.tagged)):
        return None
    if field.array:
        return [_one(field, version, chance) for _ in range(chance.randrange(3))]
    return _one(field, version, chance)


def _one(field: Field, version: int, chance: random.Random) -> Any:
    if not isinstance(field.kind, str):
        return make(field.kind, version, chance)
    if field.kind == "string":
        return chance.choice(["", "a", "žluťoučký kůň", "x" * 200])
    if field.kind in ("bytes", "records"):
        return chance.randbytes(chance.choice([0, 1, 127, 300]))
    if field.kind == "uuid":
        return uuid.UUID(int=chance.getrandbits(128) | 1)
    if field.kind == "bool":
        return chance.random() < 0.5
    if field.kind == "float64":
        return chance.choice([0.0, 1.5, -2.25])
    if field.name.endswith("error_code"):
        return chance.randrange(-1, 134)
    if re.search(r"(_ms|timestamp|time)$", field.name):
        # kio makes times of these, and its times do not take every number
        return chance.choice([0, 1, 999, 86_400_000])
    bits = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}[field.kind]
    return chance.choice([0, 1, (1 << bits) - 1, chance.getrandbits(bits)])


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
