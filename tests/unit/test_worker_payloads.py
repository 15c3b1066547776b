"""What a handler gets is what its annotation says, or the record says plainly what is wrong with it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, NotRequired, TypedDict

import pydantic
import pytest

from leaselog.client import ShareRecord
from leaselog.client.worker.payloads import decode_for, result_bytes


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Item:
    name: str
    count: int = 1


@dataclass
class Order:
    number: int
    items: list[Item] = field(default_factory=list)
    note: str | None = None
    part_of: Order | None = None


class Address(TypedDict):
    street: str
    house: NotRequired[int]


class Model(pydantic.BaseModel):
    number: int
    when: datetime.date | None = None


Sku = NewType("Sku", str)
WHEN = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)


def decoded(kind: Any, value: bytes | None) -> Any:
    decode = decode_for(kind)
    assert decode is not None
    return decode(value)


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (bytes, b"\xff", b"\xff"),
        (str, "grün".encode(), "grün"),
        (dict, b'{"a": 1}', {"a": 1}),
        (dict[str, int], b'{"a": 1}', {"a": 1}),
        (list, b"[1]", [1]),
        (list[Item], b'[{"name": "lamp"}]', [Item("lamp")]),
        (tuple[int, str], b'[1, "a"]', (1, "a")),
        (tuple[int, ...], b"[1, 2]", (1, 2)),
        (set[int], b"[1, 1]", {1}),
        (int, b"7", 7),
        (float, b"7", 7.0),
        (bool, b"true", True),
        (Decimal, b'"1.10"', Decimal("1.10")),
        (object, b"[null]", [None]),
        (Sku, b'"x"', "x"),
        (Annotated[int, "of the shop"], b"7", 7),
        (int | str, b'"x"', "x"),
        (Literal["a", 1], b"1", 1),
        (Colour, b'"red"', Colour.RED),
        (uuid.UUID, f'"{uuid.UUID(int=1)}"'.encode(), uuid.UUID(int=1)),
        (datetime.datetime, json.dumps(WHEN.isoformat()).encode(), WHEN),
        (Address, b'{"street": "s", "more": 1}', {"street": "s"}),
        (
            Order,
            b'{"number": 1, "items": [{"name": "lamp", "count": 2}], "part_of": {"number": 0}, "newer": 1}',
            Order(1, [Item("lamp", 2)], None, Order(0)),
        ),
        (Model, b'{"number": "1", "when": "2026-01-02"}', Model(number=1, when=datetime.date(2026, 1, 2))),
        (list[Model], b'[{"number": 1}]', [Model(number=1)]),
        (Item | None, None, None),
        (bytes | None, None, None),
        (bytes | None, b"x", b"x"),
    ],
    ids=lambda value: str(value)[:40] if not isinstance(value, bytes) else "",
)  # fmt: skip
def test_a_payload_becomes_what_the_annotation_says(kind: Any, value: bytes | None, made: Any) -> None:
    got = decoded(kind, value)
    assert got == made
    assert type(got) is type(made)


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (str, b"\xff", "can't decode byte"),
        (dict, b"{", "Expecting property name"),
        (dict, b"[]", r"payload: expected an object, not \[\]"),
        (int, b"true", "payload: expected a whole number, not True"),
        (int, b"1.5", "payload: expected a whole number, not 1.5"),
        (Item, None, "expected Item, not a null value"),
        (Item, b"{}", r"payload: name missing \(Item\)"),
        (Item, b'{"name": 1}', "payload.name: expected a text, not 1"),
        (Order, b'{"number": 1, "items": [{"name": null}]}', r"payload.items\[0\].name: expected a text, not null"),
        (Order, b'{"number": 1, "part_of": {}}', r"payload.part_of: number missing \(Order\)"),
        (int | str, b"null", r"payload: expected int \| str, not null"),
        (Colour, b'"blue"', "payload: expected one of 'red', not 'blue'"),
        (Literal["a", 1], b"true", "payload: expected one of 'a', 1, not True"),
        (datetime.date, b'"soon"', "payload: expected a date as text, not 'soon'"),
        (tuple[int, str], b"[1]", "payload: expected a list of 2"),
        (Model, b'{"number": "x"}', "number"),
        (str | None, b"\xff", "can't decode byte"),
    ],
)  # fmt: skip
def test_a_payload_that_does_not_fit_says_where(kind: Any, value: bytes | None, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        decoded(kind, value)


@pytest.mark.parametrize("kind", [complex, object.__class__, dict[int, str], list[complex], bytes | int])
def test_an_annotation_that_no_payload_can_become_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="a payload cannot become"):
        decode_for(kind)


@pytest.mark.parametrize("kind", [ShareRecord, ShareRecord[bytes, bytes], Any])
def test_a_handler_of_the_record_gets_it_as_it_is(kind: Any) -> None:
    assert decode_for(kind) is None


@dataclasses.dataclass
class Sent:
    number: int
    when: datetime.datetime
    tags: set[str]
    colour: Colour = Colour.RED


@pytest.mark.parametrize(
    ("result", "made"),
    [
        (b"x", b"x"),
        (bytearray(b"x"), b"x"),
        ("grün", "grün".encode()),
        ({"a": [1, None]}, b'{"a":[1,null]}'),
        (7, b"7"),
        (Sent(1, WHEN, {"a"}), b'{"number":1,"when":"2026-01-02T03:04:00+00:00","tags":["a"],"colour":"red"}'),
        (Model(number=1), b'{"number":1,"when":null}'),
        ([Model(number=1), Decimal("1.1")], b'[{"number":1,"when":null},"1.1"]'),
    ],
    ids=str,
)  # fmt: skip
def test_a_result_is_bytes_text_or_json(result: object, made: bytes) -> None:
    assert result_bytes(result) == made


def test_a_result_that_cannot_be_said_is_refused() -> None:
    with pytest.raises(TypeError, match="a result cannot be object"):
        result_bytes({"a": object()})
