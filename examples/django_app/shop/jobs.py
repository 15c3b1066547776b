"""The queue of the shop: how a job gets into it, and what is done with one."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from django.db import close_old_connections, transaction
from django.utils import timezone

from leaselog.client import Producer, Reject, ShareRecord, from_json
from shop.models import Order

SEND_TIMEOUT_S = 10


@cache
def producer() -> Producer[Any, Any]:
    """One for the process. A server that forks its processes may make it before: in a child it begins anew."""
    return Producer(settings.LEASELOG_BOOTSTRAP_SERVERS, value_serializer=from_json)


def pack_later(order: Order) -> None:
    """When the transaction is committed, and not at all if it is rolled back."""
    transaction.on_commit(lambda: send(order))


def send(order: Order) -> None:
    producer().send(settings.LEASELOG_TOPIC, {"order": order.pk}).result(SEND_TIMEOUT_S)


def pack(record: ShareRecord[Any, Any]) -> None:
    """May be called twice for an order, and packs it once."""
    close_old_connections()  # as Django does around each request
    try:
        number = record.value["order"]
        if not Order.objects.filter(pk=number).exists():
            raise Reject(f"there is no order {number}")
        Order.objects.filter(pk=number, packed_at=None).update(packed_at=timezone.now())
    finally:
        close_old_connections()
