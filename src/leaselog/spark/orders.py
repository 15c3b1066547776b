"""Made-up orders for the pipeline: the same number is always the same order, so anybody can say what has to come of it.

Pure. One in fifty can never be processed, in one of four ways.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

__all__ = ["CATEGORIES", "VAT_PERCENT", "Item", "catalogue", "is_malformed", "order"]


class Item(NamedTuple):
    item: str
    category: str
    unit_cents: int


#: with the price of the cheapest item in cents, and how many times that the dearest one costs
CATEGORIES = {
    "books": (700, 8),
    "garden": (1_500, 20),
    "kitchen": (2_500, 30),
    "music": (6_000, 50),
    "bicycles": (25_000, 20),
}
VAT_PERCENT = {"AT": 20, "DE": 19, "DK": 25, "FR": 20, "IT": 22, "NL": 21, "PL": 23, "SE": 25}

_ITEMS = 500
_COUNTRIES = tuple(VAT_PERCENT)
_CUSTOMERS = 20_000
#: every one in so many, and with which remainder
_MALFORMED_EVERY, _MALFORMED_AT = 50, 7


def catalogue() -> list[Item]:
    """What can be ordered."""
    return [_item(number) for number in range(_ITEMS)]


def _item(number: int) -> Item:
    category, (least_cents, spread) = list(CATEGORIES.items())[number % len(CATEGORIES)]
    dearness = sum(_dice("item", number)) / (4 * 0xFFFF)  # of four dice: the middle is common
    return Item(f"sku-{number}", category, round(least_cents * spread**dearness))


def is_malformed(number: int) -> bool:
    return number % _MALFORMED_EVERY == _MALFORMED_AT


def order(number: int) -> tuple[bytes, bytes]:
    """The key and the value of its record."""
    who, what, how_many, where = _dice("order", number)
    content: dict[str, object] = {
        "order": number,
        "customer": f"customer-{who % _CUSTOMERS}",
        "item": f"sku-{what % _ITEMS}",
        "quantity": 1 + (how_many & how_many >> 8 & 0x0F).bit_count(),
        "country": _COUNTRIES[where % len(_COUNTRIES)],
    }
    key = str(content["customer"]).encode()
    if is_malformed(number):
        return key, _spoiled(content, number // _MALFORMED_EVERY % 4)
    return key, _json(content)


def _spoiled(content: dict[str, object], how: int) -> bytes:
    match how:
        case 0:
            return _json(content)[:-9]  # cut off
        case 1:
            return _json(content | {"item": "sku-none"})
        case 2:
            return _json(content | {"quantity": 0})
        case _:
            return b"\xff\xfe no order at all"


def _json(content: dict[str, object]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _dice(what: str, number: int) -> tuple[int, ...]:
    """Four numbers of 16 bits that look like chance and are always the same."""
    digest = hashlib.blake2b(f"{what} {number}".encode(), digest_size=8).digest()
    return tuple(int.from_bytes(digest[i : i + 2], "big") for i in range(0, 8, 2))
