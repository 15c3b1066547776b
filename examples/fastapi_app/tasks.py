"""What the worker does with a job."""

from __future__ import annotations

from typing import Any

from leaselog.client import Reject, ShareRecord


def pack(record: ShareRecord[Any, Any]) -> None:
    item = record.value["item"]
    if not item:
        raise Reject("nothing ordered")  # for good: the record becomes a dead letter
    print("packed", item, flush=True)
