"""What a handler returned, produced to a topic before its record is accepted.

The broker has the result when the record is accepted, or the record comes again: whoever dies between the two produces
the result twice. Where it came from is in a header, by which a reader can tell.
"""

from __future__ import annotations

from typing import Any

from leaselog.client.async_producer import AsyncProducer
from leaselog.client.worker.handlers import AnyRecord
from leaselog.client.worker.payloads import result_bytes
from leaselog.client.worker.tracing import trace_headers

__all__ = ["CORRELATION", "SOURCE", "publish", "result_headers"]

#: carried from record to result; made of the record's place if it has none
CORRELATION = "correlation-id"
#: the place of the record that this is the result of
SOURCE = "result-of"


def result_headers(record: AnyRecord) -> list[tuple[str, bytes | None]]:
    source = f"{record.topic}/{record.partition}/{record.offset}".encode()
    correlation = next((value for name, value in record.headers if name == CORRELATION), None)
    return [(CORRELATION, source if correlation is None else correlation), (SOURCE, source)]


async def publish(producer: AsyncProducer[Any, Any], topic: str, record: AnyRecord, result: object) -> None:
    """Returns when the broker has it. None is no result. Raises what a producer does, and ``TypeError``."""
    if result is None:
        return
    headers = trace_headers(result_headers(record))
    receipt = await producer.send(topic, result_bytes(result), record.raw_key, headers=headers)
    await receipt
