"""From a frame to its handler: header, version, decoding, and what happens when any of them is wrong.

A long request is decoded in steps, and a long answer encoded in steps, so that others have their turns meanwhile.

Knows no sockets. A request that cannot be understood raises `Unanswerable`; the connection closes, as Kafka does,
since the next frame of such a client cannot be trusted either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from struct import Struct

from leaselog.broker.net.api import Api, Reply, RequestContext, api_of
from leaselog.broker.net.house import House
from leaselog.broker.net.versions import unsupported_version
from leaselog.broker.runtime.client import Client
from leaselog.broker.security.sasl_session import SaslSession
from leaselog.model import Refused
from leaselog.wire.codec import decode_prefix, encode_chunks, is_flexible
from leaselog.wire.codec_steps import LONG_BYTES, decode_steps, encode_steps
from leaselog.wire.errors import DecodeError
from leaselog.wire.frames import (
    API_VERSIONS,
    read_request_header,
    skip_tagged_fields,
)
from leaselog.wire.messages.api_versions import ApiVersionsResponse
from leaselog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from leaselog.wire.messages.sasl_handshake import SaslHandshakeResponse
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Message

__all__ = ["Call", "Place", "Unanswerable", "encode_answer", "receive"]

_SIZE = Struct(">i")
#: of an answer: its size and its correlation id, and that no tagged fields follow
_HEAD, _FLEXIBLE_HEAD = Struct(">ii"), Struct(">iix")


_EARLY_ANSWERS: dict[int, type[ApiVersionsResponse] | type[SaslHandshakeResponse]] = {
    kind.API_KEY: kind for kind in (ApiVersionsResponse, SaslHandshakeResponse)
}


class Unanswerable(Exception):
    """A frame that gets no answer. The text says what was wrong with it."""


class Place:
    """A place in the order of a connection's answers: empty until the answer is there; no chunks: nothing is sent."""

    __slots__ = ("chunks",)

    def __init__(self) -> None:
        self.chunks: list[Buffer] | None = None


class Call(Place):
    """One request on its way: what was asked, and how its answer is to be written."""

    __slots__ = ("api", "context", "correlation_id", "is_exclusive", "request", "size_bytes", "started_s")

    def __init__(
        self,
        api: Api,
        request: Message | Generator[object, None, Message],
        context: RequestContext,
        correlation_id: int,
        started_s: float,
        size_bytes: int,
    ) -> None:
        self.chunks = None
        self.api = api
        self.request = request
        self.context = context
        self.correlation_id = correlation_id
        #: by the clock of `Turns`
        self.started_s = started_s
        #: of its frame, which the request may have views of
        self.size_bytes = size_bytes
        #: the connection starts nothing else before this is answered
        self.is_exclusive = api.exclusive

    def start(self) -> Reply:
        """Runs the handler up to its first wait, or decodes as much of the request as a turn has time for."""
        request = self.request
        if isinstance(request, Message):
            return self.api.handler(request, self.context)
        decoded = self.context.broker.turns.start(_refusing(request))
        if isinstance(decoded, Message):
            return self.api.handler(decoded, self.context)
        self.is_exclusive = True
        return self._start_later(decoded)

    async def _start_later(self, decoding: Awaitable[Message]) -> Message | None:
        reply = self.api.handler(await decoding, self.context)
        return await reply if isinstance(reply, Awaitable) else reply

    def encode(self, response: Message) -> list[Buffer]:
        return encode_answer(response, self.correlation_id, self.context.version)

    def encode_in_steps(self, response: Message) -> Generator[object, None, list[Buffer]]:
        """The same of a long response."""
        head = _head(response, self.correlation_id, self.context.version)
        return _sized((yield from encode_steps(response, self.context.version, head)))


class BareCall(Call):
    """One message of a login that came without a request around it, and is answered so (a handshake of version 0)."""

    __slots__ = ()

    def encode(self, response: Message) -> list[Buffer]:
        assert isinstance(response, SaslAuthenticateResponse)
        if response.error_code:
            return []  # there is no way to say so
        return [bytearray(_SIZE.pack(len(response.auth_bytes)) + bytes(response.auth_bytes))]


def receive(
    frame: bytearray, broker: House, client: Client, started_s: float, login: SaslSession | None = None
) -> Call | list[Buffer]:
    """The call that ``frame`` asks for; or the answer itself, to a version of ApiVersions from the future, or to what
    may not be asked before the client is logged in."""
    if login is not None and login.hears_bare_tokens:
        return _bare_call(frame, broker, client, started_s, login)
    try:
        key, version, correlation_id, client_id, position = read_request_header(frame)
        api = api_of(key)
        if api is None:
            raise Unanswerable(f"unknown API key {key}")
        if login is not None and (refused := login.refuse(key)) is not None:
            return _too_early(key, version, correlation_id, refused)
        first, last = api.versions
        if not first <= version <= last:
            if key == API_VERSIONS:
                return encode_answer(unsupported_version(), correlation_id, 0)
            raise Unanswerable(f"{api.name} version {version}, supported are {first} to {last}")
        if is_flexible(api.request, version):
            position = skip_tagged_fields(frame, position)
        # Bytes behind the body are ignored, as Apache Kafka does: librdkafka 2.16 leaves three in some Metadata
        # requests (it writes a null array of four bytes where one is meant, and sends all four).
        request: Message | Generator[object, None, Message]
        if len(frame) - position < LONG_BYTES:
            request, _ = decode_prefix(api.request, version, frame, position, is_request=True)
        else:
            request = decode_steps(api.request, version, frame, position)
    except DecodeError as bad:
        raise Unanswerable(str(bad)) from bad
    context = RequestContext(broker, api, version, client_id, client, login)
    return Call(api, request, context, correlation_id, started_s, len(frame))


def _bare_call(
    frame: bytearray, broker: House, client: Client, started_s: float, login: SaslSession
) -> BareCall:
    api = api_of(SaslAuthenticateRequest.API_KEY)
    assert api is not None
    context = RequestContext(broker, api, 0, None, client, login)
    return BareCall(api, SaslAuthenticateRequest(auth_bytes=bytes(frame)), context, 0, started_s, len(frame))


def _too_early(key: int, version: int, correlation_id: int, refused: Refused) -> list[Buffer]:
    """What Apache Kafka says to the few that it has an answer for; the connection ends in any case."""
    kind = _EARLY_ANSWERS.get(key)
    if kind is None or not refused.code or version not in kind.VERSIONS:
        raise Unanswerable(refused.message)
    return encode_answer(kind(error_code=refused.code), correlation_id, version)


def _refusing(decoding: Generator[object, None, Message]) -> Generator[object, None, Message]:
    try:
        return (yield from decoding)
    except DecodeError as bad:
        raise Unanswerable(str(bad)) from bad


def encode_answer(response: Message, correlation_id: int, version: int) -> list[Buffer]:
    """The response as buffers ready for the socket, length first."""
    return _sized(encode_chunks(response, version, _head(response, correlation_id, version)))


def _head(response: Message, correlation_id: int, version: int) -> bytes:
    flexible = is_flexible(type(response), version) and response.API_KEY != API_VERSIONS
    return (_FLEXIBLE_HEAD if flexible else _HEAD).pack(0, correlation_id)


def _sized(chunks: list[Buffer]) -> list[Buffer]:
    head = chunks[0]
    assert isinstance(head, bytearray)
    size = len(head) if len(chunks) == 1 else sum(map(len, chunks))
    _SIZE.pack_into(head, 0, size - _SIZE.size)
    return chunks
