"""Orders are packed when their transaction is committed, and only then; the worker is the management command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest


def packed(order) -> bool:
    order.refresh_from_db()
    return order.packed_at is not None


def test_an_order_is_packed_by_the_command_once_it_is_committed(
    queue, leaselog_topic: str, leaselog_group: str
) -> None:
    from django.db import transaction

    from shop.jobs import pack_later
    from shop.models import Order

    with transaction.atomic():
        order = Order.objects.create(item="a lamp")
        pack_later(order)
    environment = {**os.environ, "LEASELOG_TOPIC": leaselog_topic, "LEASELOG_GROUP": leaselog_group}
    with subprocess.Popen([sys.executable, "manage.py", "work"], env=environment) as worker:
        deadline = time.monotonic() + 60
        while not packed(order) and time.monotonic() < deadline:
            time.sleep(0.05)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    assert packed(order)


def test_what_is_rolled_back_is_never_sent(queue, leaselog_share_consumer) -> None:
    from django.db import transaction

    from shop.jobs import pack_later
    from shop.models import Order

    with transaction.atomic():
        pack_later(Order.objects.create(item="a lamp"))
        transaction.set_rollback(True)
    assert leaselog_share_consumer.poll(0.5) == []


def test_an_order_whose_job_was_lost_is_sent_again(queue, leaselog_share_consumer) -> None:
    from django.core.management import call_command

    from shop.models import Order

    Order.objects.all().delete()
    lost = Order.objects.create(item="a chair")
    call_command("order", "--missing")
    (record,) = leaselog_share_consumer.poll(10)
    assert record.value == b'{"order":%d}' % lost.pk


def test_a_job_without_an_order_is_refused_for_good_and_one_that_comes_twice_does_no_harm(queue) -> None:
    from types import SimpleNamespace

    from leaselog.client import Reject
    from shop.jobs import pack
    from shop.models import Order

    with pytest.raises(Reject, match="there is no order 0"):
        pack(SimpleNamespace(value={"order": 0}))
    order = Order.objects.create(item="a table")
    pack(SimpleNamespace(value={"order": order.pk}))
    order.refresh_from_db()
    first = order.packed_at
    pack(SimpleNamespace(value={"order": order.pk}))
    order.refresh_from_db()
    assert order.packed_at == first is not None
