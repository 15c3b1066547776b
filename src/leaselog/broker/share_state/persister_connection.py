"""Sockets to share coordinators on other nodes: one connection a node, opened when it is first needed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import TypeVar

from leaselog.broker.share_state.persister_wire import Address
from leaselog.wire.codec import decode, encode, is_flexible
from leaselog.wire.errors import BadLength, DecodeError
from leaselog.wire.frames import skip_tagged_fields
from leaselog.wire.schema import Message

__all__ = ["StateConnections"]

M = TypeVar("M", bound=Message)

#: Kafka's socket.request.max.bytes: no answer may be larger
MAX_ANSWER_BYTES = 100 << 20
_HEAD = Struct(">ihhih")
_LENGTH_AND_CORRELATION = Struct(">ii")
CLIENT_ID = b"leaselog-persister"


class StateConnections:
    """What `WirePersister` asks through. An answer that takes longer than the timeout ends the connection."""

    def __init__(self, bootstrap: Sequence[Address], *, timeout_s: float = 30.0) -> None:
        self._bootstrap = deque(bootstrap)
        self._timeout_s = timeout_s
        self._open: dict[Address, _StateConnection] = {}

    async def ask(self, node: Address | None, request: Message, version: int, response: type[M]) -> M:
        """Raises ``OSError`` (also ``TimeoutError``, which is one) and ``DecodeError``."""
        address = self._bootstrap[0] if node is None else node
        try:
            return await self._ask(address, request, version, response)
        except (OSError, DecodeError):
            self._drop(address)
            if node is None:
                self._bootstrap.rotate(-1)  # another one next time
            raise

    async def _ask(self, address: Address, request: Message, version: int, response: type[M]) -> M:
        async with asyncio.timeout(self._timeout_s):
            connection = self._open.get(address)
            if connection is None:
                reader, writer = await asyncio.open_connection(*address)
                # Somebody else may have been quicker.
                connection = self._open.setdefault(address, _StateConnection(reader, writer))
                if connection.writer is not writer:
                    writer.close()
            return await connection.ask(request, version, response)

    def _drop(self, address: Address) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.writer.close()

    def close(self) -> None:
        for address in list(self._open):
            self._drop(address)


class _StateConnection:
    """One request after the other: requests of different kinds take turns."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self._reader = reader
        self._correlation_id = 0
        self._turn = asyncio.Lock()

    async def ask(self, request: Message, version: int, response: type[M]) -> M:
        async with self._turn:
            if self.writer.is_closing():
                raise ConnectionResetError("the connection was closed")
            self._correlation_id += 1
            body = b"\0" * is_flexible(type(request), version) + encode(request, version)
            size = _HEAD.size - 4 + len(CLIENT_ID) + len(body)
            head = _HEAD.pack(size, request.API_KEY, version, self._correlation_id, len(CLIENT_ID))
            self.writer.write(head + CLIENT_ID + body)
            await self.writer.drain()
            return await self._receive(version, response)

    async def _receive(self, version: int, response: type[M]) -> M:
        try:
            size, correlation_id = _LENGTH_AND_CORRELATION.unpack(
                await self._reader.readexactly(_LENGTH_AND_CORRELATION.size)
            )
            if not 4 <= size <= MAX_ANSWER_BYTES or correlation_id != self._correlation_id:
                raise BadLength(f"answer {correlation_id} of {size} bytes, expected {self._correlation_id}")
            data = await self._reader.readexactly(size - 4)
        except asyncio.IncompleteReadError as cut:
            raise ConnectionResetError("the connection ended in the middle of an answer") from cut
        except BaseException:
            # Whoever comes next must not read the rest of this answer as its own.
            self.writer.close()
            raise
        start = skip_tagged_fields(data, 0) if is_flexible(response, version) else 0
        return decode(response, version, data, start)
