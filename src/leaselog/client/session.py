"""The protocol of one client connection, without the connection: bytes in, answers out.

Owns API version negotiation, correlation ids and framing. It touches no socket, so a test drives it with
scripted bytes. A broker answers in the order it was asked, so what is in flight is a queue: an answer that
does not match its head means that nothing behind it can be trusted either.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from leaselog.client.errors import UnsupportedVersion
from leaselog.model import ErrorCode
from leaselog.wire.codec import decode, encode_chunks, is_flexible
from leaselog.wire.errors import BadValue, Truncated
from leaselog.wire.extensions import FIRST_EXTENSION_KEY
from leaselog.wire.frame_reader import FrameReader
from leaselog.wire.frames import API_VERSIONS, skip_tagged_fields
from leaselog.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from leaselog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from leaselog.wire.messages.end_txn import EndTxnRequest
from leaselog.wire.messages.produce import ProduceRequest
from leaselog.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Message, Versions

__all__ = ["MAX_RESPONSE_BYTES", "Answer", "Session"]

#: an answer longer than this ends the connection; a fetch asks for 50 MiB at most
MAX_RESPONSE_BYTES = 128 * 1024 * 1024
_RECEIVE_BYTES = 256 * 1024
#: Served by every broker since Kafka 3.9, so that usually one round trip is enough. An older broker answers with
#: the versions it has, in version 0 of the response.
_HELLO_VERSION = 4
_REQUEST_HEAD = struct.Struct(">hhih")
_LENGTH = struct.Struct(">i")
_CORRELATION = struct.Struct(">i")

_NO_BOUND = 2**15
#: AddPartitionsToTxn from v4 on is how brokers ask each other; TxnOffsetCommit v6 names topics by id
_FOR_CLIENTS = {AddPartitionsToTxnRequest.API_KEY: 3, TxnOffsetCommitRequest.API_KEY: 5}
#: from the next version on a client says that every end of a transaction raises its epoch (KIP-890)
_BEFORE_RAISED_EPOCHS = {
    ProduceRequest.API_KEY: 11,
    EndTxnRequest.API_KEY: 4,
    TxnOffsetCommitRequest.API_KEY: 4,
}


@dataclass(frozen=True, slots=True)
class Answer:
    correlation_id: int
    message: Message


@dataclass(slots=True)
class _Expected:
    correlation_id: int
    kind: type[Message]
    version: int


class Session:
    """Encode requests with ``ask``, feed received bytes with ``buffer``/``received``, write out ``take_output``."""

    def __init__(
        self, client_id: str, software_version: str, *, max_response_bytes: int = MAX_RESPONSE_BYTES
    ) -> None:
        self._client_id = client_id.encode()
        self._hello = ApiVersionsRequest(
            client_software_name="leaselog", client_software_version=software_version
        )
        self._reader = FrameReader(memoryview(bytearray(_RECEIVE_BYTES)), max_response_bytes)
        self._expected = deque[_Expected]()
        self._next_correlation_id = 0
        self._output = list[Buffer]()
        #: the cluster's transaction.version, as far as it has one
        self.transaction_version = 0
        #: what the broker serves; None until it has said so
        self._served: Mapping[int, Versions] | None = None
        self._queue(self._hello, ApiVersionsResponse, _HELLO_VERSION)

    @property
    def is_ready(self) -> bool:
        """Whether versions are agreed and ``ask`` may be called."""
        return self._served is not None

    @property
    def is_to_leaselog(self) -> bool:
        """Whether the broker serves what is leaselog's own; it tells nobody else of that."""
        return self._served is not None and FIRST_EXTENSION_KEY in self._served

    @property
    def in_flight(self) -> int:
        return len(self._expected)

    def version_for(self, request: type[Message]) -> int:
        """The newest version of an API that both sides speak. Raises ``UnsupportedVersion``."""
        assert self._served is not None, "versions are not agreed yet"
        served = self._served.get(request.API_KEY)
        name = request.NAME.removesuffix("Request")
        if served is None:
            raise UnsupportedVersion(f"the broker does not serve {name} (API {request.API_KEY})")
        version = min(served.last, request.VERSIONS.last, self._most(request.API_KEY))
        if version < max(served.first, request.VERSIONS.first):
            ours = request.VERSIONS
            raise UnsupportedVersion(
                f"{name}: the broker serves versions {served.first}-{served.last},"
                f" this client {ours.first}-{ours.last}"
            )
        return version

    def _most(self, key: int) -> int:
        """Versions past this one mean something else than a client of transactions says with them."""
        most = _FOR_CLIENTS.get(key, _NO_BOUND)
        return most if self.transaction_version >= 2 else min(most, _BEFORE_RAISED_EPOCHS.get(key, _NO_BOUND))

    def ask(self, request: Message, answer: type[Message] | None) -> int:
        """Queue a request for output and return its correlation id; ``answer`` None for one never answered."""
        return self._queue(request, answer, self.version_for(type(request)))

    def take_output(self) -> list[Buffer]:
        """The bytes to send now, in order."""
        output, self._output = self._output, []
        return output

    def buffer(self) -> memoryview:
        """Where the next received bytes belong."""
        return self._reader.buffer()

    def received(self, count: int) -> list[Answer]:
        """The answers completed by ``count`` more bytes. Raises ``DecodeError``: then the connection is over.

        The answer to the hello is not among them: it makes the session ready, or queues a humbler hello.
        """
        answers = []
        for frame in self._reader.advance(count):
            expected, message = self._decode(frame)
            if self._served is None:
                self._negotiate(message, expected.version)
            else:
                answers.append(Answer(expected.correlation_id, message))
        return answers

    def _queue(self, request: Message, answer: type[Message] | None, version: int) -> int:
        correlation_id = self._next_correlation_id
        head = _REQUEST_HEAD.pack(request.API_KEY, version, correlation_id, len(self._client_id))
        flexible = is_flexible(type(request), version)
        chunks = encode_chunks(request, version, head + self._client_id + (b"\x00" if flexible else b""))
        self._output.append(_LENGTH.pack(sum(map(len, chunks))))
        self._output += chunks
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        if answer is not None:
            self._expected.append(_Expected(correlation_id, answer, version))
        return correlation_id

    def _decode(self, frame: Buffer) -> tuple[_Expected, Message]:
        if len(frame) < _CORRELATION.size:
            raise Truncated(f"a response of {len(frame)} bytes is shorter than its header")
        (correlation_id,) = _CORRELATION.unpack_from(frame)
        if not self._expected or self._expected[0].correlation_id != correlation_id:
            waiting = self._expected[0].correlation_id if self._expected else "none"
            raise BadValue(f"response {correlation_id}, expected {waiting}")
        expected = self._expected.popleft()
        kind, version, position = expected.kind, expected.version, _CORRELATION.size
        if kind.API_KEY == API_VERSIONS:
            if _error_code(frame) == ErrorCode.UNSUPPORTED_VERSION:
                version = 0  # so that strangers can read it
        elif is_flexible(kind, version):
            position = skip_tagged_fields(frame, position)
        return expected, decode(kind, version, memoryview(frame), position)

    def _negotiate(self, message: Message, asked_version: int) -> None:
        assert isinstance(message, ApiVersionsResponse)
        served = {api.api_key: Versions(api.min_version, api.max_version) for api in message.api_keys}
        if message.error_code == ErrorCode.NONE:
            self._served = served
            levels = {level.name: level.max_version_level for level in message.finalized_features}
            self.transaction_version = levels.get("transaction.version", 0)
            return
        if message.error_code != ErrorCode.UNSUPPORTED_VERSION or asked_version == 0:
            raise BadValue(f"ApiVersions v{asked_version} answered with error {message.error_code}")
        last = served.get(API_VERSIONS, Versions(0, 0)).last
        self._queue(self._hello, ApiVersionsResponse, min(last, asked_version - 1))


def _error_code(frame: Buffer) -> int:
    """The error code of an ApiVersions response: the same place in every version."""
    if len(frame) < _CORRELATION.size + 2:
        raise Truncated(f"an ApiVersions response of {len(frame)} bytes")
    return int.from_bytes(frame[4:6], "big", signed=True)
