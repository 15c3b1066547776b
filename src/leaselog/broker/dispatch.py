"""From a frame to its handler: header, version, decoding, and what happens when any of them is wrong.

Knows no sockets. A request that cannot be understood raises `Unanswerable`; the connection closes, as Kafka does,
since the next frame of such a client cannot be trusted either.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from leaselog.broker.api import Api, Client, Reply, RequestContext, api_of
from leaselog.broker.handlers.api_versions import unsupported_version
from leaselog.wire.codec import decode_prefix, encode_chunks, is_flexible
from leaselog.wire.errors import DecodeError
from leaselog.wire.frames import (
    API_VERSIONS,
    RequestHeader,
    read_request_header,
    skip_tagged_fields,
)
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Message

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["Call", "Unanswerable", "encode_answer", "receive"]


_SIZE = Struct(">i")
#: of an answer: its size and its correlation id, and that no tagged fields follow
_HEAD, _FLEXIBLE_HEAD = Struct(">ii"), Struct(">iix")


class Unanswerable(Exception):
    """A frame that gets no answer. The text says what was wrong with it."""


@dataclass(slots=True)
class Call:
    """One request on its way: what was asked, and how its answer is to be written."""

    api: Api
    header: RequestHeader
    request: Message
    context: RequestContext
    frame_bytes: int

    def start(self) -> Reply:
        """Runs the handler up to its first wait."""
        return self.api.handler(self.request, self.context)

    def encode(self, response: Message) -> list[Buffer]:
        return encode_answer(response, self.header.correlation_id, self.header.api_version)


def receive(frame: bytearray, broker: Broker, client: Client) -> Call | list[Buffer]:
    """The call that ``frame`` asks for; or, to a version of ApiVersions from the future, the answer itself."""
    try:
        header = read_request_header(frame)
        api = api_of(header.api_key)
        if api is None:
            raise Unanswerable(f"unknown API key {header.api_key}")
        first, last = api.versions
        if not first <= header.api_version <= last:
            if api.key == API_VERSIONS:
                return encode_answer(unsupported_version(), header.correlation_id, 0)
            raise Unanswerable(f"{api.name} version {header.api_version}, supported are {first} to {last}")
        position = header.end
        if is_flexible(api.request, header.api_version):
            position = skip_tagged_fields(frame, position)
        # Bytes behind the body are ignored, as Apache Kafka does: librdkafka 2.16 leaves three in some Metadata
        # requests (it writes a null array of four bytes where one is meant, and sends all four).
        request, _ = decode_prefix(api.request, header.api_version, frame, position)
    except DecodeError as bad:
        raise Unanswerable(str(bad)) from bad
    context = RequestContext(broker, api, header.api_version, header.client_id, client)
    return Call(api, header, request, context, len(frame))


def encode_answer(response: Message, correlation_id: int, version: int) -> list[Buffer]:
    """The response as buffers ready for the socket, length first."""
    flexible = is_flexible(type(response), version) and response.API_KEY != API_VERSIONS
    chunks = encode_chunks(response, version, (_FLEXIBLE_HEAD if flexible else _HEAD).pack(0, correlation_id))
    head = chunks[0]
    assert isinstance(head, bytearray)
    size = len(head) if len(chunks) == 1 else sum(map(len, chunks))
    _SIZE.pack_into(head, 0, size - _SIZE.size)
    return chunks
