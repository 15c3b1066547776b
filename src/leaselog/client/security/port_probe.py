"""What a port speaks, asked once when a connection to it has ended without a word: TLS, or Kafka without TLS.

It says nothing that is secret, believes nothing but the first bytes of the answer, and takes two seconds at most.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from contextlib import suppress

__all__ = ["speaks_plain_kafka", "speaks_tls"]

_TIMEOUT_S = 2.0
#: ApiVersions 0, which every broker answers, also whom it does not know
_HELLO = struct.pack(">ihhihs", 11, 18, 0, 7, 1, b"-")
_CORRELATION = struct.pack(">i", 7)
_ANSWER_BYTES = 8
#: records of TLS: an alert, and a handshake
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")


async def speaks_tls(host: str, port: int) -> bool:
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    arriving, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = anybody.wrap_bio(arriving, leaving, server_hostname=host)
    with suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    return (await _answer(host, port, leaving.read(), 2)) in _TLS_RECORDS


async def speaks_plain_kafka(host: str, port: int) -> bool:
    answer = await _answer(host, port, _HELLO, _ANSWER_BYTES)
    return len(answer) == _ANSWER_BYTES and answer[4:] == _CORRELATION


async def _answer(host: str, port: int, said: bytes, count: int) -> bytes:
    """The first bytes of it; none if there are not that many."""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(said)
                return await reader.readexactly(count)
            finally:
                writer.transport.abort()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return b""
